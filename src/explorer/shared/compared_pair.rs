//! Two runs that were compared.

use evaltrail_core::analysis::{ComparedCase, RunComparison};
use evaltrail_core::domain::{EndedAttempt, RunState, worst_attempt};
use evaltrail_engine::report::SetupDifference;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

/// A run of a comparison.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Its plan and attempts.
    pub state: RunState,
    /// The name that a person gave it, else the beginning of its id.
    pub name: String,
}

impl ComparedRun {
    /// The attempt that represents a case ([`worst_attempt`]).
    pub fn shown_attempt(&self, case: usize) -> Option<Arc<EndedAttempt>> {
        worst_attempt(&self.state.attempts_of(case)).cloned()
    }

    /// The cases of the plan that have no result yet, by file and id. Empty if the run is finished.
    fn pending_cases(&self) -> HashSet<(&Path, &str)> {
        let plan = &self.state.plan;
        if self.state.count_outstanding() == 0 {
            return HashSet::new();
        }
        let without_result =
            (0..plan.cases.len()).filter(|case| self.state.tally(*case).ended == 0);
        without_result
            .map(|case| (plan.set_of(case).path.as_path(), plan.cases.eval_id(case)))
            .collect()
    }

    /// How many of its attempts have a result, if the run is unfinished.
    pub fn unfinished_text(&self) -> Option<String> {
        let (ended, all) = (self.state.totals.ended(), self.state.needed_attempts());
        let is_unfinished = self.state.count_outstanding() > 0;
        is_unfinished.then(|| format!("unfinished, {ended} of {all}"))
    }

    /// The id of a case, followed by its file if sets have the same id.
    pub fn case_name(&self, case: usize) -> Cow<'_, str> {
        self.state.plan.case_name(case)
    }
}

/// Two runs and what became of their cases.
#[derive(Clone, Debug)]
pub struct ComparedPair {
    /// The first run.
    pub before: ComparedRun,
    /// The second run.
    pub after: ComparedRun,
    /// The comparison.
    pub found: RunComparison,
    /// What differs between the agents of the runs.
    pub setup: SetupDifference,
    /// The cases that passed in the first run and that the workspace does not have any more, by their positions in it.
    pub removed: BTreeSet<usize>,
}

impl ComparedPair {
    /// The id of a case in the second run, else in the first, followed by its file if sets have the same id.
    pub fn case_name(&self, case: &ComparedCase) -> Cow<'_, str> {
        match (case.after, case.before) {
            (Some(at), _) => self.after.case_name(at),
            (None, Some(at)) => self.before.case_name(at),
            (None, None) => "".into(),
        }
    }

    /// The positions in the comparison of the cases of one run that the other one has not run yet.
    pub fn pending(&self) -> BTreeSet<usize> {
        let (before, after) = (self.before.pending_cases(), self.after.pending_cases());
        let is_of = |run: &ComparedRun, at: usize, pending: &HashSet<(&Path, &str)>| {
            let plan = &run.state.plan;
            pending.contains(&(plan.set_of(at).path.as_path(), plan.cases.eval_id(at)))
        };
        let cases = self.found.cases.iter().enumerate();
        let is_pending = |(_, case): &(usize, &ComparedCase)| match (case.before, case.after) {
            (Some(at), None) => is_of(&self.before, at, &after),
            (None, Some(at)) => is_of(&self.after, at, &before),
            _ => false,
        };
        cases.filter(is_pending).map(|(at, _)| at).collect()
    }

    /// Whether a case passed in the first run, and the workspace does not have it any more.
    pub fn is_removed(&self, case: &ComparedCase) -> bool {
        case.before
            .is_some_and(|at| case.after.is_none() && self.removed.contains(&at))
    }

    /// The shown attempts of a case in both runs.
    pub fn attempts(&self, case: &ComparedCase) -> [Option<Arc<EndedAttempt>>; 2] {
        let before = case.before.and_then(|at| self.before.shown_attempt(at));
        [
            before,
            case.after.and_then(|at| self.after.shown_attempt(at)),
        ]
    }
}
