//! Updates of the case screen.

use crate::domain::{Attempt, EndedAttempt, Status};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::effect::{Effect, ResultEffect};
use crate::explorer::global;
use crate::explorer::layout::inside;
use crate::explorer::message::Mouse;
use crate::explorer::model::{Model, Screen};
use crate::explorer::motion::Motion;
use crate::explorer::outcomes::CaseOutcome;
use crate::explorer::screens::case::body::{build_body, is_large, is_slow_to_relax};
use crate::explorer::screens::case::body_data::{compared, not_run};
use crate::explorer::screens::case::body_lines::{Body, BodyKey, BodyView, CaseMode, Compared, PieceLine};
use crate::explorer::screens::case::state::{CaseOrigin, CaseScreen};
use crate::explorer::screens::case::view;
use crate::explorer::screens::{browse, layout};
use crate::metrics::relaxation;
use ratatui::layout::Position;
use std::sync::Arc;

/// Opens a case at its worst attempt.
pub(crate) fn open(model: &mut Model, case: CaseRef, from: CaseOrigin) {
    model.view.screen = Screen::Case(Box::new(CaseScreen { from, ..view_of(model, case) }));
    if let Some(at) = model.view.browse.visible.iter().position(|other| *other == case) {
        model.view.browse.cursor = at;
    }
}

/// Opens a case at the attempt with this number, or at its worst attempt if there is none with the number.
pub(crate) fn open_at(model: &mut Model, case: CaseRef, number: u32, from: CaseOrigin) {
    open(model, case, from);
    let attempts = model.view.outcomes.get(case).map(|outcome| &outcome.attempts[..]).unwrap_or_default();
    let Some(at) = attempts.iter().position(|attempt| attempt.key.attempt == number) else { return };
    let turn = attempts[at].first_failed_turn.unwrap_or(0);
    if let Screen::Case(case) = &mut model.view.screen {
        (case.attempt, case.turn, case.seeks_turn) = (at, turn, true);
    }
}

/// Creates the state for a case, at its worst attempt and the first turn in it that did not pass.
pub(crate) fn view_of(model: &Model, case: CaseRef) -> CaseScreen {
    let outcome = model.view.outcomes.get(case);
    let attempt = outcome.map_or(0, CaseOutcome::worst_position);
    let turn = outcome.and_then(|o| o.attempts.get(attempt)?.first_failed_turn).unwrap_or(0);
    let file = model.file(case.set);
    let turns = file.and_then(|file| file.case(case.index).ok()).map_or(1, |case| case.turns().len());
    CaseScreen {
        at: case,
        attempt,
        turn,
        turns,
        mode: CaseMode::Compare,
        differences_only: false,
        scroll: 0,
        beside_scroll: 0,
        seeks_turn: true,
        piece: None,
        body: None,
        key: None,
        suggestion: None,
        from: CaseOrigin::List,
    }
}

/// Opens the next or previous listed case that did not pass.
pub(crate) fn next_failing(model: &mut Model, forward: bool) -> Vec<Effect> {
    browse::next_failing(model, forward);
    if let Some(&case) = model.view.browse.visible.get(model.view.browse.cursor) {
        let from = match &model.view.screen {
            Screen::Case(case) => case.from,
            _ => CaseOrigin::List,
        };
        open(model, case, from);
    }
    Vec::new()
}

/// Shows the judges tab of the current case. From the list it opens the case under the cursor.
pub(crate) fn judges(model: &mut Model) -> Vec<Effect> {
    if !matches!(model.view.screen, Screen::Case(_))
        && let Some(case) = model.current_case()
    {
        open(model, case, CaseOrigin::List);
    }
    toggle_mode(model, CaseMode::Judged)
}

/// Goes back to the comparison or, if it is already shown, to the screen from which the case was opened.
pub(crate) fn back(model: &mut Model) -> Vec<Effect> {
    let Screen::Case(case) = &mut model.view.screen else { return Vec::new() };
    if case.mode != CaseMode::Compare {
        let mode = case.mode;
        return toggle_mode(model, mode);
    }
    model.view.screen = match case.from {
        CaseOrigin::Run => Screen::Run,
        CaseOrigin::List | CaseOrigin::Queue => Screen::Browse,
    };
    Vec::new()
}

/// Goes to another turn, `by` turns ahead, and scrolls to it.
pub(crate) fn turn(model: &mut Model, by: isize) -> Vec<Effect> {
    let count = model.turns_shown();
    if let Some(case) = model.shown_case_mut() {
        case.turn = case.turn.saturating_add_signed(by).min(count.saturating_sub(1));
    }
    show_turn(model);
    Vec::new()
}

/// Scrolls to the current turn, and makes its first difference the current one.
fn show_turn(model: &mut Model) {
    let page = page(model);
    // A turn that was run alone has lines of another attempt. They are scrolled to once they are built.
    let is_current = wanted(model).is_none();
    if let Some(case) = model.shown_case_mut() {
        case.seeks_turn = !is_current;
        let Some(body) = case.body.clone().filter(|_| is_current) else { return };
        let lines = body.lines_of(case.turn);
        let last = body.lines.len().saturating_sub(page);
        if !(lines.start >= case.scroll && lines.end <= case.scroll + page) {
            case.scroll = lines.start.min(last);
        }
        let is_in_turn = |piece: &PieceLine| piece.turn == case.turn;
        if !case.current_piece().is_some_and(is_in_turn) {
            case.piece = body.pieces.iter().position(is_in_turn);
        }
        let line = case.current_piece().map(|piece| piece.line);
        if let Some(line) = line.filter(|line| !(case.scroll..case.scroll + page).contains(line)) {
            case.scroll = line.saturating_sub(page * 2 / 3).min(last);
        }
    }
}

pub(crate) fn attempt(model: &mut Model, by: isize) -> Vec<Effect> {
    let count =
        model.current_case().and_then(|at| model.view.outcomes.get(at)).map_or(0, |o| o.attempts.len());
    if let Some(case) = model.shown_case_mut() {
        case.attempt = case.attempt.saturating_add_signed(by).min(count.saturating_sub(1));
        (case.seeks_turn, case.beside_scroll) = (true, 0);
    }
    let turns = model.turns_shown();
    if let Some(case) = model.shown_case_mut() {
        case.turn = case.turn.min(turns.saturating_sub(1));
    }
    Vec::new()
}

/// Goes to the first attempt with the next trajectory, in the order in which trajectories first appear; after the last
/// one to the first.
pub(crate) fn next_trajectory(model: &mut Model) -> Vec<Effect> {
    let outcome = model.current_case().and_then(|at| model.view.outcomes.get(at));
    let attempts = outcome.map(|outcome| &outcome.attempts[..]).unwrap_or_default();
    let mut firsts: Vec<usize> = Vec::new();
    for (at, attempt) in attempts.iter().enumerate() {
        if !firsts.iter().any(|first| attempts[*first].trajectory == attempt.trajectory) {
            firsts.push(at);
        }
    }
    let Some(here) = model.shown_case().map(|case| case.attempt) else { return Vec::new() };
    let same =
        |first: &usize| attempts.get(here).is_some_and(|now| attempts[*first].trajectory == now.trajectory);
    let now = firsts.iter().position(same).unwrap_or(0);
    match firsts.get((now + 1) % firsts.len().max(1)).copied() {
        Some(next) if firsts.len() > 1 => attempt(model, next as isize - here as isize),
        _ => global::notify(model, "the agent did the same in every repetition".into(), false),
    }
}

/// Goes to the next or previous difference, and scrolls to it.
pub(crate) fn difference(model: &mut Model, by: isize) -> Vec<Effect> {
    let page = page(model);
    let alone = model.current_case().and_then(|case| model.view.outcomes.turn_alone(case));
    if let Some(case) = model.shown_case_mut()
        && let Some(body) = case.body.clone()
    {
        let count = body.pieces.len().max(1);
        let forward = by > 0;
        let beside = |piece: &PieceLine| (piece.turn > case.turn) == forward && piece.turn != case.turn;
        case.piece = Some(match case.piece {
            Some(at) => (at + count).saturating_add_signed(by) % count,
            None if forward => body.pieces.iter().position(beside).unwrap_or(0),
            None => body.pieces.iter().rposition(beside).unwrap_or(count - 1),
        });
        if let Some(piece) = case.current_piece().cloned() {
            choose_turn(case, piece.turn, alone);
            if !(case.scroll..case.scroll + page).contains(&piece.line) {
                let last = body.lines.len().saturating_sub(page);
                case.scroll = piece.line.saturating_sub(page / 3).min(last);
            }
        }
    }
    Vec::new()
}

/// Shows a tab. If it is already shown, goes back to the comparison.
pub(crate) fn toggle_mode(model: &mut Model, mode: CaseMode) -> Vec<Effect> {
    let keeps_comparison = view::is_wide(&layout(model));
    if let Some(case) = model.shown_case_mut() {
        case.mode = if case.mode == mode { CaseMode::Compare } else { mode };
        case.beside_scroll = 0;
        if !keeps_comparison {
            (case.scroll, case.seeks_turn) = (0, true);
        }
    }
    Vec::new()
}

/// Shows a tab.
pub(crate) fn show(model: &mut Model, mode: CaseMode) -> Vec<Effect> {
    match model.shown_case().is_some_and(|case| case.mode == mode) {
        true => Vec::new(),
        false => toggle_mode(model, mode),
    }
}

/// Shows the next tab, after the last one the first.
pub(crate) fn next_tab(model: &mut Model) -> Vec<Effect> {
    let Some(case) = model.shown_case() else { return Vec::new() };
    let at = CaseMode::TABS.iter().position(|(mode, _)| *mode == case.mode).unwrap_or(0);
    show(model, CaseMode::TABS[(at + 1) % CaseMode::TABS.len()].0)
}

/// Hides identical parts, or shows them again.
pub(crate) fn toggle_identical(model: &mut Model) -> Vec<Effect> {
    if let Some(case) = model.shown_case_mut() {
        case.differences_only = !case.differences_only;
        case.seeks_turn = true;
    }
    Vec::new()
}

/// Number of visible lines of the main pane.
fn page(model: &Model) -> usize {
    usize::from(view::lines_area(model, &layout(model)).height)
}

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let page = page(model);
    if matches!(&model.view.screen, Screen::Case(case) if view::scrolls_metrics(case, model)) {
        return scroll_beside(model, motion);
    }
    let alone = model.current_case().and_then(|case| model.view.outcomes.turn_alone(case));
    if let Some(case) = model.shown_case_mut()
        && let Some(body) = case.body.clone()
    {
        let last = body.lines.len().saturating_sub(page);
        case.scroll = motion.of(case.scroll, last + 1, page);
        follow_scroll(case, &body, page, alone);
    }
}

/// Makes a turn the current one, unless it was run alone (`alone`): the attempt of a single turn is shown only if the
/// user chooses that turn with the keys for turns.
fn choose_turn(case: &mut CaseScreen, turn: usize, alone: Option<usize>) {
    if Some(turn) != alone {
        case.turn = turn;
    }
}

/// Updates the current turn after scrolling. If it is no longer visible, the first turn that begins in the visible
/// lines becomes the current one. See [`choose_turn`] for `alone`.
fn follow_scroll(case: &mut CaseScreen, body: &Body, page: usize, alone: Option<usize>) {
    if !body.has_turn_lines() {
        return;
    }
    let shown = case.scroll..case.scroll + page.max(1);
    let lines = body.lines_of(case.turn);
    if lines.start < shown.end && lines.end > shown.start {
        return;
    }
    let begins_here = body.turns.iter().position(|turn| shown.contains(&turn.line));
    let at = begins_here.unwrap_or_else(|| body.turn_at(shown.start));
    if let Some(turn) = body.turns.get(at) {
        choose_turn(case, turn.turn, alone);
    }
}

/// Scrolls the side pane, or the metrics tab.
pub(crate) fn scroll_beside(model: &mut Model, motion: Motion) {
    let (lines, page) = view::beside_lines(model, &layout(model));
    if let Some(case) = model.shown_case_mut() {
        let last = lines.saturating_sub(page);
        case.beside_scroll = motion.of(case.beside_scroll.min(last), last + 1, page);
    }
}

/// Handles the mouse: the wheel scrolls the pane under the pointer, and a click on a difference makes it the current
/// one.
pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    let areas = layout(model);
    let at = Position::new(mouse.x, mouse.y);
    if let Some(motion) = mouse.kind.wheel() {
        for _ in 0..3 {
            match view::is_wide(&areas) && areas.panel.contains(at) {
                true => scroll_beside(model, motion),
                false => scroll(model, motion),
            }
        }
        return Vec::new();
    }
    let lines = view::lines_area(model, &areas);
    if !mouse.kind.is_click() || !lines.contains(at) {
        return Vec::new();
    }
    let alone = model.current_case().and_then(|case| model.view.outcomes.turn_alone(case));
    if let Some(case) = model.shown_case_mut()
        && let Some(body) = case.body.clone()
    {
        let line = case.scroll + usize::from(mouse.y - lines.y);
        if let Some(piece) = body.pieces.iter().rposition(|piece| piece.line <= line)
            && body.turn_at(body.pieces[piece].line) == body.turn_at(line)
        {
            case.piece = Some(piece);
            choose_turn(case, body.pieces[piece].turn, alone);
        }
    }
    Vec::new()
}

/// Which lines the case screen or the preview shows, and their size.
fn shown_view(model: &Model, case: &CaseScreen) -> BodyView {
    let areas = layout(model);
    if matches!(model.view.screen, Screen::Browse) {
        return BodyView::comparison(usize::from(inside(areas.panel).width));
    }
    BodyView {
        width: usize::from(inside(areas.main).width),
        beside: view::is_wide(&areas).then(|| usize::from(inside(areas.panel).width)),
        mode: case.mode,
        differences_only: case.differences_only,
    }
}

/// Key of the lines that should be shown; `None` if they are up to date.
fn wanted(model: &Model) -> Option<BodyKey> {
    let case = model.shown_case()?;
    let outcome = model.view.outcomes.get(case.at);
    let attempt = model.shown_attempt();
    let run_id = outcome.map(|outcome| outcome.run.id.clone()).unwrap_or_default();
    let alone = attempt.filter(|attempt| attempt.turn.is_some());
    let key = BodyKey {
        of: (case.at.set, case.at.index, run_id, attempt.map_or(0, |attempt| attempt.key.attempt)),
        alone: alone.map(|attempt| (case.turn, attempt.started.clone())),
        read: model.view.sets[case.at.set].loaded,
        view: shown_view(model, case),
        verdicts: model.verdicts_version,
    };
    (case.key.as_ref() != Some(&key)).then_some(key)
}

/// Rebuilds the lines if they are out of date: immediately if the attempt is small, otherwise in the background.
pub(crate) fn refresh_body(model: &mut Model) -> Option<Effect> {
    let key = wanted(model)?;
    match model.shown_attempt().cloned() {
        Some(attempt) if attempt.is_slow() => {
            is_new(model, &key).then_some(Effect::Results(ResultEffect::ReadAttempt(key, attempt)))
        }
        Some(attempt) => refresh_with(model, key, &attempt, attempt.read()),
        None => {
            let case = model.shown_case()?;
            let compared = not_run(model, case)?;
            build(model, key, compared)
        }
    }
}

/// Handles the attempt that was read for the lines of `key`. Replies for other lines are dropped.
pub(crate) fn attempt_read(
    model: &mut Model,
    key: BodyKey,
    read: Result<Arc<Attempt>, String>,
) -> Option<Effect> {
    if model.view.awaited_body.as_ref() != Some(&key) {
        return None;
    }
    model.view.awaited_body = None;
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
    let is_failed = ended.status == Status::Failed && !is_slow_to_relax(&compared);
    let relaxed = read.ok().filter(|_| is_failed).and_then(|attempt| relaxation(&attempt));
    if let Some(case) = model.shown_case_mut() {
        case.suggestion = relaxed;
    }
    build(model, key, compared)
}

fn build(model: &mut Model, key: BodyKey, compared: Compared) -> Option<Effect> {
    if is_large(&compared) {
        return is_new(model, &key)
            .then(|| Effect::Results(ResultEffect::BuildBody(key, Arc::new(compared))));
    }
    let body = build_body(&compared, key.view);
    put_body(model, key, Arc::new(body));
    None
}

/// Marks the lines of `key` as requested. Returns false if they already were.
fn is_new(model: &mut Model, key: &BodyKey) -> bool {
    model.view.awaited_body.replace(key.clone()).as_ref() != Some(key)
}

/// Shows lines that were built in the background. Replies for other lines are dropped.
pub(crate) fn body_built(model: &mut Model, key: BodyKey, body: Arc<Body>) {
    if model.view.awaited_body.as_ref() == Some(&key) {
        put_body(model, key, body);
    }
}

fn put_body(model: &mut Model, key: BodyKey, body: Arc<Body>) {
    model.view.awaited_body = None;
    let Some(case) = model.shown_case_mut() else { return };
    let chosen = case.current_piece().cloned();
    let is_chosen = |piece: &PieceLine| {
        chosen.as_ref().is_some_and(|chosen| (&chosen.piece, chosen.turn) == (&piece.piece, piece.turn))
    };
    let turn = case.turn;
    let same = body.pieces.iter().position(is_chosen);
    case.piece = same.or_else(|| body.pieces.iter().position(|piece| piece.turn == turn));
    case.body = Some(body);
    case.key = Some(key);
    if std::mem::take(&mut case.seeks_turn) {
        case.scroll = 0;
        show_turn(model);
    }
    let page = page(model);
    if let Some(case) = model.shown_case_mut() {
        let lines = case.body.as_ref().map_or(0, |body| body.lines.len());
        case.scroll = case.scroll.min(lines.saturating_sub(page));
    }
}
