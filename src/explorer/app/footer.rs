//! The lines at the bottom: the notice and the hints.

use crate::explorer::commands::{COMMANDS, Command, PREFIXES};
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::screen::notice_lines;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use unicode_width::UnicodeWidthStr;

pub(crate) fn draw(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    if let Some(notice) = &model.notice {
        let role = if notice.bad { Role::Bad } else { Role::Accent };
        for (row, line) in notice_lines(model)
            .iter()
            .enumerate()
            .take(usize::from(areas.notice.height))
        {
            let text: String = line.iter().map(|span| span.text.as_str()).collect();
            let y = areas.notice.y + row as u16;
            put(
                buffer,
                areas.notice.x + 1,
                y,
                areas.notice.width - 2,
                &text,
                theme.style(role),
            );
        }
    }
    let is_typed = model
        .view
        .screen
        .functions()
        .text
        .as_ref()
        .is_some_and(|text| !text.commands_first && (text.takes)(model));
    let has_own_keys = model
        .view
        .open_dialog
        .as_ref()
        .is_some_and(|dialog| dialog.context().is_none());
    // While a value is typed, the line of the text field shows its keys; a dialog shows them in its title.
    if !has_own_keys && (!is_typed || model.view.open_dialog.is_some()) {
        hints(model, areas, theme, buffer);
    }
}

/// Number of hints at the end that are always shown.
const ALWAYS: usize = 2;

/// A hint on the screen.
struct PlacedHint {
    key: &'static str,
    text: String,
    /// Its first column.
    x: u16,
    /// Its line.
    y: u16,
}

impl PlacedHint {
    fn area(&self) -> Rect {
        Rect::new(self.x, self.y, width_of(self.key, &self.text), 1)
    }
}

/// The width of a hint with the gap behind it.
fn width_of(key: &str, text: &str) -> u16 {
    (key.width() + text.width() + 3) as u16
}

/// The hints that fit: the commands and prefixes that are enabled on this screen, most important first. The last ones
/// are always shown.
fn placed_hints(model: &Model, area: Rect) -> Vec<PlacedHint> {
    if area.is_empty() {
        return Vec::new();
    }
    let mut hints = all_hints(model);
    let always = hints.split_off(hints.len().saturating_sub(ALWAYS));
    let reserved = always.iter().map(|(key, text)| width_of(key, text)).sum();
    let last_line = area.bottom().saturating_sub(1);
    let first = area.x + 1;
    // The position of a hint: after the one before it, else at the beginning of the next line.
    let position = |(x, y): (u16, u16), width: u16, reserved: u16| {
        let has_room = |(x, y): &(u16, u16)| {
            let end = area
                .right()
                .saturating_sub(if *y == last_line { reserved } else { 0 });
            *y <= last_line && x + width <= end
        };
        [(x, y), (first, y + 1)].into_iter().find(has_room)
    };
    let mut placed = Vec::new();
    let mut add = |(key, text): (&'static str, String), (x, y): (u16, u16)| {
        let hint = PlacedHint { key, text, x, y };
        let end = (hint.area().right(), y);
        placed.push(hint);
        end
    };
    let mut at = (first, area.y);
    for hint in hints {
        let Some(found) = position(at, width_of(hint.0, &hint.1), reserved) else {
            break;
        };
        at = add(hint, found);
    }
    for hint in always {
        let found = position(at, width_of(hint.0, &hint.1), 0).unwrap_or(at);
        at = add(hint, found);
    }
    placed
}

fn hints(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let area = areas.footer;
    for hint in placed_hints(model, area) {
        let room = |x: u16| area.right().saturating_sub(x);
        let key = theme.style(Role::Accent);
        let used = put(buffer, hint.x, hint.y, room(hint.x), hint.key, key);
        let x = hint.x + used;
        let text = format!(" {}", hint.text);
        put(buffer, x, hint.y, room(x), &text, theme.style(Role::Faint));
    }
}

/// The keys of the hint at a position of the screen.
pub(crate) fn keys_at(model: &Model, area: Rect, at: Position) -> Option<&'static str> {
    let hint = placed_hints(model, area)
        .into_iter()
        .find(|hint| hint.area().contains(at));
    hint.map(|hint| hint.key)
}

/// Keys and texts of all hints: commands in the order of the table, with the prefixes before the hints that are
/// always shown.
fn all_hints(model: &Model) -> Vec<(&'static str, String)> {
    let context = model.context();
    let here =
        |command: &&&'static Command| command.is_in(context) && command.is_enabled(model).is_ok();
    let given: Vec<&'static Command> = COMMANDS.iter().filter(here).copied().collect();
    let hint = |command: &&'static Command| {
        let hint = command.hint?;
        let words = command
            .hint_now
            .map_or(hint.to_string(), |hint_now| hint_now(model));
        (!words.is_empty()).then(|| (command.key(), words))
    };
    let mut hints: Vec<(&'static str, String)> = given.iter().filter_map(hint).collect();
    let begins = |prefix: &str| {
        let keys = || given.iter().flat_map(|command| command.keys());
        keys().any(|keys| {
            keys.split_once(' ')
                .is_some_and(|(first, _)| first == prefix)
        })
    };
    let at = hints.len().saturating_sub(ALWAYS);
    let prefixes = PREFIXES.iter().filter(|(prefix, _)| begins(prefix));
    hints.splice(
        at..at,
        prefixes.map(|(prefix, name)| (*prefix, name.to_string())),
    );
    hints
}
