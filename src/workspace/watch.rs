//! Watching for changes of files.

use super::changed::is_source;
use super::discover::DATA;
use notify::event::CreateKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::{Path, PathBuf};

/// Watches a folder until it is dropped. Folders are watched rather than files, since editors
/// replace files when they save.
pub struct Watch {
    _watcher: RecommendedWatcher,
}

/// Maximum number of watched folders. The system has a limit that all programs share.
const FOLDERS_AT_MOST: usize = 4096;

impl Watch {
    /// Calls `changed` for every new folder, and for every change of `evaltrail.toml`, a config, a file that may contain
    /// cases, or a source of an agent.
    pub fn start(folders: &[PathBuf], changed: impl Fn() + Send + 'static) -> notify::Result<Watch> {
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_worth_a_look(&event)) {
                changed();
            }
        })?;
        for folder in folders.iter().take(FOLDERS_AT_MOST) {
            // A folder that cannot be watched is ignored.
            let _ = watcher.watch(folder, RecursiveMode::NonRecursive);
        }
        Ok(Watch { _watcher: watcher })
    }
}

fn is_worth_a_look(event: &notify::Event) -> bool {
    let new_folder = matches!(event.kind, EventKind::Create(CreateKind::Folder));
    !matches!(event.kind, EventKind::Access(_))
        && event.paths.iter().any(|path| !is_ours(path) && (new_folder || matters(path)))
}

/// Whether a path is a hidden file or one that evaltrail, git or Python writes automatically.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || name.starts_with('_') && !name.ends_with(".py")
}

fn matters(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    DATA.iter().any(|ending| name.ends_with(ending)) || name == crate::config::FILE_NAME || is_source(&name)
}
