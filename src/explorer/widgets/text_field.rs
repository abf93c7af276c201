//! One line of editable text.

use super::text::put;
use crate::domain::clean_line;
use crate::explorer::key::{Key, KeyCode};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::style::Style;
use tui_input::{Input, InputRequest};
use unicode_width::UnicodeWidthStr;

/// The edit that a key makes in a text field, if any.
pub(crate) fn request(key: Key) -> Option<InputRequest> {
    use InputRequest as R;
    Some(match (key.code, key.ctrl) {
        (KeyCode::Backspace, false) | (KeyCode::Char('h'), true) => R::DeletePrevChar,
        (KeyCode::Backspace, true) | (KeyCode::Char('w'), true) => R::DeletePrevWord,
        (KeyCode::Delete, _) | (KeyCode::Char('d'), true) => R::DeleteNextChar,
        (KeyCode::Left, false) | (KeyCode::Char('b'), true) => R::GoToPrevChar,
        (KeyCode::Right, false) | (KeyCode::Char('f'), true) => R::GoToNextChar,
        (KeyCode::Left, true) => R::GoToPrevWord,
        (KeyCode::Right, true) => R::GoToNextWord,
        (KeyCode::Home, _) | (KeyCode::Char('a'), true) => R::GoToStart,
        (KeyCode::End, _) | (KeyCode::Char('e'), true) => R::GoToEnd,
        (KeyCode::Char('u'), true) => R::DeleteLine,
        (KeyCode::Char('k'), true) => R::DeleteTillEnd,
        (KeyCode::Char(c), false) if !key.alt => R::InsertChar(c),
        _ => return None,
    })
}

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
    Position { x: x + (wide - skipped) as u16, y }
}
