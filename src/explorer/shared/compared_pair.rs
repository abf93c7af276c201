//! Two runs that were compared.

use evaltrail_core::analysis::{ComparedCase, RunComparison};
use evaltrail_core::domain::{EndedAttempt, RunState, worst_attempt};
use std::borrow::Cow;
use std::collections::BTreeSet;
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
