//! Noticing that files changed on disk.

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::Path;
use std::sync::mpsc::Sender;

/// Watches a folder until it is dropped. Folders are watched rather than files, since editors
/// replace files when they save.
pub struct Watch {
    _watcher: RecommendedWatcher,
}

impl Watch {
    /// Sends a word for every change of an eval set, a config or `evaltrail.toml` below the folder.
    /// The listener waits a moment and then looks what changed.
    pub fn start(root: &Path, changed: Sender<()>) -> notify::Result<Watch> {
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return };
            if !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(|path| matters(path)) {
                let _ = changed.send(());
            }
        })?;
        watcher.watch(root, RecursiveMode::Recursive)?;
        Ok(Watch { _watcher: watcher })
    }
}

fn matters(path: &Path) -> bool {
    let hidden = path.components().any(|part| part.as_os_str().to_string_lossy().starts_with(".evaltrail"));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !hidden
        && (name.ends_with(".evalset.json")
            || name.ends_with(".test.json")
            || name == "test_config.json"
            || name == crate::config::FILE_NAME)
}
