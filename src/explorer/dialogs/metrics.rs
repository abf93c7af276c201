//! The catalog of metrics: what each needs, computes and means.

use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::picker::{Picker, pick};
use crate::explorer::widgets::scrolled;
use crate::explorer::widgets::text::{put, put_spans};
use evaltrail_core::diff::{Line, Span, wrap_line};
use evaltrail_core::metrics::{catalog, info};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use tui_input::InputRequest;

/// Maximum height of the list above the description of a metric.
const LISTED: u16 = 9;
/// Width of the labels in the description, in columns.
const LABEL_WIDTH: u16 = 13;
/// Maximum width of the description, in columns.
const WIDTH: u16 = 100;
/// Height from which the description is shown.
const LEAST: u16 = 4;

/// The metrics to choose from.
#[derive(Debug)]
pub struct MetricCatalog {
    /// The matching metrics, by name.
    pub picker: Picker<&'static str>,
    /// The first visible line of the description.
    scroll: usize,
}

/// Opens the list at the current metric.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let mut list = MetricCatalog {
        picker: Picker::new(Vec::new()),
        scroll: 0,
    };
    list.find();
    let name = model
        .metric_at_hand()
        .map(|metric| metric.metric.clone())
        .unwrap_or_default();
    let name = name.split(':').next();
    let at = list
        .picker
        .found
        .iter()
        .position(|(known, _)| Some(*known) == name);
    list.picker.cursor = at.unwrap_or(0);
    dialog::open(model, list)
}

impl MetricCatalog {
    fn find(&mut self) {
        self.picker
            .find(catalog().map(|metric| (metric.name, metric.name.to_string())));
        self.scroll = 0;
    }

    /// Scrolls the description. Returns whether it has more lines than fit.
    fn scroll_description(&mut self, motion: Motion, body: Rect) -> bool {
        let Some((name, _)) = self.picker.found.get(self.picker.cursor) else {
            return false;
        };
        let (_, below) = halves(body);
        let rows = usize::from(below.height.saturating_sub(2));
        let count = description(name, below.width.min(WIDTH).saturating_sub(2)).len();
        self.scroll = motion.target(self.scroll, (count + 1).saturating_sub(rows), rows);
        count > rows && below.height >= LEAST
    }
}

impl Dialog for MetricCatalog {
    fn edit(&mut self, _: &mut Model, request: InputRequest) {
        self.picker.input.handle(request);
        self.find();
    }

    /// Pages are those of the description, lines those of the list.
    fn scroll(&mut self, model: &mut Model, motion: Motion) {
        let is_page = matches!(motion, Motion::PageUp | Motion::PageDown);
        if !(is_page && self.scroll_description(motion, layout(model).body)) {
            self.picker.scroll(motion);
            self.scroll = 0;
        }
    }

    fn draw(
        &self,
        _: &Model,
        areas: &Layout,
        theme: &Theme,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        let (above, below) = halves(areas.body);
        let above = Layout {
            body: above,
            ..*areas
        };
        let row =
            |(name, _): &(&'static str, String), area: Rect, style: Style, buffer: &mut Buffer| {
                let Some(metric) = info(name) else { return };
                put(buffer, area.x, area.y, area.width, name, style);
                let wide = area.width.saturating_sub(48);
                let faint = theme.within(style, theme.style(Role::Faint));
                put(
                    buffer,
                    area.x + 47,
                    area.y,
                    wide,
                    metric.family.label(),
                    faint,
                );
            };
        let title = "metrics   type to find, esc close";
        let cursor = pick(&self.picker, title, &above, theme, buffer, row);
        if let Some((name, _)) = self
            .picker
            .found
            .get(self.picker.cursor)
            .filter(|_| below.height >= LEAST)
        {
            draw_description(name, self.scroll, below, theme, buffer);
        }
        Some(cursor)
    }
}

/// The areas of the list and of the description.
fn halves(body: Rect) -> (Rect, Rect) {
    let above = Rect {
        height: LISTED.min(body.height / 2).max(4),
        ..body
    };
    (
        above,
        Rect {
            y: body.y + above.height,
            height: body.height.saturating_sub(above.height),
            ..body
        },
    )
}

/// A line of the description of a metric: its label, if it is the first line of a fact, and its text.
struct DescriptionLine {
    label: &'static str,
    text: Line,
    role: Role,
}

/// The description of a metric in an area that is `width` columns wide.
fn description(name: &str, width: u16) -> Vec<DescriptionLine> {
    let Some(metric) = info(name) else {
        return Vec::new();
    };
    let room = usize::from(width.saturating_sub(LABEL_WIDTH + 2)).max(10);
    let facts = metric
        .facts()
        .into_iter()
        .map(|(label, words)| (label, words, Role::Text));
    let all = std::iter::once(("", metric.summary.to_string(), Role::Title)).chain(facts);
    let lines = all.flat_map(|(label, text, role)| {
        let wrapped = wrap_line(
            &[Span {
                text,
                ..Span::default()
            }],
            room,
        );
        wrapped
            .into_iter()
            .enumerate()
            .map(move |(at, text)| DescriptionLine {
                label: if at == 0 { label } else { "" },
                text,
                role,
            })
    });
    lines.collect()
}

fn draw_description(name: &str, scroll: usize, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let lines = description(name, area.width.min(WIDTH).saturating_sub(2));
    let is_whole = lines.len() <= usize::from(area.height.saturating_sub(2));
    let title = if is_whole {
        name.to_string()
    } else {
        format!("{name}   pgdn, pgup scroll")
    };
    // As many lines as there are rows at least, so that the box takes the whole area.
    let count = lines.len().max(usize::from(area.height.saturating_sub(2)));
    let (inner, first) = scrolled(area, WIDTH, (count, scroll), &title, theme, buffer);
    for (y, line) in (inner.y..inner.bottom()).zip(lines.iter().skip(first)) {
        put(
            buffer,
            inner.x + 1,
            y,
            LABEL_WIDTH,
            line.label,
            theme.style(Role::Faint),
        );
        let room = inner.width.saturating_sub(LABEL_WIDTH + 2);
        put_spans(
            buffer,
            (inner.x + LABEL_WIDTH, y),
            room,
            &line.text,
            theme,
            line.role,
        );
    }
}
