//! What the user decides about a case of the queue, or about the rest of its group.

use crate::explorer::authoring::{self, conditions, quarantine};
use crate::explorer::prompts::ask::Purpose;
use crate::explorer::prompts::{ask, confirm};
use crate::explorer::screens::queue::steps::{add_criteria, take};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::effect::{Effect, ScreenRequest};
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::what_if;
use evaltrail_core::domain::{DecisionKind, EndedAttempt, Status, counted};
use evaltrail_core::metrics::{Rescorer, WhatIf, relaxation_of_all};
use std::borrow::Cow;
use std::sync::Arc;

/// Maximum number of cases that are named in a preview.
const NAMED: usize = 12;
/// Maximum number of cases of a group for which changes of criteria are searched.
const MAX_RELAXED: usize = 500;

pub(crate) fn can_decide(model: &Model) -> Enabled {
    let at = model
        .queue
        .as_ref()
        .map(|queue| queue.at)
        .ok_or("the queue is not open")?;
    if model.file(at.set).is_none_or(|file| at.index >= file.len()) {
        return Err("the file of the case cannot be read");
    }
    let failing = model
        .view
        .outcomes
        .get(at)
        .is_some_and(|outcome| outcome.is_failing());
    failing.then_some(()).ok_or("the case passes")
}

pub(crate) fn can_accept(model: &Model) -> Enabled {
    can_decide(model)?;
    let has_error = model
        .shown_attempt()
        .is_some_and(|attempt| attempt.error.is_some());
    if has_error {
        return Err("the agent did not complete this attempt, so there is nothing to accept");
    }
    conditions::can_edit(model)
}

pub(crate) fn can_relax(model: &Model) -> Enabled {
    can_decide(model)?;
    what_if::has_suggestion(model)
}

pub(crate) fn has_rest_of_group(model: &Model) -> Enabled {
    let queue = model.queue.as_ref().ok_or("the queue is not open")?;
    let group = queue.group_of(queue.at).filter(|group| group.is_shared);
    let group = group.ok_or("these failures do not share a cause; decide about each")?;
    let any = group
        .cases
        .iter()
        .any(|case| queue.undecided.contains(case));
    any.then_some(())
        .ok_or("every case of this cause is decided")
}

/// The undecided cases of the group of the case on the screen.
fn rest_of_group(model: &Model) -> Vec<CaseRef> {
    let Some(queue) = &model.queue else {
        return Vec::new();
    };
    let cases = queue
        .group_of(queue.at)
        .map(|group| &group.cases[..])
        .unwrap_or_default();
    cases
        .iter()
        .copied()
        .filter(|case| queue.undecided.contains(case))
        .collect()
}

/// What the user chose for a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A decision.
    Decide(DecisionKind),
    /// The smallest change of criteria with which the case passes.
    Relax,
}

/// Decides about the case on the screen; asks for a date or a comment first where the decision needs one.
pub(crate) fn decide(model: &mut Model, choice: Choice) -> Vec<Effect> {
    let Some(at) = model.queue.as_ref().map(|queue| queue.at) else {
        return Vec::new();
    };
    match choice {
        Choice::Relax => match shown_relaxation(model) {
            Some(change) => add_criteria(model, change),
            None => Vec::new(),
        },
        Choice::Decide(kind @ (DecisionKind::Quarantine | DecisionKind::Comment)) => {
            ask_for_note(model, kind, vec![at])
        }
        Choice::Decide(kind) => take(model, kind, &[at], "", ""),
    }
}

/// The smallest change with which the attempt on the screen passes.
fn shown_relaxation(model: &Model) -> Option<WhatIf> {
    model.shown_case()?.suggestion.clone()
}

/// Decides about the undecided rest of the group, after a preview.
pub(crate) fn decide_group(model: &mut Model, choice: Choice) -> Vec<Effect> {
    let rest = rest_of_group(model);
    match choice {
        Choice::Decide(kind @ (DecisionKind::Quarantine | DecisionKind::Comment)) => {
            ask_for_note(model, kind, rest)
        }
        Choice::Decide(kind) => preview(model, kind, rest, String::new(), String::new()),
        Choice::Relax => {
            let rest: Vec<CaseRef> = rest.into_iter().take(MAX_RELAXED).collect();
            let change = relaxation_of(model, &rest);
            if change.is_empty() {
                let why = "no small change of criteria was found with which these cases would pass";
                return notices::notify(model, why.into(), true);
            }
            let title = format!("Try this for {}?", counted(rest.len(), "case"));
            let mut lines = vec![passing_text(model, &change, &rest)];
            lines.extend(change.describe());
            lines.extend(lowered_thresholds(model, &change, &rest));
            lines.push(format!("loosens {}", model.changed_criteria_text(&change)));
            confirm::open(model, title, lines, ScreenRequest::ChangeCriteria(change))
        }
    }
}

/// Shows which cases a decision is about.
fn preview(
    model: &mut Model,
    kind: DecisionKind,
    cases: Vec<CaseRef>,
    note: String,
    until: String,
) -> Vec<Effect> {
    let (cases, left_out): (Vec<CaseRef>, Vec<CaseRef>) = match kind {
        DecisionKind::Accept => cases
            .into_iter()
            .partition(|case| authoring::can_be_accepted(model, *case)),
        _ => (cases, Vec::new()),
    };
    if cases.is_empty() {
        let why = "what the agent did cannot be accepted in any of these cases";
        return notices::notify(model, why.into(), true);
    }
    let mut lines: Vec<String> = cases
        .iter()
        .take(NAMED)
        .map(|case| model.eval_id(*case).into_owned())
        .collect();
    if cases.len() > NAMED {
        lines.push(format!("… and {} more", cases.len() - NAMED));
    }
    if !left_out.is_empty() {
        lines.push(format!(
            "{} cannot be accepted and stay undecided",
            counted(left_out.len(), "case")
        ));
    }
    let title = format!("{}: {}?", kind.label(), counted(cases.len(), "case"));
    confirm::open(
        model,
        title,
        lines,
        ScreenRequest::DecideGroup {
            kind,
            cases,
            note,
            until,
        },
    )
}

/// The smallest changes with which these cases pass, one after the other.
fn relaxation_of(model: &Model, cases: &[CaseRef]) -> WhatIf {
    let worst = |case: &CaseRef| model.view.outcomes.get(*case)?.worst_attempt()?.read().ok();
    relaxation_of_all(cases.iter().filter_map(worst))
}

/// How many of these cases pass with a change of criteria.
fn passing_text(model: &Model, change: &WhatIf, cases: &[CaseRef]) -> String {
    let mut rescorer = Rescorer::new(change);
    let mut passes = |attempt: &Arc<EndedAttempt>| {
        let read = attempt.read().ok();
        read.is_some_and(|attempt| rescorer.rescore(&attempt).status == Status::Passed)
    };
    let outcome = |case: &&CaseRef| model.view.outcomes.get(**case);
    let passing = cases.iter().filter_map(|case| outcome(&case));
    let passing = passing.filter(|outcome| outcome.attempts.iter().all(&mut passes));
    match (passing.count(), cases.len()) {
        (passing, all) if passing == all => format!("{} pass with it", counted(all, "case")),
        (passing, all) => format!("{passing} of {all} cases pass with it"),
    }
}

/// Each threshold that a change lowers, with the highest one that these cases had.
fn lowered_thresholds(model: &Model, change: &WhatIf, cases: &[CaseRef]) -> Vec<String> {
    let attempts = || {
        let outcomes = cases
            .iter()
            .filter_map(|case| model.view.outcomes.get(*case));
        outcomes.flat_map(|outcome| &outcome.attempts)
    };
    let before = |metric: &str| {
        let metrics = attempts().flat_map(|attempt| &attempt.metrics);
        let same = metrics.filter(|one| one.metric == metric);
        same.filter_map(|one| one.threshold).reduce(f64::max)
    };
    let lowered = change.thresholds.iter().filter_map(|(metric, now)| {
        let before = before(metric).filter(|before| before > now)?;
        Some(format!(
            "{metric}: a score of {now} is enough instead of {before}"
        ))
    });
    lowered.collect()
}

fn ask_for_note(model: &mut Model, kind: DecisionKind, cases: Vec<CaseRef>) -> Vec<Effect> {
    let value = match kind {
        DecisionKind::Quarantine => quarantine::proposed_line(model),
        _ => String::new(),
    };
    ask::open(model, DecisionLine { kind, cases }, value)
}

/// The line for the date and reason of a quarantine, or for a comment.
#[derive(Debug)]
struct DecisionLine {
    kind: DecisionKind,
    cases: Vec<CaseRef>,
}

impl Purpose for DecisionLine {
    fn prompt(&self, _: &Model) -> Cow<'static, str> {
        let words = match self.kind {
            DecisionKind::Quarantine => "quarantine until (date), and why ",
            _ => "why the failure stays ",
        };
        words.into()
    }

    fn example(&self) -> &'static str {
        match self.kind {
            DecisionKind::Quarantine => quarantine::EXAMPLE,
            _ => "a known bug, #1234",
        }
    }

    fn wrong(&self, model: &Model, typed: &str) -> Option<String> {
        if self.kind != DecisionKind::Quarantine {
            return typed
                .trim()
                .is_empty()
                .then(|| "a comment is needed".into());
        }
        quarantine::line_error(model, typed)
    }

    fn accept(&self, model: &mut Model, typed: &str) -> Vec<Effect> {
        let (until, note) = match self.kind {
            DecisionKind::Quarantine => quarantine::day_and_reason(typed),
            _ => ("", typed.trim()),
        };
        match self.cases.as_slice() {
            [one] => take(model, self.kind, &[*one], note, until),
            _ => preview(
                model,
                self.kind,
                self.cases.clone(),
                note.to_string(),
                until.to_string(),
            ),
        }
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        self.cases = self.cases.iter().filter_map(|case| new(*case)).collect();
        !self.cases.is_empty()
    }
}
