//! A change of criteria that is being tried out on what is there.

mod update;

pub(crate) use update::{
    apply_suggestion, ask_to_write, change, drop_trial, follow, next_match_type, next_metric,
    rescored_elsewhere, threshold, toggle_ignore, written,
};

use crate::domain::{Derivation, EndedAttempt, MatchRule, MetricSummary, RunRef, Status};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::model::{Model, Screen};
use crate::explorer::outcomes::Outcomes;
use crate::explorer::ticket::Ticket;
use crate::metrics::{Rescorer, WhatIf, is_about};
use std::sync::Arc;

/// A change on trial. While it lasts, the screens show the outcomes as they would be.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// What is changed.
    pub change: WhatIf,
    /// The outcomes as they are.
    pub before: Arc<Outcomes>,
    /// The cases whose status would be another.
    pub flips: Vec<Flip>,
    /// The request for rescored outcomes whose answer is awaited, with the version of the outcomes that it is
    /// about.
    pub pending: Option<(Ticket, u64)>,
}

/// A case whose status would be another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flip {
    /// Which case.
    pub case: CaseRef,
    /// As it is.
    pub from: Status,
    /// As it would be.
    pub to: Status,
}

impl Trial {
    /// How many cases would pass that do not, and the other way round.
    pub fn counts(&self) -> (usize, usize) {
        let would_pass = self.flips.iter().filter(|flip| flip.to == Status::Passed).count();
        let no_more = self.flips.iter().filter(|flip| flip.from == Status::Passed).count();
        (would_pass, no_more)
    }

    /// Compares a case's status anew: it is, or is not, among those that would be another.
    fn note_flip(&mut self, case: CaseRef, after: &Outcomes) {
        let flip = match (self.before.worst(case), after.worst(case)) {
            (Some(from), Some(to)) if from != to => Some(Flip { case, from, to }),
            _ => None,
        };
        match (self.flips.binary_search_by_key(&case, |flip| flip.case), flip) {
            (Ok(at), Some(flip)) => self.flips[at] = flip,
            (Ok(at), None) => drop(self.flips.remove(at)),
            (Err(at), Some(flip)) => self.flips.insert(at, flip),
            (Err(_), None) => {}
        }
    }
}

/// What outcomes are under a change.
#[derive(Clone, Debug)]
pub struct Rescored {
    /// The outcomes as they would be.
    pub outcomes: Outcomes,
    /// The cases whose status would be another, in order.
    pub flips: Vec<Flip>,
    /// The rules of the change about arguments that match no call, expected or made.
    pub unmatched: Vec<MatchRule>,
}

/// The outcomes under a change.
pub fn rescored(before: &Outcomes, change: &WhatIf) -> Rescored {
    let mut rescorer = Rescorer::new(change);
    let again = rescoring(change);
    let mut unmatched: Vec<MatchRule> =
        change.rules.iter().filter(|rule| !rule.args.is_empty() || rule.optional).cloned().collect();
    let after = before.map(|ended| match ended.read() {
        Ok(attempt) => {
            let turns = || attempt.expected.iter().chain(attempt.actual.iter());
            unmatched
                .retain(|rule| !turns().any(|turn| turn.calls().iter().any(|call| is_about(rule, call))));
            Arc::new(EndedAttempt::derived(ended, &rescorer.rescore(&attempt), &again))
        }
        // What cannot be read any more stays as it came out.
        Err(_) => ended.clone(),
    });
    let mut flips: Vec<Flip> = before
        .cases()
        .filter_map(|(case, outcome)| {
            let to = after.worst(case)?;
            (to != outcome.worst).then_some(Flip { case, from: outcome.worst, to })
        })
        .collect();
    flips.sort_by_key(|flip| flip.case);
    Rescored { outcomes: after, flips, unmatched }
}

fn rescoring(change: &WhatIf) -> Derivation {
    let change = change.clone();
    Arc::new(move |attempt| Rescorer::new(&change).rescore(attempt))
}

impl Model {
    /// Takes an attempt in; while a change is on trial, as it would be under it.
    pub(crate) fn add_outcome(&mut self, case: CaseRef, run: &Arc<RunRef>, attempt: Arc<EndedAttempt>) {
        match &mut self.trial {
            None => self.outcomes.add(case, run, attempt),
            Some(trial) => {
                let again = rescoring(&trial.change);
                let shown = match attempt.read() {
                    Ok(whole) => Arc::new(EndedAttempt::derived(&attempt, &again(&whole), &again)),
                    Err(_) => attempt.clone(),
                };
                Arc::make_mut(&mut trial.before).add(case, run, attempt);
                self.outcomes.add(case, run, shown);
                trial.note_flip(case, &self.outcomes);
            }
        }
    }

    /// The attempt that commands about metrics are about: the one on the screen, or the worst of the case
    /// under the cursor.
    pub fn attempt_at_hand(&self) -> Option<&Arc<EndedAttempt>> {
        if let Screen::Case(_) = &self.screen {
            return self.shown_attempt();
        }
        self.outcomes.get(self.current_case()?)?.worst_attempt()
    }

    /// The metric whose threshold a what-if changes: the chosen one, else the first that failed.
    pub fn metric_at_hand(&self) -> Option<&MetricSummary> {
        let attempt = self.attempt_at_hand()?;
        let deciding = || attempt.metrics.iter().filter(|metric| metric.threshold.is_some());
        let chosen = deciding().find(|metric| Some(&metric.metric) == self.chosen_metric.as_ref());
        let failed = || deciding().find(|metric| metric.status == Status::Failed);
        chosen.or_else(failed).or_else(|| deciding().next())
    }
}
