//! Moving in a case: turns, attempts, differences, tabs, and scrolling.

use crate::explorer::case_list::listing;
use crate::explorer::shared::case_lines::{CaseLines, CaseTab, PieceLine};
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::case_screen::{CaseOrigin, CaseScreen};
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::message::Mouse;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::notices;
use crate::explorer::shared::run_screen::RunScreen;
use crate::explorer::shared::screen::layout;
use crate::explorer::shown_case::refresh::{open, page, show_turn};
use crate::explorer::shown_case::{draw_lines, view};
use ratatui::layout::Position;

/// Opens the next or previous listed case that did not pass.
pub(crate) fn next_failing(model: &mut Model, forward: bool) -> Vec<Effect> {
    let effects = listing::next_failing(model, forward);
    if let Some(&case) = model.view.browse.visible.get(model.view.browse.cursor) {
        let from = model.open_case().map_or(CaseOrigin::List, |case| case.from);
        open(model, case, from);
    }
    effects
}

/// Shows the judges tab of the current case. From the list it opens the case under the cursor.
pub(crate) fn judges(model: &mut Model) -> Vec<Effect> {
    if model.open_case().is_none()
        && let Some(case) = model.current_case()
    {
        open(model, case, CaseOrigin::List);
    }
    toggle_mode(model, CaseTab::Judged)
}

/// Goes back to the comparison or, if it is already shown, to the screen from which the case was opened.
pub(crate) fn back(model: &mut Model) -> Vec<Effect> {
    let Some(case) = model.open_case_mut() else {
        return Vec::new();
    };
    if case.mode != CaseTab::Compare {
        let mode = case.mode;
        return toggle_mode(model, mode);
    }
    match case.from {
        CaseOrigin::Run => model.show(RunScreen),
        CaseOrigin::List | CaseOrigin::Queue => model.show(BrowseScreen),
    }
    Vec::new()
}

/// Goes to another turn, `by` turns ahead, and scrolls to it.
pub(crate) fn turn(model: &mut Model, by: isize) -> Vec<Effect> {
    let count = model.turns_shown();
    if let Some(case) = model.shown_case_mut() {
        case.turn = case
            .turn
            .saturating_add_signed(by)
            .min(count.saturating_sub(1));
    }
    show_turn(model);
    Vec::new()
}

pub(crate) fn attempt(model: &mut Model, by: isize) -> Vec<Effect> {
    let count = model
        .current_case()
        .and_then(|at| model.view.outcomes.get(at))
        .map_or(0, |o| o.attempts.len());
    if let Some(case) = model.shown_case_mut() {
        case.attempt = case
            .attempt
            .saturating_add_signed(by)
            .min(count.saturating_sub(1));
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
    let outcome = model
        .current_case()
        .and_then(|at| model.view.outcomes.get(at));
    let attempts = outcome
        .map(|outcome| &outcome.attempts[..])
        .unwrap_or_default();
    let mut firsts: Vec<usize> = Vec::new();
    for (at, attempt) in attempts.iter().enumerate() {
        if !firsts
            .iter()
            .any(|first| attempts[*first].trajectory == attempt.trajectory)
        {
            firsts.push(at);
        }
    }
    let Some(here) = model.shown_case().map(|case| case.attempt) else {
        return Vec::new();
    };
    let same = |first: &usize| {
        attempts
            .get(here)
            .is_some_and(|now| attempts[*first].trajectory == now.trajectory)
    };
    let now = firsts.iter().position(same).unwrap_or(0);
    match firsts.get((now + 1) % firsts.len().max(1)).copied() {
        Some(next) if firsts.len() > 1 => attempt(model, next as isize - here as isize),
        _ => notices::notify_position(model, "the agent did the same in every attempt".into()),
    }
}

/// Goes to the next or previous changed stretch of lines, of the same difference or the next one, and scrolls to it.
pub(crate) fn difference(model: &mut Model, by: isize) -> Vec<Effect> {
    let page = page(model);
    let alone = model
        .current_case()
        .and_then(|case| model.view.outcomes.single_turn(case));
    if let Some(case) = model.shown_case_mut()
        && let Some(body) = case.body.clone()
    {
        choose_stretch(case, &body, by);
        if let (Some(piece), Some(line)) = (case.current_piece().cloned(), case.current_line()) {
            choose_turn(case, piece.turn, alone);
            if !(case.scroll..case.scroll + page).contains(&line) {
                let last = body.lines.len().saturating_sub(page);
                case.scroll = line.saturating_sub(page / 3).min(last);
            }
        }
    }
    Vec::new()
}

fn choose_stretch(case: &mut CaseScreen, body: &CaseLines, by: isize) {
    let forward = by > 0;
    let stops = case.piece.map_or(0, |at| body.stops(at).len());
    match case.stretch.checked_add_signed(by) {
        Some(next) if next < stops => return case.stretch = next,
        _ => {}
    }
    let count = body.pieces.len().max(1);
    let beside = |piece: &PieceLine| (piece.turn > case.turn) == forward && piece.turn != case.turn;
    let piece = match case.piece {
        Some(at) => (at + count).saturating_add_signed(by) % count,
        None if forward => body.pieces.iter().position(beside).unwrap_or(0),
        None => body.pieces.iter().rposition(beside).unwrap_or(count - 1),
    };
    case.choose_piece(Some(piece));
    if !forward {
        case.stretch = body.stops(piece).len().saturating_sub(1);
    }
}

/// Shows a tab. If it is already shown, goes back to the comparison.
pub(crate) fn toggle_mode(model: &mut Model, mode: CaseTab) -> Vec<Effect> {
    let keeps_comparison = draw_lines::is_wide(&layout(model));
    if let Some(case) = model.shown_case_mut() {
        case.mode = if case.mode == mode {
            CaseTab::Compare
        } else {
            mode
        };
        case.beside_scroll = 0;
        if !keeps_comparison {
            (case.scroll, case.seeks_turn) = (0, true);
        }
    }
    Vec::new()
}

/// Shows a tab.
pub(crate) fn show(model: &mut Model, mode: CaseTab) -> Vec<Effect> {
    match model.shown_case().is_some_and(|case| case.mode == mode) {
        true => Vec::new(),
        false => toggle_mode(model, mode),
    }
}

/// Shows the next tab, after the last one the first.
pub(crate) fn next_tab(model: &mut Model) -> Vec<Effect> {
    let Some(case) = model.shown_case() else {
        return Vec::new();
    };
    let at = CaseTab::TABS
        .iter()
        .position(|(mode, _)| *mode == case.mode)
        .unwrap_or(0);
    show(model, CaseTab::TABS[(at + 1) % CaseTab::TABS.len()].0)
}

/// Folds nested JSON values one level more (`by` below 0), or unfolds them by one.
pub(crate) fn fold_values(model: &mut Model, by: isize) -> Vec<Effect> {
    let Some(case) = model.shown_case_mut() else {
        return Vec::new();
    };
    let levels = case.body.as_ref().map_or(0, |body| body.nested_levels);
    let folded_from = case.folded_from.unwrap_or(levels).min(levels);
    let next = folded_from.saturating_add_signed(by);
    let notice = match next {
        _ if levels == 0 => "no value in this case is nested".to_string(),
        0 => "all values are folded".to_string(),
        next if next >= levels => "values are shown in full".to_string(),
        next => format!("values are folded from level {next} of {levels}"),
    };
    if levels > 0 {
        case.folded_from = (next < levels).then_some(next);
        case.seeks_turn = true;
    }
    notices::notify(model, notice, false)
}

/// Hides identical parts, or shows them again.
pub(crate) fn toggle_identical(model: &mut Model) -> Vec<Effect> {
    if let Some(case) = model.shown_case_mut() {
        case.differences_only = !case.differences_only;
        case.seeks_turn = true;
    }
    Vec::new()
}

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let page = page(model);
    if model
        .open_case()
        .is_some_and(|case| view::scrolls_metrics(case, model))
    {
        return scroll_side_pane_by(model, motion);
    }
    let alone = model
        .current_case()
        .and_then(|case| model.view.outcomes.single_turn(case));
    if let Some(case) = model.shown_case_mut()
        && let Some(body) = case.body.clone()
    {
        let last = body.lines.len().saturating_sub(page);
        case.scroll = motion.target(case.scroll, last + 1, page);
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
fn follow_scroll(case: &mut CaseScreen, body: &CaseLines, page: usize, alone: Option<usize>) {
    if !body.has_turn_lines() {
        return;
    }
    let shown = case.scroll..case.scroll + page.max(1);
    let lines = body.lines_of(case.turn);
    if lines.start < shown.end && lines.end > shown.start {
        return;
    }
    let begins_here = body
        .turns
        .iter()
        .position(|turn| shown.contains(&turn.line));
    let at = begins_here.unwrap_or_else(|| body.turn_at(shown.start));
    if let Some(turn) = body.turns.get(at) {
        choose_turn(case, turn.turn, alone);
    }
}

/// Scrolls the side pane, or the metrics tab.
pub(crate) fn scroll_side_pane_by(model: &mut Model, motion: Motion) {
    let (lines, page) = view::side_pane_lines(model, &layout(model));
    if let Some(case) = model.shown_case_mut() {
        let last = lines.saturating_sub(page);
        case.beside_scroll = motion.target(case.beside_scroll.min(last), last + 1, page);
    }
}

/// Handles the mouse: the wheel scrolls the pane under the pointer, and a click on a difference makes it the current
/// one.
pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    let areas = layout(model);
    let at = Position::new(mouse.x, mouse.y);
    if let Some(motion) = mouse.kind.wheel() {
        for _ in 0..3 {
            match draw_lines::is_wide(&areas) && areas.panel.contains(at) {
                true => scroll_side_pane_by(model, motion),
                false => scroll(model, motion),
            }
        }
        return Vec::new();
    }
    if mouse.kind.is_click()
        && let Some(tab) = view::tab_at(model, &areas, at)
    {
        return show(model, tab);
    }
    let lines = draw_lines::lines_area(model, &areas);
    if !mouse.kind.is_click() || !lines.contains(at) {
        return Vec::new();
    }
    let alone = model
        .current_case()
        .and_then(|case| model.view.outcomes.single_turn(case));
    if let Some(case) = model.shown_case_mut()
        && let Some(body) = case.body.clone()
    {
        let line = case.scroll + usize::from(mouse.y - lines.y);
        if let Some(piece) = body.pieces.iter().rposition(|piece| piece.line <= line)
            && body.turn_at(body.pieces[piece].line) == body.turn_at(line)
        {
            case.choose_piece(Some(piece));
            let stops = body.stops(piece);
            case.stretch = stops.iter().rposition(|stop| *stop <= line).unwrap_or(0);
            choose_turn(case, body.pieces[piece].turn, alone);
        }
    }
    Vec::new()
}
