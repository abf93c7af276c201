//! The popup that lists the keys that can follow a prefix.

use crate::explorer::commands::keymap::continuations;
use crate::explorer::commands::{Command, PREFIXES};
use crate::explorer::shared::key::Key;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::bottom;
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

const WIDTH: u16 = 84;
/// Widths of the columns of keys and names.
const KEYS: u16 = 4;
const NAMES: u16 = 19;

pub(crate) fn draw(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    if model.pressed.is_empty() {
        return;
    }
    let found = continuations(model.context(), &model.pressed);
    let inner = bottom(
        areas.body,
        WIDTH,
        found.len() as u16 + 2,
        &title(&model.pressed),
        theme,
        buffer,
    );
    let rows = usize::from(inner.height);
    let shown = if found.len() > rows {
        rows.saturating_sub(1)
    } else {
        rows
    };
    if found.len() > rows {
        let rest: Vec<String> = found[shown..]
            .iter()
            .map(|(keys, command)| format!("{keys} {}", command.name()))
            .collect();
        let words = format!("… {}", rest.join("  "));
        let y = inner.bottom().saturating_sub(1);
        put(
            buffer,
            inner.x + 1,
            y,
            inner.width.saturating_sub(1),
            &words,
            theme.style(Role::Faint),
        );
    }
    for (row, (keys, command)) in found.iter().take(shown).enumerate() {
        let row = Rect {
            y: inner.y + row as u16,
            height: 1,
            ..inner
        };
        draw_command(model, keys, command, row, theme, buffer);
    }
}

/// The pressed keys, with the name of the prefix that they are.
fn title(pressed: &[Key]) -> String {
    let pressed = pressed
        .iter()
        .map(Key::to_string)
        .collect::<Vec<_>>()
        .join(" ");
    let name = PREFIXES
        .iter()
        .find(|(keys, _)| *keys == pressed)
        .map_or("", |(_, name)| name);
    format!("{pressed}  {name}   esc cancel")
}

/// Draws the keys that follow, the name of the command, and what it does or why it is disabled.
fn draw_command(
    model: &Model,
    keys: &str,
    command: &Command,
    row: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    put(
        buffer,
        row.x + 1,
        row.y,
        KEYS,
        keys,
        theme.style(Role::Accent),
    );
    let (words, role) = match command.is_enabled(model) {
        Ok(()) => (command.help.to_string(), Role::Text),
        Err(why) => (format!("disabled: {why}"), Role::Faint),
    };
    put(
        buffer,
        row.x + 1 + KEYS,
        row.y,
        NAMES - 1,
        command.name(),
        theme.style(role),
    );
    let x = row.x + 1 + KEYS + NAMES;
    put(
        buffer,
        x,
        row.y,
        row.right().saturating_sub(x),
        &words,
        theme.style(Role::Faint),
    );
}
