//! What lies over a screen about metrics: the table of all there are, and statistics of what is listed.

use crate::diff::{Span, wrap_line};
use crate::explorer::overlays::views::pick;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::{put, put_right, put_spans};
use crate::explorer::{CommandId, Layout, Picker};
use crate::metrics::{Aggregate, info};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

/// Rows of the list above what is told of one metric.
const LISTED: u16 = 9;
/// Columns before the words about a metric.
const HEADS: u16 = 13;

/// The metrics there are; below them, all about the one under the cursor.
pub(crate) fn metrics(
    picker: &Picker<&'static str>,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let body = areas.body;
    let above = Layout { body: Rect { height: LISTED.min(body.height / 2).max(4), ..body }, ..*areas };
    let below = Rect { y: body.y + above.body.height, height: body.height - above.body.height, ..body };
    let row = |(name, _): &(&'static str, String), area: Rect, style: Style, buffer: &mut Buffer| {
        let Some(metric) = info(name) else { return };
        put(buffer, area.x, area.y, area.width, name, style);
        let wide = area.width.saturating_sub(48);
        put(buffer, area.x + 47, area.y, wide, metric.family.label(), style.patch(theme.style(Role::Faint)));
    };
    let cursor = pick(picker, "metrics   type to find, esc closes", &above, theme, buffer, row);
    if let Some((name, _)) = picker.found.get(picker.cursor).filter(|_| below.height >= 4) {
        about(name, below, theme, buffer);
    }
    Some(cursor)
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

/// Mean, deviation and spread of every metric, with what stands behind the mean.
pub(crate) fn statistics(
    lines: &[Aggregate],
    scroll: usize,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let inner = over(
        areas.body,
        118,
        lines.len() as u16 + 4,
        &format!("statistics of what is listed   {} closes", CommandId::Back.key()),
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
    let first = scroll.min(lines.len().saturating_sub(rows));
    for (row, of) in lines.iter().skip(first).take(rows).enumerate() {
        let y = inner.y + 1 + row as u16;
        let number = |value: Option<f64>| value.map_or("—".to_string(), |value| format!("{value:.2}"));
        let numbers = [of.mean, of.std, of.min, of.median, of.p90, of.p95].map(number);
        let behind = format!("{}/{}/{}", of.valid, of.errored, of.total);
        put(buffer, inner.x + 1, y, name, &of.metric, theme.style(Role::Text));
        let style = theme.style(if of.errored > 0 { Role::Errored } else { Role::Text });
        columns(inner, y, name, numbers, &behind, style, buffer);
    }
    let words = "errors are counted beside the mean, never dropped from the total";
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
