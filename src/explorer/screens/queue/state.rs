//! State of the triage queue, and which failures are decided.

use crate::domain::{Decision, DecisionKind, Quarantine, Status, causes_of_first_failure, rfc3339};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::edited_cases::real;
use crate::explorer::model::Model;
use crate::metrics::WhatIf;
use std::collections::{BTreeSet, HashMap};

/// The triage queue.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// The failures by what they share, the largest group first, as when the queue was opened.
    pub groups: Vec<QueueGroup>,
    /// The case on the screen.
    pub at: CaseRef,
    /// Cases that were skipped. They come after all others.
    pub later: BTreeSet<CaseRef>,
    /// What can be undone, the last step at the end.
    pub steps: Vec<QueueStep>,
    /// The decisions that are carried out as soon as the files are written.
    pub applying: Option<Applying>,
}

/// Failures that share a cause.
#[derive(Clone, Debug)]
pub struct QueueGroup {
    /// The cause in words.
    pub words: String,
    /// The cases.
    pub cases: Vec<CaseRef>,
}

/// A step that can be undone.
#[derive(Clone, Debug)]
pub struct QueueStep {
    /// The case that was on the screen.
    pub at: CaseRef,
    /// What was done.
    pub change: StepChange,
}

/// What a step changed.
#[derive(Clone, Debug)]
pub enum StepChange {
    /// Decisions. Contains those before; without an earlier one, one that takes the new one back.
    Decisions(Vec<Decision>),
    /// The what-if. Contains the one before.
    WhatIf(WhatIf),
    /// Cases were skipped.
    Skipped(Vec<CaseRef>),
}

/// What happens as soon as the files are written.
#[derive(Clone, Debug, Default)]
pub struct Applying {
    /// The decisions that are carried out.
    pub decisions: Vec<Decision>,
    /// The cases that are run again.
    pub run_again: Vec<CaseRef>,
    /// Whether the what-if is among what is written.
    pub has_criteria: bool,
    /// What the summary says.
    pub words: String,
}

impl Queue {
    /// All cases in their order.
    pub fn cases(&self) -> impl Iterator<Item = CaseRef> {
        self.groups.iter().flat_map(|group| group.cases.iter().copied())
    }

    /// The group of a case.
    pub fn group_of(&self, case: CaseRef) -> Option<&QueueGroup> {
        self.groups.iter().find(|group| group.cases.contains(&case))
    }

    /// Updates the positions of cases that moved within their files.
    pub(crate) fn follow(&mut self, new: &impl Fn(CaseRef) -> Option<CaseRef>) {
        for group in &mut self.groups {
            group.cases = group.cases.iter().filter_map(|case| new(*case)).collect();
        }
        self.later = self.later.iter().filter_map(|case| new(*case)).collect();
        if let Some(applying) = &mut self.applying {
            applying.run_again = applying.run_again.iter().filter_map(|case| new(*case)).collect();
        }
        for step in &mut self.steps {
            step.at = new(step.at).unwrap_or(step.at);
            if let StepChange::Skipped(cases) = &mut step.change {
                *cases = cases.iter().filter_map(|case| new(*case)).collect();
            }
        }
        self.at = new(self.at).unwrap_or(self.at);
    }
}

/// The current decisions, by file and case id; several of an id if it is not unique.
pub type Decisions = HashMap<String, HashMap<String, Vec<Decision>>>;

impl Model {
    /// Replaces the decisions.
    pub(crate) fn put_decisions(&mut self, decisions: Vec<Decision>) {
        self.decisions.clear();
        self.take_decisions(&decisions);
    }

    /// Applies decisions; one without a kind takes an earlier one back.
    pub(crate) fn take_decisions(&mut self, decisions: &[Decision]) {
        for decision in decisions {
            let of_file = self.decisions.entry(decision.file.clone()).or_default();
            let of_case = of_file.entry(decision.eval_id.clone()).or_default();
            of_case.retain(|known| !known.is_about(decision));
            of_case.extend(decision.kind.map(|_| decision.clone()));
        }
    }

    /// The decision on the failure of a case, if it fails for the same reason as when it was decided.
    pub fn decision(&self, case: CaseRef) -> Option<&Decision> {
        let of_file = self.decisions.get(&self.sets.get(case.set)?.path.shown)?;
        let of_case = of_file.get(&*self.eval_id(case)).filter(|decisions| !decisions.is_empty())?;
        let content = self.case_key(case).content;
        let decision = of_case.iter().find(|decision| decision.content == content)?;
        (decision.finding == self.finding_of(case)).then_some(decision)
    }

    /// A decision on a case without a kind.
    pub(crate) fn blank_decision(&self, case: CaseRef) -> Decision {
        let key = self.case_key(case);
        Decision {
            file: self.sets[case.set].path.shown.clone(),
            eval_id: key.eval_id,
            content: key.content,
            author: self.author.clone(),
            ..Decision::default()
        }
    }

    /// Why a case failed, without the active what-if: the first cause in words, else the reason.
    pub(crate) fn finding_of(&self, case: CaseRef) -> String {
        let Some(outcome) = real(self).get(case) else { return String::new() };
        let causes = causes_of_first_failure(&outcome.attempts).unwrap_or_default();
        match causes.first() {
            Some(cause) => cause.words(),
            None => outcome.worst_attempt().map(|attempt| attempt.reason().to_string()).unwrap_or_default(),
        }
    }

    /// Whether a case fails, is not quarantined, and nothing is decided about it. A case that passes under the active
    /// what-if is decided.
    pub(crate) fn is_undecided(&self, case: CaseRef) -> bool {
        let failing = self.outcomes.get(case).is_some_and(|outcome| {
            outcome.is_failing() && outcome.worst != Status::Informational
        });
        failing && quarantine_of(self, case).is_none() && self.decision(case).is_none()
    }

    /// The current day, as `2026-12-31`.
    pub(crate) fn today(&self) -> String {
        day_of(self.opened_at + self.now)
    }
}

/// The day of a time in Unix seconds, as `2026-12-31`.
pub(super) fn day_of(seconds: f64) -> String {
    rfc3339(seconds).get(..10).unwrap_or_default().to_string()
}

/// The quarantine of a case, if it holds today.
pub(crate) fn quarantine_of(model: &Model, case: CaseRef) -> Option<&Quarantine> {
    let quarantine = model.notes(case)?.quarantine.as_ref()?;
    quarantine.holds_on(&model.today()).then_some(quarantine)
}

/// The decisions of the queue that are not carried out yet.
pub(super) fn pending(model: &Model, queue: &Queue) -> Vec<(CaseRef, Decision)> {
    let of = |case: CaseRef| Some((case, model.decision(case).filter(|one| !one.is_applied)?.clone()));
    queue.cases().filter_map(of).collect()
}

/// How many of these decisions are of a kind.
pub(super) fn count_of(pending: &[(CaseRef, Decision)], kind: DecisionKind) -> usize {
    pending.iter().filter(|(_, decision)| decision.kind == Some(kind)).count()
}
