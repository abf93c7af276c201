//! Opening a case, and building the lines that are shown of it.

use crate::explorer::case_list::listing;
use crate::explorer::shared::case_lines::{
    BodyKey, BodyView, CaseLines, CaseTab, Compared, PieceLine,
};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::{CaseOrigin, CaseScreen, TriageScreen};
use crate::explorer::shared::effect::{Effect, ResultEffect};
use crate::explorer::shared::layout::inside;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::CaseOutcome;
use crate::explorer::shared::screen::layout;
use crate::explorer::shown_case::body::{build_body, is_large, is_slow_to_relax};
use crate::explorer::shown_case::body_data::{compared, not_run};
use crate::explorer::shown_case::draw_lines;
use evaltrail_core::domain::{Attempt, EndedAttempt, MetricSummary, Query, Status};
use evaltrail_core::metrics::relaxation;
use std::sync::Arc;

/// Opens a case at its worst attempt.
pub(crate) fn open(model: &mut Model, case: CaseRef, from: CaseOrigin) {
    model.view.browse.edited = None;
    let shown = CaseScreen {
        from,
        ..view_of(model, case)
    };
    match from {
        CaseOrigin::Queue => model.show(TriageScreen(shown)),
        CaseOrigin::List | CaseOrigin::Run => model.show(shown),
    }
    if let Some(at) = model
        .view
        .browse
        .visible
        .iter()
        .position(|other| *other == case)
    {
        model.view.browse.cursor = at;
    }
}

/// Opens a case at the attempt with this number, or at its worst attempt if there is none with the number.
pub(crate) fn open_at(model: &mut Model, case: CaseRef, number: u32, from: CaseOrigin) {
    open(model, case, from);
    let attempts = model
        .view
        .outcomes
        .get(case)
        .map(|outcome| &outcome.attempts[..])
        .unwrap_or_default();
    let Some(at) = attempts
        .iter()
        .position(|attempt| attempt.key.attempt == number)
    else {
        return;
    };
    let turn = attempts[at].first_failed_turn.unwrap_or(0);
    if let Some(case) = model.open_case_mut() {
        (case.attempt, case.turn, case.seeks_turn) = (at, turn, true);
    }
}

/// Creates the state for a case, at its worst attempt and the first turn in it that did not pass.
pub(crate) fn view_of(model: &Model, case: CaseRef) -> CaseScreen {
    let outcome = model.view.outcomes.get(case);
    let attempt = outcome.map_or(0, CaseOutcome::worst_position);
    let turn = outcome
        .and_then(|o| o.attempts.get(attempt)?.first_failed_turn)
        .unwrap_or(0);
    let file = model.file(case.set);
    let turns = file
        .and_then(|file| file.case(case.index).ok())
        .map_or(1, |case| case.turns().len());
    CaseScreen {
        at: case,
        attempt,
        turn,
        turns,
        mode: CaseTab::Compare,
        differences_only: false,
        folded_from: None,
        scroll: 0,
        beside_scroll: 0,
        seeks_turn: true,
        piece: None,
        stretch: 0,
        body: None,
        key: None,
        is_stale: false,
        suggestion: None,
        from: CaseOrigin::List,
    }
}

/// Scrolls to the current turn. Its first difference that made a metric fail becomes the current one; without one, its first
/// difference.
pub(crate) fn show_turn(model: &mut Model) {
    let page = page(model);
    // A turn that was run alone has lines of another attempt. They are scrolled to once they are built.
    let is_current = wanted(model).is_none();
    if let Some(case) = model.shown_case_mut() {
        case.seeks_turn = !is_current;
        let Some(body) = case.body.clone().filter(|_| is_current) else {
            return;
        };
        let lines = body.lines_of(case.turn);
        let last = body.lines.len().saturating_sub(page);
        if !(lines.start >= case.scroll && lines.end <= case.scroll + page) {
            case.scroll = lines.start.min(last);
        }
        let is_in_turn = |piece: &PieceLine| piece.turn == case.turn;
        if !case.current_piece().is_some_and(is_in_turn) {
            case.choose_piece(body.first_piece(case.turn));
        }
        let line = case.current_line();
        if let Some(line) = line.filter(|line| !(case.scroll..case.scroll + page).contains(line)) {
            case.scroll = line.saturating_sub(page * 2 / 3).min(last);
        }
    }
}

/// Number of visible lines of the main pane.
pub(crate) fn page(model: &Model) -> usize {
    usize::from(draw_lines::lines_area(model, &layout(model)).height)
}

/// Which lines the case screen or the preview shows, and their size.
fn shown_view(model: &Model, case: &CaseScreen) -> BodyView {
    let areas = layout(model);
    if model.has_preview() {
        let failed = model
            .shown_attempt()
            .is_some_and(|attempt| attempt.status == Status::Failed);
        let inner = inside(areas.preview);
        // A case that was not run has no events.
        let events =
            draw_lines::preview_events_width(inner).filter(|_| model.shown_attempt().is_some());
        let beside = events
            .filter(|width| *width < inner.width)
            .map(|width| width + 1);
        return BodyView {
            width: usize::from(inner.width - beside.unwrap_or(0)),
            beside: events.map(usize::from),
            mode: match events {
                Some(_) => preview_mode(model),
                None => CaseTab::Compare,
            },
            differences_only: failed,
            folded_from: None,
        };
    }
    BodyView {
        width: usize::from(inside(areas.main).width),
        beside: draw_lines::is_wide(&areas).then(|| usize::from(inside(areas.panel).width)),
        mode: case.mode,
        differences_only: case.differences_only,
        folded_from: case.folded_from,
    }
}

/// What the preview shows beside the comparison: what judges said if they decide about the attempt, else the events.
fn preview_mode(model: &Model) -> CaseTab {
    let is_deciding = |metric: &MetricSummary| metric.judged && metric.threshold.is_some();
    let attempt = model.shown_attempt();
    match attempt.is_some_and(|attempt| attempt.metrics.iter().any(is_deciding)) {
        true => CaseTab::Judged,
        false => CaseTab::Timeline,
    }
}

/// Key of the lines that should be shown; `None` if they are up to date.
pub(crate) fn wanted(model: &Model) -> Option<BodyKey> {
    let case = model.shown_case()?;
    let outcome = model.view.outcomes.get(case.at);
    let attempt = model.shown_attempt();
    let run_id = outcome
        .map(|outcome| outcome.run.id.clone())
        .unwrap_or_default();
    let alone = attempt.filter(|attempt| attempt.turn.is_some());
    let key = BodyKey {
        of: (
            case.at.set,
            case.at.index,
            run_id,
            attempt.map_or(0, |attempt| attempt.key.attempt),
        ),
        alone: alone.map(|attempt| (case.turn, attempt.started.clone())),
        read: model.view.sets[case.at.set].loaded,
        view: shown_view(model, case),
        verdicts: model.verdicts.version(),
    };
    (case.is_stale || case.key.as_ref() != Some(&key)).then_some(key)
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
    let compared = compared(model, case, ended, read.clone(), key.view.mode);
    let is_failed = ended.status == Status::Failed && !is_slow_to_relax(&compared);
    let relaxed = read
        .ok()
        .filter(|_| is_failed)
        .and_then(|attempt| relaxation(&attempt));
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
pub(crate) fn body_built(model: &mut Model, key: BodyKey, body: Arc<CaseLines>) {
    if model.view.awaited_body.as_ref() == Some(&key) {
        put_body(model, key, body);
    }
}

fn put_body(model: &mut Model, key: BodyKey, body: Arc<CaseLines>) {
    model.view.awaited_body = None;
    let Some(case) = model.shown_case_mut() else {
        return;
    };
    let chosen = case.current_piece().cloned();
    let is_chosen = |piece: &PieceLine| {
        chosen
            .as_ref()
            .is_some_and(|chosen| (&chosen.piece, chosen.turn) == (&piece.piece, piece.turn))
    };
    let turn = case.turn;
    let same = new_difference(case, &key, &body).or(body.pieces.iter().position(is_chosen));
    let piece = same.or_else(|| body.first_piece(turn));
    // The same difference of another size keeps its stretch, if it still has as many.
    let stretch = same.map_or(0, |at| {
        case.stretch.min(body.stops(at).len().saturating_sub(1))
    });
    (case.piece, case.stretch) = (piece, stretch);
    case.body = Some(body);
    (case.key, case.is_stale) = (Some(key), false);
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

/// The first difference that was not there in the lines of the same attempt before its file was edited: what an undo brings
/// back.
fn new_difference(case: &CaseScreen, key: &BodyKey, body: &CaseLines) -> Option<usize> {
    let (before, old) = (case.key.as_ref()?, case.body.as_ref()?);
    if before.of != key.of || before.read == key.read {
        return None;
    }
    let is_known = |new: &PieceLine| {
        let mut old = old.pieces.iter();
        old.any(|old| (&old.piece, old.turn) == (&new.piece, new.turn))
    };
    body.pieces.iter().position(|piece| !is_known(piece))
}

/// Opens any case of the workspace. The list stays as it is if it contains the case; else its filter is cleared, and if that
/// is not enough, the set of the case is listed.
pub(crate) fn go_to(model: &mut Model, case: CaseRef) {
    if !model.view.browse.visible.contains(&case) && model.view.browse.narrowing.is_some() {
        listing::narrow(model, None);
    }
    if !model.view.browse.visible.contains(&case) {
        listing::set_filter(model, String::new(), Query::default());
    }
    listing::list_with(model, case);
    open(model, case, CaseOrigin::List);
}
