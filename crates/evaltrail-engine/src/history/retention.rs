//! Removal of old runs.

use super::index::History;
use super::run_summary::RunSummary;
use crate::store::remove_run;

/// Removes all but the newest `keep` of the user's own runs and those that are pinned, and returns the removed ones.
/// Pinned runs do not count, nor do shards that are not merged yet. Runs that are being written or cannot be removed are skipped. ADK's results are never
/// removed.
pub fn remove_old_runs(history: &History, keep: usize) -> Vec<RunSummary> {
    let is_pinned = |head: &&RunSummary| {
        history
            .labels
            .get(&head.run_id)
            .is_some_and(|label| label.pinned)
    };
    let is_needed =
        |head: &&RunSummary| is_pinned(head) || (head.shard.is_some() && !head.is_in_merged);
    let old = history.ours().filter(|head| !is_needed(head)).skip(keep);
    old.filter(|head| matches!(remove_run(&head.path), Ok(true)))
        .cloned()
        .collect()
}
