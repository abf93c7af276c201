//! Opening the queue, and moving in it.

use crate::explorer::case_list::causes::by_cause;
use crate::explorer::screens::queue::apply::summary;
use crate::explorer::screens::queue::count::pending;
use crate::explorer::shared::case_lines::CaseTab;
use crate::explorer::shared::case_list::{BrowseScreen, Narrowing};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::{CaseOrigin, TriageScreen};
use crate::explorer::shared::command_names::TRIAGE;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::triage::{Queue, QueueGroup, QueueStep, StepChange};
use crate::explorer::shown_case::{movement, refresh};
use crate::explorer::what_if;
use evaltrail_core::domain::Status;

pub(crate) fn can_open(model: &Model) -> Enabled {
    // Looked at first, because this is called for every frame, and a set may have a million cases.
    let has_decisions = |set: usize| model.decisions.has_any_of(&model.view.sets[set].path.shown);
    let has_failures = |set: usize| {
        let totals = model.view.outcomes.totals(set);
        totals.passed < totals.ended()
    };
    let sets: Vec<(bool, bool)> = (0..model.view.sets.len())
        .map(|set| (has_failures(set), has_decisions(set)))
        .collect();
    let is_open = |case: &CaseRef| {
        let (has_failures, has_decisions) = sets[case.set];
        has_failures && model.is_undecided(*case) || has_decisions && is_pending(model, *case)
    };
    let any = model.view.browse.visible.iter().any(is_open);
    any.then_some(()).ok_or_else(|| why_empty(model))
}

/// Whether something is decided about a case that is not carried out yet.
fn is_pending(model: &Model, case: CaseRef) -> bool {
    model
        .decision(case)
        .is_some_and(|decision| !decision.is_applied)
}

/// Why the queue would be empty.
fn why_empty(model: &Model) -> &'static str {
    let failed_elsewhere = |case: &CaseRef| {
        let outcomes = &model.view.outcomes;
        let worst = outcomes.worst(*case);
        worst.is_some_and(|worst| worst != Status::Passed) && !outcomes.is_failing(*case)
    };
    match model.view.browse.visible.iter().any(failed_elsewhere) {
        true => {
            "the failures are of a foreign run (not recorded by you), which decides nothing: run the cases first"
        }
        false => "no listed case failed without a decision",
    }
}

/// Opens the queue of the listed failures that are not decided, and of those whose decisions are not carried out.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let is_open = |case: &CaseRef| model.is_undecided(*case) || is_pending(model, *case);
    let groups: Vec<QueueGroup> = by_cause(model, &model.view.browse.visible)
        .into_iter()
        .map(|(what, cases)| QueueGroup {
            words: what.describe(),
            is_shared: what != Narrowing::Alone,
            cases: cases.into_iter().filter(is_open).collect(),
        })
        .filter(|group| !group.cases.is_empty())
        .collect();
    let Some(first) = groups
        .first()
        .and_then(|group| group.cases.first())
        .copied()
    else {
        return notices::notify(model, why_empty(model).into(), false);
    };
    // Decisions of a triage that was left can still be taken back.
    let before = model.queue.take().unwrap_or_default();
    let active = model
        .view
        .what_if
        .as_ref()
        .map(|what_if| what_if.change.clone());
    let change = active.unwrap_or(before.change);
    model.queue = Some(Queue {
        groups,
        at: first,
        change,
        steps: before.steps,
        ..Queue::default()
    });
    let mut effects = try_criteria(model);
    effects.extend(to_undecided(model, first, true));
    effects
}

/// Shows the queue again, at its case if that is undecided, else at the next one.
pub(crate) fn resume(model: &mut Model) -> Vec<Effect> {
    let Some(at) = model.queue.as_ref().map(|queue| queue.at) else {
        return Vec::new();
    };
    let mut effects = try_criteria(model);
    effects.extend(to_undecided(model, at, true));
    effects
}

/// Makes the change of criteria of the queue the active what-if.
pub(super) fn try_criteria(model: &mut Model) -> Vec<Effect> {
    let Some(wanted) = model.queue.as_ref().map(|queue| queue.change.clone()) else {
        return Vec::new();
    };
    let active = model
        .view
        .what_if
        .as_ref()
        .map(|what_if| what_if.change.clone())
        .unwrap_or_default();
    if wanted == active {
        Vec::new()
    } else {
        what_if::change(model, |now| *now = wanted)
    }
}

/// Goes to the first undecided case from `start` on, or after it; skipped cases come last. With none, shows the summary.
pub(super) fn to_undecided(model: &mut Model, start: CaseRef, from_itself: bool) -> Vec<Effect> {
    let Some(queue) = &model.queue else {
        return Vec::new();
    };
    let mut cases: Vec<CaseRef> = queue.cases().collect();
    let here = cases.iter().position(|case| *case == start).unwrap_or(0);
    let first = if from_itself { here } else { here + 1 };
    let count = cases.len().max(1);
    cases.rotate_left(first % count);
    let mut undecided = cases
        .iter()
        .copied()
        .filter(|case| model.is_undecided(*case))
        .peekable();
    let first = undecided.peek().copied();
    let not_skipped = undecided.find(|case| !queue.later.contains(case));
    match not_skipped.or(first) {
        Some(case) => {
            show(model, case);
            Vec::new()
        }
        None => {
            show(model, start);
            summary(model)
        }
    }
}

/// Shows a case of the queue, decided or not.
pub(super) fn show(model: &mut Model, case: CaseRef) {
    let mode = model
        .screen::<TriageScreen>()
        .map_or(CaseTab::Compare, |open| open.0.mode);
    if let Some(queue) = &mut model.queue {
        queue.at = case;
    }
    refresh::open(model, case, CaseOrigin::Queue);
    if let Some(open) = model.open_case_mut() {
        open.mode = mode;
    }
}

pub(crate) fn next(model: &mut Model) -> Vec<Effect> {
    step(model, true)
}

pub(crate) fn previous(model: &mut Model) -> Vec<Effect> {
    step(model, false)
}

/// Goes to the next or previous case, decided or not.
fn step(model: &mut Model, forward: bool) -> Vec<Effect> {
    let Some(queue) = &model.queue else {
        return Vec::new();
    };
    let cases: Vec<CaseRef> = queue.cases().collect();
    let Some(here) = cases.iter().position(|case| *case == queue.at) else {
        return Vec::new();
    };
    let at = if forward {
        here + 1
    } else {
        here + cases.len() - 1
    } % cases.len();
    show(model, cases[at]);
    Vec::new()
}

/// Skips the case, or the undecided rest of its group: they come after all others.
pub(crate) fn skip(model: &mut Model, group: bool) -> Vec<Effect> {
    let Some(queue) = &model.queue else {
        return Vec::new();
    };
    let at = queue.at;
    let of_group = queue
        .group_of(at)
        .map(|of| of.cases.clone())
        .unwrap_or_default();
    let skipped: Vec<CaseRef> = match group {
        true => of_group
            .into_iter()
            .filter(|case| model.is_undecided(*case))
            .collect(),
        false => vec![at],
    };
    if let Some(queue) = &mut model.queue {
        queue.later.extend(skipped.iter().copied());
        queue.steps.push(QueueStep {
            at,
            change: StepChange::Skipped(skipped),
        });
    }
    to_undecided(model, at, false)
}

/// Leaves the queue. What was decided is stored, and the queue can be opened again.
pub(super) fn back(model: &mut Model) -> Vec<Effect> {
    if model
        .open_case()
        .is_some_and(|case| case.mode != CaseTab::Compare)
    {
        return movement::back(model);
    }
    let open = model.queue.as_ref().map_or(0, |queue| {
        pending(model, queue).len() + usize::from(!queue.change.is_empty())
    });
    model.show(BrowseScreen);
    let decisions = match open {
        0 => return Vec::new(),
        1 => "1 decision is".to_string(),
        count => format!("{count} decisions are"),
    };
    notices::notify(
        model,
        format!(
            "{decisions} not carried out yet; {} continues",
            TRIAGE.key()
        ),
        false,
    )
}
