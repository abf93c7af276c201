//! The line at the bottom: what can be done here, something to tell, or the filter being typed.

use crate::domain::clean_line;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use crate::explorer::{Ask, AskKind, COMMANDS, Layout, Model};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use tui_input::Input;
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

/// The filter being typed, with what is wrong with it.
pub(crate) fn filter(
    input: &Input,
    wrong: Option<&str>,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let example = "status:failed metric:response<0.8 tool:name \"words\" -not";
    typed("/ ", input, (wrong, example), areas, theme, buffer)
}

/// A line that is asked for.
pub(crate) fn ask(ask: &Ask, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position> {
    let example = match ask.kind {
        AskKind::KeepChat(_) => "an id; id 2-3 keeps turns 2 to 3",
        AskKind::ChatState => "{\"key\": \"value\"}",
        AskKind::Tags(_) => "words, with spaces between; none takes them away",
        _ => "an id",
    };
    typed(ask.kind.prompt(), &ask.input, (ask.wrong.as_deref(), example), areas, theme, buffer)
}

/// A rule for comparing calls being typed.
pub(crate) fn rule(
    input: &Input,
    wrong: Option<&str>,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let example = "search_* query ignore · * limit tolerance 5 · book city regex ^O · log optional";
    typed("match ", input, (wrong, example), areas, theme, buffer)
}

fn typed(
    prompt: &str,
    input: &Input,
    (wrong, example): (Option<&str>, &str),
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let area = areas.footer;
    put(buffer, area.x, area.y, area.width, &" ".repeat(usize::from(area.width)), theme.style(Role::Text));
    let used = put(buffer, area.x + 1, area.y, area.width / 2, prompt, theme.style(Role::Accent));
    let cursor = text_field(input, area.x + 1 + used, area.y, area.width.saturating_sub(4), theme, buffer);
    let typed = clean_line(input.value()).width() as u16;
    let x = area.x + 1 + used + typed + 2;
    let (words, role) = match wrong {
        Some(wrong) => (wrong, Role::Bad),
        None if input.value().is_empty() => (example, Role::Faint),
        None => ("", Role::Faint),
    };
    put(buffer, x, area.y, area.right().saturating_sub(x), words, theme.style(role));
    Some(cursor)
}

/// A line of text being typed. Says where its cursor is.
pub(crate) fn text_field(
    input: &Input,
    x: u16,
    y: u16,
    width: u16,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Position {
    let before: String = input.value().chars().take(input.cursor()).collect();
    let wide = clean_line(&before).width();
    let skipped = wide.saturating_sub(usize::from(width.saturating_sub(1)));
    let shown: String = clean_line(input.value()).chars().skip(skipped).collect();
    put(buffer, x, y, width, &shown, theme.style(Role::Text));
    Position { x: x + (wide - skipped) as u16, y }
}
