//! Past runs of evaltrail and of ADK, and their results for the current cases.
//!
//! ```text
//! <workspace>/.evaltrail/runs ──┐
//! <agent>/.adk/eval_history ────┴─▶ index (an entry for each run) ─▶ latest results ─▶ a case of a file
//!                                 └▶ outcomes (a file for each run) ─▶ trends ─────────▶ a case of a file
//! ```
//!
//! Runs that are not signed with this user's key are foreign: they are shown only where there is no other result, and
//! nothing is based on them.
//!
//! A stored case is identified by its file, its `eval_id` and its content hash, never by its position.

mod adk_results;
mod adk_run;
mod case_results;
mod criteria;
mod find_case;
mod index;
mod latest;
mod merge;
mod merge_choice;
mod merge_error;
mod merge_remarks;
mod merged_run;
mod outcomes;
mod past_run;
mod predecessor;
mod pushed;
mod read_outcomes;
mod read_summary;
mod recorded;
mod resume;
mod retention;
mod run_summary;
mod same_criteria;
mod same_run;
mod series;
mod shard_attempts;
mod shard_runs;
mod trends;

pub use case_results::{
    CaseResult, Reevaluated, case_results, is_unchanged, is_unsteady, reevaluate,
};
pub use criteria::CriteriaNumbers;
pub(crate) use criteria::criteria_id;
pub use find_case::find_case;
pub use index::History;
pub use latest::{FoundCase, HistorySet, PastResult, PastResults, ResultOrigin};
pub use merge::{MergedRun, merge_one_shard, merge_shards};
pub use merge_error::MergeError;
pub use past_run::{PastRun, PastSet};
pub use predecessor::predecessor;
pub use pushed::{DoneCases, PushedShards, ShardProgress, done_by_earlier_runs, pushed_shards};
pub use recorded::recorded_results;
pub use resume::{Resume, ResumedRun, plan_of_run, unfinished};
pub use retention::{RunLimits, remove_old_runs};
pub use run_summary::{MetricMean, RunSource, RunSummary, SetCount, SetResults};
pub use series::{ListedSet, RunTrends, Series, SeriesPoint, collect_series};
pub use trends::CaseTrends;
