//! Drawing of the finished cases of a run: a row for each, and one for each attempt that was cancelled.

use super::rows::{PaneRows, TIME, attempt_name};
use super::update::finished_under_cursor;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::attempts::{FLAKY, UNSTEADY, attempt_text, longest_attempt_text};
use crate::explorer::widgets::text::{fit, put, put_right};
use crate::explorer::widgets::{panel, reason_in_border, scrollbar};
use evaltrail_core::analysis::PassCount;
use evaltrail_core::diff::{Span, Tone, wrap_line};
use evaltrail_core::domain::{AttemptKey, RunState, Status, seconds_text};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

/// Maximum number of cases whose names are measured for the width of their column.
const MEASURED: usize = 200;

/// Draws the pane of finished cases; if there is no preview, with the reason of the row under the cursor.
pub(super) fn finished(
    model: &Model,
    run: &RunState,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let (area, focused) = (areas.main, model.run_screen.in_finished);
    let inner = panel(area, finished_title(model), focused, theme, buffer);
    if model.view.preview.is_none()
        && let Some(attempt) = finished_under_cursor(model)
    {
        let reason = attempt.reason_with_model_errors();
        reason_in_border(area, attempt.status, &reason, theme, buffer);
    }
    let inner = unavailable_agents(run, inner, theme, buffer);
    let rows = PaneRows::new(&model.run_screen, inner, focused);
    let ended = model.run_screen.count();
    let all = ended + run.cancelled.len();
    let columns = FinishedColumns::new(run, inner.width);
    for at in rows.first..all.min(rows.first + rows.count()) {
        let (row, style) = rows.background(at, theme, buffer);
        if let Some(key) = at.checked_sub(ended).and_then(|at| run.cancelled.get(at)) {
            cancelled_row(run, *key, columns, row, style, theme, buffer);
            continue;
        }
        if let Some(case) = model.run_screen.case(at) {
            finished_row(run, case, columns, row, style, theme, buffer);
        }
    }
    scrollbar(area, rows.first, rows.count(), all, theme, buffer);
}

/// Draws the agents that could not be connected. Returns the area below.
fn unavailable_agents(run: &RunState, area: Rect, theme: &Theme, buffer: &mut Buffer) -> Rect {
    let width = usize::from(area.width.saturating_sub(2));
    let text = run.unavailable.iter().flat_map(|agent| {
        let text = format!("{} {}", Status::Errored.glyph(), agent.text());
        let lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines
    });
    let lines = text.flat_map(|line| wrap_line(&[Span::single_line(&line, Tone::Plain)], width));
    let mut used = 0;
    for (row, line) in area.rows().zip(lines) {
        let text: String = line.iter().map(|span| span.text.as_str()).collect();
        put(
            buffer,
            row.x + 1,
            row.y,
            row.width.saturating_sub(2),
            &text,
            theme.status(Status::Errored),
        );
        used += 1;
    }
    Rect {
        y: area.y + used,
        height: area.height - used,
        ..area
    }
}

/// The columns of the finished cases: sign and name, the attempts of a repeated case, the reason, the time.
#[derive(Clone, Copy)]
struct FinishedColumns {
    /// With the sign before the name and the space behind it.
    name: u16,
    /// 0 if each case has one attempt.
    attempts: u16,
}

impl FinishedColumns {
    /// The name is as wide as the longest one, at most two fifths of the row.
    fn new(run: &RunState, width: u16) -> FinishedColumns {
        let measured = 0..run.plan.cases.len().min(MEASURED);
        let longest = measured
            .map(|case| run.plan.case_name(case).width())
            .max()
            .unwrap_or(0);
        let repeat = run.plan.options.repeat as usize;
        let attempts = match repeat {
            0 | 1 => 0,
            _ => longest_attempt_text(repeat) + 2,
        };
        FinishedColumns {
            name: (longest.min(1000) as u16 + 6).clamp(14, (width * 2 / 5).max(14)),
            attempts,
        }
    }
}

/// Draws a cancelled attempt. It has no result; resuming the run starts it again.
fn cancelled_row(
    run: &RunState,
    key: AttemptKey,
    columns: FinishedColumns,
    row: Rect,
    style: Style,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let faint = theme.within(style, theme.style(Role::Faint));
    put(buffer, row.x + 1, row.y, 1, "–", faint);
    let name_room = columns.name.saturating_sub(4);
    let name = attempt_name(run, key, name_room);
    put(buffer, row.x + 3, row.y, name_room, &name, style);
    let x = row.x + columns.name + columns.attempts;
    let room = row.right().saturating_sub(x);
    put(buffer, x, row.y, room, "cancelled", faint);
}

fn finished_title(model: &Model) -> &'static str {
    match model.run_screen.is_ordered {
        false => "finished, failing and newest first",
        true => "finished, failing first",
    }
}

/// Draws a case of which attempts ended: how the attempt that represents it ended, and the signs of all of them.
fn finished_row(
    run: &RunState,
    case: usize,
    columns: FinishedColumns,
    row: Rect,
    style: Style,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let Some(attempt) = run.worst_attempt(case) else {
        return;
    };
    let statuses = run.statuses_of(case);
    let statuses: Vec<Status> = statuses.into_iter().map(|(_, status)| status).collect();
    let is_flaky = PassCount::of_statuses(statuses.iter().copied()).is_flaky();
    let (sign, look) = match (is_flaky, attempt.unsteady) {
        (true, _) => (FLAKY, theme.style(Role::Note)),
        (false, true) => (UNSTEADY, theme.style(Role::Note)),
        (false, false) => (attempt.status.glyph(), theme.status(attempt.status)),
    };
    let look = theme.within(style, look);
    put(buffer, row.x + 1, row.y, 1, sign, look);
    let name_room = columns.name.saturating_sub(4);
    let name = fit(&run.plan.case_name(case), usize::from(name_room)).into_owned();
    put(buffer, row.x + 3, row.y, name_room, &name, style);
    if columns.attempts > 0 {
        let text = attempt_text(&statuses);
        let x = row.x + columns.name;
        put(buffer, x, row.y, columns.attempts, &text, look);
    }
    let time = seconds_text(attempt.latency_s);
    let faint = theme.within(style, theme.style(Role::Faint));
    put_right(buffer, row.right() - 1, row.y, TIME, &time, faint);
    let x = row.x + columns.name + columns.attempts;
    let room = row.right().saturating_sub(x + TIME + 2);
    let reason = attempt.reason_with_model_errors();
    put(buffer, x, row.y, room, &reason, look);
}
