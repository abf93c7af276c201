//! The path of an eval set.

use super::agent_folders::nearest_agent;
use evaltrail_core::domain::SessionInput;
use evaltrail_core::domain::stored_path::path_below;
use evaltrail_core::formats::{ColumnMap, DATA};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An eval set file, before it is opened.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPath {
    /// The file.
    pub path: PathBuf,
    /// The path as shown: relative to the workspace.
    pub shown: String,
    /// The file's name without its ending.
    pub stem: String,
    /// The ADK agent in whose folder the file is.
    pub app: Option<String>,
    /// The columns that the user maps.
    pub columns: ColumnMap,
    /// Whether the file was only found because it looks like data: it has no known column. Opening it says what it lacks.
    pub is_unknown_data: bool,
    /// The session of cases that name none, from ADK's initial session file.
    pub session: Option<Arc<SessionInput>>,
}

impl SetPath {
    /// A file of a workspace, without its agent. The disk is not read.
    pub fn of_file(path: &Path, root: &Path) -> SetPath {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let stem = stem_of(&name).to_string();
        let shown = path_below(root, path);
        SetPath {
            path: path.to_path_buf(),
            shown,
            stem,
            app: None,
            columns: ColumnMap::default(),
            is_unknown_data: false,
            session: None,
        }
    }

    /// Finds the agent in whose folder the file is. It reads the modules in the folders above the file.
    pub(super) fn with_agent(self) -> SetPath {
        let agent = self.path.parent().and_then(nearest_agent);
        SetPath {
            app: agent.map(|agent| agent.name),
            ..self
        }
    }

    /// Whether the file is a data set by the ending of its name. The cases of a data set are usually scored, not run.
    pub fn is_data(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        !name.ends_with(".evalset.json") && !name.ends_with(".test.json")
    }
}

/// The name of a file of cases, without its ending.
pub(super) fn stem_of(name: &str) -> &str {
    let endings = [".evalset.json", ".test.json"].iter().chain(DATA);
    let stem = endings
        .into_iter()
        .find_map(|ending| name.strip_suffix(ending));
    stem.filter(|stem| !stem.is_empty()).unwrap_or(name)
}
