//! Drawing of the screen of runs.

use super::columns::columns;
use super::details::details;
use super::run_text::{BASELINE, PINNED, name_of};
use crate::explorer::shared::layout::{Layout, case_rows};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::run_list::RunsState;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{put, put_right};
use crate::explorer::widgets::{panel, panel_note, scrollbar};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Position, Rect};

/// Width in columns from which the details of a run are beside the list.
const DETAILS_BESIDE_FROM: u16 = 100;
/// Height in lines from which the details of a run are below the list of a narrower screen.
const DETAILS_BELOW_FROM: u16 = 18;
/// The most lines of the details below the list.
const DETAILS_BELOW: u16 = 12;
/// Columns for the signs: marked, pinned.
const SIGNS: u16 = 4;
/// Sign of the run that is the first of a comparison.
const MARKED: &str = "●";

pub(super) fn layout(base: Layout, _: &Model) -> Layout {
    let body = base.body;
    let [main, panel] = if body.width >= DETAILS_BESIDE_FROM {
        let details = Constraint::Length(body.width * 2 / 5);
        ratatui::layout::Layout::horizontal([Constraint::Fill(1), details]).areas(body)
    } else if body.height >= DETAILS_BELOW_FROM {
        let details = Constraint::Length(DETAILS_BELOW.min(body.height / 2));
        ratatui::layout::Layout::vertical([Constraint::Fill(1), details]).areas(body)
    } else {
        [body, Rect::default()]
    };
    Layout {
        main,
        panel,
        ..base
    }
}

pub(super) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let used = put(
        buffer,
        area.x,
        area.y,
        area.width,
        "runs  ",
        theme.style(Role::Title),
    );
    let room = area.width.saturating_sub(used);
    put(
        buffer,
        area.x + used,
        area.y,
        room,
        &model.title,
        theme.style(Role::Faint),
    );
}

pub(super) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let runs = &model.runs;
    let mut count = match runs.rows.len() {
        _ if runs.history.is_none() => "runs".to_string(),
        1 => "1 run".to_string(),
        count => format!("{count} runs, newest first"),
    };
    let unreadable = runs
        .history
        .as_ref()
        .map_or(0, |history| history.unreadable.len());
    if unreadable > 0 {
        count = format!("{count}, {unreadable} cannot be read (evaltrail runs says why)");
    }
    panel(areas.main, &count, true, theme, buffer);
    let rows = case_rows(areas);
    if runs.rows.is_empty() {
        let words = match runs.history {
            None => "reading the runs…",
            Some(_) if unreadable > 0 => "no run can be read",
            Some(_) => "no runs here yet",
        };
        put(
            buffer,
            rows.x + 1,
            rows.y,
            rows.width.saturating_sub(1),
            words,
            theme.style(Role::Faint),
        );
    } else {
        list(model, runs, rows, theme, buffer);
        scrollbar(
            areas.main,
            runs.offset,
            usize::from(rows.height),
            runs.rows.len(),
            theme,
            buffer,
        );
    }
    if let Some(first) = runs
        .marked
        .as_ref()
        .and_then(|_| runs.first_of_comparison())
    {
        let words = format!("{MARKED} first of a comparison: {}", name_of(runs, first));
        panel_note(
            areas.main,
            areas.main.bottom() - 1,
            &words,
            theme.style(Role::Note),
            buffer,
        );
    }
    if !areas.panel.is_empty() {
        details(model, runs, areas.panel, theme, buffer);
    }
    None
}
fn list(model: &Model, runs: &RunsState, rows: Rect, theme: &Theme, buffer: &mut Buffer) {
    let columns = columns(model, runs, rows.width.saturating_sub(SIGNS), theme);
    let mut x = rows.x + SIGNS;
    for column in &columns {
        let room = column.width.saturating_sub(2);
        match column.right {
            true => put_right(
                buffer,
                x + room,
                rows.y - 1,
                room,
                column.heading,
                theme.style(Role::Faint),
            ),
            false => put(
                buffer,
                x,
                rows.y - 1,
                room,
                column.heading,
                theme.style(Role::Faint),
            ),
        };
        x += column.width;
    }
    for at in runs.offset..runs.rows.len().min(runs.offset + usize::from(rows.height)) {
        let Some(run) = runs.row(at) else { continue };
        let row = Rect {
            y: rows.y + (at - runs.offset) as u16,
            height: 1,
            ..rows
        };
        let style = theme.row(at == runs.cursor);
        buffer.set_style(row, style);
        let sign = theme.within(style, theme.style(Role::Accent));
        if runs.marked.as_ref() == Some(&run.path) {
            put(buffer, row.x, row.y, 1, MARKED, sign);
        }
        if runs.is_baseline(run) {
            put(buffer, row.x + 2, row.y, 1, BASELINE, sign);
        } else if runs.is_pinned(run) {
            put(buffer, row.x + 2, row.y, 1, PINNED, sign);
        }
        let mut x = row.x + SIGNS;
        for column in &columns {
            let (words, look) = (column.cell)(run);
            let look = theme.within(style, look);
            let room = column.width.saturating_sub(2);
            match column.right {
                true => put_right(buffer, x + room, row.y, room, &words, look),
                false => put(buffer, x, row.y, room, &words, look),
            };
            x += column.width;
        }
    }
}
