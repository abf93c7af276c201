//! The list where there are no eval sets: what was searched for, and what can be done.

use crate::diff::{Span, wrap_line};
use crate::domain::clean_line;
use crate::explorer::commands::{CAPTURE, Command, NEW_SET, SAMPLE};
use crate::explorer::model::Model;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::panel;
use crate::explorer::widgets::text::{put, put_spans};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// What can be done first.
const ACTIONS: [&Command; 3] = [&NEW_SET, &CAPTURE, &SAMPLE];
/// The file types that are searched for.
const SEARCHED: &str = "evaltrail searched this folder and its subfolders for *.evalset.json, *.test.json and data sets \
    (.jsonl, .csv, .json).";
/// Columns of text; wider lines are hard to read.
const WIDTH: u16 = 84;
/// Columns of the keys, and of the names of commands.
const KEYS: u16 = 6;
const NAMES: u16 = 18;

pub(super) fn draw(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let inner = panel(area, "no eval sets", true, theme, buffer);
    let text = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2).min(WIDTH), ..inner };
    let folder = clean_line(&model.title);
    let mut y = paragraph(&format!("No eval sets in {folder}."), Role::Title, text, theme, buffer);
    y = paragraph(SEARCHED, Role::Text, Rect { y, ..text }, theme, buffer) + 1;
    for command in ACTIONS {
        let row = Rect { y, height: text.bottom().saturating_sub(y), ..text };
        if row.height == 0 {
            return;
        }
        put(buffer, row.x, row.y, KEYS, &command.key(), theme.style(Role::Key));
        put(buffer, row.x + KEYS, row.y, NAMES, command.name, theme.style(Role::Title));
        let x = row.x + KEYS + NAMES;
        let help = Rect { x, width: row.right().saturating_sub(x), ..row };
        y = paragraph(command.help, Role::Text, help, theme, buffer).max(y + 1);
    }
}

/// Draws wrapped text. Returns the row below it.
fn paragraph(words: &str, role: Role, area: Rect, theme: &Theme, buffer: &mut Buffer) -> u16 {
    let span = Span { text: words.to_string(), ..Default::default() };
    let lines = wrap_line(&[span], usize::from(area.width));
    let shown = lines.len().min(usize::from(area.height));
    for (row, line) in lines.iter().enumerate().take(shown) {
        put_spans(buffer, (area.x, area.y + row as u16), area.width, line, theme, role);
    }
    area.y + shown as u16
}
