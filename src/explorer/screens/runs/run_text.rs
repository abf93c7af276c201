//! The name and the signs of a run.

use crate::explorer::shared::run_list::RunsState;
use evaltrail_engine::history::RunSummary;

/// Sign of the run that is the baseline.
pub(super) const BASELINE: &str = "◆";
/// Sign of another run that is not removed as an old one.
pub(super) const PINNED: &str = "◇";

/// Name, or the short id.
pub(super) fn name_of(runs: &RunsState, run: &RunSummary) -> String {
    let name = runs.name_of(run).map(str::to_string);
    name.unwrap_or_else(|| run.short_name())
}
