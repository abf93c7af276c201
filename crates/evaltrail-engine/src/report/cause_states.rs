//! What became of the causes of a run's failures: which are new or came back, and which are gone since this run.

use crate::history::{CaseTrends, RunSummary};
use evaltrail_core::analysis::{CauseState, CauseTrend, FailureGroup, FailureGroups};
use evaltrail_core::domain::{Cause, RunState, Status, counted};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The causes over the runs, of which the one that is reported is the newest.
#[derive(Clone, Copy)]
pub struct CauseStates<'a>(&'a CaseTrends);

impl<'a> CauseStates<'a> {
    /// The causes over these runs. `None` if there is only one: then everything would be new.
    pub fn new(trends: &'a CaseTrends) -> Option<CauseStates<'a>> {
        (trends.runs.len() > 1).then_some(CauseStates(trends))
    }

    /// What became of a cause, in words: "new", "back: gone since run 51c0ffee1234", "in 3 runs since run 0badcafe5678".
    pub fn describe(self, cause: &Cause) -> Option<String> {
        let trend = self.0.causes.get(cause)?;
        Some(match (trend.state(), trend.gone_before) {
            (CauseState::Back, Some(gone)) => format!("back: gone since {}", self.run_name(gone)?),
            (CauseState::Ongoing, _) => {
                let since = trend.seen.iter().filter(|one| one.run >= trend.since);
                let runs = counted(since.count(), "run");
                let joined = match trend.joined {
                    0 => String::new(),
                    count => format!("{}, ", counted(count, "new case")),
                };
                format!("{joined}in {runs} since {}", self.run_name(trend.since)?)
            }
            (state, _) => state.name().into(),
        })
    }

    /// What became of a cause.
    pub(super) fn state(self, cause: &Cause) -> Option<CauseState> {
        self.0.causes.state(cause)
    }

    /// The causes that the last run ended, the ones of most cases first.
    pub(super) fn gone(self) -> Vec<&'a CauseTrend> {
        let last = self.0.runs.len() - 1;
        let all = self.0.causes.all().into_iter();
        let mut gone: Vec<&CauseTrend> = all.filter(|one| one.gone == Some(last)).collect();
        let cases = |one: &&CauseTrend| one.seen.last().map_or(0, |seen| seen.cases);
        gone.sort_by_key(|one| Reverse(cases(one)));
        gone
    }

    fn run_name(self, run: usize) -> Option<String> {
        self.0
            .runs
            .get(run)
            .map(|run| format!("run {}", RunSummary::short_name(run)))
    }
}

/// Why a run fails that must have no new cause of failures, in words; nothing if it does not. A case fails it for a cause that no
/// earlier run had, or that came back, or because none of its attempts passed or failed. Quarantined cases and those that pass the
/// gate do not count. Without earlier runs, and for a cause that is not known of them, because cases have equal ids, every cause is
/// new. `trends` are those of the runs, of which this one is the newest.
pub fn new_cause_texts(trends: Option<&CaseTrends>, run: &RunState) -> Vec<String> {
    let is_new = |cause: &&Cause| {
        let state = trends.and_then(|trends| trends.causes.state(cause));
        state.is_none_or(CauseState::is_new_or_back)
    };
    let counts = |case: &usize| {
        let tally = run.tally(*case);
        tally.passed < tally.ended
            && run.plan.cases.quarantine(*case).is_none()
            && !run.passes_gate(*case)
    };
    let (mut causes, mut not_judged) = (BTreeSet::new(), 0);
    for case in (0..run.plan.cases.len()).filter(counts) {
        let attempts = run.attempts_of(case);
        let mut statuses = attempts.iter().map(|attempt| attempt.status);
        let is_judged = statuses.any(|one| matches!(one, Status::Passed | Status::Failed));
        not_judged += usize::from(!is_judged);
        let found = attempts.iter().flat_map(|attempt| &attempt.causes);
        causes.extend(found.filter(is_new).map(Cause::describe));
    }
    let (count, first) = (causes.len(), causes.pop_first());
    let new = first.map(|first| match count {
        1 => format!("a cause is new or came back: {first}"),
        _ => format!("{count} causes are new or came back, such as: {first}"),
    });
    let without = (not_judged > 0).then(|| {
        format!(
            "{} not judged: no attempt passed or failed",
            counted(not_judged, "case")
        )
    });
    new.into_iter().chain(without).collect()
}

/// What became of a cause, in words; empty if that is not known.
pub(super) fn state_text(states: Option<CauseStates<'_>>, cause: &Cause) -> String {
    let text = states.and_then(|states| states.describe(cause));
    text.unwrap_or_default()
}

/// Whether a cause is new or came back.
pub(super) fn is_new_or_back(states: Option<CauseStates<'_>>, cause: &Cause) -> bool {
    let state = states.and_then(|states| states.state(cause));
    state.is_some_and(CauseState::is_new_or_back)
}

/// Moves the groups whose cause is new or came back to the front, and those that contain such a group.
pub(super) fn new_first(
    mut groups: FailureGroups,
    states: Option<CauseStates<'_>>,
) -> FailureGroups {
    let is_old = |group: &FailureGroup| {
        let is_new_within = group
            .nested
            .iter()
            .any(|one| is_new_or_back(states, &one.cause));
        !is_new_or_back(states, &group.cause) && !is_new_within
    };
    groups.groups.sort_by_key(is_old);
    for group in &mut groups.groups {
        group.nested.sort_by_key(is_old);
    }
    groups
}
