//! One case: expected and actual side by side, and the metrics with their reasons.

use crate::explorer::model::Screen;
use crate::explorer::screens::case::state::{CaseMode, CaseScreen};
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::text::{put, put_right, put_spans};
use crate::explorer::widgets::{panel, scrollbar};
use crate::explorer::{Body, BodyLine, Layout, Model, REASON_AT, VerdictLine, verdict_lines};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

pub(crate) fn layout(base: Layout, model: &Model) -> Layout {
    let body = base.body;
    let wanted = verdict_lines(model, usize::from(body.width)).len() as u16;
    let most = body.height.saturating_sub(7).min(body.height * 2 / 5);
    let height = wanted.min(most);
    let main = Rect { height: body.height - height, ..body };
    let panel = Rect { y: body.y + main.height, height, ..body };
    Layout { main, panel, ..base }
}

pub(crate) fn draw(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
    let Screen::Case(case) = &model.screen else { return None };
    let title = match case.mode {
        CaseMode::Compare if case.body.as_ref().is_some_and(|body| !body.side_by_side) => {
            "- expected  + actual"
        }
        CaseMode::Compare => "expected │ actual",
        CaseMode::Timeline => "timeline",
        CaseMode::Judged => "judges",
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
            piece(case, body, inner, theme, buffer);
            scrollbar(areas.main, case.scroll, shown, body.lines.len(), theme, buffer);
        }
    }
    verdict(model, areas.panel, theme, buffer);
    None
}

/// The mark of the current difference, which accepting takes.
fn piece(case: &CaseScreen, body: &Body, inner: Rect, theme: &Theme, buffer: &mut Buffer) {
    let line = body.pieces.get(case.piece).and_then(|(_, line)| line.checked_sub(case.scroll));
    if let Some(row) = line.filter(|row| *row < usize::from(inner.height)) {
        put(buffer, inner.x + 1, inner.y + row as u16, 1, "▸", theme.style(Role::Accent));
    }
}

pub(crate) fn body_line(line: &BodyLine, side_by_side: bool, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    match line {
        BodyLine::Rule(title) => rule(title, side_by_side, row, theme, buffer),
        BodyLine::Wide(line) => {
            put_spans(buffer, (row.x + 1, row.y), row.width - 1, line, theme, Role::Added)
        }
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

fn pair(
    left: &[crate::diff::Span],
    right: &[crate::diff::Span],
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
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

/// The metrics of the case with their reasons.
fn verdict(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let lines = verdict_lines(model, usize::from(area.width));
    let at_hand = model.metric_at_hand().map(|metric| &metric.metric);
    for (row, line) in lines.iter().take(usize::from(area.height)).enumerate() {
        let row = Rect { y: area.y + row as u16, height: 1, ..area };
        verdict_line(line, row, theme, buffer);
        if matches!(line, VerdictLine::Metric(_, name, ..) if at_hand == Some(name)) {
            put(buffer, row.x, row.y, 1, "▸", theme.style(Role::Accent));
        }
    }
}

pub(crate) fn verdict_line(line: &VerdictLine, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let reason_at = (row.x + REASON_AT as u16).min(row.right());
    let room = row.right().saturating_sub(reason_at);
    match line {
        VerdictLine::Words(status, line) => {
            let words: String = line.iter().map(|span| span.text.as_str()).collect();
            put(buffer, row.x + 1, row.y, row.width - 2, &words, theme.status(*status));
        }
        VerdictLine::Note(words) => {
            put(buffer, row.x + 1, row.y, row.width - 2, words, theme.style(Role::Note));
        }
        VerdictLine::Metric(status, name, numbers, reason) => {
            let style = theme.status(*status);
            put(buffer, row.x + 1, row.y, 1, status.glyph(), style);
            let end = reason_at.saturating_sub(2).min(row.right());
            let name_room = end.saturating_sub(row.x + 4 + numbers.len() as u16);
            put(buffer, row.x + 3, row.y, name_room, name, style);
            put_right(buffer, end, row.y, 11, numbers, style);
            put_spans(buffer, (reason_at, row.y), room, reason, theme, Role::Text);
        }
        VerdictLine::More(at, reason) => {
            let place = (row.x + *at as u16, row.y);
            put_spans(buffer, place, row.width.saturating_sub(*at as u16), reason, theme, Role::Text);
        }
    }
}
