//! Decisions on failures and quarantines, as the explorer knows them.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::effect::{Effect, ResultEffect};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::older_criteria::OlderCriteria;
use evaltrail_core::domain::{
    Decision, DecisionKind, Quarantine, Status, Totals, causes_of_worst_attempt, rfc3339,
};
use evaltrail_engine::config::FILE_NAME;
use jiff::Timestamp;

impl Model {
    /// The decision on the failure of a case, if it fails for the same reason as when it was decided.
    pub fn decision(&self, case: CaseRef) -> Option<&Decision> {
        // A past run is shown without later decisions.
        if self.opened_run.is_some() {
            return None;
        }
        let file = &self.view.sets.get(case.set)?.path.shown;
        if !self.decisions.has_any_of(file) {
            return None;
        }
        let of_case = self.decisions.on_case(file, &self.eval_id(case));
        if of_case.is_empty() {
            return None;
        }
        let content = self.case_key(case).content;
        let decision = of_case
            .iter()
            .find(|decision| decision.content == content)?;
        let is_for = &decision.accepted_for;
        let is_same =
            decision.is_applied || is_for.is_empty() || *is_for == self.content_hash(case);
        let holds = is_same
            && decision.finding == self.finding_of(case)
            && !self.is_answered(case, decision);
        holds.then_some(decision)
    }

    /// Whether a case was run after it was decided to run it again, or after its criteria were changed, and fails all the same.
    fn is_answered(&self, case: CaseRef, decision: &Decision) -> bool {
        let started = self.view.outcomes.get(case);
        let started = started.and_then(|outcome| outcome.run.started.parse::<Timestamp>().ok());
        let decided = decision.at.parse::<Timestamp>().ok();
        matches!(
            decision.kind,
            Some(DecisionKind::Relax | DecisionKind::RunAgain)
        ) && started
            .zip(decided)
            .is_some_and(|(started, at)| started >= at)
    }

    /// The change of criteria of a triage with which a case passes, if its result is older.
    pub(crate) fn relaxed_by(&self, case: CaseRef) -> Option<&str> {
        let decision = self.decision(case)?;
        let is_relaxed = decision.kind == Some(DecisionKind::Relax) && decision.is_applied;
        is_relaxed.then_some(decision.note.as_str())
    }

    /// That the result of a case is older than its criteria, to be shown after the reason; empty if that is not known.
    pub(crate) fn older_result_text(&self, case: CaseRef) -> String {
        match (self.relaxed_by(case), self.older_criteria(case)) {
            (Some(change), _) => format!("the criteria were changed after this result: {change}"),
            (None, Some(older)) => older.after_reason(),
            (None, None) => String::new(),
        }
    }

    /// [`Model::older_result_text`] for a list. Rules are for some tools only, so that they count for the cases that pass with them;
    /// of a whole run with other criteria, the border of the list says so.
    pub(crate) fn older_result_in_list(&self, case: CaseRef) -> String {
        let is_of_rules = |older: OlderCriteria| match older {
            OlderCriteria::Edited(file) => file == FILE_NAME,
            OlderCriteria::Other => true,
        };
        let is_elsewhere = self.older_criteria(case).is_some_and(is_of_rules);
        match self.relaxed_by(case).is_none() && is_elsewhere {
            true => String::new(),
            false => self.older_result_text(case),
        }
    }

    /// Takes decisions over; one without a kind takes an earlier one back. Returns the effect that saves them.
    pub(crate) fn decide(&mut self, decisions: Vec<Decision>) -> Effect {
        let ticket = self.ticket();
        self.decisions
            .change(ticket, |known| known.take(&decisions));
        Effect::Results(ResultEffect::SaveDecisions(decisions))
    }

    /// The content hash of a case; empty if its file cannot be read.
    pub(crate) fn content_hash(&self, case: CaseRef) -> String {
        self.file(case.set)
            .map(|file| file.content_hash(case.index))
            .unwrap_or_default()
    }

    /// A decision on a case without a kind.
    pub(crate) fn blank_decision(&self, case: CaseRef) -> Decision {
        let key = self.case_key(case);
        Decision {
            file: self.view.sets[case.set].path.shown.clone(),
            eval_id: key.eval_id,
            content: key.content,
            author: self.author.clone(),
            ..Decision::default()
        }
    }

    /// Why a case failed, without the active what-if: the first cause in words, else the reason.
    pub(crate) fn finding_of(&self, case: CaseRef) -> String {
        let Some(outcome) = real(self).get(case) else {
            return String::new();
        };
        let causes = causes_of_worst_attempt(&outcome.attempts).unwrap_or_default();
        match causes.first() {
            Some(cause) => cause.describe(),
            None => outcome
                .worst_attempt()
                .map(|attempt| attempt.reason_with_model_errors())
                .unwrap_or_default(),
        }
    }

    /// Whether a case fails, is not quarantined, and nothing is decided about it. A case that passes under the active
    /// what-if is decided.
    pub(crate) fn is_undecided(&self, case: CaseRef) -> bool {
        let outcomes = &self.view.outcomes;
        let failing =
            outcomes.is_failing(case) && outcomes.worst(case) != Some(Status::Informational);
        failing && quarantine_of(self, case).is_none() && self.decision(case).is_none()
    }

    /// What a person decided about the failure of a case, to be shown before the reason; empty if nothing.
    pub(crate) fn decided_text(&self, case: CaseRef) -> String {
        if let Some(quarantine) = quarantine_of(self, case) {
            let why = if quarantine.why.is_empty() {
                String::new()
            } else {
                format!(": {}", quarantine.why)
            };
            return format!("quarantined to {}{why}  ", quarantine.until);
        }
        match self.decision(case) {
            // The reason why the case failed comes before a change of the criteria.
            Some(decision) if decision.kind == Some(DecisionKind::Relax) => String::new(),
            Some(decision) if decision.is_applied && !decision.note.is_empty() => {
                format!(
                    "{}: {}  ",
                    decision.kind.map_or("", DecisionKind::label),
                    decision.note
                )
            }
            _ => String::new(),
        }
    }

    /// The current day, as `2026-12-31`.
    pub(crate) fn today(&self) -> String {
        day_of(self.opened_at + self.now)
    }
}

/// The day of a time in Unix seconds, as `2026-12-31`.
pub(crate) fn day_of(seconds: f64) -> String {
    rfc3339(seconds).get(..10).unwrap_or_default().to_string()
}

/// The quarantine of a case, if it is active today; in a past run, if it was active then.
pub(crate) fn quarantine_of(model: &Model, case: CaseRef) -> Option<&Quarantine> {
    let quarantine = model.notes(case)?.quarantine.as_ref()?;
    // Those of a past run held when it was planned.
    (model.opened_run.is_some() || quarantine.is_active_on(&model.today())).then_some(quarantine)
}

/// The failing cases of a set that are quarantined, and the flaky ones among them, by their worst status.
pub(crate) fn quarantined_totals(model: &Model, set: usize) -> (Totals, Totals) {
    let (mut totals, mut flaky) = (Totals::default(), Totals::default());
    let quarantined = model.view.sets[set]
        .notes
        .cases
        .iter()
        .filter(|(_, notes)| notes.quarantine.is_some());
    let file = model.file(set);
    for index in
        quarantined.flat_map(|(id, _)| file.into_iter().flat_map(|file| file.positions_of(id)))
    {
        let case = CaseRef { set, index };
        let outcome = model
            .view
            .outcomes
            .get(case)
            .filter(|outcome| outcome.is_failing());
        if let Some(outcome) = outcome.filter(|_| quarantine_of(model, case).is_some()) {
            totals.add(outcome.worst);
            if outcome.is_flaky {
                flaky.add(outcome.worst);
            }
        }
    }
    (totals, flaky)
}

/// The outcomes without the active what-if.
pub(crate) fn real(model: &Model) -> &crate::explorer::shared::outcomes::Outcomes {
    model
        .view
        .what_if
        .as_ref()
        .map_or(&model.view.outcomes, |what_if| &what_if.before)
}
