//! Drawing functions that several screens share.

pub mod attempts;
pub mod picker;
pub(crate) mod steps;
pub mod text;
pub mod text_field;

use crate::explorer::shared::layout::inside;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::{put, put_right};
use evaltrail_core::domain::{Status, Totals};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, BorderType, Clear, Widget};

const SPINNER: &[&str] = &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];

/// Draws a border with a title. Returns the area inside; its cells are not changed.
pub(crate) fn panel(
    area: Rect,
    title: &str,
    focused: bool,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Rect {
    let style = theme.style(if focused { Role::Focus } else { Role::Border });
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(style)
        .render(area, buffer);
    if area.width > 6 && !title.is_empty() {
        let title = format!(" {title} ");
        put(
            buffer,
            area.x + 2,
            area.y,
            area.width - 4,
            &title,
            theme.style(Role::Title),
        );
    }
    inside(area)
}

/// Draws a note at the right end of a panel's upper border.
pub(crate) fn panel_note(area: Rect, y: u16, note: &str, style: Style, buffer: &mut Buffer) {
    if area.width > 30 && !note.is_empty() {
        put_right(
            buffer,
            area.right() - 2,
            y,
            area.width / 2,
            &format!(" {note} "),
            style,
        );
    }
}

/// Draws the reason of the row under the cursor into the lower border of its list, where there is more room than in the row.
pub(crate) fn reason_in_border(
    area: Rect,
    status: Status,
    reason: &str,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    if reason.is_empty() || area.width <= 20 {
        return;
    }
    put(
        buffer,
        area.x + 2,
        area.bottom() - 1,
        area.width - 4,
        &format!(" {} {reason} ", status.glyph()),
        theme.status(status),
    );
}

/// Draws an empty box in the middle, over everything else. Returns the area inside.
pub(crate) fn over(
    body: Rect,
    width: u16,
    height: u16,
    title: &str,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Rect {
    let (width, height) = (width.min(body.width), height.min(body.height));
    let area = Rect {
        x: body.x + (body.width - width) / 2,
        y: body.y + (body.height - height) / 3,
        width,
        height,
    };
    Clear.render(area, buffer);
    buffer.set_style(area, theme.style(Role::Text));
    panel(area, title, true, theme, buffer)
}

/// Draws an empty box for a text of `lines` lines, with a scroll bar. Returns the area inside and the first visible
/// line.
pub(crate) fn scrolled(
    body: Rect,
    width: u16,
    (lines, scroll): (usize, usize),
    title: &str,
    theme: &Theme,
    buffer: &mut Buffer,
) -> (Rect, usize) {
    let height = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2);
    let inner = over(body, width, height, title, theme, buffer);
    let shown = usize::from(inner.height);
    let first = scroll.min(lines.saturating_sub(shown));
    let frame = Rect {
        x: inner.x - 1,
        y: inner.y - 1,
        width: inner.width + 2,
        height: inner.height + 2,
    };
    scrollbar(frame, first, shown, lines, theme, buffer);
    (inner, first)
}

/// Draws an empty box over the lowest rows. Returns the area inside.
pub(crate) fn bottom(
    body: Rect,
    width: u16,
    height: u16,
    title: &str,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Rect {
    let (width, height) = (width.min(body.width), height.min(body.height));
    let area = Rect {
        x: body.x,
        y: body.bottom() - height,
        width,
        height,
    };
    Clear.render(area, buffer);
    buffer.set_style(area, theme.style(Role::Text));
    panel(area, title, true, theme, buffer)
}

/// The current frame of a spinner; `now` is in seconds.
pub(crate) fn spinner(now: f64) -> &'static str {
    SPINNER[(now * 10.0) as usize % SPINNER.len()]
}

/// Draws a progress bar; `share` is from 0 to 1.
pub(crate) fn bar(area: Rect, share: f64, theme: &Theme, buffer: &mut Buffer) {
    let full = (f64::from(area.width) * share.clamp(0.0, 1.0)).round() as u16;
    for x in 0..area.width {
        let (sign, role) = if x < full {
            ("▓", Role::Bar)
        } else {
            ("░", Role::Faint)
        };
        put(buffer, area.x + x, area.y, 1, sign, theme.style(role));
    }
}

/// Draws counts with their symbols, such as `✓ 18  ✗ 4`; zero counts are left out. Returns the column after them.
pub(crate) fn counts(buffer: &mut Buffer, x: u16, y: u16, totals: Totals, theme: &Theme) -> u16 {
    let mut at = x;
    for (count, status) in totals.each() {
        if count > 0 {
            at += put(
                buffer,
                at,
                y,
                12,
                &format!("{} {count}  ", status.glyph()),
                theme.status(status),
            );
        }
    }
    at
}

/// Formats counts as one text, if its width is needed before drawing.
pub(crate) fn counts_text(totals: Totals) -> String {
    let shown = totals.each().into_iter().filter(|(count, _)| *count > 0);
    shown
        .map(|(count, status)| format!("{} {count}", status.glyph()))
        .collect::<Vec<_>>()
        .join("  ")
}

/// Draws a scroll bar on the right border of a panel, if not everything is visible.
pub(crate) fn scrollbar(
    area: Rect,
    first: usize,
    shown: usize,
    all: usize,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let height = usize::from(area.height.saturating_sub(2));
    if all <= shown || height < 2 {
        return;
    }
    let size = (height * shown / all).max(1);
    let top = (first * (height - size))
        .checked_div(all - shown)
        .unwrap_or(0)
        .min(height - size);
    for row in top..top + size {
        put(
            buffer,
            area.right() - 1,
            area.y + 1 + row as u16,
            1,
            "┃",
            theme.style(Role::Focus),
        );
    }
}
