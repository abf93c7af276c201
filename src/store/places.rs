//! Where evaltrail keeps what is its own.

use std::path::PathBuf;

/// The platform's places, or `EVALTRAIL_HOME` when that is set.
#[derive(Clone, Debug)]
pub struct Places {
    /// Trust and remembered state.
    pub data: PathBuf,
}

impl Places {
    /// Finds the places; `None` when the platform names none (no home folder).
    pub fn find() -> Option<Places> {
        if let Some(home) = std::env::var_os("EVALTRAIL_HOME") {
            return Some(Places { data: PathBuf::from(home) });
        }
        let dirs = directories::ProjectDirs::from("", "", "evaltrail")?;
        Some(Places { data: dirs.data_local_dir().to_path_buf() })
    }
}
