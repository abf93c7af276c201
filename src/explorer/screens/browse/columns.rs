//! The widths of the columns of the list of cases, and their headings.

use super::reason::{prompt_behind_id, prompt_text, reason_parts};
use crate::explorer::case_list::trend::points;
use crate::explorer::shared::case_list::TreeNode;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::list_columns::Column;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::CaseOutcome;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::attempts::attempt_text;
use crate::explorer::widgets::text::{put, put_right};
use evaltrail_core::domain::Status;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

/// Columns before the name: selection, sign.
pub(super) const SIGNS: u16 = 4;
const NAME_AT_LEAST: u16 = 16;
const MAX_NAME_WIDTH: u16 = 40;
const SET_WIDTH: u16 = 14;
pub(super) const METRIC_WIDTH: u16 = 11;
const REASON_AT_LEAST: u16 = 16;
/// Longer reasons take no room from other columns.
const REASON_WANTED: u16 = 72;
const TIME_WIDTH: u16 = 7;
const TURNS_WIDTH: u16 = 6;
/// As wide as its heading.
const ATTEMPTS_AT_LEAST: u16 = 9;
/// The column of past runs: two, and the space behind them.
const RUNS_AT_LEAST: u16 = 5;
/// At most as many past runs are shown.
const RUNS_SHOWN: usize = 8;

/// Maximum number of rows for whose texts the columns are fitted.
const MAX_MEASURED: usize = 200;

/// The rows for whose texts the columns are fitted: all, so that the columns stay when the list is scrolled; of a longer list, as
/// many evenly distributed ones and those of the page, which would miss a column that only they need.
pub(super) fn measured_rows(visible: &[CaseRef], page: &[CaseRef]) -> Vec<CaseRef> {
    if visible.len() <= MAX_MEASURED {
        return visible.to_vec();
    }
    let row = |at: usize| visible[at * visible.len() / MAX_MEASURED];
    let sample = (0..MAX_MEASURED).map(row);
    sample.chain(page.iter().copied()).collect()
}

/// The widths of the columns; a column of no width is not shown.
pub(super) struct ColumnWidths {
    pub(super) name: u16,
    pub(super) set: u16,
    pub(super) attempts: u16,
    pub(super) metrics: Vec<String>,
    pub(super) turns: u16,
    pub(super) time: u16,
    pub(super) runs: u16,
    /// The reason why a case did not pass; in other rows, the first message of the user.
    pub(super) reason: u16,
    pub(super) reason_heading: &'static str,
}

impl ColumnWidths {
    /// Divides the width among the columns that these rows have something for. When there is little room, columns
    /// give way in this order: turns, scores but the first, past runs, time, the first score, the set, attempts. The
    /// reason is the last one to go, and gets what is left.
    pub(super) fn fit(model: &Model, width: u16, rows: &[CaseRef], theme: &Theme) -> ColumnWidths {
        let mut wanted = wanted(model, rows, theme);
        let has_reasons = wanted.reason > 0;
        // Of a case that was not run, the prompt is all there is.
        if !has_reasons && has_prompts_not_run(model, rows) {
            wanted.reason = REASON_AT_LEAST;
        }
        let left = &mut width.saturating_sub(SIGNS);
        let most = match wanted.reason {
            0 => MAX_NAME_WIDTH,
            _ => MAX_NAME_WIDTH.min(*left / 2),
        };
        let name = take_width(left, wanted.name.min(most), 1);
        let reserved = take_width(left, wanted.reason.min(REASON_AT_LEAST), REASON_AT_LEAST);
        let attempts = take_width(left, wanted.attempts, 8);
        let more_reason = match reserved {
            0 => 0,
            _ => take_width(left, wanted.reason.saturating_sub(reserved), 1),
        };
        let set = take_width(left, wanted.set, 8);
        let mut metrics = wanted.metrics;
        let first = fitting_scores(left, metrics.len().min(1));
        let time = take_width(left, wanted.time, TIME_WIDTH);
        let runs = take_width(left, wanted.runs, RUNS_AT_LEAST);
        let more = fitting_scores(left, metrics.len().saturating_sub(1));
        metrics.truncate(if first > 0 { first + more } else { 0 });
        let turns = take_width(left, wanted.turns, TURNS_WIDTH);
        let columns = ColumnWidths {
            name,
            set,
            attempts,
            metrics,
            turns,
            time,
            runs,
            reason: reserved + more_reason,
            reason_heading: "",
        };
        let contents = (has_reasons, has_prompts(model, rows));
        columns.with_rest(take_width(left, u16::MAX, 1), contents)
    }

    /// Adds the rest of the width to the reasons. Without reasons, what the users ask is in their place if there is room
    /// for it; else the names get the rest.
    fn with_rest(self, rest: u16, (has_reasons, has_prompts): (bool, bool)) -> ColumnWidths {
        let (name, reason, heading) = match self.reason {
            0 if has_prompts && rest >= REASON_AT_LEAST => (self.name, rest, "prompt"),
            0 => {
                let most = MAX_NAME_WIDTH.max(self.name);
                ((self.name + rest).min(most), 0, "")
            }
            reason if !has_reasons => (self.name, reason + rest, "prompt"),
            reason if has_prompts => (self.name, reason + rest, "reason or prompt"),
            reason => (self.name, reason + rest, "reason"),
        };
        ColumnWidths {
            name,
            reason,
            reason_heading: heading,
            ..self
        }
    }
}

/// The widths that the columns need for these rows; 0 for a column that is hidden or has nothing to show.
fn wanted(model: &Model, rows: &[CaseRef], theme: &Theme) -> ColumnWidths {
    let outcomes: Vec<&CaseOutcome> = rows
        .iter()
        .filter_map(|case| model.view.outcomes.get(*case))
        .collect();
    let if_shown = |column: Column, width: u16| match is_shown(model, column) {
        true => width,
        false => 0,
    };
    let longest = rows.iter().map(|case| name_width(model, *case)).max();
    let metrics = match is_shown(model, Column::Scores) {
        true => metrics_of(&outcomes),
        false => Vec::new(),
    };
    let time = if outcomes.is_empty() { 0 } else { TIME_WIDTH };
    ColumnWidths {
        name: longest.unwrap_or(0).max(NAME_AT_LEAST),
        set: if_shown(Column::Set, set_width(model, rows)),
        attempts: if_shown(Column::Attempts, attempts_width(&outcomes)),
        metrics,
        turns: if_shown(Column::Turns, TURNS_WIDTH),
        time: if_shown(Column::Time, time),
        runs: if_shown(Column::Runs, runs_width(model, rows)),
        reason: if_shown(Column::Reason, reason_width(model, rows, theme)),
        reason_heading: "",
    }
}

/// Takes the wanted width from what is left, or less if that is all; nothing if not even `at_least` is left.
fn take_width(left: &mut u16, wanted: u16, at_least: u16) -> u16 {
    let taken = if wanted == 0 || *left < at_least {
        0
    } else {
        wanted.min(*left)
    };
    *left -= taken;
    taken
}

/// How many columns of scores, at most `count`, fit into what is left. Their widths are taken from it.
fn fitting_scores(left: &mut u16, count: usize) -> usize {
    (0..count)
        .take_while(|_| take_width(left, METRIC_WIDTH, METRIC_WIDTH) > 0)
        .count()
}

fn is_shown(model: &Model, column: Column) -> bool {
    !model.view.browse.hidden.contains(&column)
}

/// Whether the column of reasons shows what the user asks in one of these rows.
fn has_prompts(model: &Model, rows: &[CaseRef]) -> bool {
    let has_prompt = |case: &CaseRef| !prompt_text(model, *case).is_empty();
    is_shown(model, Column::Reason) && rows.iter().any(has_prompt)
}

/// Whether one of these rows was not run and has a prompt to show.
fn has_prompts_not_run(model: &Model, rows: &[CaseRef]) -> bool {
    let mut not_run = rows
        .iter()
        .filter(|case| model.view.outcomes.get(**case).is_none());
    is_shown(model, Column::Reason) && not_run.any(|case| !prompt_text(model, *case).is_empty())
}

/// The width that the name of a case needs; with the beginning of the prompt where it is behind the id.
fn name_width(model: &Model, case: CaseRef) -> u16 {
    let id = model.shown_id(case);
    let prompt = prompt_behind_id(model, case, &id).map_or(0, |prompt| columns_of(prompt) + 1);
    columns_of(&id) + prompt + 2
}

/// The width in which four of five reasons of these rows are shown whole; 0 if there is no reason.
fn reason_width(model: &Model, rows: &[CaseRef], theme: &Theme) -> u16 {
    let width = |case: &CaseRef| {
        let parts = reason_parts(model, *case, model.known_problem_of(*case), theme);
        parts.iter().map(|(text, _)| columns_of(text)).sum::<u16>()
    };
    let mut widths: Vec<u16> = rows.iter().map(width).filter(|width| *width > 0).collect();
    widths.sort_unstable();
    let wanted = widths.get((widths.len() * 4).div_ceil(5).saturating_sub(1));
    wanted.map_or(0, |width| (*width).clamp(REASON_AT_LEAST, REASON_WANTED))
}

/// The width of the names of the sets, where the list has cases of several.
fn set_width(model: &Model, rows: &[CaseRef]) -> u16 {
    let node = model.view.browse.nodes.get(model.view.browse.node);
    if matches!(node, Some(TreeNode::Set(_)) | None) {
        return 0;
    }
    let label = |case: &CaseRef| columns_of(&model.view.sets[case.set].label) + 2;
    rows.iter().map(label).max().unwrap_or(0).min(SET_WIDTH)
}

/// The width of a text in columns, as far as a row can be wide.
fn columns_of(text: &str) -> u16 {
    text.width().min(1000) as u16
}

/// Signs of the attempts and how many passed, where a visible case has more than one.
fn attempts_width(outcomes: &[&CaseOutcome]) -> u16 {
    let most = outcomes
        .iter()
        .map(|outcome| outcome.attempts.len())
        .max()
        .unwrap_or(0);
    if most < 2 {
        0
    } else {
        (attempt_text(&vec![Status::Passed; most]).width() as u16 + 2).max(ATTEMPTS_AT_LEAST)
    }
}

/// The outcomes in past runs, where a visible case has more than one.
fn runs_width(model: &Model, rows: &[CaseRef]) -> u16 {
    let most = rows
        .iter()
        .map(|case| points(model, *case).len())
        .max()
        .unwrap_or(0);
    if most < 2 {
        0
    } else {
        most.clamp(4, RUNS_SHOWN) as u16 + 1
    }
}

/// The metrics that have a threshold in these cases. Metrics that a case failed come first.
fn metrics_of(outcomes: &[&CaseOutcome]) -> Vec<String> {
    let mut metrics: Vec<(String, bool)> = Vec::new();
    for metric in outcomes
        .iter()
        .filter_map(|outcome| outcome.worst_attempt())
        .flat_map(|one| &one.metrics)
    {
        let is_failed = metric.status == Status::Failed;
        match metrics.iter_mut().find(|(name, _)| *name == metric.metric) {
            Some((_, failed)) => *failed |= is_failed,
            None if metric.threshold.is_some() => metrics.push((metric.metric.clone(), is_failed)),
            None => {}
        }
    }
    metrics.sort_by_key(|(_, failed)| !failed);
    metrics.into_iter().map(|(name, _)| name).collect()
}

/// Draws the headings.
pub(super) fn headings(columns: &ColumnWidths, inner: Rect, theme: &Theme, buffer: &mut Buffer) {
    let style = theme.style(Role::Faint);
    let mut x = inner.x + SIGNS;
    let mut heading = |width: u16, words: &str, right: bool, buffer: &mut Buffer| {
        match right {
            true => put_right(
                buffer,
                (x + width).saturating_sub(1),
                inner.y,
                width,
                words,
                style,
            ),
            false => put(buffer, x, inner.y, width.saturating_sub(1), words, style),
        };
        x += width;
    };
    heading(columns.name, "case", false, buffer);
    heading(columns.set, "set", false, buffer);
    heading(columns.attempts, "attempts", false, buffer);
    columns
        .metrics
        .iter()
        .for_each(|metric| heading(METRIC_WIDTH, short_metric(metric), false, buffer));
    heading(columns.turns, "turns", true, buffer);
    heading(columns.time, "time", true, buffer);
    heading(columns.runs, "runs", false, buffer);
    heading(columns.reason, columns.reason_heading, false, buffer);
}

/// A short name of a metric, for the heading of its column.
fn short_metric(name: &str) -> &str {
    match name {
        "tool_trajectory_avg_score" => "trajectory",
        "response_match_score" => "response",
        "trajectory_match" => "matched",
        "session_state_match" => "state",
        "trajectory_exact_match" => "exact",
        "final_response_match_v2" => "judged",
        "rubric_based_final_response_quality_v1" => "rubrics",
        "rubric_based_tool_use_quality_v1" => "tool rubrics",
        "rubric_based_multi_turn_trajectory_quality_v1" => "trajectory rubrics",
        "hallucinations_v1" => "supported",
        "per_turn_user_simulator_quality_v1" => "user",
        name => name
            .strip_suffix("_v1")
            .or(name.strip_suffix("_v2"))
            .unwrap_or(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_rows_are_all_or_distributed() {
        let rows = |count: usize| -> Vec<CaseRef> {
            (0..count).map(|index| CaseRef { set: 0, index }).collect()
        };
        assert_eq!(measured_rows(&rows(0), &[]), []);
        assert_eq!(measured_rows(&rows(128), &[]), rows(128));
        let many = measured_rows(&rows(100_000), &[]);
        assert_eq!(many.len(), MAX_MEASURED);
        assert_eq!(many[MAX_MEASURED - 1].index, 99_500);
    }
}
