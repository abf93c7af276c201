//! One line of editable text.

use super::text::put;
use evaltrail_core::domain::clean_line;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::style::Style;
use tui_input::Input;
use unicode_width::UnicodeWidthStr;

/// Draws a text field, scrolled so that its cursor is visible. Returns the position of the cursor.
pub(crate) fn text_field(
    input: &Input,
    x: u16,
    y: u16,
    width: u16,
    style: Style,
    buffer: &mut Buffer,
) -> Position {
    let before: String = input.value().chars().take(input.cursor()).collect();
    let wide = clean_line(&before).width();
    let skipped = wide.saturating_sub(usize::from(width.saturating_sub(1)));
    let shown: String = clean_line(input.value()).chars().skip(skipped).collect();
    put(buffer, x, y, width, &shown, style);
    Position {
        x: x + (wide - skipped) as u16,
        y,
    }
}
