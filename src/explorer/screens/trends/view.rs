//! Drawing of the screen of trends: a row for each set and metric, and below it the chart of the row under the cursor.

use super::chart;
use super::series_text::{change, has_other_criteria, scale_text, sparkline};
use super::state::TrendsScreen;
use crate::explorer::shared::layout::{Layout, case_rows};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{put, put_right};
use crate::explorer::widgets::{panel, scrollbar};
use evaltrail_engine::history::Series;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_width::UnicodeWidthStr;

/// Height of the body from which there is a chart below the rows.
const CHART_FROM: u16 = 16;
/// Width of the list from which the change since the run before has a column.
const CHANGE_FROM: u16 = 70;
const NAME_AT_LEAST: u16 = 12;
/// Columns of the sparkline where there is room.
const LINE_AT_LEAST: u16 = 10;
const NUMBER_WIDTH: u16 = 8;

pub(super) fn layout(base: Layout, model: &Model) -> Layout {
    let body = base.body;
    let rows = model
        .screen::<TrendsScreen>()
        .map_or(0, |trends| trends.series.len() as u16);
    let list = match body.height {
        height if height < CHART_FROM => height,
        // Border, heading and rows; the chart takes at least half.
        height => (rows.max(1) + 3).min(height / 2),
    };
    let main = Rect {
        height: list,
        ..body
    };
    let below = Rect {
        y: main.bottom(),
        height: body.height - list,
        ..body
    };
    Layout {
        main,
        panel: below,
        ..base
    }
}

pub(super) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let used = put(
        buffer,
        area.x,
        area.y,
        area.width,
        "trends  ",
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
    let trends = model.screen::<TrendsScreen>()?;
    let title = match trends.series.iter().any(has_other_criteria) {
        true => "each set over its runs   │ ≠ other criteria",
        false => "each set over its runs",
    };
    panel(areas.main, title, true, theme, buffer);
    let rows = case_rows(areas);
    if trends.series.is_empty() {
        let words = match trends.history {
            None => "reading the runs…",
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
        list(trends, rows, theme, buffer);
        scrollbar(
            areas.main,
            trends.offset,
            usize::from(rows.height),
            trends.series.len(),
            theme,
            buffer,
        );
    }
    match areas.panel.is_empty() {
        true => chart::note_run(model, trends, areas.main, theme, buffer),
        false => chart::draw(model, trends, areas.panel, theme, buffer),
    }
    None
}

/// The widths of the columns; a column of no width is not shown.
struct SeriesColumns {
    set: u16,
    metric: u16,
    change: u16,
    runs: u16,
    line: u16,
}

impl SeriesColumns {
    fn fit(trends: &TrendsScreen, width: u16) -> SeriesColumns {
        let widest = |of: &dyn Fn(&Series) -> usize| {
            trends.series.iter().map(of).max().unwrap_or(0) as u16 + 2
        };
        let is_wide = width >= CHANGE_FROM;
        let (change, runs) = if is_wide { (NUMBER_WIDTH, 6) } else { (0, 0) };
        // One column of space on the left, two before the line, and one on the right.
        let numbers = NUMBER_WIDTH + change + runs + 4;
        let names = width.saturating_sub(numbers + LINE_AT_LEAST);
        let set = widest(&|series| series.set.width())
            .clamp(NAME_AT_LEAST, (names / 2).max(NAME_AT_LEAST));
        let metric = widest(&|series| series.name().width());
        let metric = metric.clamp(NAME_AT_LEAST, names.saturating_sub(set).max(NAME_AT_LEAST));
        let line = width.saturating_sub(set + metric + numbers);
        SeriesColumns {
            set,
            metric,
            change,
            runs,
            line,
        }
    }
}

fn list(trends: &TrendsScreen, rows: Rect, theme: &Theme, buffer: &mut Buffer) {
    let columns = SeriesColumns::fit(trends, rows.width);
    let faint = theme.style(Role::Faint);
    let (mut x, y) = (rows.x + 1, rows.y - 1);
    for (width, heading, is_right) in [
        (columns.set, "set", false),
        (columns.metric, "metric", false),
        (NUMBER_WIDTH, "latest", true),
        (columns.change, "change", true),
        (columns.runs, "runs", true),
    ] {
        match is_right {
            true => put_right(
                buffer,
                (x + width).saturating_sub(1),
                y,
                width,
                heading,
                faint,
            ),
            false => put(buffer, x, y, width.saturating_sub(1), heading, faint),
        };
        x += width;
    }
    let heading = "values, 0 to 1";
    put(buffer, x + 2, y, columns.line, heading, faint);
    for (row, series) in trends
        .series
        .iter()
        .enumerate()
        .skip(trends.offset)
        .take(usize::from(rows.height))
    {
        let area = Rect {
            y: rows.y + (row - trends.offset) as u16,
            height: 1,
            ..rows
        };
        let style = theme.row(row == trends.cursor);
        buffer.set_style(area, style);
        let is_first = row == trends.offset || trends.series[row - 1].set != series.set;
        series_row(series, is_first, area, &columns, style, theme, buffer);
    }
}

fn series_row(
    series: &Series,
    is_first: bool,
    row: Rect,
    columns: &SeriesColumns,
    style: ratatui::style::Style,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let (mut x, y) = (row.x + 1, row.y);
    if is_first {
        put(
            buffer,
            x,
            y,
            columns.set.saturating_sub(1),
            &series.set,
            style,
        );
    }
    x += columns.set;
    put(
        buffer,
        x,
        y,
        columns.metric.saturating_sub(1),
        series.name(),
        style,
    );
    x += columns.metric;
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let Some(last) = values.last() else { return };
    put_right(
        buffer,
        x + NUMBER_WIDTH - 1,
        y,
        NUMBER_WIDTH,
        &series.describe(*last),
        style,
    );
    x += NUMBER_WIDTH;
    if columns.change > 0 {
        let words = change(series).unwrap_or_default();
        let faint = theme.within(style, theme.style(Role::Faint));
        put_right(
            buffer,
            x + columns.change - 1,
            y,
            columns.change,
            &words,
            faint,
        );
        x += columns.change;
        put_right(
            buffer,
            x + columns.runs - 1,
            y,
            columns.runs,
            &values.len().to_string(),
            faint,
        );
        x += columns.runs;
    }
    let line = sparkline(series, usize::from(columns.line));
    let accent = theme.within(style, theme.style(Role::Accent));
    let used = put(buffer, x + 2, y, columns.line, &line, accent);
    if let Some(text) = scale_text(series) {
        let room = columns.line.saturating_sub(used + 1);
        let faint = theme.within(style, theme.style(Role::Faint));
        put(buffer, x + 3 + used, y, room, &text, faint);
    }
}
