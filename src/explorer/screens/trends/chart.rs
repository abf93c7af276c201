//! Drawing of the chart of a row over its runs, with the chosen run below it.

use super::run_facts::facts_of;
use super::state::TrendsScreen;
use crate::explorer::shared::layout::inside;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::{panel, panel_note};
use evaltrail_engine::history::{Series, SeriesPoint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Widget};

/// Height of the chart from which the middle of the scale has a label.
const LABELS_FROM: u16 = 8;
/// Number of lines about the chosen run.
const FACTS: u16 = 3;

pub(super) fn draw(
    model: &Model,
    trends: &TrendsScreen,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let Some(series) = trends.current() else {
        panel(area, "", false, theme, buffer);
        return;
    };
    let title = format!("{} of {}", series.name(), series.set);
    panel(area, &title, false, theme, buffer);
    let inner = inside(area);
    let facts = FACTS.min(inner.height / 3);
    let above = Rect {
        height: inner.height - facts,
        ..inner
    };
    let chosen = trends.point().unwrap_or(0);
    lines(trends, series, chosen, above, theme, buffer);
    let Some(run) = trends.selected_run() else {
        return;
    };
    let before = chosen.checked_sub(1).and_then(|at| series.points.get(at));
    let run_before = before.and_then(|point| trends.history.as_ref()?.runs.get(point.run));
    for (row, words) in facts_of(model, series, chosen, run, run_before)
        .iter()
        .take(usize::from(facts))
        .enumerate()
    {
        let style = theme.style(if row == 0 { Role::Text } else { Role::Faint });
        put(
            buffer,
            inner.x + 1,
            above.bottom() + row as u16,
            inner.width.saturating_sub(2),
            words,
            style,
        );
    }
}

/// Names the chosen run on the lower border, where there is no room for a chart.
pub(super) fn note_run(
    model: &Model,
    trends: &TrendsScreen,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let (Some(series), Some(chosen), Some(run)) =
        (trends.current(), trends.point(), trends.selected_run())
    else {
        return;
    };
    let words = format!(
        "run {}/{}: {}, {}",
        chosen + 1,
        series.points.len(),
        series.describe(series.points[chosen].value),
        model.started_text(&run.started)
    );
    panel_note(
        area,
        area.bottom() - 1,
        &words,
        theme.style(Role::Text),
        buffer,
    );
}

fn lines(
    trends: &TrendsScreen,
    series: &Series,
    chosen: usize,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let at = |(x, point): (usize, &SeriesPoint)| (x as f64, point.value);
    let points: Vec<(f64, f64)> = series.points.iter().enumerate().map(at).collect();
    let bound = |of: fn((f64, f64)) -> f64| -> Vec<(f64, f64)> {
        let of_point = |(x, point): (usize, &SeriesPoint)| Some((x as f64, of(point.interval?)));
        series
            .points
            .iter()
            .enumerate()
            .filter_map(of_point)
            .collect()
    };
    let (lowest, highest) = (bound(|(low, _)| low), bound(|(_, high)| high));
    let here: Vec<(f64, f64)> = points.get(chosen).copied().into_iter().collect();
    let (low, high) = series.scale();
    let last = (points.len() - 1).max(1) as f64;
    let started = |at: usize| {
        let run = series
            .points
            .get(at)
            .and_then(|point| trends.history.as_ref()?.runs.get(point.run));
        run.map_or("", |run| &run.started)
    };
    let times = time_labels(started(0), started(points.len() - 1));
    let values = match area.height >= LABELS_FROM {
        true => vec![low, (low + high) / 2.0, high],
        false => vec![low, high],
    };
    let values: Vec<String> = values
        .into_iter()
        .map(|value| series.describe(value))
        .collect();
    let dataset = |marker, data, role| {
        Dataset::default()
            .marker(marker)
            .data(data)
            .style(theme.style(role))
    };
    let curve =
        dataset(Marker::Braille, points.as_slice(), Role::Accent).graph_type(GraphType::Line);
    let mark = dataset(Marker::Dot, here.as_slice(), Role::Title).graph_type(GraphType::Scatter);
    let faint = theme.style(Role::Faint);
    let bounds = [&lowest, &highest].map(|bound| {
        dataset(Marker::Dot, bound.as_slice(), Role::Faint).graph_type(GraphType::Scatter)
    });
    Chart::new(bounds.into_iter().chain([curve, mark]).collect())
        .style(theme.style(Role::Text))
        .x_axis(
            Axis::default()
                .bounds([0.0, last])
                .labels(times)
                .style(faint),
        )
        .y_axis(
            Axis::default()
                .bounds([low, high])
                .labels(values)
                .style(faint),
        )
        .legend_position(None)
        .render(area, buffer);
}

/// The labels of the first and the last run: their days or, if these are equal, their times (UTC).
fn time_labels(first: &str, last: &str) -> Vec<String> {
    let part =
        |of: &str, range: std::ops::Range<usize>| of.get(range).unwrap_or_default().to_string();
    match part(first, 0..10) == part(last, 0..10) {
        true => vec![
            format!("{} {}", part(first, 0..10), part(first, 11..16)),
            part(last, 11..16),
        ],
        false => vec![part(first, 0..10), part(last, 0..10)],
    }
}
