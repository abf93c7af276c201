//! Which runs are kept.

use super::index::{History, RunHead};
use crate::store::remove_run;

/// Removes all but the newest `keep` runs of ours, and says which. A run that is being written stays, and so does
/// what cannot be removed. ADK's results are ADK's.
pub fn remove_old_runs(history: &History, keep: usize) -> Vec<RunHead> {
    let old = history.ours().skip(keep);
    old.filter(|head| matches!(remove_run(&head.path), Ok(true))).cloned().collect()
}
