//! Reports changes while the explorer is open: of files of the workspace, and of results that are recorded in it.

use super::effects::{EffectExecutor, LoopEvent};
use crate::explorer::shared::message::{Msg, ResultMsg, SetMsg};
use evaltrail_engine::runner::result_folders;
use evaltrail_engine::store::sweep;
use evaltrail_engine::workspace::{Watch, watched_folders};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::mpsc::Sender;

/// After a file changed: editors write in steps.
const SETTLE: Duration = Duration::from_millis(150);
/// After a change of recorded results: a run writes each attempt when it ends, and reading them all again takes time.
const RECORDS_SETTLE: Duration = Duration::from_secs(1);
/// The longest wait for that: results of a run that never pauses are shown while it runs.
const MAX_RECORDS_SETTLE_TIME: Duration = Duration::from_secs(5);
/// File systems stamp files by a clock that lags behind.
const GRAIN: Duration = Duration::from_millis(100);

impl EffectExecutor {
    /// Begins to watch the workspace's folders.
    pub(crate) fn watch(&self) {
        let (workspace, back) = (self.workspace.clone(), self.back.clone());
        let (sets, since) = (self.sets.clone(), self.since);
        std::thread::spawn(move || {
            let (changed, changes) = std::sync::mpsc::channel();
            // What a crash left behind while saving.
            workspace.folders.iter().for_each(|folder| sweep(folder));
            let watch = Watch::workspace(&watched_folders(&workspace), move || {
                let _ = changed.send(());
            });
            let Some(watch) = watch_or_notice(watch, "files", &back) else {
                return;
            };
            if back.blocking_send(LoopEvent::Watching(watch)).is_err() {
                return;
            }
            if sets.iter().any(|set| is_newer(&set.path, since))
                && back
                    .blocking_send(LoopEvent::Msg(Msg::Sets(SetMsg::FilesChanged)))
                    .is_err()
            {
                return;
            }
            // Ends when the watch is dropped.
            while changes.recv().is_ok() {
                while changes.recv_timeout(SETTLE).is_ok() {}
                if back
                    .blocking_send(LoopEvent::Msg(Msg::Sets(SetMsg::FilesChanged)))
                    .is_err()
                {
                    return;
                }
            }
        });
    }

    /// Reports results that are recorded while the explorer is open.
    pub(crate) fn watch_results(&self) {
        let (workspace, back, since) = (self.workspace.clone(), self.back.clone(), self.since);
        std::thread::spawn(move || {
            let mut watched = Vec::new();
            let (_, mut changes) = std::sync::mpsc::channel();
            loop {
                let is_first = watched.is_empty();
                // Listed again after they are watched: what appears in between is watched, too.
                loop {
                    let folders = result_folders(&workspace);
                    if folders == watched {
                        break;
                    }
                    let (changed, waiting) = std::sync::mpsc::channel();
                    let watch = Watch::results(&folders, move || {
                        let _ = changed.send(());
                    });
                    let Some(watch) = watch_or_notice(watch, "results", &back) else {
                        return;
                    };
                    if back
                        .blocking_send(LoopEvent::WatchingResults(watch))
                        .is_err()
                    {
                        return;
                    }
                    (watched, changes) = (folders, waiting);
                }
                // After the new folders are watched, so that nothing is missed.
                let changed = Msg::Results(ResultMsg::RecordsChanged);
                let is_changed =
                    !is_first || watched.iter().any(|folder| has_changed(folder, since));
                if is_changed && back.blocking_send(LoopEvent::Msg(changed)).is_err() {
                    return;
                }
                // Ends when the watch is dropped.
                if changes.recv().is_err() {
                    return;
                }
                let settled_at = Instant::now() + MAX_RECORDS_SETTLE_TIME;
                while changes.recv_timeout(RECORDS_SETTLE).is_ok() && Instant::now() < settled_at {}
            }
        });
    }
}

/// The watch. If there is none, for example because other programs use all that the system allows, the user is told so.
fn watch_or_notice(
    watch: notify::Result<Watch>,
    what: &str,
    back: &Sender<LoopEvent>,
) -> Option<Watch> {
    let failed = |error: notify::Error| {
        let text = format!("changes that other programs make to {what} will not be shown: {error}");
        let _ = back.blocking_send(LoopEvent::Msg(Msg::Failed(text)));
    };
    watch.map_err(failed).ok()
}

fn is_newer(path: &Path, since: SystemTime) -> bool {
    let modified = std::fs::metadata(path).and_then(|meta| meta.modified());
    modified.is_ok_and(|modified| modified + GRAIN >= since)
}

/// Whether a folder, or the journal of the run in it, changed.
fn has_changed(folder: &Path, since: SystemTime) -> bool {
    is_newer(folder, since) || is_newer(&folder.join("journal.jsonl"), since)
}
