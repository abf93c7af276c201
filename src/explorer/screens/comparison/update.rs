//! Updates of the screen of two runs.

use crate::explorer::screens::comparison::columns::build;
use crate::explorer::screens::comparison::draw_case::lines_area;
use crate::explorer::screens::comparison::state::{CaseColumns, ComparisonRow, ComparisonScreen};
use crate::explorer::shared::compared_pair::{ComparedPair, ComparedRun};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::cyclic_search::next_row;
use crate::explorer::shared::effect::{Effect, HistoryEffect, ScreenRequest};
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::layout::inside;
use crate::explorer::shared::message::Mouse;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::notices;
use crate::explorer::shared::screen::layout;
use evaltrail_core::analysis::{CaseChange, ChangedCondition, ComparedCase};
use evaltrail_engine::history::{History, RunSummary};
use std::sync::Arc;

fn screen(model: &Model) -> Option<&ComparisonScreen> {
    model.screen()
}

fn screen_mut(model: &mut Model) -> Option<&mut ComparisonScreen> {
    model.screen_mut()
}

/// Shows two runs that were compared, unless the screen of runs was left in the meantime. If they are shown already, they have
/// newer results.
pub(crate) fn compared(model: &mut Model, pair: Arc<ComparedPair>) -> Vec<Effect> {
    if model.is_on(Context::Runs) {
        model.show(ComparisonScreen::new(pair));
        return Vec::new();
    }
    let Some(screen) = screen_mut(model) else {
        return Vec::new();
    };
    if ids_of(&screen.pair) != ids_of(&pair) {
        return Vec::new();
    }
    let scroll = screen.case.as_ref().map_or(0, |case| case.scroll);
    match screen.replace_pair(pair) {
        Some(open) => {
            open_case(model, open);
            if let Some(case) = screen_mut(model).and_then(|screen| screen.case.as_mut()) {
                case.scroll = scroll;
            }
            rebuild(model);
        }
        None => screen.case = None,
    }
    Vec::new()
}

fn ids_of(pair: &ComparedPair) -> [&str; 2] {
    [&pair.before, &pair.after].map(|run| run.state.plan.run_id.as_str())
}

/// The runs of the folder were listed: an unfinished run that is shown here, and has more results now, is compared again.
pub(crate) fn listed(model: &Model, history: &History) -> Vec<Effect> {
    let Some(screen) = screen(model) else {
        return Vec::new();
    };
    let find = |run: &ComparedRun| {
        let mut runs = history.ours();
        runs.find(|summary| summary.run_id == run.state.plan.run_id)
    };
    let (before, after) = (&screen.pair.before, &screen.pair.after);
    let has_more = |run: &ComparedRun, summary: &RunSummary| {
        run.state.count_outstanding() > 0 && summary.totals.ended() > run.state.totals.ended()
    };
    match (find(before), find(after)) {
        (Some(a), Some(b)) if has_more(before, a) || has_more(after, b) => {
            let (a, b) = (Box::new(a.clone()), Box::new(b.clone()));
            vec![Effect::History(HistoryEffect::Compare(a, b))]
        }
        _ => Vec::new(),
    }
}

pub(super) fn back(_: &mut Model) -> Vec<Effect> {
    vec![ScreenRequest::ShowRuns.into()]
}

pub(super) fn scroll(model: &mut Model, motion: Motion) {
    let page = usize::from(inside(layout(model).main).height);
    if let Some(screen) = screen_mut(model) {
        screen.cursor = motion.target(screen.cursor, screen.rows.len(), page);
        keep_in_sight(screen, page);
    }
}

fn keep_in_sight(screen: &mut ComparisonScreen, page: usize) {
    let page = page.max(1);
    screen.offset = screen
        .offset
        .clamp(screen.cursor.saturating_sub(page - 1), screen.cursor);
    screen.offset = screen.offset.min(screen.rows.len().saturating_sub(page));
    // The heading of the first cases stays visible.
    if screen.cursor < page.min(2) {
        screen.offset = 0;
    }
}

/// Opens the case under the cursor; on a heading, lists its cases or no longer lists them.
pub(super) fn open(model: &mut Model) -> Vec<Effect> {
    let Some(screen) = screen_mut(model) else {
        return Vec::new();
    };
    match screen.rows.get(screen.cursor) {
        Some(ComparisonRow::Heading(list, _)) => {
            if !screen.folded.remove(list) {
                screen.folded.insert(*list);
            }
            screen.list();
        }
        Some(ComparisonRow::Case(at)) => {
            let at = *at;
            open_case(model, at);
        }
        None => {}
    }
    Vec::new()
}

fn open_case(model: &mut Model, at: usize) {
    let Some(screen) = screen_mut(model) else {
        return;
    };
    let case = &screen.pair.found.cases[at];
    let attempts = screen
        .pair
        .attempts(case)
        .map(|one| one.map(|attempt| attempt.read()));
    let (without_expected, differences_only) =
        screen.case.as_ref().map_or((false, false), |open| {
            (open.without_expected, open.differences_only)
        });
    let notes = notes_on(case);
    let lines = (0, Vec::new());
    screen.case = Some(CaseColumns {
        at,
        attempts,
        notes,
        without_expected,
        differences_only,
        scroll: 0,
        lines,
    });
    rebuild(model);
}

/// What differs between the two results beside what the agent did.
fn notes_on(case: &ComparedCase) -> Vec<String> {
    let mut notes = Vec::new();
    if case.change == CaseChange::Edited {
        notes.push(
            "the case was edited between the runs: expected is what the second run expected".into(),
        );
    }
    let label = |condition: &ChangedCondition| match condition {
        ChangedCondition::Name => "the name of the case".to_string(),
        ChangedCondition::File => "the file of the case".to_string(),
        other => format!("the {}", other.label()),
    };
    let changed: Vec<String> = case.changed.iter().map(label).collect();
    if !changed.is_empty() {
        notes.push(format!("changed between the runs: {}", changed.join(", ")));
    }
    notes
}

/// Builds the lines of the open case again where the width or the options changed.
pub(crate) fn rebuild(model: &mut Model) {
    let area = lines_area(layout(model).main);
    let (width, page) = (usize::from(area.width), usize::from(area.height));
    if let Some(case) = screen_mut(model).and_then(|screen| screen.case.as_mut()) {
        case.lines = (width, build(case, width));
        case.scroll = case.scroll.min(case.lines.1.len().saturating_sub(page));
    }
}

pub(super) fn back_to_list(model: &mut Model) -> Vec<Effect> {
    let page = usize::from(inside(layout(model).main).height);
    if let Some(screen) = screen_mut(model) {
        screen.case = None;
        keep_in_sight(screen, page);
    }
    Vec::new()
}

pub(super) fn scroll_case(model: &mut Model, motion: Motion) {
    let page = usize::from(lines_area(layout(model).main).height);
    if let Some(case) = screen_mut(model).and_then(|screen| screen.case.as_mut()) {
        let last = case.lines.1.len().saturating_sub(page);
        case.scroll = motion.target(case.scroll, last + 1, page);
    }
}

/// Hides identical rows of the open case, or shows them again.
pub(crate) fn hide_identical(model: &mut Model) -> Vec<Effect> {
    if let Some(case) = screen_mut(model).and_then(|screen| screen.case.as_mut()) {
        case.differences_only = !case.differences_only;
    }
    rebuild(model);
    Vec::new()
}

/// Compares only the two runs with each other, or each of them with what is expected again.
pub(crate) fn without_expected(model: &mut Model) -> Vec<Effect> {
    if let Some(case) = screen_mut(model).and_then(|screen| screen.case.as_mut()) {
        case.without_expected = !case.without_expected;
    }
    rebuild(model);
    Vec::new()
}

/// Switches between list and metrics where there is room for only one of them.
pub(crate) fn switch_pane(model: &mut Model) -> Vec<Effect> {
    if let Some(screen) = screen_mut(model) {
        screen.shows_metrics = !screen.shows_metrics;
    }
    Vec::new()
}

pub(crate) fn has_case_to_step_to(model: &Model) -> Enabled {
    let has = screen(model).is_some_and(|screen| screen.rows.iter().any(is_case));
    has.then_some(()).ok_or("no case is listed")
}

fn is_case(row: &ComparisonRow) -> bool {
    matches!(row, ComparisonRow::Case(_))
}

pub(crate) fn next_case(model: &mut Model) -> Vec<Effect> {
    step(model, true)
}

pub(crate) fn previous_case(model: &mut Model) -> Vec<Effect> {
    step(model, false)
}

/// Goes to the next or previous listed case; after the last one it says that it is at the first.
fn step(model: &mut Model, forward: bool) -> Vec<Effect> {
    let page = usize::from(inside(layout(model).main).height);
    let Some(screen) = screen_mut(model) else {
        return Vec::new();
    };
    let from = Some(screen.cursor);
    let Some(found) = next_row(from, screen.rows.len(), forward, |row| {
        is_case(&screen.rows[row])
    }) else {
        return Vec::new();
    };
    screen.cursor = found.row;
    keep_in_sight(screen, page);
    let is_open = screen.case.is_some();
    if let Some(at) = screen.case_here().filter(|_| is_open) {
        open_case(model, at);
    }
    match found.wrap_notice(from, forward, "listed case") {
        Some(text) => notices::notify_position(model, text),
        None => Vec::new(),
    }
}

pub(super) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if let Some(motion) = mouse.kind.wheel() {
        (0..3).for_each(|_| scroll(model, motion));
        return Vec::new();
    }
    let rows = inside(layout(model).main);
    if !rows.contains(ratatui::layout::Position {
        x: mouse.x,
        y: mouse.y,
    }) {
        return Vec::new();
    }
    let Some(screen) = screen_mut(model) else {
        return Vec::new();
    };
    let row = screen.offset + usize::from(mouse.y - rows.y);
    match row {
        _ if row >= screen.rows.len() => Vec::new(),
        _ if row == screen.cursor => open(model),
        _ => {
            screen.cursor = row;
            Vec::new()
        }
    }
}

pub(super) fn mouse_on_case(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if let Some(motion) = mouse.kind.wheel() {
        (0..3).for_each(|_| scroll_case(model, motion));
    }
    Vec::new()
}
