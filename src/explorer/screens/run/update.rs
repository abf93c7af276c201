//! Updates of the run screen; starting and cancelling runs.

use crate::explorer::authoring::accepting::accept_first_difference;
use crate::explorer::case_list::listing::list_with;
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::CaseOrigin;
use crate::explorer::shared::command_names::CANCEL_ALL;
use crate::explorer::shared::cyclic_search::next_row;
use crate::explorer::shared::effect::{Effect, RunEffect};
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::layout::inside;
use crate::explorer::shared::message::Mouse;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::notices;
use crate::explorer::shared::run_screen::{LiveScreen, RunScreen};
use crate::explorer::shared::screen::layout;
use crate::explorer::shown_case::refresh;
use evaltrail_core::domain::{AttemptKey, CancelReason, EndedAttempt, Status};
use std::sync::Arc;

/// Cancels the run. The first time, attempts in flight are finished; the second time, they are stopped.
pub(crate) fn cancel_all(model: &mut Model) -> Vec<Effect> {
    let Some(run) = &model.run else {
        return Vec::new();
    };
    let reason = match run.cancelling {
        None => CancelReason::Finish,
        Some(_) => CancelReason::Stop,
    };
    let words = match reason {
        CancelReason::Finish | CancelReason::FinishConversations => {
            format!(
                "finishing the attempts in flight; {} again stops now",
                CANCEL_ALL.key()
            )
        }
        CancelReason::Stop => "stopping".to_string(),
    };
    notices::notify(model, words, false);
    vec![Effect::Run(RunEffect::Cancel(reason))]
}

pub(crate) fn watch(model: &mut Model) -> Vec<Effect> {
    model.show(RunScreen);
    Vec::new()
}

pub(crate) fn back(model: &mut Model) -> Vec<Effect> {
    model.show(BrowseScreen);
    Vec::new()
}

/// Switches between the two panes of a live run.
pub(crate) fn switch_pane(model: &mut Model) -> Vec<Effect> {
    if model.run.as_ref().is_some_and(|run| !run.is_live()) {
        return Vec::new();
    }
    model.run_screen.in_finished = !model.run_screen.in_finished;
    model.run_screen.cursor = 0;
    Vec::new()
}

/// Pauses the run, or continues it.
pub(crate) fn pause(model: &mut Model) -> Vec<Effect> {
    model
        .run
        .iter()
        .map(|run| Effect::Run(RunEffect::Pause(!run.paused)))
        .collect()
}

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let areas = layout(model);
    let pane = if model.run_screen.in_finished {
        areas.main
    } else {
        areas.left
    };
    let page = usize::from(inside(pane).height);
    model.run_screen.cursor = motion.target(model.run_screen.cursor, listed(model), page);
}

fn listed(model: &Model) -> usize {
    let Some(run) = &model.run else { return 0 };
    match model.run_screen.in_finished {
        true => model.run_screen.count() + run.cancelled.len(),
        false => run.in_flight.len(),
    }
}

/// The attempt that represents the finished case under the cursor.
pub(crate) fn finished_under_cursor(model: &Model) -> Option<Arc<EndedAttempt>> {
    let run = model
        .run
        .as_ref()
        .filter(|_| model.run_screen.in_finished)?;
    run.worst_attempt(model.run_screen.case(model.run_screen.cursor)?)
}

/// The finished case under the cursor, if the results that are shown elsewhere are those of this run: they are not while a what-if
/// is active.
pub(super) fn finished_case(model: &Model) -> Option<CaseRef> {
    if model.view.what_if.is_some() {
        return None;
    }
    let run = model.run.as_ref()?;
    let case = model.case_of(run, finished_under_cursor(model)?.key)?;
    let outcome = model.view.outcomes.get(case)?;
    (outcome.run.id == run.plan.run_id).then_some(case)
}

/// The attempt under the cursor.
fn under_cursor(model: &Model) -> Option<AttemptKey> {
    let run = model.run.as_ref()?;
    if let Some(live) = model.screen::<LiveScreen>() {
        return Some(live.key);
    }
    match model.run_screen.in_finished {
        true => finished_under_cursor(model).map(|attempt| attempt.key),
        false => {
            let mut lanes: Vec<_> = run.in_flight.iter().collect();
            lanes.sort_by_key(|(_, lane)| lane.slot);
            lanes.get(model.run_screen.cursor).map(|(key, _)| **key)
        }
    }
}

/// Whether there is a row under the cursor. A cancelled attempt has one, too: opening it says that it has no result.
pub(crate) fn has_row_here(model: &Model) -> Enabled {
    match model.run_screen.cursor < listed(model) {
        true => Ok(()),
        false => Err("there is no attempt here"),
    }
}

/// Opens the result or the attempt in flight under the cursor.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let Some(key) = under_cursor(model) else {
        let is_cancelled = model.run_screen.in_finished && model.run_screen.cursor < listed(model);
        let words = "the attempt was cancelled before it had a result";
        return if is_cancelled {
            notices::notify(model, words.into(), false)
        } else {
            Vec::new()
        };
    };
    if model
        .run
        .as_ref()
        .is_some_and(|run| run.in_flight.contains_key(&key))
    {
        model.show(LiveScreen { key, first: None });
        return Vec::new();
    }
    match model.run.as_ref().and_then(|run| model.case_of(run, key)) {
        Some(case) => {
            list_with(model, case);
            refresh::open_at(model, case, key.attempt, CaseOrigin::Run);
            Vec::new()
        }
        None => notices::notify(model, "the case is no longer in its file".into(), false),
    }
}

/// Moves the cursor to the next or previous finished case that did not pass; after the last one it says that it is at the
/// first.
pub(crate) fn next_failing(model: &mut Model, forward: bool) -> Vec<Effect> {
    let Some(run) = &model.run else {
        return Vec::new();
    };
    let screen = &model.run_screen;
    let count = screen.count();
    let from = screen.in_finished.then_some(screen.cursor);
    let is_failing = |row: usize| {
        let status = screen.case(row).and_then(|case| run.worst_status(case));
        status.is_some_and(|status| !matches!(status, Status::Passed | Status::Informational))
    };
    let Some(found) = next_row(from, count, forward, is_failing) else {
        return Vec::new();
    };
    model.run_screen.in_finished = true;
    model.run_screen.cursor = found.row;
    match found.wrap_notice(from, forward, "case that did not pass") {
        Some(text) => notices::notify_position(model, text),
        None => Vec::new(),
    }
}

/// Opens the case under the cursor, and proposes to accept its first difference.
pub(crate) fn accept(model: &mut Model) -> Vec<Effect> {
    let mut effects = open(model);
    if model.open_case().is_none() {
        return effects;
    }
    effects.extend(accept_first_difference(model));
    effects
}

pub(crate) fn cancel_one(model: &mut Model) -> Vec<Effect> {
    let in_flight = |key: &AttemptKey| {
        model
            .run
            .as_ref()
            .is_some_and(|run| run.in_flight.contains_key(key))
    };
    match under_cursor(model).filter(in_flight) {
        Some(key) => {
            let id = model
                .run
                .as_ref()
                .and_then(|run| Some(run.plan.cases.get(key.case)?.eval_id.clone()));
            notices::notify(
                model,
                format!("cancelled: {}", id.unwrap_or_default()),
                false,
            );
            vec![Effect::Run(RunEffect::CancelAttempt(key))]
        }
        None => notices::notify(
            model,
            "there is no attempt in flight under the cursor".into(),
            false,
        ),
    }
}

/// Handles the mouse: the wheel moves the cursor; a click moves it to a row, and a click on the row under it opens
/// the row.
pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if let Some(motion) = mouse.kind.wheel() {
        scroll(model, motion);
        return Vec::new();
    }
    let areas = layout(model);
    let at = ratatui::layout::Position {
        x: mouse.x,
        y: mouse.y,
    };
    for (area, finished) in [(inside(areas.left), false), (inside(areas.main), true)] {
        if !area.contains(at) {
            continue;
        }
        let rows = usize::from(area.height);
        let first = model
            .run_screen
            .cursor
            .saturating_sub(rows.saturating_sub(1));
        let same_pane = model.run_screen.in_finished == finished;
        let row = if same_pane { first } else { 0 } + usize::from(mouse.y - area.y);
        let again = same_pane && model.run_screen.cursor == row;
        model.run_screen.in_finished = finished;
        model.run_screen.cursor = row.min(listed(model).saturating_sub(1));
        if again {
            open(model);
        }
    }
    Vec::new()
}
