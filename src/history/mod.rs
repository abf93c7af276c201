//! The runs that happened, ours and ADK's, and what they say of the cases as they are now.
//!
//! ```text
//! <workspace>/.evaltrail/runs ──┐
//! <agent>/.adk/eval_history ────┴─▶ index (a line for each run) ─▶ latest results ─▶ a case of a file
//! ```
//!
//! Runs that this person's evaltrail did not record are foreign: they are shown where there is nothing else, and
//! decide nothing.
//!
//! A stored case is known by its file, its `eval_id` and its content hash, never by its position.

mod index;
mod latest;
mod recorded;
mod retention;
mod resume;

pub use index::{History, RunHead, RunSource, SetCount};
pub use latest::{
    CaseResult, HistorySet, PastResult, Reevaluated, case_results, is_unsteady, place, reevaluate,
    says_the_same,
};
pub use recorded::recorded_results;
pub use resume::{Resume, ResumedRun, unfinished};
pub use retention::remove_old_runs;
