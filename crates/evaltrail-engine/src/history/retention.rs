//! Removal of old runs.

use super::index::History;
use super::run_summary::RunSummary;
use crate::store::{remove_run, run_size};

/// How many runs are kept.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// The number of runs that are kept at most, at least 1.
    pub runs: usize,
    /// The size of all runs, in bytes, above which the oldest are removed.
    pub bytes: u64,
}

/// Removes the user's own runs beyond the limits, the oldest first, and returns the removed ones. The newest run is kept. Pinned
/// runs, and shards that are not merged yet, are kept and do not count in the number; their size does. Runs that are being
/// written or cannot be removed are skipped. ADK's results are never removed.
pub fn remove_old_runs(history: &History, limits: RunLimits) -> Vec<RunSummary> {
    let is_pinned = |head: &RunSummary| {
        history
            .labels
            .get(&head.run_id)
            .is_some_and(|label| label.pinned)
    };
    let is_needed =
        |head: &&RunSummary| is_pinned(head) || (head.shard.is_some() && !head.is_in_merged);
    let (needed, others): (Vec<_>, Vec<_>) = history.ours().partition(is_needed);
    let mut size: u64 = needed.iter().map(|head| run_size(&head.path)).sum();
    let mut kept = 0;
    let mut removed = Vec::new();
    for head in others {
        let of_run = run_size(&head.path);
        let fits = kept == 0 || (kept < limits.runs && size + of_run <= limits.bytes);
        // After the first run that does not fit, all older ones are removed: what is kept has no gaps.
        if fits && removed.is_empty() {
            kept += 1;
            size += of_run;
        } else if matches!(remove_run(&head.path), Ok(true)) {
            removed.push(head.clone());
        }
    }
    removed
}
