//! The cases of a run that did not pass, and what they share.

use crate::analysis::{FailureGroups, group_failures};
use crate::domain::{Attempt, AttemptSummary, RunState, Status};
use crate::metrics::{passes_with, relaxation_of_all};
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// Maximum number of cases of a group for which a change of criteria is searched.
const CHANGED_AT_MOST: usize = 100;

/// The smallest change of criteria with which every attempt of a group's cases would pass, in words. `None` if none was
/// found, and for large groups.
pub(super) fn change_for(state: &RunState, failed: &[FailedCase<'_>], members: &[usize]) -> Option<String> {
    if members.len() > CHANGED_AT_MOST {
        return None;
    }
    let of_case = |at: &usize| state.attempts_of(failed[*at].attempt.key.case);
    let failing = members.iter().flat_map(of_case).filter(|attempt| attempt.status != Status::Passed);
    let attempts: Vec<Arc<Attempt>> = failing.map(|attempt| attempt.read().ok()).collect::<Option<_>>()?;
    let change = relaxation_of_all(attempts.iter().cloned());
    let all_pass = !change.is_empty() && attempts.iter().all(|attempt| passes_with(attempt, &change));
    all_pass.then(|| change.words().join(", "))
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
