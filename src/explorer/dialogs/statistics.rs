//! Mean, standard deviation and distribution of each metric over the selected or listed cases.

use crate::domain::{clean_line, score_text};
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
use crate::explorer::widgets::text::{put, put_right};
use crate::metrics::{Aggregate, aggregates_by_case};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::collections::{BTreeMap, BTreeSet};

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
    dialog::open(model, StatisticsTable { lines, scroll: 0 })
}

/// The metrics that the runs of the cases' results compute in different ways, as far as the runs are known.
fn metrics_with_different_options(model: &Model, cases: &[CaseRef]) -> BTreeSet<String> {
    let origin = |case: &CaseRef| Some((case.set, model.view.outcomes.get(*case)?.run.id.as_str()));
    let origins: BTreeSet<(usize, &str)> = cases.iter().filter_map(origin).collect();
    let mut known: BTreeMap<&String, u64> = BTreeMap::new();
    let mut different = BTreeSet::new();
    for (set, run) in origins {
        let head = model.trends.runs.iter().find(|head| head.run_id == run);
        let counted = head.and_then(|head| head.set(&model.view.sets[set].path.path));
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
        self.scroll = motion.target(self.scroll, self.lines.len(), PAGE);
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
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
        put(
            buffer,
            inner.x + 1,
            inner.y,
            name,
            "metric",
            theme.style(Role::Faint),
        );
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
            let number = |value: Option<f64>| value.map_or("—".to_string(), score_text);
            let numbers = [of.mean, of.std, of.min, of.median, of.p90, of.p95].map(number);
            let behind = format!("{}/{}/{}", of.valid, of.errored, of.total);
            put(
                buffer,
                inner.x + 1,
                y,
                name,
                &of.metric,
                theme.style(Role::Text),
            );
            let style = theme.style(if of.errored > 0 {
                Role::Errored
            } else {
                Role::Text
            });
            if of.valid == 0 && !of.why_none.is_empty() {
                let words = format!("{behind}  no score: {}", clean_line(&of.why_none));
                let room = inner.width.saturating_sub(name + 3);
                put(buffer, inner.x + 2 + name, y, room, &words, style);
                continue;
            }
            columns(inner, y, name, numbers, &behind, style, buffer);
        }
        let words = "errored attempts count in the total, not in the mean, in which every case counts the same";
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
