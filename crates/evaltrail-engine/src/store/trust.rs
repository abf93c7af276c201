//! Permissions that the user gave: one fingerprint for each folder and the exact content that was shown.

#![expect(clippy::disallowed_methods, reason = "it reads what evaltrail wrote")]

use super::{AppFolders, write_whole};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The permissions. They are stored outside of any workspace.
#[derive(Debug, Default)]
pub struct Trust {
    file: Option<PathBuf>,
    granted: Grants,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Grants {
    /// From fingerprints to descriptions of what was allowed.
    #[serde(default)]
    granted: BTreeMap<String, String>,
}

/// SHA-256 of the parts with their lengths, in hexadecimal.
pub fn fingerprint(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// SHA-256 of data that is read in pieces.
#[derive(Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    /// Adds the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The hash, in hexadecimal.
    pub fn finish(self) -> String {
        self.0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

impl Trust {
    /// Reads the permissions. A damaged file counts as empty.
    pub fn load(app_folders: Option<&AppFolders>) -> Trust {
        let file = app_folders.map(|app_folders| app_folders.data.join("trust.json"));
        let text = file
            .as_ref()
            .and_then(|file| std::fs::read_to_string(file).ok());
        let granted = text
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        Trust { file, granted }
    }

    /// Whether this fingerprint was allowed.
    pub fn allows(&self, fingerprint: &str) -> bool {
        self.granted.granted.contains_key(fingerprint)
    }

    /// Stores that this fingerprint was allowed.
    pub fn grant(&mut self, fingerprint: &str, what: &str) -> std::io::Result<()> {
        self.granted
            .granted
            .insert(fingerprint.to_string(), what.to_string());
        let Some(file) = &self.file else {
            return Ok(());
        };
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        write_whole(
            file,
            serde_json::to_string_pretty(&self.granted)?.as_bytes(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grant_covers_exactly_what_was_shown() {
        let folder = tempfile::tempdir().unwrap();
        let app_folders = AppFolders {
            data: folder.path().join("deep"),
            cache: folder.path().into(),
            config: folder.path().into(),
        };
        let shown = fingerprint(&[b"/w", b"adk api_server"]);
        let mut trust = Trust::load(Some(&app_folders));
        assert!(!trust.allows(&shown));
        trust.grant(&shown, "adk api_server").unwrap();
        let again = Trust::load(Some(&app_folders));
        assert!(again.allows(&shown));
        assert!(!again.allows(&fingerprint(&[b"/w", b"adk api_server --evil"])));
        assert_ne!(fingerprint(&[b"ab", b"c"]), fingerprint(&[b"a", b"bc"]));
    }
}
