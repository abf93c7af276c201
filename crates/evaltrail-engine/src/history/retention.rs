//! Removal of old runs.

use super::index::History;
use super::run_summary::{RunSource, RunSummary};
use crate::store::{remove_run, run_size};
use std::collections::HashSet;
use std::path::Path;

/// How many runs are kept.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// The maximum number of runs, at least 1.
    pub runs: usize,
    /// The maximum size of the runs that may be removed, in bytes; `None` without a limit.
    pub bytes: Option<u64>,
}

/// Removes the user's own runs beyond the limits, the oldest first, and returns the removed ones. Pinned runs, and shards that are
/// not merged yet, do not count. The newest run, and the newest one of all cases of each set, are not removed because of their
/// size. Runs that are being written or cannot be removed are skipped. ADK's results are never removed.
pub fn remove_old_runs(history: &History, limits: RunLimits) -> Vec<RunSummary> {
    let is_pinned = |run: &RunSummary| {
        history
            .labels
            .get(&run.run_id)
            .is_some_and(|label| label.pinned)
    };
    let is_needed =
        |run: &&RunSummary| is_pinned(run) || (run.shard.is_some() && !run.is_in_merged);
    let others = history.ours().filter(|run| !is_needed(run));
    let mut whole_sets: HashSet<&Path> = HashSet::new();
    let (mut size, mut removed) = (0, Vec::new());
    for (at, run) in others.enumerate() {
        let is_newest = is_newest_with_all_cases(run, &mut whole_sets) || at == 0;
        size += run_size(&run.path);
        let is_too_much = limits.bytes.is_some_and(|most| size > most) && !is_newest;
        if (at >= limits.runs || is_too_much) && matches!(remove_run(&run.path), Ok(true)) {
            removed.push(run.clone());
        }
    }
    removed
}

/// Whether a run has all cases of a set that is not among `whole_sets`, the sets of newer runs; adds its own.
fn is_newest_with_all_cases<'a>(run: &'a RunSummary, whole_sets: &mut HashSet<&'a Path>) -> bool {
    let RunSource::Evaltrail { sets, .. } = &run.source else {
        return false;
    };
    let whole = sets.iter().filter(|set| set.is_whole == Some(true));
    let new = whole.filter(|set| whole_sets.insert(&set.path));
    new.count() > 0
}
