//! The state of the explorer that is remembered between sessions. It can be deleted safely.

#![expect(clippy::disallowed_methods, reason = "it reads what evaltrail wrote")]

use super::{AppFolders, fingerprint, write_whole};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The remembered state of one workspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkspacePreferences {
    /// The colour theme.
    #[serde(default)]
    pub theme: Option<String>,
    /// The path of the set that was open, as it is shown.
    #[serde(default)]
    pub set: Option<String>,
    /// The case under the cursor.
    #[serde(default)]
    pub case: Option<usize>,
    /// The filter.
    #[serde(default)]
    pub filter: String,
    /// The name of the order of the list.
    #[serde(default)]
    pub order: String,
    /// The names of the columns that the list does not show.
    #[serde(default)]
    pub hidden_columns: Vec<String>,
}

impl WorkspacePreferences {
    fn file(app_folders: &AppFolders, workspace: &Path) -> PathBuf {
        let id = fingerprint(&[workspace.as_os_str().as_encoded_bytes()]);
        app_folders
            .data
            .join("state")
            .join(format!("{}.json", &id[..16]))
    }

    /// Reads the state of a workspace; the default when there is none.
    pub fn load(app_folders: &AppFolders, workspace: &Path) -> WorkspacePreferences {
        let text = std::fs::read_to_string(Self::file(app_folders, workspace)).ok();
        text.and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    /// Writes the state of a workspace.
    pub fn save(&self, app_folders: &AppFolders, workspace: &Path) -> std::io::Result<()> {
        let file = Self::file(app_folders, workspace);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        write_whole(&file, serde_json::to_string(self)?.as_bytes())
    }
}
