//! Which cases need no more attempts, in a run that repeats each case until its pass rate is known.

use evaltrail_core::domain::{
    Attempt, AttemptKey, Gate, RateVerdict, RunState, Status, rate_verdict,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};

/// The outcomes of the cases so far. For every other run, no case is ever decided.
#[derive(Debug, Default)]
pub(super) struct DecidedCases {
    /// The demanded rate.
    rate: Option<f64>,
    /// By case and number of the attempt.
    outcomes: Mutex<HashMap<usize, BTreeMap<u32, Status>>>,
}

impl DecidedCases {
    /// The outcomes that a run has already.
    pub(super) fn new(state: &RunState) -> DecidedCases {
        let Gate::Until(rate) = state.plan.options.gate else {
            return DecidedCases::default();
        };
        let cases = 0..state.plan.cases.len();
        let outcomes = cases.map(|case| (case, state.statuses_of(case).into_iter().collect()));
        DecidedCases {
            rate: Some(rate),
            outcomes: Mutex::new(outcomes.collect()),
        }
    }

    pub(super) fn add(&self, attempt: &Attempt) {
        if self.rate.is_some() {
            let mut outcomes = self.outcomes.lock();
            let of_case = outcomes.entry(attempt.key.case).or_default();
            of_case.insert(attempt.key.attempt, attempt.status);
        }
    }

    /// Whether an attempt is not needed any more: its case is decided. The outcomes count in the order of the attempts' numbers, so
    /// that the decision is the same in whichever order attempts end.
    pub(super) fn is_superfluous(&self, key: AttemptKey) -> bool {
        let Some(rate) = self.rate else {
            return false;
        };
        let outcomes = self.outcomes.lock();
        let of_case = outcomes.get(&key.case);
        let numbered = |of_case: &BTreeMap<u32, Status>| {
            let attempts = of_case.iter().map(|(number, status)| (*number, *status));
            rate_verdict(rate, attempts)
        };
        let verdict = of_case.map(numbered);
        verdict.is_some_and(|verdict| verdict != RateVerdict::Undecided)
    }
}
