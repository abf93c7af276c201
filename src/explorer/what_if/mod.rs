//! What-ifs: changes of criteria that are tried on existing results without running agents.

mod update;

use crate::explorer::shared::active_what_if::{Rescored, StatusChange};
pub(crate) use update::{
    apply_suggestion, change, discard, drop_what_if, edited, follow, has_suggestion,
    next_match_type, next_metric, rescore, rescored_elsewhere, threshold, toggle_ignore,
};

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::Outcomes;
use evaltrail_core::domain::{
    Attempt, Derivation, EndedAttempt, Invocation, MatchRule, MetricSummary, RunRef, Status,
};
use evaltrail_core::metrics::{Rescorer, WhatIf, is_about, is_replaced_by};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rescores outcomes under a change.
pub fn rescored(before: &Outcomes, change: &WhatIf) -> Rescored {
    let again = rescoring(change);
    let rules: Vec<(&MatchRule, AtomicBool)> = change
        .rules
        .iter()
        .filter(|rule| !rule.args.is_empty() || rule.optional)
        .map(|rule| (rule, AtomicBool::new(false)))
        .collect();
    let rescore = |rescorer: &mut Rescorer, ended: &Arc<EndedAttempt>| match ended.read() {
        Ok(attempt) => {
            note_matches(&rules, &attempt);
            let result = rescorer.rescore(&attempt);
            Arc::new(EndedAttempt::derived(ended, &result, &again))
        }
        // An attempt that can no longer be read is left as it is.
        Err(_) => ended.clone(),
    };
    let after = before.with_replaced_attempts(|| Rescorer::new(change), rescore);
    let unmatched = rules
        .iter()
        .filter(|(_, has_matched)| !has_matched.load(Ordering::Relaxed))
        .map(|(rule, _)| (*rule).clone())
        .collect();
    let mut status_changes: Vec<StatusChange> = before
        .cases()
        .filter_map(|(case, outcome)| {
            let to = after.worst(case)?;
            (to != outcome.worst).then_some(StatusChange {
                case,
                from: outcome.worst,
                to,
            })
        })
        .collect();
    status_changes.sort_by_key(|status_change| status_change.case);
    Rescored {
        outcomes: after,
        status_changes,
        unmatched,
    }
}

/// Notes which rules are about a call of an attempt.
fn note_matches(rules: &[(&MatchRule, AtomicBool)], attempt: &Attempt) {
    let turns = || attempt.expected.iter().chain(attempt.actual.iter());
    for (rule, has_matched) in rules {
        let is_about = |turn: &Invocation| turn.calls().iter().any(|call| is_about(rule, call));
        if !has_matched.load(Ordering::Relaxed) && turns().any(is_about) {
            has_matched.store(true, Ordering::Relaxed);
        }
    }
}

fn rescoring(change: &WhatIf) -> Derivation {
    let change = change.clone();
    Arc::new(move |attempt| Rescorer::new(&change).rescore(attempt))
}

impl Model {
    /// Adds an attempt, rescored if a what-if is active.
    pub(crate) fn add_outcome(
        &mut self,
        case: CaseRef,
        run: &Arc<RunRef>,
        attempt: Arc<EndedAttempt>,
    ) {
        match &mut self.view.what_if {
            None => self.view.outcomes.add(case, run, attempt),
            Some(what_if) => {
                let again = rescoring(&what_if.change);
                let shown = match attempt.read() {
                    Ok(whole) => Arc::new(EndedAttempt::derived(&attempt, &again(&whole), &again)),
                    Err(_) => attempt.clone(),
                };
                Arc::make_mut(&mut what_if.before).add(case, run, attempt);
                self.view.outcomes.add(case, run, shown);
                what_if.note_flip(case, &self.view.outcomes);
            }
        }
    }

    /// Adds the attempts of a case, like [`Model::add_outcome`].
    pub(crate) fn add_outcomes(
        &mut self,
        case: CaseRef,
        run: &Arc<RunRef>,
        attempts: Vec<Arc<EndedAttempt>>,
    ) {
        match &self.view.what_if {
            None => self.view.outcomes.add_all(case, run, attempts),
            Some(_) => attempts
                .into_iter()
                .for_each(|attempt| self.add_outcome(case, run, attempt)),
        }
    }

    /// The attempt that metric commands act on: the one on the case screen, or the worst one of the case under the
    /// cursor.
    pub fn current_attempt(&self) -> Option<&Arc<EndedAttempt>> {
        if self.open_case().is_some() {
            return self.shown_attempt();
        }
        self.view
            .outcomes
            .get(self.current_case()?)?
            .worst_attempt()
    }

    /// The metric whose threshold a what-if changes: the chosen one, or the one that decides in its place under rules; else the
    /// first one that failed, else the first one that has a threshold.
    pub fn metric_at_hand(&self) -> Option<&MetricSummary> {
        let attempt = self.current_attempt()?;
        let deciding = || {
            attempt
                .metrics
                .iter()
                .filter(|metric| metric.threshold.is_some())
        };
        let chosen = self.view.chosen_metric.as_deref().and_then(|chosen| {
            let replaces = |metric: &&MetricSummary| {
                is_replaced_by(chosen, &metric.metric) || is_replaced_by(&metric.metric, chosen)
            };
            let same = deciding().find(|metric| metric.metric == chosen);
            same.or_else(|| deciding().find(replaces))
        });
        let failed = || deciding().find(|metric| metric.status == Status::Failed);
        chosen.or_else(failed).or_else(|| deciding().next())
    }
}
