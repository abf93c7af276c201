//! The list where there are no eval sets: what was searched for, and what can be done.

use crate::explorer::shared::command_names::{CAPTURE, CommandName, NEW_SET, SAMPLE};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::panel;
use crate::explorer::widgets::text::{put, put_spans};
use evaltrail_core::diff::{Span, wrap_line};
use evaltrail_core::domain::clean_line;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// What can be done first.
const ACTIONS: [(&CommandName, &str); 3] = [
    (&NEW_SET, "create an eval set"),
    (
        &CAPTURE,
        "save a conversation as a case: of an ADK session, a recording or a trace",
    ),
    (
        &SAMPLE,
        "open the sample workspace: agents and eval sets to try evaltrail with",
    ),
];
/// The file types that are searched for.
const SEARCHED: &str = "evaltrail searched this folder and its subfolders for *.evalset.json, *.test.json and data sets \
    (.jsonl, .csv, .json).";
/// Columns of text; wider lines are hard to read.
const WIDTH: u16 = 84;
/// Columns of the keys, and of the names of commands.
const KEYS: u16 = 6;
const NAMES: u16 = 18;

/// On narrower screens only keys and names are shown.
const HELP_FROM: u16 = 60;

pub(super) fn draw(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let title = format!("no eval sets in {}", clean_line(&model.title));
    let inner = panel(area, &title, true, theme, buffer);
    let text = Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(2).min(WIDTH),
        ..inner
    };
    let mut y = text.y;
    for (command, what) in ACTIONS {
        let row = Rect {
            y,
            height: text.bottom().saturating_sub(y),
            ..text
        };
        if row.height == 0 {
            return;
        }
        put(
            buffer,
            row.x,
            row.y,
            KEYS,
            command.key(),
            theme.style(Role::Key),
        );
        put(
            buffer,
            row.x + KEYS,
            row.y,
            NAMES,
            command.name,
            theme.style(Role::Title),
        );
        y += 1;
        if area.width >= HELP_FROM {
            let x = row.x + KEYS + NAMES;
            let help = Rect {
                x,
                width: row.right().saturating_sub(x),
                ..row
            };
            y = paragraph(what, Role::Text, help, theme, buffer).max(y);
        }
    }
    let below = Rect {
        y: y + 1,
        height: text.bottom().saturating_sub(y + 1),
        ..text
    };
    paragraph(SEARCHED, Role::Faint, below, theme, buffer);
}

/// Draws wrapped text. Returns the row below it.
fn paragraph(words: &str, role: Role, area: Rect, theme: &Theme, buffer: &mut Buffer) -> u16 {
    let span = Span {
        text: words.to_string(),
        ..Default::default()
    };
    let lines = wrap_line(&[span], usize::from(area.width));
    let shown = lines.len().min(usize::from(area.height));
    for (row, line) in lines.iter().enumerate().take(shown) {
        put_spans(
            buffer,
            (area.x, area.y + row as u16),
            area.width,
            line,
            theme,
            role,
        );
    }
    area.y + shown as u16
}
