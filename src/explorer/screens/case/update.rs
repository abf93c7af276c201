//! One case.

use crate::domain::{Attempt, AttemptSummary, EndedAttempt, HumanVerdict, Invocation, Status};
use crate::explorer::commands::Motion;
use crate::explorer::effect::Effect;
use crate::explorer::layout::inside;
use crate::explorer::message::Mouse;
use crate::explorer::model::{CaseRef, Model, Screen};
use crate::explorer::outcomes::CaseOutcome;
use crate::explorer::screens::case::body::{Body, BodyKey, Compared, build_body, is_large};
use crate::explorer::screens::case::state::{CaseMode, CaseScreen};
use crate::explorer::screens::{browse, layout};
use crate::metrics::{is_declared, relaxation};
use ratatui::layout::Rect;
use serde_json::Value;
use std::sync::Arc;

/// Opens a case at the attempt to look at first.
pub(crate) fn open(model: &mut Model, case: CaseRef, from_run: bool) {
    model.screen = Screen::Case(Box::new(CaseScreen { from_run, ..view_of(model, case) }));
    if let Some(at) = model.browse.visible.iter().position(|other| *other == case) {
        model.browse.cursor = at;
    }
}

/// Opens a case at one of its attempts, by number; at the one to look at first when that is not there any more.
pub(crate) fn open_at(model: &mut Model, case: CaseRef, number: u32, from_run: bool) {
    open(model, case, from_run);
    let attempts = model.outcomes.get(case).map(|outcome| &outcome.attempts[..]).unwrap_or_default();
    let Some(at) = attempts.iter().position(|attempt| attempt.key.attempt == number) else { return };
    let turn = attempts[at].first_bad_turn.unwrap_or(0);
    if let Screen::Case(case) = &mut model.screen {
        (case.attempt, case.turn) = (at, turn);
    }
}

/// A case at the attempt to look at first, and there at the first turn that did not pass.
pub(crate) fn view_of(model: &Model, case: CaseRef) -> CaseScreen {
    let outcome = model.outcomes.get(case);
    let attempt = outcome.map_or(0, CaseOutcome::worst_position);
    let turn = outcome.and_then(|o| o.attempts.get(attempt)?.first_bad_turn).unwrap_or(0);
    let file = model.file(case.set);
    let turns = file.and_then(|file| file.case(case.index).ok()).map_or(1, |case| case.turns().len());
    CaseScreen {
        at: case,
        attempt,
        turn,
        turns,
        mode: CaseMode::Compare,
        scroll: 0,
        piece: 0,
        body: None,
        key: None,
        suggestion: None,
        from_run: false,
    }
}

/// The next or previous case listed that did not pass.
pub(crate) fn next_failing(model: &mut Model, forward: bool) -> Vec<Effect> {
    browse::next_failing(model, forward);
    if let Some(&case) = model.browse.visible.get(model.browse.cursor) {
        let from_run = matches!(&model.screen, Screen::Case(case) if case.from_run);
        open(model, case, from_run);
    }
    Vec::new()
}

/// The responses of the judges: of the case on the screen, or, from the list, of the case under the cursor.
pub(crate) fn judges(model: &mut Model) -> Vec<Effect> {
    if !matches!(model.screen, Screen::Case(_))
        && let Some(case) = model.current_case()
    {
        open(model, case, false);
    }
    toggle_mode(model, CaseMode::Judged)
}

pub(crate) fn back(model: &mut Model) -> Vec<Effect> {
    let from_run = matches!(&model.screen, Screen::Case(case) if case.from_run);
    model.screen = if from_run { Screen::Run } else { Screen::Browse };
    Vec::new()
}

pub(crate) fn turn(model: &mut Model, by: isize) -> Vec<Effect> {
    let count = model.turns_shown();
    if let Some(case) = model.shown_case_mut() {
        case.turn = case.turn.saturating_add_signed(by).min(count.saturating_sub(1));
        (case.scroll, case.piece) = (0, 0);
    }
    Vec::new()
}

pub(crate) fn attempt(model: &mut Model, by: isize) -> Vec<Effect> {
    let count = model.current_case().and_then(|at| model.outcomes.get(at)).map_or(0, |o| o.attempts.len());
    if let Some(case) = model.shown_case_mut() {
        case.attempt = case.attempt.saturating_add_signed(by).min(count.saturating_sub(1));
    }
    Vec::new()
}

/// Goes to the next or previous difference, and shows it.
pub(crate) fn difference(model: &mut Model, by: isize) -> Vec<Effect> {
    let page = usize::from(inside(layout(model).main).height);
    if let Some(case) = model.shown_case_mut()
        && let Some(body) = case.body.clone()
    {
        let count = body.pieces.len();
        case.piece = (case.piece + count).saturating_add_signed(by) % count.max(1);
        if let Some((_, line)) = body.pieces.get(case.piece)
            && !(case.scroll..case.scroll + page).contains(line)
        {
            let last = body.lines.len().saturating_sub(page);
            case.scroll = line.saturating_sub(page / 3).min(last);
        }
    }
    Vec::new()
}

/// Shows the case in this way; again, the comparison.
pub(crate) fn toggle_mode(model: &mut Model, mode: CaseMode) -> Vec<Effect> {
    if let Some(case) = model.shown_case_mut() {
        case.mode = if case.mode == mode { CaseMode::Compare } else { mode };
        case.scroll = 0;
    }
    Vec::new()
}

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let page = usize::from(inside(layout(model).main).height);
    if let Some(case) = model.shown_case_mut() {
        let lines = case.body.as_ref().map_or(0, |body| body.lines.len());
        let last = lines.saturating_sub(page);
        case.scroll = motion.of(case.scroll, last + 1, page);
    }
}

pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if let Some(motion) = mouse.kind.wheel() {
        (0..3).for_each(|_| scroll(model, motion));
    }
    Vec::new()
}

/// Where the comparison is: on the case screen, or in the preview of the list.
fn pane(model: &Model) -> Rect {
    let areas = layout(model);
    if matches!(model.screen, Screen::Browse) { areas.panel } else { areas.main }
}

/// What the lines on the screen should be of; nothing when they are.
fn wanted(model: &Model) -> Option<BodyKey> {
    let case = model.shown_case()?;
    let outcome = model.outcomes.get(case.at);
    let attempt = model.shown_attempt();
    let run_id = outcome.map(|outcome| outcome.run.id.clone()).unwrap_or_default();
    let key = BodyKey {
        of: (case.at.set, case.at.index, run_id, attempt.map_or(0, |attempt| attempt.key.attempt)),
        alone: attempt.filter(|attempt| attempt.turn.is_some()).map(|attempt| attempt.started.clone()),
        read: model.sets[case.at.set].loaded,
        turn: case.turn,
        width: usize::from(inside(pane(model)).width),
        mode: case.mode,
        verdicts: model.verdicts_version,
    };
    (case.key.as_ref() != Some(&key)).then_some(key)
}

/// What the lines of a case that was not run are built from.
fn not_run(model: &Model, case: &CaseScreen) -> Option<Compared> {
    let read = model.file(case.at.set)?.case(case.at.index).ok();
    let state = read.as_ref().and_then(|read| read.final_session_state.as_ref());
    let is_last = case.turn + 1 == model.turns_shown().max(1);
    Some(Compared {
        expected: read.as_ref().and_then(|read| read.turns().get(case.turn).cloned()),
        problem: model.problem_of(case.at),
        states: is_last.then(|| states(state, None)).flatten(),
        ..Compared::default()
    })
}

/// What the lines of an attempt are built from. Where it cannot be read any more, they say so.
fn compared(
    model: &Model,
    case: &CaseScreen,
    ended: &EndedAttempt,
    read: Result<Arc<Attempt>, String>,
) -> Compared {
    let people = people(model, case, ended);
    let attempt = match read {
        Ok(attempt) => attempt,
        Err(why) => {
            let problem = Some(format!("what the agent did cannot be read any more: {why}"));
            return Compared { people, problem, ..Compared::default() };
        }
    };
    // The attempt of a single turn has only that turn.
    let turn = if attempt.turn.is_some() { 0 } else { case.turn };
    let is_last = case.turn + 1 == model.turns_shown().max(1);
    let states_of = || states(attempt.expected_state.as_ref(), attempt.actual_state.as_ref());
    Compared {
        expected: expected_of(model, case, (ended, &attempt), turn),
        actual: attempt.actual.get(turn).cloned(),
        people,
        problem: model.problem_of(case.at),
        states: is_last.then(states_of).flatten(),
        attempt: (case.mode == CaseMode::Judged).then_some(attempt),
    }
}

/// The turn as it should be: where a variant decided, as the variant has it.
fn expected_of(
    model: &Model,
    case: &CaseScreen,
    (ended, attempt): (&EndedAttempt, &Attempt),
    turn: usize,
) -> Option<Invocation> {
    let own = attempt.expected.get(turn)?;
    let matched = ended.variant().and_then(|name| {
        let variants = &model.notes(case.at)?.variants;
        variants.iter().find(|variant| variant.name == name)?.turns.get(case.turn)
    });
    let trajectory = matched.unwrap_or(&own.trajectory).clone();
    Some(Invocation { trajectory, ..own.clone() })
}

/// What people said of an attempt.
fn people(model: &Model, case: &CaseScreen, attempt: &AttemptSummary) -> Vec<HumanVerdict> {
    let run_id = model.outcomes.get(case.at).map(|outcome| outcome.run.id.as_str());
    let file = &model.sets[case.at.set].path.shown;
    let mine = |one: &&HumanVerdict| {
        Some(one.run_id.as_str()) == run_id
            && one.file == *file
            && one.eval_id == attempt.eval_id
            && one.attempt == attempt.key.attempt
    };
    model.verdicts.iter().filter(mine).cloned().collect()
}

/// The states, when the case expects one.
fn states(expected: Option<&Value>, actual: Option<&Value>) -> Option<(Option<Value>, Option<Value>)> {
    let expected = expected.filter(|state| is_declared(state))?;
    Some((Some(expected.clone()), actual.cloned()))
}

/// Makes the lines fit what is shown: at once when they are few, elsewhere when they are many.
pub(crate) fn refresh_body(model: &mut Model) -> Option<Effect> {
    let key = wanted(model)?;
    match model.shown_attempt().cloned() {
        Some(attempt) if attempt.is_slow() => {
            is_new(model, &key).then_some(Effect::ReadAttempt(key, attempt))
        }
        Some(attempt) => refresh_with(model, key, &attempt, attempt.read()),
        None => {
            let case = model.shown_case()?;
            let compared = not_run(model, case)?;
            build(model, key, compared)
        }
    }
}

/// The attempt for these lines was read. An answer for other lines is dropped.
pub(crate) fn attempt_read(
    model: &mut Model,
    key: BodyKey,
    read: Result<Arc<Attempt>, String>,
) -> Option<Effect> {
    if model.awaited_body.as_ref() != Some(&key) {
        return None;
    }
    model.awaited_body = None;
    if wanted(model).as_ref() != Some(&key) {
        return None;
    }
    let attempt = model.shown_attempt().cloned()?;
    refresh_with(model, key, &attempt, read)
}

fn refresh_with(
    model: &mut Model,
    key: BodyKey,
    ended: &EndedAttempt,
    read: Result<Arc<Attempt>, String>,
) -> Option<Effect> {
    let case = model.shown_case()?;
    let compared = compared(model, case, ended, read.clone());
    let is_failed = ended.status == Status::Failed && !is_large(&compared);
    let relaxed = read.ok().filter(|_| is_failed).and_then(|attempt| relaxation(&attempt));
    if let Some(case) = model.shown_case_mut() {
        case.suggestion = relaxed;
    }
    build(model, key, compared)
}

fn build(model: &mut Model, key: BodyKey, compared: Compared) -> Option<Effect> {
    if is_large(&compared) {
        return is_new(model, &key).then(|| Effect::BuildBody(key, Arc::new(compared)));
    }
    let body = build_body(&compared, key.width, key.mode);
    put_body(model, key, Arc::new(body));
    None
}

/// Waits for the lines of this key; false when they are waited for already.
fn is_new(model: &mut Model, key: &BodyKey) -> bool {
    model.awaited_body.replace(key.clone()).as_ref() != Some(key)
}

/// A late answer for something else is dropped.
pub(crate) fn body_built(model: &mut Model, key: BodyKey, body: Arc<Body>) {
    if model.awaited_body.as_ref() == Some(&key) {
        put_body(model, key, body);
    }
}

fn put_body(model: &mut Model, key: BodyKey, body: Arc<Body>) {
    model.awaited_body = None;
    let page = usize::from(inside(layout(model).main).height);
    if let Some(case) = model.shown_case_mut() {
        case.scroll = case.scroll.min(body.lines.len().saturating_sub(page));
        case.piece = case.piece.min(body.pieces.len().saturating_sub(1));
        case.body = Some(body);
        case.key = Some(key);
    }
}
