//! Updates of the active what-if.

use crate::explorer::case_list::listing::relist;
use crate::explorer::shared::active_what_if::{ActiveWhatIf, Rescored, StatusChange};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::effect::{Effect, ResultEffect};
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::message::EditDone;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::outcomes::Outcomes;
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::shared::triage::{QueueStep, StepChange};
use crate::explorer::what_if::rescored;
use evaltrail_core::domain::MatchType;
use evaltrail_core::metrics::{
    TrajectoryOptions, WhatIf, criterion_of, decided_metric, has_criterion, info,
    trajectory_options,
};
use std::sync::Arc;

/// Maximum number of attempts that are rescored immediately; more are rescored in the background.
const AT_ONCE: usize = 500;
/// The same limit in bytes that have to be read.
const READ_AT_ONCE: u64 = 128 << 10;

/// Edits the change of the what-if, and rescores the outcomes.
pub(crate) fn change(model: &mut Model, edit: impl FnOnce(&mut WhatIf)) -> Vec<Effect> {
    let before = || Arc::new(model.view.outcomes.clone());
    let mut what_if = model.view.what_if.take().unwrap_or_else(|| ActiveWhatIf {
        before: before(),
        ..ActiveWhatIf::default()
    });
    edit(&mut what_if.change);
    what_if.is_written = false;
    if what_if.change.is_empty() {
        model.view.what_if = Some(what_if);
        return drop_what_if(model);
    }
    model.view.what_if = Some(what_if);
    let effects = rescore(model);
    relist(model);
    effects
}

/// Rescores the outcomes: immediately if there are few, otherwise in the background.
pub(crate) fn rescore(model: &mut Model) -> Vec<Effect> {
    let ticket = model.ticket();
    let Some(what_if) = &mut model.view.what_if else {
        return Vec::new();
    };
    let (change, before) = (what_if.change.clone(), what_if.before.clone());
    if before.attempts() <= AT_ONCE && before.bytes_to_read() <= READ_AT_ONCE {
        take(model, rescored(&before, &change));
        return Vec::new();
    }
    what_if.pending = Some((ticket, before.version));
    vec![Effect::Results(ResultEffect::Rescore {
        ticket,
        change,
        before,
    })]
}

/// Handles outcomes that were rescored in the background. They are dropped if they belong to another change, and
/// requested again if the original outcomes changed in the meantime.
pub(crate) fn rescored_elsewhere(
    model: &mut Model,
    ticket: Ticket,
    rescored: Rescored,
) -> Vec<Effect> {
    let awaited = model.view.what_if.as_ref().and_then(|what_if| {
        let (_, version) = what_if.pending.filter(|(awaited, _)| *awaited == ticket)?;
        Some(version == what_if.before.version)
    });
    match awaited {
        None => vec![Effect::Results(ResultEffect::Forget(Arc::new(
            rescored.outcomes,
        )))],
        Some(false) => rescore(model),
        Some(true) => {
            let shown_before = take(model, rescored);
            relist(model);
            vec![Effect::Results(ResultEffect::Forget(Arc::new(
                shown_before,
            )))]
        }
    }
}

/// Updates the what-if after the positions of cases changed. A pending request is repeated because it has the old
/// positions.
pub(crate) fn follow(model: &mut Model, new: &impl Fn(CaseRef) -> Option<CaseRef>) -> Vec<Effect> {
    let Some(what_if) = &mut model.view.what_if else {
        return Vec::new();
    };
    Arc::make_mut(&mut what_if.before).follow(new);
    what_if.status_changes = what_if
        .status_changes
        .iter()
        .filter_map(|status_change| {
            Some(StatusChange {
                case: new(status_change.case)?,
                ..*status_change
            })
        })
        .collect();
    what_if
        .status_changes
        .sort_by_key(|status_change| status_change.case);
    match what_if.pending {
        Some(_) => rescore(model),
        None => Vec::new(),
    }
}

/// Shows rescored outcomes. Returns those that were shown before.
fn take(
    model: &mut Model,
    Rescored {
        outcomes,
        status_changes,
        unmatched,
    }: Rescored,
) -> Outcomes {
    let newest = model
        .view
        .what_if
        .as_ref()
        .and_then(|what_if| what_if.change.rules.last());
    if let Some(rule) = newest.filter(|rule| unmatched.contains(rule)) {
        let words = format!(
            "the rule {} matches no call in the results",
            rule.describe()
        );
        notices::notify(model, words, true);
    }
    let before = std::mem::replace(&mut model.view.outcomes, outcomes);
    model.view.outcomes.replace_shown(&before);
    if let Some(what_if) = &mut model.view.what_if {
        what_if.status_changes = status_changes;
        what_if.pending = None;
    }
    invalidate_lines(model);
    before
}

/// Has the lines of the visible case rebuilt, since its scores changed.
fn invalidate_lines(model: &mut Model) {
    if let Some(case) = model.shown_case_mut() {
        case.is_stale = true;
    }
}

/// Drops the what-if for good: the triage does not try its change again either, except with undo.
pub(crate) fn discard(model: &mut Model) -> Vec<Effect> {
    if let Some(queue) = model
        .queue
        .as_mut()
        .filter(|queue| !queue.change.is_empty())
    {
        let before = std::mem::take(&mut queue.change);
        queue.steps.push(QueueStep {
            at: queue.at,
            change: StepChange::Criteria(before),
        });
    }
    drop_what_if(model)
}

/// Ends the what-if and shows the original outcomes.
pub(crate) fn drop_what_if(model: &mut Model) -> Vec<Effect> {
    if let Some(what_if) = model.view.what_if.take() {
        let shown = std::mem::replace(
            &mut model.view.outcomes,
            Arc::unwrap_or_clone(what_if.before),
        );
        model.view.outcomes.replace_shown(&shown);
        invalidate_lines(model);
        relist(model);
        if shown.attempts() > AT_ONCE {
            return vec![Effect::Results(ResultEffect::Forget(Arc::new(shown)))];
        }
    }
    Vec::new()
}

/// An edit was made, undone or redone. If it wrote the what-if, or took it back, the what-if stays: without it, the
/// results would be those of other criteria than the files now have.
pub(crate) fn edited(model: &mut Model, done: &EditDone) {
    if let Some(what_if) = &mut model.view.what_if
        && ActiveWhatIf::edit_text(&what_if.change) == done.words
    {
        what_if.is_written = done.stands;
    }
}

/// Adds the smallest change with which the visible case would pass to the what-if.
pub(crate) fn apply_suggestion(model: &mut Model) -> Vec<Effect> {
    let Some(suggestion) = model.shown_case().and_then(|case| case.suggestion.clone()) else {
        return Vec::new();
    };
    change(model, |change| change.add(suggestion))
}

/// Changes the match type to the next one: EXACT, IN_ORDER, ANY_ORDER, then EXACT again.
pub(crate) fn next_match_type(model: &mut Model) -> Vec<Effect> {
    let now = current_trajectory_options(model).match_type;
    let next = match now {
        MatchType::Exact => MatchType::InOrder,
        MatchType::InOrder => MatchType::AnyOrder,
        MatchType::AnyOrder => MatchType::Exact,
    };
    change(model, |change| change.match_type = Some(next))
}

pub(crate) fn toggle_ignore(model: &mut Model) -> Vec<Effect> {
    let now = current_trajectory_options(model).ignore_args;
    change(model, |change| change.ignore_args = Some(!now))
}

/// The options with which the calls of the current attempt are compared now.
fn current_trajectory_options(model: &Model) -> TrajectoryOptions {
    let change = model
        .view
        .what_if
        .as_ref()
        .map(|what_if| what_if.change.clone())
        .unwrap_or_default();
    let attempt = model.current_attempt();
    let attempt = attempt.and_then(|attempt| attempt.read().ok());
    let metrics = attempt.iter().flat_map(|attempt| &attempt.metrics);
    let mut deciding = metrics.filter(|metric| metric.threshold.is_some());
    let written = deciding
        .find_map(|metric| trajectory_options(&criterion_of(metric)))
        .unwrap_or_default();
    TrajectoryOptions {
        match_type: change.match_type.unwrap_or(written.match_type),
        ignore_args: change.ignore_args.unwrap_or(written.ignore_args),
    }
}

pub(crate) fn threshold(model: &mut Model, steps: f64) -> Vec<Effect> {
    let Some(metric) = model.metric_at_hand() else {
        return notices::notify(model, "no metric here has a threshold".into(), false);
    };
    let now = metric.threshold.unwrap_or(0.0);
    let (shown, name) = (
        metric.metric.clone(),
        decided_metric(&metric.metric).to_string(),
    );
    let attempt = model
        .current_attempt()
        .and_then(|attempt| attempt.read().ok());
    if !attempt.is_some_and(|attempt| has_criterion(&attempt, &name)) {
        let why = format!(
            "{name} is compared without a criterion, so that it has no threshold to change"
        );
        return notices::notify(model, why, false);
    }
    let range = info(name.split(':').next().unwrap_or_default()).and_then(|metric| metric.range);
    let step = if range == Some((0.0, 1.0)) { 0.05 } else { 0.5 };
    let next = ((now / step).round() + steps) * step;
    let (low, high) = range.unwrap_or((0.0, f64::MAX));
    let next = (next.clamp(low, high) * 100.0).round() / 100.0;
    model.view.chosen_metric = Some(shown);
    change(model, |change| change.set_threshold(&name, next))
}

pub(crate) fn next_metric(model: &mut Model) -> Vec<Effect> {
    let now = model.metric_at_hand().map(|metric| metric.metric.clone());
    let Some(attempt) = model.current_attempt() else {
        return Vec::new();
    };
    let names: Vec<&String> = attempt
        .metrics
        .iter()
        .filter(|metric| metric.threshold.is_some())
        .map(|metric| &metric.metric)
        .collect();
    let at = names
        .iter()
        .position(|name| Some(*name) == now.as_ref())
        .map_or(0, |at| at + 1);
    model.view.chosen_metric = names
        .get(at % names.len().max(1))
        .map(|name| name.to_string());
    Vec::new()
}

/// Whether a small change of criteria is known with which the case would pass.
pub(crate) fn has_suggestion(model: &Model) -> Enabled {
    let case = model.shown_case().ok_or("open a case first")?;
    let none = "no small change of criteria was found with which the case would pass";
    case.suggestion.as_ref().map(|_| ()).ok_or(none)
}
