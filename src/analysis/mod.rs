//! Conclusions from results. Pure.
//!
//! ```text
//! causes of each failure ──group──▶ groups of failures that share one, and the failures alone
//! two runs ───────────────compare──▶ what became of each case, each metric, and whether it is more than noise
//! several attempts ───────repeats──▶ pass rate with an interval, pass@k and pass^k, flaky cases
//! ```

mod compare;
mod groups;
mod repeats;
mod statistics;

pub use compare::{
    CaseFate, ChangedCondition, ComparedCase, ComparedMetric, RunComparison, RunConditions, RunToCompare,
    compare_runs,
};
pub use groups::{FailureGroup, FailureGroups, group_failures};
pub use repeats::{PassCount, RepeatedPass, count_of, repeated_passes};
