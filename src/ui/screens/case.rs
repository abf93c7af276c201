//! One case: expected and actual side by side, and the metrics with their reasons.

use crate::app::{BodyLine, CaseMode, CaseScreen, Layout, Model};
use crate::domain::{Attempt, MetricResult, Status};
use crate::ui::text::{put, put_right, put_spans};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{panel, scrollbar};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(in crate::ui) fn case(model: &Model, case: &CaseScreen, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let title = match case.mode {
        CaseMode::Compare => "expected │ actual",
        CaseMode::Timeline => "timeline",
    };
    let inner = panel(areas.main, title, true, theme, buffer);
    match &case.body {
        None => {
            put(buffer, inner.x + 1, inner.y, inner.width, "comparing…", theme.style(Role::Faint));
        }
        Some(body) => {
            let shown = usize::from(inner.height);
            for (row, line) in body.lines.iter().skip(case.scroll).take(shown).enumerate() {
                let row = Rect { y: inner.y + row as u16, height: 1, ..inner };
                body_line(line, body.side_by_side, row, theme, buffer);
            }
            scrollbar(areas.main, case.scroll, shown, body.lines.len(), theme, buffer);
        }
    }
    metrics(model, areas.panel, theme, buffer);
}

fn body_line(line: &BodyLine, side_by_side: bool, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    match line {
        BodyLine::Rule(title) => rule(title, side_by_side, row, theme, buffer),
        BodyLine::Wide(line) => put_spans(buffer, (row.x + 1, row.y), row.width - 1, line, theme, Role::Added),
        BodyLine::Pair { mark, left, right } => {
            put(buffer, row.x, row.y, 1, mark, mark_style(mark, theme));
            match side_by_side {
                true => pair(left, right, row, theme, buffer),
                false => {
                    let role = if *mark == "-" { Role::Removed } else { Role::Added };
                    put_spans(buffer, (row.x + 2, row.y), row.width - 2, left, theme, role);
                }
            }
        }
    }
}

fn pair(left: &[crate::diff::Span], right: &[crate::diff::Span], row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let room = row.width.saturating_sub(5);
    let (left_width, right_width) = (room / 2, room - room / 2);
    let middle = row.x + 2 + left_width;
    put_spans(buffer, (row.x + 2, row.y), left_width, left, theme, Role::Removed);
    put(buffer, middle + 1, row.y, 1, "│", theme.style(Role::Border));
    put_spans(buffer, (middle + 3, row.y), right_width, right, theme, Role::Added);
}

fn mark_style(mark: &str, theme: &Theme) -> ratatui::style::Style {
    match mark {
        "=" => theme.style(Role::Faint),
        "+" => theme.style(Role::Passed),
        _ => theme.style(Role::Failed),
    }
}

fn rule(title: &str, side_by_side: bool, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let style = theme.style(Role::Border);
    put(buffer, row.x, row.y, row.width, &"─".repeat(usize::from(row.width)), style);
    if side_by_side {
        let middle = row.x + 3 + row.width.saturating_sub(5) / 2;
        put(buffer, middle, row.y, 1, "┼", style);
    }
    put(buffer, row.x + 2, row.y, row.width - 4, &format!(" {title} "), theme.style(Role::Faint));
}

/// A line for each metric: failed ones first.
fn metrics(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(attempt) = model.shown_attempt() else {
        put(buffer, area.x + 1, area.y, area.width.saturating_sub(2), "not run yet; r runs it", theme.style(Role::Faint));
        return;
    };
    let mut y = area.y;
    let mut line = |text: &str, style, buffer: &mut Buffer| {
        if y < area.bottom() {
            put(buffer, area.x + 1, y, area.width.saturating_sub(2), text, style);
            y += 1;
        }
    };
    if let Some(error) = &attempt.error {
        let words = format!("! errored  {error}");
        line(&words, theme.status(Status::Errored), buffer);
        let tries = if attempt.tries > 1 { format!(" after {} tries", attempt.tries) } else { String::new() };
        line(&format!("  ADK would say: failed, without the reason{tries}"), theme.style(Role::Faint), buffer);
    } else if attempt.status != attempt.adk_status {
        let words = format!("  here {}; ADK would say {}", attempt.status.label(), attempt.adk_status.label());
        line(&words, theme.style(Role::Note), buffer);
    }
    let from = y;
    for (row, metric) in in_order(attempt).into_iter().enumerate() {
        let y = from + row as u16;
        if y < area.bottom() {
            metric_line(metric, Rect { y, height: 1, ..area }, theme, buffer);
        }
    }
}

fn in_order(attempt: &Attempt) -> Vec<&MetricResult> {
    let mut metrics: Vec<&MetricResult> = attempt.metrics.iter().collect();
    metrics.sort_by_key(|metric| match metric.status {
        Status::Failed => 0,
        Status::Errored | Status::NotEvaluated => 1,
        Status::Passed => 2,
        Status::Informational => 3,
    });
    metrics
}

fn metric_line(metric: &MetricResult, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let style = theme.status(metric.status);
    let name_width = (row.width / 3).clamp(12, 34);
    put(buffer, row.x + 1, row.y, 1, metric.status.glyph(), style);
    put(buffer, row.x + 3, row.y, name_width - 1, &metric.metric, style);
    let numbers = match (metric.score, metric.threshold) {
        (Some(score), Some(threshold)) => format!("{score:.2} / {threshold:.2}"),
        (Some(score), None) => format!("{score:.2}"),
        _ => String::new(),
    };
    put_right(buffer, row.x + 3 + name_width + 11, row.y, 11, &numbers, style);
    let x = row.x + 3 + name_width + 13;
    let words = &metric.explanation;
    put(buffer, x, row.y, row.right().saturating_sub(x + 1), words, theme.style(Role::Text));
}
