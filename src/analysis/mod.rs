//! Conclusions from results. Pure.
//!
//! ```text
//! causes of each failure ──group──▶ groups of failures that share one, and the failures alone
//! two runs ───────────────compare──▶ what became of each case, each metric, and whether it is more than noise
//! ```

mod compare;
mod groups;
mod statistics;

pub use compare::{
    CaseFate, ChangedCondition, ComparedCase, ComparedMetric, RunComparison, RunToCompare, compare_runs,
    expectations,
};
pub use groups::{FailureGroup, FailureGroups, group_failures};
