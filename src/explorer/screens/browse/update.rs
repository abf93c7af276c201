//! Updates of the home screen.

use crate::explorer::case_list::listing::{choose_node, narrow, relist, set_filter};
use crate::explorer::opened_run;
use crate::explorer::shared::case_list::{BrowseState, Pane};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::CaseOrigin;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::{case_rows, inside};
use crate::explorer::shared::list_order::ListOrder;
use crate::explorer::shared::message::Mouse;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::screen::layout;
use crate::explorer::shown_case::refresh;
use evaltrail_core::domain::Query;

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let areas = layout(model);
    match model.view.browse.pane {
        Pane::Cases => {
            let (count, page) = (model.view.browse.visible.len(), case_rows(&areas).height);
            model.view.browse.cursor =
                motion.target(model.view.browse.cursor, count, usize::from(page));
        }
        Pane::Sets => {
            let (count, page) = (model.view.browse.nodes.len(), inside(areas.left).height);
            choose_node(
                model,
                motion.target(model.view.browse.node, count, usize::from(page)),
            );
        }
    }
}

pub(crate) fn focus(model: &mut Model, cases: bool) -> Vec<Effect> {
    model.view.browse.pane = if cases { Pane::Cases } else { Pane::Sets };
    Vec::new()
}

pub(crate) fn switch_pane(model: &mut Model) -> Vec<Effect> {
    let to_cases = model.view.browse.pane == Pane::Sets;
    focus(model, to_cases)
}

pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    match (
        model.view.browse.pane,
        model.view.browse.visible.get(model.view.browse.cursor),
    ) {
        (Pane::Sets, _) => model.view.browse.pane = Pane::Cases,
        (Pane::Cases, Some(&case)) => refresh::open(model, case, CaseOrigin::List),
        (Pane::Cases, None) => {}
    }
    Vec::new()
}

/// Clears the selection; if nothing is selected, the narrowing to a cause; without one, the filter. With nothing to
/// clear, closes the past run that is open.
pub(crate) fn clear(model: &mut Model) -> Vec<Effect> {
    if !model.view.browse.selected.is_empty() {
        model.view.browse.selected.clear();
    } else if model.view.browse.narrowing.is_some() {
        narrow(model, None);
    } else if model.view.browse.filter.is_empty() {
        return opened_run::leave(model);
    } else {
        set_filter(model, String::new(), Query::default());
    }
    Vec::new()
}

pub(crate) fn select(model: &mut Model) -> Vec<Effect> {
    let Some(&case) = model.view.browse.visible.get(model.view.browse.cursor) else {
        return Vec::new();
    };
    if !model.view.browse.selected.remove(&case) {
        model.view.browse.selected.insert(case);
    }
    model.view.browse.cursor =
        Motion::Down.target(model.view.browse.cursor, model.view.browse.visible.len(), 1);
    Vec::new()
}

pub(crate) fn select_all(model: &mut Model) -> Vec<Effect> {
    let BrowseState {
        visible, selected, ..
    } = &mut model.view.browse;
    if visible.iter().all(|case| selected.contains(case)) {
        selected.clear();
    } else {
        selected.extend(visible.iter().copied());
    }
    Vec::new()
}

/// The case under the cursor of the list.
pub(super) fn under_cursor(model: &Model) -> Option<CaseRef> {
    model
        .view
        .browse
        .visible
        .get(model.view.browse.cursor)
        .copied()
}

pub(crate) fn sort(model: &mut Model) -> Vec<Effect> {
    model.view.browse.order = match model.view.browse.order {
        ListOrder::File => ListOrder::Failing,
        ListOrder::Failing => ListOrder::Cause,
        ListOrder::Cause => ListOrder::Slowest,
        ListOrder::Slowest => ListOrder::Disputed,
        _ => ListOrder::File,
    };
    relist(model);
    Vec::new()
}

/// Scrolls the list so that its cursor is visible.
pub(crate) fn keep_in_sight(model: &mut Model) {
    let rows = usize::from(case_rows(&layout(model)).height).max(1);
    let is_shown = model.is_on(Context::Browse);
    let BrowseState {
        cursor,
        offset,
        visible,
        ..
    } = &mut model.view.browse;
    *cursor = (*cursor).min(visible.len().saturating_sub(1));
    if is_shown {
        *offset = (*offset).clamp(cursor.saturating_sub(rows - 1), *cursor);
        *offset = (*offset).min(visible.len().saturating_sub(rows.min(visible.len())));
    }
}

/// Handles a click or the wheel.
pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    let Mouse { x, y, kind } = mouse;
    let areas = layout(model);
    let (rows, tree) = (case_rows(&areas), inside(areas.left));
    let at = ratatui::layout::Position { x, y };
    if areas.main.contains(at) {
        model.view.browse.pane = Pane::Cases;
    } else if areas.left.contains(at) {
        model.view.browse.pane = Pane::Sets;
    }
    if let Some(motion) = kind.wheel() {
        (0..3).for_each(|_| scroll(model, motion));
    } else if rows.contains(at) {
        let row = model.view.browse.offset + usize::from(y - rows.y);
        match model.view.browse.visible.get(row) {
            Some(&case) if model.view.browse.cursor == row => {
                refresh::open(model, case, CaseOrigin::List)
            }
            Some(_) => model.view.browse.cursor = row,
            None => {}
        }
    } else if tree.contains(at) {
        let first = tree_offset(model, usize::from(tree.height));
        choose_node(model, first + usize::from(y - tree.y));
    }
    Vec::new()
}

/// First visible row of the tree.
pub fn tree_offset(model: &Model, rows: usize) -> usize {
    model
        .view
        .browse
        .node
        .saturating_sub(rows.saturating_sub(1))
}
