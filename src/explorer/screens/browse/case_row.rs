//! A row of the list of cases.

use super::columns::{ColumnWidths, METRIC_WIDTH, SIGNS};
use super::reason::{prompt_behind_id, prompt_text, reason_parts, summary_of};
use crate::explorer::case_list::decisions::quarantine_of;
use crate::explorer::case_list::trend::put_sparkline;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::CaseOutcome;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::attempts::{FLAKY, UNSTEADY, attempt_text};
use crate::explorer::widgets::spinner;
use crate::explorer::widgets::text::{put, put_right};
use evaltrail_core::domain::{
    AttemptSummary, MetricSummary, Score, Status, score_text, seconds_text,
};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Sign of a failing case that is quarantined.
pub(super) const QUARANTINED: &str = "‖";

/// The cells of a row, drawn from left to right.
struct CellPainter<'a> {
    x: u16,
    y: u16,
    style: Style,
    theme: &'a Theme,
    buffer: &'a mut Buffer,
}

impl CellPainter<'_> {
    /// Draws a text at the beginning of the next cell.
    fn left(&mut self, width: u16, text: &str, look: Style) {
        let look = self.theme.within(self.style, look);
        let room = width.saturating_sub(1);
        put(self.buffer, self.x, self.y, room, text, look);
        self.x += width;
    }

    /// Draws a text at the end of the next cell.
    fn right(&mut self, width: u16, text: &str) {
        let end = (self.x + width).saturating_sub(1);
        put_right(self.buffer, end, self.y, width, text, self.style);
        self.x += width;
    }
}

/// Draws the row of a case.
pub(super) fn case_row(
    model: &Model,
    case: CaseRef,
    row: Rect,
    columns: &ColumnWidths,
    (style, running): (Style, bool),
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let (outcome, summary) = (model.view.outcomes.get(case), summary_of(model, case));
    let problem = model.known_problem_of(case);
    let is_selected = model.view.browse.selected.contains(&case);
    let (x, y) = (row.x, row.y);
    let mut cells = CellPainter {
        x,
        y,
        style,
        theme,
        buffer,
    };
    let selection = if is_selected { "●" } else { "" };
    cells.left(2, selection, theme.style(Role::Accent));
    let (glyph, look) = sign(model, case, (running, problem.is_some()), theme);
    cells.left(SIGNS - 2, glyph, look);
    name(model, case, columns.name, &mut cells);
    cells.left(columns.set, &model.view.sets[case.set].label, style);
    attempts(outcome, columns.attempts, &mut cells);
    scores(outcome, &columns.metrics, &mut cells);
    let turns = summary.map(|summary| summary.turns.to_string());
    cells.right(columns.turns, &turns.unwrap_or_default());
    let time = outcome.map(|outcome| seconds_text(longest_time(outcome)));
    cells.right(columns.time, &time.unwrap_or_default());
    let position = (cells.x, cells.y);
    let width = columns.runs.saturating_sub(1);
    put_sparkline(model, case, position, width, style, theme, cells.buffer);
    cells.x += columns.runs;
    let end = cells.x + columns.reason;
    let mut parts = reason_parts(model, case, problem, theme);
    let has_passed = outcome.is_none_or(|outcome| outcome.worst == Status::Passed);
    if has_passed && parts.iter().all(|(text, _)| text.is_empty()) {
        parts = vec![(prompt_text(model, case), theme.style(Role::Faint))];
    }
    for (text, look) in parts {
        let (room, look) = (end.saturating_sub(cells.x), theme.within(style, look));
        cells.x += put(cells.buffer, cells.x, cells.y, room, &text, look);
    }
}

/// The latency of the slowest attempt, in seconds.
fn longest_time(outcome: &CaseOutcome) -> Option<f64> {
    let times = outcome
        .attempts
        .iter()
        .filter_map(|attempt| attempt.latency_s);
    times.reduce(f64::max)
}

/// The sign of a case, and how it looks.
fn sign(
    model: &Model,
    case: CaseRef,
    (running, is_unreadable): (bool, bool),
    theme: &Theme,
) -> (&'static str, Style) {
    match (running, model.view.outcomes.get(case)) {
        (true, _) => (spinner(model.now), theme.style(Role::Running)),
        (false, Some(outcome)) if outcome.is_failing() && quarantine_of(model, case).is_some() => {
            (QUARANTINED, theme.style(Role::Note))
        }
        (false, Some(outcome)) if outcome.is_flaky => (FLAKY, theme.style(Role::Note)),
        (false, Some(outcome)) if outcome.unsteady => (UNSTEADY, theme.style(Role::Note)),
        (false, Some(outcome)) => (outcome.worst.glyph(), theme.status(outcome.worst)),
        (false, None) if is_unreadable => (Status::Errored.glyph(), theme.style(Role::Bad)),
        (false, None) => ("·", theme.style(Role::Faint)),
    }
}

/// The id of a case; behind it its tags, that it cannot be read, or what a row without an id asks.
fn name(model: &Model, case: CaseRef, width: u16, cells: &mut CellPainter) {
    let id = model.shown_id(case);
    let (x, room) = (cells.x, width.saturating_sub(1));
    let used = put(cells.buffer, x, cells.y, room, &id, cells.style) + 1;
    if let Some((text, role)) = text_behind_id(model, case, &id) {
        let look = cells.theme.within(cells.style, cells.theme.style(role));
        let room = width.saturating_sub(used + 1);
        put(cells.buffer, x + used, cells.y, room, &text, look);
    }
    cells.x += width;
}

fn text_behind_id(model: &Model, case: CaseRef, id: &str) -> Option<(String, Role)> {
    let summary = summary_of(model, case);
    if summary.is_some_and(|summary| summary.problem.is_some()) {
        return Some(("unreadable".to_string(), Role::Bad));
    }
    if let Some(prompt) = prompt_behind_id(model, case, id) {
        return Some((prompt.to_string(), Role::Faint));
    }
    let tags = model.notes(case)?.tags.iter();
    let tags: Vec<String> = tags.map(|tag| format!("#{tag}")).collect();
    Some((tags.join(" "), Role::Faint))
}

/// A sign for each attempt, if there are several.
fn attempts(outcome: Option<&CaseOutcome>, width: u16, cells: &mut CellPainter) {
    let repeated = outcome.filter(|outcome| outcome.attempts.len() > 1);
    let Some(outcome) = repeated else {
        cells.x += width;
        return;
    };
    let statuses = outcome.attempts.iter().map(|attempt| attempt.status);
    let statuses: Vec<Status> = statuses.collect();
    let look = cells.theme.status(outcome.worst);
    cells.left(width, &attempt_text(&statuses), look);
}

/// The scores of the worst attempt; none if it errored.
fn scores(outcome: Option<&CaseOutcome>, names: &[String], cells: &mut CellPainter) {
    let worst = outcome.and_then(CaseOutcome::worst_attempt);
    let attempt = worst.filter(|attempt| attempt.status != Status::Errored);
    for name in names {
        match attempt.and_then(|attempt| metric_named(attempt, name)) {
            None => cells.x += METRIC_WIDTH,
            Some(metric) => {
                let look = match metric.unsteady {
                    true => cells.theme.style(Role::Note),
                    false => cells.theme.status(metric.status),
                };
                cells.left(METRIC_WIDTH, &summary_score_text(metric), look);
            }
        }
    }
}

fn metric_named<'a>(attempt: &'a AttemptSummary, name: &str) -> Option<&'a MetricSummary> {
    attempt.metrics.iter().find(|metric| metric.metric == name)
}

fn summary_score_text(metric: &MetricSummary) -> String {
    if !metric.rubrics.is_empty() {
        return rubric_text(&metric.rubrics);
    }
    match metric.score() {
        Some(score) => format!("{} {}", metric.status.glyph(), score_text(score)),
        None => metric.status.glyph().to_string(),
    }
}

/// How many rubrics hold, and a sign for each in its place.
fn rubric_text(rubrics: &[Option<Score>]) -> String {
    let sign = |rubric: &Option<Score>| match rubric {
        Some(score) if *score >= Score::ONE => '✓',
        Some(score) if *score > Score::ZERO => '◐',
        Some(_) => '✗',
        None => '?',
    };
    let held = rubrics
        .iter()
        .filter(|rubric| rubric.is_some_and(|score| score >= Score::ONE))
        .count();
    format!(
        "{held}/{} {}",
        rubrics.len(),
        rubrics.iter().map(sign).collect::<String>()
    )
}
