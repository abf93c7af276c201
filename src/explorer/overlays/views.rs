//! What lies over a screen.

use crate::explorer::draw::footer::text_field;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::{over, scrollbar};
use crate::explorer::{
    COMMANDS, CaseRef, Command, CommandId, Confirm, Layout, Model, Picker, VariantItem, command,
};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

/// The keys of the screen below, with reasons for what does nothing now.
pub(crate) fn help(
    model: &Model,
    scroll: usize,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let context = model.screen_context();
    let here: Vec<&Command> =
        COMMANDS.iter().copied().filter(|command| command.contexts.contains(&context)).collect();
    let height = here.len() as u16 + 2;
    let inner = over(areas.body, 90, height, "keys here   j k move   ? or esc closes", theme, buffer);
    let shown = usize::from(inner.height);
    let first = scroll.min(here.len().saturating_sub(shown));
    let frame = Rect { x: inner.x - 1, y: inner.y - 1, width: inner.width + 2, height: inner.height + 2 };
    scrollbar(frame, first, shown, here.len(), theme, buffer);
    for (row, command) in here.iter().skip(first).take(usize::from(inner.height)).enumerate() {
        let y = inner.y + row as u16;
        put(buffer, inner.x + 1, y, 14, &command.keys.join("  "), theme.style(Role::Accent));
        let (words, role) = match (command.enabled)(model) {
            Ok(()) => (command.help.to_string(), Role::Text),
            Err(why) => (format!("{} ({why})", command.help), Role::Faint),
        };
        put(buffer, inner.x + 16, y, inner.width.saturating_sub(17), &words, theme.style(role));
    }
    None
}

pub(crate) fn palette(
    model: &Model,
    picker: &Picker<CommandId>,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let row = |(id, name): &(CommandId, String), area: Rect, style: Style, buffer: &mut Buffer| {
        let entry = command(*id);
        put(buffer, area.x, area.y, 18, name, style);
        let words = match (entry.enabled)(model) {
            Ok(()) => entry.help.to_string(),
            Err(why) => format!("({why})"),
        };
        put(
            buffer,
            area.x + 19,
            area.y,
            area.width.saturating_sub(28),
            &words,
            style.patch(theme.style(Role::Faint)),
        );
        let key = entry.keys.first().copied().unwrap_or_default();
        put(buffer, area.right().saturating_sub(8), area.y, 8, key, style.patch(theme.style(Role::Accent)));
    };
    Some(pick(picker, "command", areas, theme, buffer, row))
}

pub(crate) fn jump(
    model: &Model,
    picker: &Picker<CaseRef>,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let row = |(case, name): &(CaseRef, String), area: Rect, style: Style, buffer: &mut Buffer| {
        if let Some(status) = model.outcomes.worst(*case) {
            put(buffer, area.x, area.y, 1, status.glyph(), style.patch(theme.status(status)));
        }
        put(buffer, area.x + 2, area.y, area.width.saturating_sub(2), name, style);
    };
    Some(pick(picker, "case", areas, theme, buffer, row))
}

/// The cases that flip under the change on trial.
pub(crate) fn flips(
    picker: &Picker<CaseRef>,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let row = |(_, words): &(CaseRef, String), area: Rect, style: Style, buffer: &mut Buffer| {
        put(buffer, area.x, area.y, area.width, words, style);
    };
    Some(pick(picker, "what flips   enter opens", areas, theme, buffer, row))
}

/// The allowed trajectories of a case, and those that were seen.
pub(crate) fn variants(
    picker: &Picker<VariantItem>,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let row = |(item, words): &(VariantItem, String), area: Rect, style: Style, buffer: &mut Buffer| {
        let sign = if matches!(item, VariantItem::Allowed(_)) { "✓" } else { "+" };
        put(buffer, area.x, area.y, 2, sign, style.patch(theme.style(Role::Accent)));
        put(buffer, area.x + 2, area.y, area.width.saturating_sub(2), words, style);
    };
    Some(pick(
        picker,
        "other trajectories   enter on + allows it, on ✓ takes it away",
        areas,
        theme,
        buffer,
        row,
    ))
}

/// The sets that cases could go to.
pub(crate) fn sets(
    picker: &Picker<usize>,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let row = |(_, words): &(usize, String), area: Rect, style: Style, buffer: &mut Buffer| {
        put(buffer, area.x, area.y, area.width, words, style);
    };
    Some(pick(picker, "move to", areas, theme, buffer, row))
}

pub(crate) fn pick<T>(
    picker: &Picker<T>,
    title: &str,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
    row: impl Fn(&(T, String), Rect, Style, &mut Buffer),
) -> Position {
    let inner = over(areas.body, 84, 20, title, theme, buffer);
    put(buffer, inner.x + 1, inner.y, 2, "›", theme.style(Role::Accent));
    let cursor =
        text_field(&picker.input, inner.x + 3, inner.y, inner.width.saturating_sub(4), theme, buffer);
    let rows = usize::from(inner.height.saturating_sub(1));
    let first = picker.cursor.saturating_sub(rows.saturating_sub(1));
    for (at, item) in picker.found.iter().enumerate().skip(first).take(rows) {
        let y = inner.y + 1 + (at - first) as u16;
        let area = Rect { x: inner.x + 1, y, width: inner.width.saturating_sub(2), height: 1 };
        let style = if at == picker.cursor { theme.style(Role::Cursor) } else { theme.style(Role::Text) };
        buffer.set_style(area, style);
        row(item, area, style, buffer);
    }
    if picker.found.is_empty() {
        put(
            buffer,
            inner.x + 3,
            inner.y + 1,
            inner.width.saturating_sub(4),
            "nothing matches",
            theme.style(Role::Faint),
        );
    }
    cursor
}

pub(crate) fn confirm(
    confirm: &Confirm,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let lines = confirm.laid_out(areas.body);
    let width = Confirm::width(areas.body);
    let inner = over(areas.body, width, lines.len() as u16 + 5, &confirm.title, theme, buffer);
    let seen = lines.iter().skip(confirm.scroll).take(usize::from(inner.height.saturating_sub(2)));
    for (row, line) in seen.enumerate() {
        let place = (inner.x + 1, inner.y + 1 + row as u16);
        crate::explorer::widgets::text::put_spans(
            buffer,
            place,
            inner.width.saturating_sub(2),
            line,
            theme,
            Role::Text,
        );
    }
    let y = inner.bottom().saturating_sub(1);
    let no = command(CommandId::No).keys.join(" ");
    put(
        buffer,
        inner.x + 1,
        y,
        inner.width.saturating_sub(2),
        &match confirm.below(areas.body) {
            0 => format!("{} yes    {no} no", CommandId::Yes.key()),
            below => {
                let (down, page) = (CommandId::Down.key(), CommandId::PageDown.key());
                format!("{below} more lines to read before a yes: {down}, {page}    {no} no")
            }
        },
        theme.style(Role::Accent),
    );
    None
}
