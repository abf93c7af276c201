//! A dialog in the bottom line: a prompt, the typed text, and a hint or an error.

use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::text_field::text_field;
use evaltrail_core::domain::clean_line;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Clear, Widget};
use tui_input::Input;
use unicode_width::UnicodeWidthStr;

/// The keys of a line.
pub(crate) const CONFIRM_OR_CANCEL: &str = "enter confirm  esc cancel";

/// The hint after the text: an example while nothing is typed, then the keys.
pub(crate) fn example_or_keys<'a>(input: &Input, example: &'a str) -> &'a str {
    if input.value().is_empty() {
        example
    } else {
        CONFIRM_OR_CANCEL
    }
}

/// Draws the line. After the text comes the error `wrong` with the key that leaves the line or, if there is none, the hint. Returns the position of the
/// cursor.
pub(crate) fn draw_line(
    prompt: &str,
    input: &Input,
    (wrong, hint): (Option<&str>, &str),
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    Clear.render(areas.footer, buffer);
    buffer.set_style(areas.footer, theme.style(Role::Text));
    let area = Rect {
        y: areas.footer.bottom().saturating_sub(1),
        height: 1,
        ..areas.footer
    };
    let used = put(
        buffer,
        area.x + 1,
        area.y,
        area.width / 2,
        prompt,
        theme.style(Role::Accent),
    );
    let (x, style) = (area.x + 1 + used, theme.style(Role::Text));
    let cursor = text_field(
        input,
        x,
        area.y,
        area.width.saturating_sub(4),
        style,
        buffer,
    );
    let typed = clean_line(input.value()).width() as u16;
    let x = area.x + 1 + used + typed + 2;
    let (words, role) = match wrong {
        Some(wrong) => (wrong, Role::Bad),
        None => (hint, Role::Faint),
    };
    let room = |x: u16| area.right().saturating_sub(x);
    let used = put(buffer, x, area.y, room(x), words, theme.style(role));
    if wrong.is_some() {
        let x = x + used + 2;
        put(
            buffer,
            x,
            area.y,
            room(x),
            "esc cancel",
            theme.style(Role::Faint),
        );
    }
    Some(cursor)
}
