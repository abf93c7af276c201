//! Drawing of the lines of a case.

use crate::explorer::shared::case_lines::{BodyLine, CaseTab};
use crate::explorer::shared::layout::{Layout, inside};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shown_case::compare::column_width;
use crate::explorer::shown_case::verdict::{REASON_AT, VerdictLine};
use crate::explorer::widgets::text::{put, put_right, put_spans};
use evaltrail_core::domain::Status;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Width in columns from which metrics, timeline or judges are shown in a side pane.
pub(crate) const WIDE_FROM: u16 = 150;

/// Width in columns of a preview from which the events are beside the comparison.
const EVENTS_BESIDE_FROM: u16 = 140;
/// Height in rows of a narrower preview from which the events are below the comparison.
const EVENTS_BELOW_FROM: u16 = 16;

/// The width of the events in a preview, in columns; `None` if there is no room for them. They are beside the comparison if
/// this is less than the width of the preview, else below it.
pub(crate) fn preview_events_width(inner: Rect) -> Option<u16> {
    match inner.width {
        EVENTS_BESIDE_FROM.. => Some(inner.width / 3),
        width => (inner.height >= EVENTS_BELOW_FROM).then_some(width),
    }
}

/// Whether there is a side pane.
pub(crate) fn is_wide(areas: &Layout) -> bool {
    areas.body.width >= WIDE_FROM
}

/// The area of the lines: inside the border and below the column headings.
pub(crate) fn lines_area(model: &Model, areas: &Layout) -> Rect {
    let inner = inside(areas.main);
    let has_headings = model
        .open_case()
        .is_some_and(|case| case.mode == CaseTab::Compare || is_wide(areas));
    let heading = u16::from(has_headings).min(inner.height);
    Rect {
        y: inner.y + heading,
        height: inner.height - heading,
        ..inner
    }
}

pub(crate) fn body_line(
    line: &BodyLine,
    side_by_side: bool,
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    match line {
        BodyLine::Turn(title, status) => turn_heading(title, *status, row, theme, buffer),
        BodyLine::Rule(title) => rule(title, side_by_side, row, theme, buffer),
        BodyLine::Wide(line) => put_spans(
            buffer,
            (row.x + 1, row.y),
            row.width - 1,
            line,
            theme,
            Role::Added,
        ),
        BodyLine::Pair { mark, left, right } => {
            put(buffer, row.x, row.y, 1, mark, mark_style(mark, theme));
            match side_by_side {
                true => pair(left, right, row, theme, buffer),
                false => {
                    let role = if *mark == "-" {
                        Role::Removed
                    } else {
                        Role::Added
                    };
                    put_spans(buffer, (row.x + 2, row.y), row.width - 2, left, theme, role);
                }
            }
        }
    }
}

fn pair(
    left: &[evaltrail_core::diff::Span],
    right: &[evaltrail_core::diff::Span],
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let width = column_width(usize::from(row.width)) as u16;
    let middle = row.x + 2 + width;
    put_spans(
        buffer,
        (row.x + 2, row.y),
        width,
        left,
        theme,
        Role::Removed,
    );
    put(buffer, middle + 1, row.y, 1, "│", theme.style(Role::Border));
    put_spans(
        buffer,
        (middle + 3, row.y),
        width,
        right,
        theme,
        Role::Added,
    );
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
    put(
        buffer,
        row.x,
        row.y,
        row.width,
        &"─".repeat(usize::from(row.width)),
        style,
    );
    if side_by_side {
        let middle = row.x + 2 + column_width(usize::from(row.width)) as u16;
        put(buffer, middle + 1, row.y, 1, "┼", style);
    }
    put(
        buffer,
        row.x + 2,
        row.y,
        row.width - 4,
        &format!(" {title} "),
        theme.style(Role::Faint),
    );
}

/// Draws the heading of a turn: its number and its status.
fn turn_heading(
    title: &str,
    status: Option<Status>,
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let style = theme.style(Role::Border);
    put(
        buffer,
        row.x,
        row.y,
        row.width,
        &"━".repeat(usize::from(row.width)),
        style,
    );
    let (words, style) = match status {
        Some(status) => (
            format!(" {title} {} ", status.glyph()),
            theme.status(status),
        ),
        None => (format!(" {title} "), theme.style(Role::Title)),
    };
    put(
        buffer,
        row.x + 2,
        row.y,
        row.width.saturating_sub(4),
        &words,
        style,
    );
}

pub(crate) fn verdict_line(line: &VerdictLine, row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let reason_at = (row.x + REASON_AT as u16).min(row.right());
    let room = row.right().saturating_sub(reason_at);
    match line {
        VerdictLine::Words(status, line) => {
            let words: String = line.iter().map(|span| span.text.as_str()).collect();
            put(
                buffer,
                row.x + 1,
                row.y,
                row.width - 2,
                &words,
                theme.status(*status),
            );
        }
        VerdictLine::Brief(status, _, text) => {
            put(
                buffer,
                row.x + 1,
                row.y,
                row.width - 2,
                text,
                theme.status(*status),
            );
        }
        VerdictLine::Note(words) => {
            put(
                buffer,
                row.x + 1,
                row.y,
                row.width - 2,
                words,
                theme.style(Role::Note),
            );
        }
        VerdictLine::Metric(status, name, numbers, reason) => {
            let style = theme.status(*status);
            put(buffer, row.x + 1, row.y, 1, status.glyph(), style);
            let end = reason_at.saturating_sub(2).min(row.right());
            let width = numbers.chars().count() as u16;
            let name_room = end.saturating_sub(row.x + 4 + width);
            put(buffer, row.x + 3, row.y, name_room, name, style);
            put_right(buffer, end, row.y, width, numbers, style);
            put_spans(buffer, (reason_at, row.y), room, reason, theme, Role::Text);
        }
        VerdictLine::More(at, reason) => {
            let position = (row.x + *at as u16, row.y);
            put_spans(
                buffer,
                position,
                row.width.saturating_sub(*at as u16),
                reason,
                theme,
                Role::Text,
            );
        }
    }
}

/// Draws lines from the line `scroll` on.
pub(crate) fn body_lines(
    lines: &[BodyLine],
    side_by_side: bool,
    scroll: usize,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    for (row, line) in lines
        .iter()
        .skip(scroll)
        .take(usize::from(area.height))
        .enumerate()
    {
        let row = Rect {
            y: area.y + row as u16,
            height: 1,
            ..area
        };
        body_line(line, side_by_side, row, theme, buffer);
    }
}
