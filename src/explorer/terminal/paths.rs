//! Paths as a person gives them.

use std::path::{Path, PathBuf};

/// A path with `~/` replaced by the home folder, as a shell does it.
pub(crate) fn with_home(path: &str) -> String {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest).display().to_string(),
        _ => path.to_string(),
    }
}

/// The opened folder, or the folder of the opened file.
pub(crate) fn folder_of(opened: &Path) -> PathBuf {
    match opened.parent() {
        Some(folder) if opened.is_file() => folder.to_path_buf(),
        _ => opened.to_path_buf(),
    }
}
