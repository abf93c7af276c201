//! Conclusions from results. Pure.
//!
//! ```text
//! causes of each failure ──group──▶ groups of failures that share one, and the failures alone
//! two runs ───────────────compare──▶ what became of each case, each metric, and whether it is more than noise
//! several attempts ───────repeats──▶ pass rate with an interval, pass@k and pass^k, flaky cases
//! outcomes of a case ─────trends───▶ since which run it does not pass
//! ```

mod compare;
mod groups;
mod repeats;
mod statistics;
mod trends;

pub use compare::{
    CaseFate, ChangedCondition, ComparedCase, ComparedMetric, RunComparison, RunConditions, RunToCompare,
    compare_runs,
};
pub use groups::{FailureGroup, FailureGroups, group_failures};
pub use repeats::{PassCount, RepeatedPass, count_of, repeated_passes};
pub use trends::{CasePoint, FailingSince, block, failing_since};
