//! Removal of old runs.

use super::index::{History, RunHead};
use crate::store::remove_run;

/// Removes all but the newest `keep` of the user's own runs, and returns the removed ones. Runs that are being written
/// or cannot be removed are skipped. ADK's results are never removed.
pub fn remove_old_runs(history: &History, keep: usize) -> Vec<RunHead> {
    let old = history.ours().skip(keep);
    old.filter(|head| matches!(remove_run(&head.path), Ok(true))).cloned().collect()
}
