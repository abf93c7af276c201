//! A list that is filtered by fuzzy matching of typed text.

use super::over;
use super::text::put;
use super::text_field::text_field;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use evaltrail_core::diff::{Span, Tone, wrap_line};
use evaltrail_core::domain::search_text;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use std::cmp::Reverse;
use tui_input::{Input, InputRequest};
use unicode_width::UnicodeWidthStr;

/// Maximum number of matches that are listed.
const MAX_FOUND: usize = 200;
/// Number of rows of a page up or down.
const PAGE: usize = 8;

/// A list that is filtered by fuzzy matching of typed text.
#[derive(Clone, Debug)]
pub struct Picker<T> {
    /// The text field.
    pub input: Input,
    /// The items that the list was created with.
    all: Vec<(T, String)>,
    /// The matching items with their texts, best first.
    pub found: Vec<(T, String)>,
    /// Index into `found`.
    pub cursor: usize,
}

impl<T: Copy> Picker<T> {
    /// Creates a list of these items with an empty text field.
    pub fn new(all: Vec<(T, String)>) -> Picker<T> {
        Picker {
            input: Input::default(),
            found: all.clone(),
            all,
            cursor: 0,
        }
    }

    /// Edits the typed text, and lists those of the items it was created with that match.
    pub fn edit(&mut self, request: InputRequest) {
        let change = self.input.handle(request);
        if !change.is_some_and(|change| change.value) {
            return;
        }
        self.found = match self.input.value().trim() {
            "" => self.all.clone(),
            typed => ranked(typed, self.all.iter().cloned()),
        };
        self.cursor = 0;
    }

    /// Lists those of other items that match the typed text, and moves the cursor to the first.
    pub fn find(&mut self, items: impl Iterator<Item = (T, String)>) {
        self.found = ranked(self.input.value(), items);
        self.cursor = 0;
    }

    /// The item under the cursor.
    pub fn chosen(&self) -> Option<T> {
        self.found.get(self.cursor).map(|(item, _)| *item)
    }

    /// Moves the cursor.
    pub fn scroll(&mut self, motion: Motion) {
        self.cursor = motion.target(self.cursor, self.found.len(), PAGE);
    }
}

/// The items whose text matches, best first: those that contain each typed word; if there are none, those that contain
/// its letters in this order. If nothing was typed, all items in their order.
pub fn ranked<T: Copy>(typed: &str, items: impl Iterator<Item = (T, String)>) -> Vec<(T, String)> {
    if typed.trim().is_empty() {
        return items.take(MAX_FOUND).collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut found: Vec<(bool, u32, T, String)> = items
        .filter_map(|(item, text)| {
            let score = pattern.score(Utf32Str::new(&text, &mut buffer), &mut matcher)?;
            Some((contains_words(typed, &text), score, item, text))
        })
        .collect();
    if found.iter().any(|(contains, ..)| *contains) {
        found.retain(|(contains, ..)| *contains);
    }
    found.sort_by_key(|(_, score, ..)| Reverse(*score));
    found
        .into_iter()
        .take(MAX_FOUND)
        .map(|(_, _, item, text)| (item, text))
        .collect()
}

/// Whether a text contains each typed word, without regard to case and accents.
pub(crate) fn contains_words(typed: &str, text: &str) -> bool {
    let text = search_text(text);
    typed
        .split_whitespace()
        .all(|word| text.contains(&search_text(word)))
}

/// Draws the text field and the list; `row` draws one item. Returns the position of the text cursor.
pub(crate) fn pick<T>(
    picker: &Picker<T>,
    title: &str,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
    row: impl Fn(&(T, String), Rect, Style, &mut Buffer),
) -> Position {
    pick_with_note(
        picker,
        title,
        PickerNote::default(),
        areas,
        theme,
        buffer,
        row,
    )
}

/// What a list shows apart from the texts of its items.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PickerNote<'a> {
    /// About the item under the cursor.
    pub(crate) note: Option<&'a str>,
    /// The columns beside the text of an item.
    pub(crate) beside: u16,
    /// What is shown in the empty text field instead of the keys of every list.
    pub(crate) keys: Option<&'a str>,
}

/// What an empty text field shows: the keys of a list.
const KEYS: &str = "type to filter   enter choose   esc close";

/// The width of a list: as wide as its longest text needs, and not narrower than others.
fn width_for<T>(picker: &Picker<T>, beside: u16) -> u16 {
    const WIDTH: u16 = 84;
    /// The border, and the space beside it and before a text.
    const FRAME: u16 = 6;
    let texts = picker.found.iter().map(|(_, text)| text.width());
    let longest = texts.max().unwrap_or(0).min(usize::from(u16::MAX / 2)) as u16;
    (longest + beside + FRAME).max(WIDTH)
}

/// [`pick`] with a note about the item under the cursor on the last lines, and with columns beside the texts.
pub(crate) fn pick_with_note<T>(
    picker: &Picker<T>,
    title: &str,
    beside: PickerNote<'_>,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
    row: impl Fn(&(T, String), Rect, Style, &mut Buffer),
) -> Position {
    let width = width_for(picker, beside.beside);
    let inner = over(areas.body, width, 20, title, theme, buffer);
    let inner = match beside.note {
        Some(note) => above_note(note, inner, theme, buffer),
        None => inner,
    };
    put(
        buffer,
        inner.x + 1,
        inner.y,
        2,
        "›",
        theme.style(Role::Accent),
    );
    let (width, style) = (inner.width.saturating_sub(4), theme.style(Role::Text));
    let cursor = text_field(&picker.input, inner.x + 3, inner.y, width, style, buffer);
    if picker.input.value().is_empty() {
        let keys = beside.keys.unwrap_or(KEYS);
        let faint = theme.style(Role::Faint);
        put(
            buffer,
            inner.x + 4,
            inner.y,
            width.saturating_sub(1),
            keys,
            faint,
        );
    }
    let rows = usize::from(inner.height.saturating_sub(1));
    let first = picker.cursor.saturating_sub(rows.saturating_sub(1));
    for (at, item) in picker.found.iter().enumerate().skip(first).take(rows) {
        let y = inner.y + 1 + (at - first) as u16;
        let area = Rect {
            x: inner.x + 1,
            y,
            width: inner.width.saturating_sub(2),
            height: 1,
        };
        let style = theme.row(at == picker.cursor);
        buffer.set_style(area, style);
        row(item, area, style, buffer);
    }
    if picker.found.is_empty() {
        let room = inner.width.saturating_sub(4);
        put(
            buffer,
            inner.x + 3,
            inner.y + 1,
            room,
            "nothing matches",
            theme.style(Role::Faint),
        );
    }
    cursor
}

/// Draws a note on the last lines, at most a third of them. Returns the area above it.
fn above_note(note: &str, inner: Rect, theme: &Theme, buffer: &mut Buffer) -> Rect {
    let (width, style) = (inner.width.saturating_sub(2), theme.style(Role::Faint));
    let span = Span {
        text: note.to_string(),
        tone: Tone::Faint,
        changed: false,
    };
    let mut lines = wrap_line(&[span], usize::from(width));
    let (all, room) = (lines.len(), usize::from(inner.height / 3));
    lines.truncate(room);
    let above = Rect {
        height: inner.height - lines.len() as u16,
        ..inner
    };
    for (at, (line, y)) in lines.iter().zip(above.bottom()..).enumerate() {
        let text: String = line.iter().map(|span| span.text.as_str()).collect();
        let end = put(buffer, inner.x + 1, y, width, text.trim(), style);
        if all > room && at + 1 == room {
            put(buffer, inner.x + 1 + end.min(width - 1), y, 1, "…", style);
        }
    }
    above
}

/// Updates listed cases whose positions changed. Cases that no longer exist are removed.
pub(crate) fn follow(picker: &mut Picker<CaseRef>, new: &dyn Fn(CaseRef) -> Option<CaseRef>) {
    for items in [&mut picker.all, &mut picker.found] {
        items.retain_mut(|(case, _)| new(*case).map(|now| *case = now).is_some());
    }
    picker.cursor = picker.cursor.min(picker.found.len().saturating_sub(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_matched_before_letters() {
        let names = ["save run options", "run all", "rename run", "next failing"];
        let found = |typed: &str| -> Vec<&str> {
            let items = names.iter().map(|name| (*name, name.to_string()));
            ranked(typed, items)
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        let mut both = found("run");
        both.sort_unstable();
        assert_eq!(both, ["rename run", "run all", "save run options"]);
        assert_eq!(found("ALL run"), ["run all"]);
        assert_eq!(found("nxf"), ["next failing"]);
        assert_eq!(found("").len(), 4);
    }

    #[test]
    fn list_with_long_texts_is_wider() {
        let width = |text: &str, beside| {
            let picker = Picker::new(vec![((), text.to_string())]);
            width_for(&picker, beside)
        };
        assert_eq!(width("lights", 40), 84);
        assert_eq!(width(&"x".repeat(60), 40), 106);
    }

    #[test]
    fn typed_text_filters_the_items() {
        let names = ["lights", "doors", "light switch"];
        let mut picker = Picker::new(names.iter().map(|name| (*name, name.to_string())).collect());
        picker.scroll(Motion::Down);
        for typed in "light".chars() {
            picker.edit(InputRequest::InsertChar(typed));
        }
        assert_eq!((picker.found.len(), picker.cursor), (2, 0));
        picker.edit(InputRequest::DeleteLine);
        assert_eq!(picker.found.len(), 3);
    }
}
