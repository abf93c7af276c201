//! The directories of evaltrail's own files.

use std::path::PathBuf;

/// The platform's directories, or those below `EVALTRAIL_HOME` if it is set.
#[derive(Clone, Debug)]
pub struct AppFolders {
    /// Permissions and remembered state.
    pub data: PathBuf,
    /// Files that can be recreated.
    pub cache: PathBuf,
    /// The user's configuration.
    pub config: PathBuf,
}

impl AppFolders {
    /// Finds the directories; `None` when the platform defines none (there is no home folder).
    pub fn find() -> Option<AppFolders> {
        // An empty path would be the current folder, whose files may come from anywhere.
        if let Some(home) = std::env::var_os("EVALTRAIL_HOME").filter(|home| !home.is_empty()) {
            let home = PathBuf::from(home);
            return Some(AppFolders {
                cache: home.join("cache"),
                config: home.clone(),
                data: home,
            });
        }
        let dirs = directories::ProjectDirs::from("", "", "evaltrail")?;
        Some(AppFolders {
            data: dirs.data_local_dir().to_path_buf(),
            cache: dirs.cache_dir().to_path_buf(),
            config: dirs.config_dir().to_path_buf(),
        })
    }

    /// The folder of the cached responses of judges.
    pub fn answers(&self) -> PathBuf {
        self.cache.join("judge")
    }
}
