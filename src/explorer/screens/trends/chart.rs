//! The chart of a row over its runs, with the chosen run below it.

use super::series_text::difference_of;
use super::state::TrendsScreen;
use crate::explorer::case_list::trend::{changes, short};
use crate::explorer::shared::layout::inside;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::{panel, panel_note};
use evaltrail_core::domain::counted;
use evaltrail_engine::history::{RunSummary, Series, SeriesPoint};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Widget};
use std::path::Path;

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
    let Some(head) = trends.run_head() else {
        return;
    };
    let before = chosen.checked_sub(1).and_then(|at| series.points.get(at));
    let before_head = before.and_then(|point| trends.history.as_ref()?.runs.get(point.run));
    for (row, words) in facts_of(model, series, chosen, head, before_head)
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
    let (Some(series), Some(chosen), Some(head)) =
        (trends.current(), trends.point(), trends.run_head())
    else {
        return;
    };
    let words = format!(
        "run {}/{}: {}, {}",
        chosen + 1,
        series.points.len(),
        series.describe(series.points[chosen].value),
        model.started_text(&head.started)
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
        let head = series
            .points
            .get(at)
            .and_then(|point| trends.history.as_ref()?.runs.get(point.run));
        head.map_or("", |head| &head.started)
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

/// About the chosen run: when it was, its value, and what differs from the run before.
fn facts_of(
    model: &Model,
    series: &Series,
    chosen: usize,
    head: &RunSummary,
    before: Option<&RunSummary>,
) -> Vec<String> {
    let point = &series.points[chosen];
    let previous = chosen.checked_sub(1).map(|at| &series.points[at]);
    let difference = previous.map(|previous| {
        let other = if previous.criteria == point.criteria {
            ""
        } else {
            ", other criteria"
        };
        format!(
            " ({}{other})",
            difference_of(series, point.value - previous.value)
        )
    });
    let attempts = counted(point.attempts, "attempt");
    let interval = point.interval.map(|(low, high)| {
        let [low, high] = [low, high].map(|bound| bound * 100.0);
        format!(", 95 % interval {low:.0}–{high:.0} %")
    });
    let id = head.short_id();
    let of = if series.metric.is_none() {
        " of"
    } else {
        ", mean of"
    };
    let first = format!(
        "run {} of {}: {id}, {}   {}{of} {attempts}{}{}",
        chosen + 1,
        series.points.len(),
        model.started_text(&head.started),
        series.describe(point.value),
        difference.unwrap_or_default(),
        interval.unwrap_or_default(),
    );
    let agent = head.set(&series.path).map_or(&head.agent, |set| &set.agent);
    let agent = Some(agent.clone()).filter(|agent| !agent.is_empty());
    let commit = head
        .commit
        .as_ref()
        .map(|commit| format!("commit {}", short(commit)));
    let second: Vec<String> = agent.into_iter().chain(commit).collect();
    vec![
        first,
        second.join("  ·  "),
        before
            .map(|before| changed_text(before, head, &series.path))
            .unwrap_or_default(),
    ]
}

fn changed_text(before: &RunSummary, head: &RunSummary, set: &Path) -> String {
    let mut changed = changes(before, head, set);
    if before.commit.is_some() && head.commit.is_some() && before.commit != head.commit {
        changed.push("the commit");
    }
    match changed.is_empty() {
        true => String::new(),
        false => format!("changed since the run before: {}", changed.join(", ")),
    }
}
