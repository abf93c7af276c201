//! Mean, standard deviation and distribution of each metric over the selected or listed cases.

use super::{Dialog, Overlay};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::commands::{BACK, Context, Motion};
use crate::explorer::effect::Effect;
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::{put, put_right};
use crate::metrics::{Aggregate, aggregates};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

/// Number of rows of a page up or down.
const PAGE: usize = 10;

/// The table, with a line for each metric.
#[derive(Debug)]
pub struct StatisticsTable {
    /// The lines.
    pub lines: Vec<Aggregate>,
    scroll: usize,
}

/// Opens statistics of the selected cases or, if none is selected, of the listed ones.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let cases: Vec<CaseRef> = match model.browse.selected.is_empty() {
        true => model.browse.visible.clone(),
        false => model.browse.selected.iter().copied().collect(),
    };
    let outcomes = cases.iter().filter_map(|case| model.outcomes.get(*case));
    let attempts = outcomes.flat_map(|outcome| &outcome.attempts).map(|attempt| attempt.summary());
    let lines = aggregates(attempts);
    super::open(model, Overlay::Statistics(StatisticsTable { lines, scroll: 0 }))
}

impl Dialog for StatisticsTable {
    fn context(&self) -> Option<Context> {
        Some(Context::Reading)
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.scroll = motion.of(self.scroll, self.lines.len(), PAGE);
    }

    fn draw(&self, _: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
        let inner = over(
            areas.body,
            118,
            self.lines.len() as u16 + 4,
            &format!("statistics of the listed cases   {} close", BACK.key()),
            theme,
            buffer,
        );
        let name = inner.width.saturating_sub(9 * 7 + 18).clamp(12, 46);
        let heads = ["mean", "std", "min", "median", "p90", "p95"];
        put(buffer, inner.x + 1, inner.y, name, "metric", theme.style(Role::Faint));
        columns(
            inner,
            inner.y,
            name,
            heads.map(String::from),
            "valid/errored/total",
            theme.style(Role::Faint),
            buffer,
        );
        let rows = usize::from(inner.height.saturating_sub(2));
        let first = self.scroll.min(self.lines.len().saturating_sub(rows));
        for (row, of) in self.lines.iter().skip(first).take(rows).enumerate() {
            let y = inner.y + 1 + row as u16;
            let number = |value: Option<f64>| value.map_or("—".to_string(), |value| format!("{value:.2}"));
            let numbers = [of.mean, of.std, of.min, of.median, of.p90, of.p95].map(number);
            let behind = format!("{}/{}/{}", of.valid, of.errored, of.total);
            put(buffer, inner.x + 1, y, name, &of.metric, theme.style(Role::Text));
            let style = theme.style(if of.errored > 0 { Role::Errored } else { Role::Text });
            columns(inner, y, name, numbers, &behind, style, buffer);
        }
        let words = "errored attempts count in the total, not in the mean";
        put(
            buffer,
            inner.x + 1,
            inner.bottom().saturating_sub(1),
            inner.width.saturating_sub(2),
            words,
            theme.style(Role::Faint),
        );
        None
    }
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
