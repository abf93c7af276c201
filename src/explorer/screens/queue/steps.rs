//! The steps of a triage and their undo: decisions, which are stored at once, and changes of criteria.

use crate::explorer::screens::queue::update::{show, to_undecided, try_criteria};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::triage::{QueueStep, StepChange};
use evaltrail_core::domain::{Decision, DecisionKind};
use evaltrail_core::metrics::WhatIf;

pub(crate) fn can_undo(model: &Model) -> Enabled {
    let has = model
        .queue
        .as_ref()
        .is_some_and(|queue| !queue.steps.is_empty());
    has.then_some(()).ok_or("nothing was decided yet")
}

/// Stores a decision about these cases, and goes on to the next undecided one.
pub(crate) fn take(
    model: &mut Model,
    kind: DecisionKind,
    cases: &[CaseRef],
    note: &str,
    until: &str,
) -> Vec<Effect> {
    let Some(at) = model.queue.as_ref().map(|queue| queue.at) else {
        return Vec::new();
    };
    let before: Vec<Decision> = cases
        .iter()
        .map(|case| {
            model
                .decision(*case)
                .cloned()
                .unwrap_or_else(|| model.blank_decision(*case))
        })
        .collect();
    // For the case on the screen, the attempt that is shown; for others, the one to look at first.
    let shown = model
        .shown_attempt()
        .map_or(0, |attempt| attempt.key.attempt);
    let decided: Vec<Decision> = cases
        .iter()
        .map(|case| Decision {
            attempt: if cases.len() == 1 && *case == at {
                shown
            } else {
                0
            },
            kind: Some(kind),
            finding: model.finding_of(*case),
            note: note.to_string(),
            until: until.to_string(),
            accepted_for: match kind {
                DecisionKind::Accept => model.content_hash(*case),
                _ => String::new(),
            },
            ..model.blank_decision(*case)
        })
        .collect();
    let mut effects = vec![model.decide(decided)];
    if let Some(queue) = &mut model.queue {
        queue.steps.push(QueueStep {
            at,
            change: StepChange::Decisions(before),
        });
        cases.iter().for_each(|case| {
            queue.later.remove(case);
        });
    }
    effects.extend(to_undecided(model, at, false));
    effects
}

/// Adds a change of criteria to the triage, and goes on to the next undecided case.
pub(crate) fn add_criteria(model: &mut Model, change: WhatIf) -> Vec<Effect> {
    let Some(queue) = &mut model.queue else {
        return Vec::new();
    };
    let at = queue.at;
    queue.steps.push(QueueStep {
        at,
        change: StepChange::Criteria(queue.change.clone()),
    });
    queue.change.add(change);
    let mut effects = try_criteria(model);
    // With many results, they are rescored in the background: the next case is known then.
    if model
        .view
        .what_if
        .as_ref()
        .is_some_and(|what_if| what_if.pending.is_some())
    {
        return effects;
    }
    effects.extend(to_undecided(model, at, false));
    effects
}

/// Takes the last step back.
pub(crate) fn undo(model: &mut Model) -> Vec<Effect> {
    let Some(step) = model.queue.as_mut().and_then(|queue| queue.steps.pop()) else {
        return Vec::new();
    };
    let mut effects = Vec::new();
    match step.change {
        StepChange::Decisions(before) => {
            effects.push(model.decide(before));
        }
        StepChange::Criteria(before) => {
            if let Some(queue) = &mut model.queue {
                queue.change = before;
            }
            effects.extend(try_criteria(model));
        }
        StepChange::Skipped(cases) => {
            if let Some(queue) = &mut model.queue {
                cases.iter().for_each(|case| {
                    queue.later.remove(case);
                });
            }
        }
    }
    if !model.is_on(Context::Edit) {
        show(model, step.at);
    }
    effects
}
