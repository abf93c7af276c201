//! Noticing that files changed on disk.

use super::discover::DATA;
use notify::event::CreateKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

/// Watches a folder until it is dropped. Folders are watched rather than files, since editors
/// replace files when they save.
pub struct Watch {
    _watcher: RecommendedWatcher,
}

/// More folders than this are not watched: the system has a limit, and others need it too.
const FOLDERS_AT_MOST: usize = 4096;

impl Watch {
    /// Sends a word for every change of a file that may hold cases, a config or `evaltrail.toml` in these folders, and
    /// for new folders. The listener waits a moment and then looks what changed.
    pub fn start(folders: &[PathBuf], changed: Sender<()>) -> notify::Result<Watch> {
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| is_worth_a_look(&event)) {
                let _ = changed.send(());
            }
        })?;
        for folder in folders.iter().take(FOLDERS_AT_MOST) {
            // A folder that cannot be watched is only not watched.
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

/// What evaltrail, git and Python write by themselves.
fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(['.', '_']))
}

fn matters(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    DATA.iter().any(|ending| name.ends_with(ending)) || name == crate::config::FILE_NAME
}
