//! Watching for changes of files.

use super::changed::is_source;
use evaltrail_core::formats::DATA;
use notify::event::CreateKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::{Path, PathBuf};

/// Watches a folder until it is dropped. Folders are watched rather than files, since editors
/// replace files when they save.
pub struct Watch {
    _watcher: RecommendedWatcher,
}

/// Maximum number of watched folders. The system has a limit that all programs share.
const MAX_FOLDERS: usize = 4096;

impl Watch {
    /// Calls `changed` for every new folder, and for every change of `evaltrail.toml`, a config, a file that may contain
    /// cases, or a source of an agent.
    pub fn workspace(
        folders: &[PathBuf],
        changed: impl Fn() + Send + 'static,
    ) -> notify::Result<Watch> {
        Watch::new(folders, is_worth_a_look, changed)
    }

    /// Calls `changed` for every change of a run, and for every result of ADK.
    pub fn results(
        folders: &[PathBuf],
        changed: impl Fn() + Send + 'static,
    ) -> notify::Result<Watch> {
        Watch::new(folders, is_of_results, changed)
    }

    fn new(
        folders: &[PathBuf],
        matters: fn(&notify::Event) -> bool,
        changed: impl Fn() + Send + 'static,
    ) -> notify::Result<Watch> {
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                if event.is_ok_and(|event| matters(&event)) {
                    changed();
                }
            })?;
        for folder in folders.iter().take(MAX_FOLDERS) {
            // A folder that cannot be watched is ignored.
            let _ = watcher.watch(folder, RecursiveMode::NonRecursive);
        }
        Ok(Watch { _watcher: watcher })
    }
}

fn is_worth_a_look(event: &notify::Event) -> bool {
    let new_folder = matches!(event.kind, EventKind::Create(CreateKind::Folder));
    !matches!(event.kind, EventKind::Access(_))
        && event
            .paths
            .iter()
            .any(|path| !is_ours(path) && (new_folder || matters(path)))
}

fn is_of_results(event: &notify::Event) -> bool {
    !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(|path| is_result(path))
}

/// Whether a path is at or below `.evaltrail/runs` or `.adk/eval_history`. `.evaltrail` and `.adk` themselves count, too:
/// when one of them is created, results may follow.
fn is_result(path: &Path) -> bool {
    let names: Vec<&str> = path.iter().filter_map(|name| name.to_str()).collect();
    let after = |name: &str| {
        names
            .iter()
            .rposition(|one| *one == name)
            .map(|at| names.get(at + 1))
    };
    let is_below = |folder: &str, of_results: &str| {
        after(folder).is_some_and(|next| next.is_none_or(|next| *next == of_results))
    };
    is_below(".evaltrail", "runs") || is_below(".adk", "eval_history")
}

/// Whether a path is a hidden file or one that evaltrail, git or Python writes automatically.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || name.starts_with('_') && !name.ends_with(".py")
}

fn matters(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    DATA.iter().any(|ending| name.ends_with(ending))
        || name == crate::config::FILE_NAME
        || is_source(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_and_adk_results_are_results() {
        for path in [
            "/w/.evaltrail",
            "/w/.evaltrail/runs",
            "/w/.evaltrail/runs/1/journal.jsonl",
            "/w/a/.adk",
            "/w/a/.adk/eval_history/x.evalset_result.json",
        ] {
            assert!(is_result(Path::new(path)), "{path}");
        }
        for path in [
            "/w",
            "/w/.evaltrail/decisions.jsonl",
            "/w/a/.adk/session.db",
            "/w/runs",
            "/w/eval_history/x",
        ] {
            assert!(!is_result(Path::new(path)), "{path}");
        }
    }
}
