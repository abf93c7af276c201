//! Conclusions from results. Pure.
//!
//! ```text
//! causes of each failure ──group──▶ groups of failures that share one, and the failures alone
//! ```

mod groups;

pub use groups::{FailureGroup, FailureGroups, group_failures};
