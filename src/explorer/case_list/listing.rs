//! The list of cases: which are listed, in which order, and the cursor.

use crate::explorer::case_list::causes::{CauseGroup, cause_groups, sorted_by_cause};
use crate::explorer::case_list::filtered_case::ListedCase;
use crate::explorer::case_list::trend::first_failed_run;
use crate::explorer::shared::case_list::{BrowseState, NarrowedTo, Pane, TreeNode};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::cyclic_search::next_row;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::list_columns::Column;
use crate::explorer::shared::list_order::ListOrder;
use crate::explorer::shared::matched::{FilteredSet, MatchedCases};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::outcomes::Outcomes;
use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::{Query, Status};
use std::cmp::Reverse;

/// Moves the cursor of the tree, and lists the cases of that row.
pub(crate) fn choose_node(model: &mut Model, node: usize) {
    if model.view.browse.node != node && node < model.view.browse.nodes.len() {
        model.view.browse.node = node;
        model.view.browse.cursor = 0;
        model.view.browse.offset = 0;
        relist(model);
    }
}

/// Orders the list by a column. If it is already ordered by this column, restores the order of the file.
pub(crate) fn order_by(model: &mut Model, column: Column) {
    let order = column.order();
    model.view.browse.order = if model.view.browse.order == order {
        ListOrder::File
    } else {
        order
    };
    relist(model);
}

/// Shows or hides a column. The column of the case is always shown.
pub(crate) fn toggle_column(model: &mut Model, column: Column) {
    if column != Column::Case && !model.view.browse.hidden.remove(&column) {
        model.view.browse.hidden.insert(column);
    }
}

/// Moves the cursor to the next or previous case that did not pass; after the last one it says that it is at the first.
/// After a run, the first one is the next one, also if the cursor is on it already.
pub(crate) fn next_failing(model: &mut Model, forward: bool) -> Vec<Effect> {
    let browse = &model.view.browse;
    let is_in_list = model.is_on(Context::Browse);
    let is_first_next = forward && is_in_list && browse.has_new_results && browse.cursor == 0;
    let moved_from = browse
        .moved_from
        .filter(|(case, _)| browse.visible.get(browse.cursor) == Some(case));
    let from = match moved_from {
        _ if is_first_next => None,
        // The case that followed is in the row that it left.
        Some((_, row)) if forward => row.checked_sub(1),
        Some((_, row)) => Some(row.min(browse.visible.len())),
        None => Some(browse.cursor),
    };
    let is_failing = |row: usize| {
        let worst = model.view.outcomes.worst(browse.visible[row]);
        worst.is_some_and(|status| status != Status::Passed)
    };
    let Some(found) = next_row(from, browse.visible.len(), forward, is_failing) else {
        return Vec::new();
    };
    let browse = &mut model.view.browse;
    browse.has_new_results &= !is_in_list;
    browse.moved_from = None;
    browse.cursor = found.row;
    browse.pane = Pane::Cases;
    match found.wrap_notice(from, forward, "case that did not pass") {
        Some(text) => notices::notify_position(model, text),
        None => Vec::new(),
    }
}

/// Applies a filter to the list.
pub(crate) fn set_filter(model: &mut Model, typed: String, query: Query) {
    model.view.browse.filter = typed;
    model.view.browse.query = query;
    relist(model);
}

/// Rebuilds the list: the cases of the chosen sets that match the filter and the narrowing, in order. The cursor stays on its case.
pub(crate) fn relist(model: &mut Model) {
    let before = model
        .view
        .browse
        .visible
        .get(model.view.browse.cursor)
        .copied();
    model.view.browse.matched = matched(model);
    let mut visible = model.view.browse.matched.cases.clone();
    if let Some(narrowing) = &model.view.browse.narrowing {
        visible.retain(|case| narrowing.cases.contains(case));
    }
    match model.view.browse.order {
        ListOrder::File => {}
        ListOrder::Cause => visible = sorted_by_cause(model, &visible),
        ListOrder::Failing => visible = failing_first(&model.view.outcomes, &visible),
        ListOrder::NewlyFailing => {
            visible.sort_by_cached_key(|case| Reverse(first_failed_run(model, *case)));
        }
        ListOrder::Slowest => {
            visible.sort_by_cached_key(|case| Reverse(milliseconds(model, *case)))
        }
        ListOrder::Disputed => visible.sort_by_cached_key(|case| Reverse(disputed(model, *case))),
        ListOrder::Name => visible.sort_by_cached_key(|case| model.eval_id(*case).into_owned()),
        ListOrder::Set => visible.sort_by_key(|case| (&model.view.sets[case.set].path.stem, *case)),
        ListOrder::PassRate => visible.sort_by_cached_key(|case| passed_thousandths(model, *case)),
        ListOrder::Score => visible.sort_by_cached_key(|case| lowest_score(model, *case)),
        ListOrder::Turns => visible.sort_by_cached_key(|case| Reverse(turns(model, *case))),
    }
    let browse = &mut model.view.browse;
    let row_of = |case: CaseRef| visible.iter().position(|other| *other == case);
    let row_before = browse.cursor;
    browse.edited = browse.edited.filter(|edited| edited.cursor_on == before);
    let edited = browse.edited.and_then(|edited| row_of(edited.case));
    let last = visible.len().saturating_sub(1);
    browse.cursor = edited
        .or((browse.stays_first && browse.cursor == 0).then_some(0))
        .or_else(|| before.and_then(row_of))
        .unwrap_or(browse.cursor.min(last));
    if let Some(edited) = &mut browse.edited {
        edited.cursor_on = visible.get(browse.cursor).copied();
    }
    browse.visible = visible;
    note_move(browse, before, row_before);
}

/// Notes the row that the case under the cursor left, if it is still under the cursor, and only results have changed.
fn note_move(browse: &mut BrowseState, before: Option<CaseRef>, row_before: usize) {
    let listed = (browse.node, browse.filter.clone(), browse.order);
    let is_same_list = std::mem::replace(&mut browse.listed, listed.clone()) == listed;
    let now = browse.visible.get(browse.cursor).copied();
    let case = now.filter(|_| is_same_list && now == before);
    match case {
        None => browse.moved_from = None,
        Some(case) if browse.cursor != row_before => {
            // A case that moved twice left the list of failures where it was first.
            let first = browse.moved_from.filter(|(moved, _)| *moved == case);
            browse.moved_from = first.or(Some((case, row_before)));
        }
        Some(_) => {}
    }
}

/// Rebuilds the list after results came in. A cursor on the first row stays there, so that it is on the first failing case.
pub(crate) fn relist_with_results(model: &mut Model) {
    let is_on_first = model.view.browse.cursor == 0 && model.open_case().is_none();
    model.view.browse.has_new_results = true;
    relist(model);
    if is_on_first {
        model.view.browse.cursor = 0;
    }
}

/// The cases of the chosen sets that match the filter.
fn matched(model: &Model) -> MatchedCases {
    let browse = &model.view.browse;
    let sets = browse
        .nodes
        .get(browse.node)
        .map(|node| model.sets_under(node))
        .unwrap_or_default();
    let filtered = |set: usize| {
        let summaries = model.view.sets[set].summaries.clone();
        Some(FilteredSet {
            set,
            file: model.file(set)?.clone(),
            summaries,
        })
    };
    let sets = sets.into_iter().filter_map(filtered).collect();
    MatchedCases::new(sets, &browse.query, &browse.matched, |set, case| {
        browse.query.matches(&ListedCase {
            model,
            file: &set.file,
            case,
        })
    })
}

/// The groups of the cases that the tree and the filter list, whether the list is narrowed or not.
pub(crate) fn groups_here(model: &Model) -> Vec<CauseGroup> {
    cause_groups(model, &matched(model).cases)
}

/// Narrows the list to a group, or shows all cases again.
pub(crate) fn narrow(model: &mut Model, to: Option<NarrowedTo>) {
    model.view.browse.narrowing = to;
    model.view.browse.cursor = 0;
    model.view.browse.offset = 0;
    relist(model);
}

/// Sort key: whether the case is unsteady, and how much the judges disagree, in thousandths.
fn disputed(model: &Model, case: CaseRef) -> (bool, u64) {
    let outcome = model.view.outcomes.get(case);
    let attempts = || outcome.iter().flat_map(|outcome| &outcome.attempts);
    let most = attempts()
        .map(|attempt| attempt.disagreement)
        .fold(0.0, f64::max);
    (
        outcome.is_some_and(|outcome| outcome.unsteady),
        (most * 1000.0) as u64,
    )
}

/// Sort key: the pass rate, in thousandths. Cases without an evaluated attempt come last.
fn passed_thousandths(model: &Model, case: CaseRef) -> usize {
    let rate = model
        .view
        .outcomes
        .get(case)
        .and_then(|outcome| PassCount::count(&outcome.attempts).rate());
    rate.map_or(usize::MAX, |rate| (rate * 1000.0) as usize)
}

/// Sort key: the lowest score of a deciding metric, in thousandths. Cases without a score come last.
fn lowest_score(model: &Model, case: CaseRef) -> i64 {
    let attempts = model
        .view
        .outcomes
        .get(case)
        .into_iter()
        .flat_map(|outcome| &outcome.attempts);
    let deciding = attempts
        .flat_map(|attempt| &attempt.metrics)
        .filter(|metric| metric.threshold.is_some());
    deciding
        .filter_map(|metric| metric.score())
        .map(|score| (score * 1000.0) as i64)
        .min()
        .unwrap_or(i64::MAX)
}

fn turns(model: &Model, case: CaseRef) -> usize {
    let summaries = model.view.sets[case.set].summaries.as_ref();
    summaries
        .and_then(|summaries| summaries.get(case.index))
        .map_or(0, |summary| summary.turns)
}

/// The cases that match a filter.
pub(crate) fn filtered(model: &Model, cases: &[CaseRef], query: &Query) -> Vec<CaseRef> {
    let is_left = |case: &CaseRef| {
        let matches = |file| {
            query.matches(&ListedCase {
                model,
                file,
                case: *case,
            })
        };
        query.is_empty() || model.file(case.set).is_some_and(|file| matches(file))
    };
    cases.iter().copied().filter(is_left).collect()
}

/// Failed cases, then errored ones, those that were not evaluated, and all others, each in the order of the file. This is
/// the usual order, so that it is computed with every key of a filter, in linear time.
fn failing_first(outcomes: &Outcomes, cases: &[CaseRef]) -> Vec<CaseRef> {
    let rank = |case: &CaseRef| match outcomes.worst(*case) {
        Some(Status::Failed) => 0,
        Some(Status::Errored) => 1,
        Some(Status::NotEvaluated) => 2,
        Some(Status::Informational | Status::Passed) | None => 3,
    };
    let mut ranked: [Vec<CaseRef>; 4] = Default::default();
    for case in cases {
        ranked[rank(case)].push(*case);
    }
    ranked.concat()
}

fn milliseconds(model: &Model, case: CaseRef) -> u64 {
    let slowest = model
        .view
        .outcomes
        .get(case)
        .into_iter()
        .flat_map(|outcome| &outcome.attempts);
    slowest
        .filter_map(|attempt| attempt.latency_s)
        .map(|seconds| (seconds * 1000.0) as u64)
        .max()
        .unwrap_or(0)
}

/// The row of a set in the tree.
pub(crate) fn node_of_set(model: &Model, set: usize) -> Option<usize> {
    model
        .view
        .browse
        .nodes
        .iter()
        .position(|node| *node == TreeNode::Set(set))
}

/// Lists the set of a case unless the case is listed already, so that next and previous work from the case.
pub(crate) fn list_with(model: &mut Model, case: CaseRef) {
    if !model.view.browse.visible.contains(&case) && model.view.browse.narrowing.is_some() {
        narrow(model, None);
    }
    if !model.view.browse.visible.contains(&case)
        && let Some(node) = node_of_set(model, case.set)
    {
        choose_node(model, node);
    }
}
