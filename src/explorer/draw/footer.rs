//! The line at the bottom: a notice, or what can be done here.

use crate::explorer::commands::COMMANDS;
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr;

pub(crate) fn draw(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let area = areas.footer;
    if let Some(toast) = &model.toast {
        let role = if toast.bad { Role::Bad } else { Role::Accent };
        put(buffer, area.x + 1, area.y, area.width - 2, &toast.text, theme.style(role));
        return;
    }
    hints(model, areas, theme, buffer);
}

/// The commands of this screen that can be given now, as many as fit. The last two always do.
fn hints(model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) {
    let area = areas.footer;
    let context = model.context();
    let shown: Vec<(&str, &str)> = COMMANDS
        .iter()
        .filter(|command| command.contexts.contains(&context) && (command.enabled)(model).is_ok())
        .filter_map(|command| Some((command.keys.first().copied()?, command.hint?)))
        .collect();
    let width = |(key, hint): &(&str, &str)| (key.width() + hint.width() + 3) as u16;
    let kept = shown.len().min(2);
    let (first, last) = shown.split_at(shown.len() - kept);
    let mut room = area.width.saturating_sub(1).saturating_sub(last.iter().map(width).sum());
    let mut x = area.x + 1;
    let fitting = first.iter().filter(|hint| {
        let fits = width(hint) <= room;
        room -= if fits { width(hint) } else { 0 };
        fits
    });
    let all: Vec<&(&str, &str)> = fitting.collect();
    for (key, hint) in all.into_iter().chain(last) {
        let left = area.right().saturating_sub(x);
        x += put(buffer, x, area.y, left, key, theme.style(Role::Accent));
        x += put(
            buffer,
            x,
            area.y,
            area.right().saturating_sub(x),
            &format!(" {hint}  "),
            theme.style(Role::Faint),
        );
    }
}
