//! Mean, standard deviation and quantiles of each metric over the selected or listed cases, and the distribution of the
//! scores of the metric under the cursor.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::BACK;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::{fit_middle, put, put_right};
use evaltrail_core::domain::{clean_line, score_text};
use evaltrail_core::metrics::{Aggregate, INTERVALS, aggregates_by_case};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::collections::{BTreeMap, BTreeSet};

/// Number of rows of a page up or down.
const PAGE: usize = 10;
/// The number of rows around the table: its header, and the line below it.
const AROUND: u16 = 2;
/// The minimum and the maximum height of the bars of a distribution, in rows.
const BARS: (u16, u16) = (3, 8);
/// The number of rows around the bars: an empty one, the title, and the scale.
const AROUND_BARS: u16 = 3;

/// The table, with a line for each metric.
#[derive(Debug)]
pub struct StatisticsTable {
    /// The lines.
    pub lines: Vec<Aggregate>,
    cursor: usize,
}

/// Opens statistics of the selected cases or, if none is selected, of the listed ones.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let cases: Vec<CaseRef> = match model.view.browse.selected.is_empty() {
        true => model.view.browse.visible.clone(),
        false => model.view.browse.selected.iter().copied().collect(),
    };
    let outcomes = cases
        .iter()
        .filter_map(|case| model.view.outcomes.get(*case))
        .enumerate();
    let attempts = outcomes.flat_map(|(case, outcome)| {
        outcome
            .attempts
            .iter()
            .map(move |attempt| (case, attempt.summary()))
    });
    let different = metrics_with_different_options(model, &cases);
    let titled = |of: Aggregate| match different.contains(&of.metric) {
        true => Aggregate {
            metric: format!("{} (different options)", of.metric),
            ..of
        },
        false => of,
    };
    let lines = aggregates_by_case(attempts)
        .into_iter()
        .map(titled)
        .collect();
    dialog::open(model, StatisticsTable { lines, cursor: 0 })
}

/// The metrics that the runs of the cases' results compute in different ways, as far as the runs are known.
fn metrics_with_different_options(model: &Model, cases: &[CaseRef]) -> BTreeSet<String> {
    let origin = |case: &CaseRef| Some((case.set, model.view.outcomes.get(*case)?.run.id.as_str()));
    let origins: BTreeSet<(usize, &str)> = cases.iter().filter_map(origin).collect();
    let mut known: BTreeMap<&String, u64> = BTreeMap::new();
    let mut different = BTreeSet::new();
    for (set, run) in origins {
        let summary = model
            .trends
            .runs
            .iter()
            .find(|summary| summary.run_id == run);
        let counted = summary.and_then(|summary| summary.set(&model.view.sets[set].path.path));
        for (metric, scoring) in counted
            .map(|counted| &counted.scoring)
            .into_iter()
            .flatten()
        {
            if *known.entry(metric).or_insert(*scoring) != *scoring {
                different.insert(metric.clone());
            }
        }
    }
    different
}

impl Dialog for StatisticsTable {
    fn context(&self) -> Option<Context> {
        Some(Context::Reading)
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.cursor = motion.target(self.cursor, self.lines.len(), PAGE);
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let lines = self.lines.len() as u16;
        let inner = over(
            areas.body,
            118,
            lines + AROUND + BARS.1 + AROUND_BARS + 2,
            &format!("statistics of the listed cases   {} close", BACK.key()),
            theme,
            buffer,
        );
        let bars = inner
            .height
            .saturating_sub(lines + AROUND + AROUND_BARS)
            .min(BARS.1);
        let (table, chart) = match bars >= BARS.0 {
            true => inner_parts(inner, bars + AROUND_BARS),
            false => (inner, Rect::default()),
        };
        self.draw_table(table, theme, buffer);
        if let Some(of) = self.lines.get(self.cursor).filter(|_| !chart.is_empty()) {
            draw_distribution(of, chart, theme, buffer);
        }
        None
    }
}

/// The area of the table, and that of the distribution below it.
fn inner_parts(inner: Rect, chart: u16) -> (Rect, Rect) {
    let height = inner.height - chart;
    let (above, below) = (Rect { height, ..inner }, inner.y + height);
    (
        above,
        Rect {
            y: below,
            height: chart,
            ..inner
        },
    )
}

impl StatisticsTable {
    fn draw_table(&self, area: Rect, theme: &Theme, buffer: &mut Buffer) {
        let faint = theme.style(Role::Faint);
        let name = area.width.saturating_sub(9 * 7 + 18).clamp(12, 46);
        let headers = ["mean", "std", "min", "median", "p90", "p95"].map(String::from);
        put(buffer, area.x + 1, area.y, name, "metric", faint);
        let counts = "valid/errored/total";
        columns(area, area.y, name, headers, counts, faint, buffer);
        let rows = usize::from(area.height.saturating_sub(AROUND));
        let first = (self.cursor + 1).saturating_sub(rows);
        let shown = self.lines.iter().enumerate().skip(first).take(rows);
        for (row, (at, of)) in shown.enumerate() {
            let y = area.y + 1 + row as u16;
            let style = theme.row(at == self.cursor);
            buffer.set_style(
                Rect {
                    y,
                    height: 1,
                    ..area
                },
                style,
            );
            draw_line(of, (area, y), name, (style, theme), buffer);
        }
        let text = "errored attempts count in the total, not in the mean, in which every case counts the same";
        let width = area.width.saturating_sub(2);
        let y = area.bottom().saturating_sub(1);
        put(buffer, area.x + 1, y, width, text, faint);
    }
}

fn draw_line(
    of: &Aggregate,
    (area, y): (Rect, u16),
    name: u16,
    (row, theme): (Style, &Theme),
    buffer: &mut Buffer,
) {
    let number = |value: Option<f64>| value.map_or("—".to_string(), score_text);
    let numbers = [of.mean, of.std, of.min, of.median, of.p90, of.p95].map(number);
    let counts = format!("{}/{}/{}", of.valid, of.errored, of.total);
    let shown = fit_middle(&of.metric, usize::from(name));
    put(buffer, area.x + 1, y, name, &shown, row);
    let style = match of.errored {
        0 => row,
        _ => theme.within(row, theme.style(Role::Errored)),
    };
    if of.valid == 0 && !of.why_none.is_empty() {
        let text = format!("{counts}  no score: {}", clean_line(&of.why_none));
        let width = area.width.saturating_sub(name + 3);
        put(buffer, area.x + 2 + name, y, width, &text, style);
        return;
    }
    columns(area, y, name, numbers, &counts, style, buffer);
}

/// Vertical bars for the numbers of scores in each interval, with the ends of the scale below them.
fn draw_distribution(of: &Aggregate, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let scores = &of.distribution;
    let (faint, most) = (theme.style(Role::Faint), scores.most());
    let width = area.width.saturating_sub(2);
    let title = match of.valid {
        0 => format!("{} has no scores", of.metric),
        1 => format!("1 score of {}", of.metric),
        count => format!(
            "{count} scores of {}; the highest bar has {most}",
            of.metric
        ),
    };
    put(
        buffer,
        area.x + 1,
        area.y + 1,
        width,
        &title,
        theme.style(Role::Text),
    );
    let (bars, bar) = (area.height - AROUND_BARS, width / INTERVALS as u16);
    if bar == 0 || most == 0 {
        return;
    }
    let top = area.y + 2;
    for (interval, count) in scores.counts.iter().enumerate() {
        // A single score among many is visible, too.
        let full = usize::from(bars) * 8;
        let eighths = (count * full).div_ceil(most);
        let x = area.x + 1 + interval as u16 * bar;
        for row in 0..bars {
            let below = usize::from(bars - 1 - row) * 8;
            let part = EIGHTHS[eighths.saturating_sub(below).min(8)];
            let text = part.repeat(usize::from(bar.saturating_sub(1).max(1)));
            put(buffer, x, top + row, bar, &text, theme.style(Role::Bar));
        }
    }
    let (y, chart) = (top + bars, bar * INTERVALS as u16);
    let half = (scores.low / 2.0) + (scores.high / 2.0);
    put(buffer, area.x + 1, y, chart, &score_text(scores.low), faint);
    put(
        buffer,
        area.x + 1 + chart / 2,
        y,
        chart / 2,
        &score_text(half),
        faint,
    );
    put_right(
        buffer,
        area.x + 1 + chart,
        y,
        chart,
        &score_text(scores.high),
        faint,
    );
}

fn columns(
    inner: Rect,
    y: u16,
    name: u16,
    numbers: [String; 6],
    behind: &str,
    style: Style,
    buffer: &mut Buffer,
) {
    let mut x = inner.x + 1 + name;
    for (at, number) in numbers.iter().enumerate() {
        x += 8;
        if x < inner.right() {
            put_right(buffer, x, y, 8, number, style);
        }
        if at == 1 {
            x += 20;
            if x < inner.right() {
                put_right(buffer, x, y, 20, behind, style);
            }
        }
    }
}
