//! The cases of a run that did not pass, and what they share.

use crate::analysis::{FailureGroups, group_failures};
use crate::domain::{AttemptSummary, RunState, Status};
use std::collections::BTreeMap;

/// A case with an attempt that did not pass.
pub(super) struct FailedCase<'a> {
    /// The number of attempts that passed.
    pub(super) passed: usize,
    /// The number of attempts that ended.
    pub(super) ended: usize,
    /// The first attempt that did not pass.
    pub(super) attempt: &'a AttemptSummary,
}

/// The cases that did not pass in the plan's order.
pub(super) fn failed_cases(state: &RunState) -> Vec<FailedCase<'_>> {
    let mut by_case: BTreeMap<usize, Vec<&AttemptSummary>> = BTreeMap::new();
    for attempt in &state.finished {
        by_case.entry(attempt.key.case).or_default().push(attempt.summary());
    }
    by_case.into_values().filter_map(failed_case).collect()
}

/// The case of these attempts; `None` if all passed.
fn failed_case(mut attempts: Vec<&AttemptSummary>) -> Option<FailedCase<'_>> {
    attempts.sort_by_key(|attempt| attempt.key.attempt);
    let passed = attempts.iter().filter(|attempt| attempt.status == Status::Passed).count();
    let attempt = attempts.iter().copied().find(|attempt| attempt.status != Status::Passed)?;
    Some(FailedCase { passed, ended: attempts.len(), attempt })
}

/// What the cases share. Positions are those in `failed`.
pub(super) fn groups_of(failed: &[FailedCase<'_>]) -> FailureGroups {
    group_failures(failed.iter().map(|case| case.attempt.causes.as_slice()))
}

/// "31 of 40 cases that did not pass share 3 causes"; `None` without groups.
pub(super) fn groups_headline(groups: &FailureGroups, failed: usize) -> Option<String> {
    let grouped = groups.grouped();
    match groups.groups.len() {
        0 => None,
        1 => Some(format!("{grouped} of {failed} cases that did not pass share a cause")),
        causes => Some(format!("{grouped} of {failed} cases that did not pass share {causes} causes")),
    }
}
