//! Drawing of the case editor: the fields as rows, and the text field below.

use crate::explorer::screens::edit::actual::{ActualValue, actual_values, call_text};
use crate::explorer::screens::edit::state::{EditScreen, Typing};
use crate::explorer::shared::case_field::FieldRow;
use crate::explorer::shared::command_names::SAVE_CASE;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use crate::explorer::widgets::text_field::text_field;
use crate::explorer::widgets::{panel, panel_note, scrollbar};
use evaltrail_core::diff::{Span, Tone, wrap_line};
use evaltrail_core::domain::clean_line;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// Width of the labels, in columns.
const LABEL: u16 = 22;

/// Width in columns from which what the agent did is beside the fields.
const WIDE_FROM: u16 = 100;

/// Leaves two lines for the text field below the rows. On a wide screen, a pane shows what the agent did.
pub(crate) fn layout(base: Layout, model: &Model) -> Layout {
    let rows = Rect {
        height: base.body.height - 2,
        ..base.body
    };
    let has_actual = model
        .screen::<EditScreen>()
        .is_some_and(|edit| !edit.actual.is_empty());
    if !has_actual || rows.width < WIDE_FROM {
        return Layout { main: rows, ..base };
    }
    let main = Rect {
        width: rows.width / 2,
        ..rows
    };
    let panel = Rect {
        x: main.right(),
        width: rows.width - main.width,
        ..rows
    };
    Layout {
        main,
        panel,
        ..base
    }
}

/// Draws the id of the case and its file.
pub(crate) fn title(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(edit) = model.screen::<EditScreen>() else {
        return;
    };
    let words = format!("edit {}", edit.before.eval_id);
    let used = put(
        buffer,
        area.x,
        area.y,
        area.width,
        &words,
        theme.style(Role::Title),
    ) + 2;
    let file = &model.view.sets[edit.at.set].path.shown;
    let room = area.width.saturating_sub(used);
    put(
        buffer,
        area.x + used,
        area.y,
        room,
        file,
        theme.style(Role::Faint),
    );
}

pub(crate) fn draw(
    model: &Model,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Option<Position> {
    let edit = model.screen::<EditScreen>()?;
    let inner = panel(areas.main, "edit", true, theme, buffer);
    if edit.is_changed() {
        panel_note(
            areas.main,
            areas.main.y,
            "not saved",
            theme.style(Role::Note),
            buffer,
        );
    }
    let shown = usize::from(inner.height);
    for (at, row) in edit.rows.iter().enumerate().skip(edit.scroll).take(shown) {
        let area = Rect {
            y: inner.y + (at - edit.scroll) as u16,
            height: 1,
            ..inner
        };
        field(row, at == edit.cursor, area, theme, buffer);
    }
    scrollbar(
        areas.main,
        edit.scroll,
        shown,
        edit.rows.len(),
        theme,
        buffer,
    );
    if !areas.panel.is_empty() {
        actual_side(edit, areas.panel, theme, buffer);
    }
    let below = Rect {
        y: areas.main.bottom(),
        height: 2,
        ..areas.body
    };
    match &edit.typing {
        Some(typing) => Some(typed(edit, typing, below, theme, buffer)),
        None if areas.panel.is_empty() && !edit.actual.is_empty() => {
            let first = Rect { height: 1, ..below };
            draw_full_value(edit, first, theme, buffer);
            actual_line(edit, below, theme, buffer);
            None
        }
        None => {
            draw_full_value(edit, below, theme, buffer);
            None
        }
    }
}

/// The values that the agent gave the field under the cursor.
fn values_here(edit: &EditScreen) -> Vec<ActualValue> {
    let row = edit.row();
    row.map(|row| actual_values(&edit.draft, &row.field, &edit.actual))
        .unwrap_or_default()
}

/// How many of the attempts have a value; empty if there is only one attempt.
fn share(value: &ActualValue, edit: &EditScreen) -> String {
    match edit.actual.len() {
        1 => String::new(),
        all => format!("  in {} of {all} attempts that were read", value.count),
    }
}

/// Draws, on the second line below the rows, the first value that the agent gave the field under the cursor.
fn actual_line(edit: &EditScreen, below: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(value) = values_here(edit).into_iter().next() else {
        return;
    };
    let text = format!("agent: {}{}", clean_line(&value.text), share(&value, edit));
    let (x, width) = (below.x + 2, below.width.saturating_sub(3));
    put(
        buffer,
        x,
        below.y + 1,
        width,
        &text,
        theme.style(Role::Added),
    );
}

/// Draws what the agent did: the values of the field under the cursor, then the calls and the response of its turn in the first
/// attempt.
fn actual_side(edit: &EditScreen, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let inner = panel(area, "what the agent did", false, theme, buffer);
    let width = usize::from(inner.width.saturating_sub(2));
    let label = edit.row().map(|row| row.label.clone()).unwrap_or_default();
    let mut lines: Vec<(String, Role)> = Vec::new();
    let mut add = |text: String, role: Role| {
        let wrapped = wrap_line(&[Span::single_line(&text, Tone::Plain)], width);
        lines.extend(wrapped.iter().map(|line| {
            let text: String = line.iter().map(|span| span.text.as_str()).collect();
            (text, role)
        }));
    };
    for value in values_here(edit) {
        let text = format!("{label}  {}{}", value.text, share(&value, edit));
        add(text, Role::Added);
    }
    let turn = edit.row().and_then(|row| row.field.turn()).unwrap_or(0);
    let attempt = edit.actual.first().and_then(|one| one.actual.get(turn));
    if let Some(actual) = attempt {
        let number = edit.actual.first().map_or(1, |one| one.key.attempt);
        add(String::new(), Role::Faint);
        add(format!("turn {}, attempt {number}", turn + 1), Role::Title);
        for (at, call) in actual.calls().into_iter().enumerate() {
            add(format!("{} {}", at + 1, call_text(call)), Role::Tool);
        }
        add(actual.response_text(), Role::Text);
    }
    for (row, (text, role)) in inner.rows().zip(&lines) {
        let room = row.width.saturating_sub(2);
        put(buffer, row.x + 1, row.y, room, text, theme.style(*role));
    }
}

fn field(row: &FieldRow, at_hand: bool, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let heading = row.depth == 0;
    let style = theme.row(at_hand);
    buffer.set_style(area, style);
    if at_hand {
        put(
            buffer,
            area.x,
            area.y,
            1,
            "▸",
            theme.within(style, theme.style(Role::Accent)),
        );
    }
    let indent = 2 * row.depth as u16;
    let role = if heading { Role::Title } else { Role::Key };
    let x = area.x + 2 + indent;
    put(
        buffer,
        x,
        area.y,
        LABEL.saturating_sub(indent),
        &row.label,
        theme.within(style, theme.style(role)),
    );
    let x = area.x + 2 + LABEL + 1;
    let room = area.right().saturating_sub(x + 1);
    match &row.value {
        Some(value) if value.is_empty() => put(
            buffer,
            x,
            area.y,
            room,
            "(empty)",
            theme.within(style, theme.style(Role::Faint)),
        ),
        Some(value) => put(
            buffer,
            x,
            area.y,
            room,
            value,
            theme.within(style, theme.style(Role::Value)),
        ),
        None => 0,
    };
}

/// Draws the value under the cursor below the rows, since a row may be too short for it.
fn draw_full_value(edit: &EditScreen, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let value = edit
        .row()
        .and_then(|row| row.value.as_deref())
        .unwrap_or_default();
    let clean = clean_line(value);
    let width = usize::from(area.width.saturating_sub(4)).max(1);
    let letters: Vec<char> = clean.chars().collect();
    for (row, piece) in letters
        .chunks(width)
        .take(usize::from(area.height))
        .enumerate()
    {
        let text: String = piece.iter().collect();
        put(
            buffer,
            area.x + 2,
            area.y + row as u16,
            area.width - 3,
            &text,
            theme.style(Role::Faint),
        );
    }
}

fn typed(
    edit: &EditScreen,
    typing: &Typing,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) -> Position {
    let label = match typing.adding {
        Some(adding) => adding.prompt().to_string(),
        None => edit.row().map(|row| row.label.clone()).unwrap_or_default(),
    };
    let used = put(
        buffer,
        area.x + 1,
        area.y,
        area.width / 2,
        &format!("{label}  "),
        theme.style(Role::Accent),
    );
    let x = area.x + 1 + used;
    let cursor = text_field(
        &typing.input,
        x,
        area.y,
        area.right().saturating_sub(x + 1),
        theme.style(Role::Text),
        buffer,
    );
    let (words, role) = match &typing.wrong {
        Some(wrong) => (format!("{wrong}    esc cancel"), Role::Bad),
        None if let Some(warning) = &typing.warning => {
            (format!("{warning}    enter apply anyway"), Role::Bad)
        }
        None if !typing.completions.is_empty() => {
            let names: Vec<&str> = typing
                .completions
                .iter()
                .map(|name| name.trim_end_matches([' ', '=']))
                .collect();
            (format!("tab: {}", names.join("  ")), Role::Note)
        }
        None => (
            format!(
                "enter apply    {} save    esc cancel    ctrl-j new line",
                SAVE_CASE.key()
            ),
            Role::Faint,
        ),
    };
    put(
        buffer,
        area.x + 1,
        area.y + 1,
        area.width.saturating_sub(2),
        &words,
        theme.style(role),
    );
    cursor
}
