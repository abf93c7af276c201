//! Turns and attempts in the upper border of the case screen.

use crate::explorer::shared::case_screen::CaseScreen;
use crate::explorer::shared::command_names::{
    CommandName, LEFT, NEXT_ATTEMPT, PREVIOUS_ATTEMPT, RIGHT,
};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use evaltrail_core::domain::{EndedAttempt, Status};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

/// Maximum number of columns reserved for the attempts.
const ATTEMPTS_WIDTH: usize = 40;

/// A turn or an attempt: its label, its status, and whether it is the current one.
struct StripItem {
    label: String,
    status: Option<Status>,
    is_current: bool,
}

impl StripItem {
    fn describe(&self) -> String {
        let glyph = self.status.map_or(" ", Status::glyph);
        let mark = if self.is_current { "▸" } else { " " };
        format!("{mark}{}{glyph} ", self.label)
    }
}

/// How turns and attempts are named.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum StripNames {
    /// With the keys that go to the others.
    WithKeys,
    /// Without keys, where there is little room.
    Short,
}

impl StripNames {
    fn turns(self) -> String {
        match self {
            StripNames::WithKeys => format!("turns {} {}", key_sign(&LEFT), key_sign(&RIGHT)),
            StripNames::Short => "turns".to_string(),
        }
    }

    fn attempts(self) -> String {
        let (previous, next) = (PREVIOUS_ATTEMPT.key(), NEXT_ATTEMPT.key());
        match self {
            StripNames::WithKeys => format!("attempts {previous} {next}"),
            StripNames::Short => "attempts".to_string(),
        }
    }
}

/// Number of columns that all turns and attempts need; 0 if there are neither several turns nor several attempts.
pub(crate) fn width(model: &Model, case: &CaseScreen, names: StripNames) -> usize {
    let width = |name: &str, items: &[StripItem]| match items {
        [] => 0,
        items => width_of(name, items),
    };
    width(&names.turns(), &turns(model, case)) + width(&names.attempts(), &attempts(model, case))
}

/// Draws turns and attempts into the upper border of an area. If not all of them fit, the keys are left out; if
/// that is not enough, those around the current one are shown, and "…" marks the rest.
pub(crate) fn turns_and_attempts(
    model: &Model,
    case: &CaseScreen,
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let (mut x, y, end) = (area.x + 2, area.y, area.right().saturating_sub(2));
    let names = names_in(model, case, usize::from(end.saturating_sub(x)));
    let attempts = attempts(model, case);
    let kept = if attempts.is_empty() {
        0
    } else {
        width_of(&names.attempts(), &attempts).min(ATTEMPTS_WIDTH)
    };
    let turns = turns(model, case);
    let room = usize::from(end.saturating_sub(x)).saturating_sub(kept);
    if !turns.is_empty() {
        x += put_items(
            &names.turns(),
            &turns,
            Rect::new(x, y, room as u16, 1),
            theme,
            buffer,
        );
    }
    if !attempts.is_empty() {
        let left = end.saturating_sub(x);
        put_items(
            &names.attempts(),
            &attempts,
            Rect::new(x, y, left, 1),
            theme,
            buffer,
        );
    }
}

/// The names for a strip in `room` columns: without keys if not everything fits with them.
fn names_in(model: &Model, case: &CaseScreen, room: usize) -> StripNames {
    // Between the names and around the items.
    const SPACES: usize = 3;
    match width(model, case, StripNames::WithKeys) + SPACES <= room {
        true => StripNames::WithKeys,
        false => StripNames::Short,
    }
}

/// The first key of a command. Arrow keys are shown as arrows.
fn key_sign(command: &'static CommandName) -> &'static str {
    match command.key() {
        "left" => "←",
        "right" => "→",
        key => key,
    }
}

fn turns(model: &Model, case: &CaseScreen) -> Vec<StripItem> {
    let count = model.turns_shown();
    let status = |turn: usize| {
        let turns = case
            .body
            .as_ref()
            .map(|body| &body.turns[..])
            .unwrap_or_default();
        turns
            .iter()
            .find(|one| one.turn == turn)
            .and_then(|one| one.status)
    };
    let item = |turn: usize| StripItem {
        label: (turn + 1).to_string(),
        status: status(turn),
        is_current: turn == case.turn,
    };
    if count > 1 {
        (0..count).map(item).collect()
    } else {
        Vec::new()
    }
}

fn attempts(model: &Model, case: &CaseScreen) -> Vec<StripItem> {
    let all = model
        .view
        .outcomes
        .get(case.at)
        .map(|outcome| &outcome.attempts[..])
        .unwrap_or_default();
    let letters = trajectory_letters(all);
    let item = |(at, attempt): (usize, &Arc<EndedAttempt>)| StripItem {
        label: letters.get(at).cloned().unwrap_or_default(),
        status: Some(attempt.status),
        is_current: at == case.attempt,
    };
    if all.len() > 1 {
        all.iter().enumerate().map(item).collect()
    } else {
        Vec::new()
    }
}

/// A letter for each attempt: attempts with the same trajectory have the same. Empty if all have the same.
fn trajectory_letters(attempts: &[Arc<EndedAttempt>]) -> Vec<String> {
    let mut seen: Vec<u64> = Vec::new();
    let indices: Vec<usize> = attempts
        .iter()
        .map(
            |attempt| match seen.iter().position(|known| *known == attempt.trajectory) {
                Some(at) => at,
                None => {
                    seen.push(attempt.trajectory);
                    seen.len() - 1
                }
            },
        )
        .collect();
    let letter = |at: &usize| match u8::try_from(*at).ok().filter(|at| *at < 26) {
        Some(at) => char::from(b'A' + at).to_string(),
        None => (at + 1).to_string(),
    };
    if seen.len() > 1 {
        indices.iter().map(letter).collect()
    } else {
        Vec::new()
    }
}

fn width_of(name: &str, items: &[StripItem]) -> usize {
    name.width()
        + 2
        + items
            .iter()
            .map(|item| item.describe().width())
            .sum::<usize>()
        + 1
}

/// Draws a name and as many items around the current one as fit. Returns the number of columns used.
fn put_items(
    name: &str,
    items: &[StripItem],
    area: Rect,
    theme: &Theme,
    buffer: &mut Buffer,
) -> u16 {
    let room = usize::from(area.width);
    let current = items.iter().position(|item| item.is_current).unwrap_or(0);
    let widths: Vec<usize> = items.iter().map(|item| item.describe().width()).collect();
    let left = room.saturating_sub(name.width() + 2 + 4);
    let (mut from, mut to, mut used) = (
        current,
        current + 1,
        widths.get(current).copied().unwrap_or(0),
    );
    while from > 0 || to < items.len() {
        let grown = match (from > 0).then(|| widths[from - 1]) {
            Some(width) if used + width <= left => {
                from -= 1;
                used += width;
                true
            }
            _ => false,
        };
        let grown = match widths.get(to) {
            Some(width) if used + width <= left => {
                to += 1;
                used += width;
                true
            }
            _ => grown,
        };
        if !grown {
            break;
        }
    }
    let mut x = area.x;
    let mut write = |text: &str, style| {
        let end = area.right().saturating_sub(x);
        x += put(buffer, x, area.y, end, text, style);
    };
    write(&format!(" {name}"), theme.style(Role::Faint));
    write(if from > 0 { "…" } else { " " }, theme.style(Role::Faint));
    for item in &items[from..to] {
        let style = match (item.is_current, item.status) {
            (_, Some(status)) => theme.status(status),
            (true, None) => theme.style(Role::Title),
            (false, None) => theme.style(Role::Faint),
        };
        write(&item.describe(), style);
    }
    if to < items.len() {
        write("… ", theme.style(Role::Faint));
    }
    x - area.x
}
