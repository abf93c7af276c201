//! The catalog of metrics: what each needs, computes and means.

use super::Dialog;
use crate::diff::{Span, wrap_line};
use crate::explorer::commands::Motion;
use crate::explorer::effect::Effect;
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::over;
use crate::explorer::widgets::picker::{Picker, pick};
use crate::explorer::widgets::text::{put, put_spans};
use crate::metrics::{catalog, info};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use tui_input::InputRequest;

/// Maximum height of the list above the description of a metric.
const LISTED: u16 = 9;
/// Width of the headings in the description, in columns.
const HEADS: u16 = 13;

/// The metrics to choose from.
#[derive(Debug)]
pub struct MetricCatalog {
    /// The matching metrics, by name.
    pub picker: Picker<&'static str>,
}

/// Opens the list at the current metric.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let mut list = MetricCatalog { picker: Picker::new(Vec::new()) };
    list.find();
    let name = model.metric_at_hand().map(|metric| metric.metric.clone()).unwrap_or_default();
    let name = name.split(':').next();
    let at = list.picker.found.iter().position(|(known, _)| Some(*known) == name);
    list.picker.cursor = at.unwrap_or(0);
    super::open(model, list)
}

impl MetricCatalog {
    fn find(&mut self) {
        self.picker.find(catalog().map(|metric| (metric.name, metric.name.to_string())));
    }
}

impl Dialog for MetricCatalog {
    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.picker.input.handle(request);
        self.find();
    }

    fn scroll(&mut self, _: &mut Model, motion: Motion) {
        self.picker.scroll(motion);
    }

    fn draw(&self, _: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
        let body = areas.body;
        let above = Layout { body: Rect { height: LISTED.min(body.height / 2).max(4), ..body }, ..*areas };
        let below = Rect { y: body.y + above.body.height, height: body.height - above.body.height, ..body };
        let row = |(name, _): &(&'static str, String), area: Rect, style: Style, buffer: &mut Buffer| {
            let Some(metric) = info(name) else { return };
            put(buffer, area.x, area.y, area.width, name, style);
            let wide = area.width.saturating_sub(48);
            let faint = theme.within(style, theme.style(Role::Faint));
            put(buffer, area.x + 47, area.y, wide, metric.family.label(), faint);
        };
        let cursor = pick(&self.picker, "metrics   type to find, esc close", &above, theme, buffer, row);
        if let Some((name, _)) = self.picker.found.get(self.picker.cursor).filter(|_| below.height >= 4) {
            about(name, below, theme, buffer);
        }
        Some(cursor)
    }
}

fn about(name: &str, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(metric) = info(name) else { return };
    let inner = over(area, 100, area.height, name, theme, buffer);
    let mut y = inner.y;
    let mut say = |head: &str, words: &str, role: Role, buffer: &mut Buffer| {
        let room = usize::from(inner.width.saturating_sub(HEADS + 2));
        let span = Span { text: words.to_string(), ..Span::default() };
        for (at, line) in wrap_line(&[span], room.max(10)).iter().enumerate() {
            if y >= inner.bottom() {
                return;
            }
            if at == 0 {
                put(buffer, inner.x + 1, y, HEADS, head, theme.style(Role::Faint));
            }
            put_spans(buffer, (inner.x + HEADS, y), room as u16, line, theme, role);
            y += 1;
        }
    };
    say("", metric.summary, Role::Title, buffer);
    for (head, words) in metric.facts() {
        say(head, &words, Role::Text, buffer);
    }
}
