//! The cases of a run that did not pass, and what they share.

use super::cause_states::{CauseStates, is_new_or_back, new_first, state_text};
use evaltrail_core::analysis::{FailureGroups, group_failures};
use evaltrail_core::domain::{
    Attempt, AttemptKey, AttemptSummary, CaseTally, Cause, EndedAttempt, RunState, Status,
    worst_attempt,
};
use evaltrail_core::metrics::common_relaxation;
use std::collections::HashSet;
use std::sync::Arc;

/// A case with an attempt that did not pass.
pub(super) struct FailedCase {
    /// The number of attempts that passed.
    pub(super) passed: usize,
    /// The number of attempts that were evaluated.
    pub(super) evaluated: usize,
    /// The number of attempts that ended.
    pub(super) ended: usize,
    /// The attempt that represents the case ([`worst_attempt`]).
    pub(super) key: AttemptKey,
    /// Its status.
    pub(super) status: Status,
    /// Its causes, shared by all cases with equal ones.
    causes: Arc<[Cause]>,
}

/// The cases that did not pass in the plan's order.
pub(super) fn failed_cases(state: &RunState) -> Vec<FailedCase> {
    let mut known: HashSet<Arc<[Cause]>> = HashSet::new();
    let mut shared = |causes: &[Cause]| match known.get(causes) {
        Some(causes) => causes.clone(),
        None => {
            let causes: Arc<[Cause]> = causes.into();
            known.insert(causes.clone());
            causes
        }
    };
    let failed = |case: usize| {
        let CaseTally {
            passed,
            ended,
            evaluated,
            ..
        } = state.tally(case);
        if passed == ended {
            return None;
        }
        let attempts = state.attempts_of(case);
        let attempt = worst_attempt(&attempts)?;
        let causes = shared(&attempt.causes);
        Some(FailedCase {
            passed,
            evaluated,
            ended,
            key: attempt.key,
            status: attempt.status,
            causes,
        })
    };
    (0..state.plan.cases.len()).filter_map(failed).collect()
}

impl FailedCase {
    /// What became of the first of its causes that is new or came back, in words; empty if none is.
    pub(super) fn news(&self, states: Option<CauseStates<'_>>) -> String {
        let first = self
            .causes
            .iter()
            .find(|cause| is_new_or_back(states, cause));
        first.map_or_else(String::new, |cause| state_text(states, cause))
    }

    /// The attempt that represents the case.
    pub(super) fn attempt(&self, state: &RunState) -> Option<Arc<EndedAttempt>> {
        state.attempt(self.key)
    }
}

/// What the cases share, the new and recurring causes first. Positions are those in `failed`.
pub(super) fn groups_of(failed: &[FailedCase], states: Option<CauseStates<'_>>) -> FailureGroups {
    let mut groups = group_failures(failed.iter().map(|case| &*case.causes));
    let has_no_news = |at: &usize| {
        let mut causes = failed[*at].causes.iter();
        !causes.any(|cause| is_new_or_back(states, cause))
    };
    groups.alone.sort_by_key(has_no_news);
    new_first(groups, states)
}

/// Maximum number of cases of a group for which a change of criteria is searched.
const MAX_CHANGED: usize = 100;

/// The smallest change of criteria with which every attempt of a group's cases would pass, in words. `None` if none was
/// found, and for large groups.
pub(super) fn change_for(
    state: &RunState,
    failed: &[FailedCase],
    members: &[usize],
) -> Option<String> {
    if members.len() > MAX_CHANGED {
        return None;
    }
    let of_case = |at: &usize| state.attempts_of(failed[*at].key.case);
    let failing = members
        .iter()
        .flat_map(of_case)
        .filter(|attempt| attempt.status != Status::Passed);
    let attempts: Vec<Arc<Attempt>> = failing
        .map(|attempt| attempt.read().ok())
        .collect::<Option<_>>()?;
    common_relaxation(&attempts).map(|change| change.describe().join(", "))
}

/// One entry of a report's list of groups: the heading of nested groups, or a group with its cases.
pub(super) struct ListedGroup {
    /// What the cases share, in words. Not cleaned for display.
    pub(super) cause: String,
    /// The cause itself; for the other cases of a group, that of the group.
    pub(super) shared: Cause,
    /// Positions of the cases in the list of failures.
    pub(super) members: Vec<usize>,
    /// Whether nested groups follow, which list the cases.
    pub(super) is_heading: bool,
    /// Whether it is nested in the heading before it.
    pub(super) is_nested: bool,
}

/// The groups in the order of reports: each outermost group, followed by its nested groups and its other cases.
pub(super) fn listed_groups(found: &FailureGroups) -> Vec<ListedGroup> {
    let mut listed = Vec::new();
    for group in &found.groups {
        let outermost = ListedGroup {
            cause: group.cause.describe(),
            shared: group.cause.clone(),
            members: group.members.clone(),
            is_heading: !group.nested.is_empty(),
            is_nested: false,
        };
        listed.push(outermost);
        if group.nested.is_empty() {
            continue;
        }
        let nested = |cause, shared: &Cause, members| ListedGroup {
            cause,
            shared: shared.clone(),
            members,
            is_heading: false,
            is_nested: true,
        };
        listed.extend(
            group
                .nested
                .iter()
                .map(|one| nested(one.cause.describe(), &one.cause, one.members.clone())),
        );
        let others = group.others();
        if !others.is_empty() {
            let name = if others.len() == 1 { "other" } else { "others" };
            listed.push(nested(name.into(), &group.cause, others));
        }
    }
    listed
}

/// Why an attempt has the cause that the cases of its group share, after the errors that the model reported.
pub(super) fn reason_in_group(attempt: &AttemptSummary, shared: &Cause) -> String {
    match attempt.model_errors.is_empty() {
        true => attempt.reason_for(shared).into_owned(),
        false => attempt.reason_with_model_errors(),
    }
}

/// A share in percent, as "18 %".
pub(super) fn percent(part: usize, of: usize) -> String {
    format!("{:.0} %", part as f64 * 100.0 / of.max(1) as f64)
}

/// "31 of 40 cases that did not pass share 3 causes"; `None` without groups.
pub(super) fn groups_headline(groups: &FailureGroups, failed: usize) -> Option<String> {
    let grouped = groups.grouped();
    match groups.specific().len() {
        0 => None,
        1 => Some(format!(
            "{grouped} of {failed} cases that did not pass share a cause"
        )),
        causes => Some(format!(
            "{grouped} of {failed} cases that did not pass share {causes} causes"
        )),
    }
}
