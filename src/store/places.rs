//! Where evaltrail keeps what is its own.

use std::path::PathBuf;

/// The platform's places, or `EVALTRAIL_HOME` when that is set.
#[derive(Clone, Debug)]
pub struct Places {
    /// Trust and remembered state.
    pub data: PathBuf,
    /// What can be had again.
    pub cache: PathBuf,
    /// What the person writes: their configuration.
    pub config: PathBuf,
}

impl Places {
    /// Finds the places; `None` when the platform names none (no home folder).
    pub fn find() -> Option<Places> {
        // An empty one would be the folder that was opened, and what lies there may be anybody's.
        if let Some(home) = std::env::var_os("EVALTRAIL_HOME").filter(|home| !home.is_empty()) {
            let home = PathBuf::from(home);
            return Some(Places { cache: home.join("cache"), config: home.clone(), data: home });
        }
        let dirs = directories::ProjectDirs::from("", "", "evaltrail")?;
        Some(Places {
            data: dirs.data_local_dir().to_path_buf(),
            cache: dirs.cache_dir().to_path_buf(),
            config: dirs.config_dir().to_path_buf(),
        })
    }

    /// Where judges' answers are kept.
    pub fn answers(&self) -> PathBuf {
        self.cache.join("judge")
    }
}
