//! The upper border of the case screen: on low screens the title and the position among the failing cases, then turns and
//! attempts.

use crate::explorer::shared::case_screen::CaseScreen;
use crate::explorer::shared::layout::Layout;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::shown_case::strip::{self, StripNames};
use crate::explorer::shown_case::title::{failing_texts, title, title_width};
use crate::explorer::widgets::text::{put, put_right};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

/// Whether the title has room in a border of this width, beside turns and attempts.
pub(crate) fn has_room_for_title(model: &Model, case: &CaseScreen, width: u16) -> bool {
    let strip = strip_width(model, case, StripNames::Short);
    // The position among the failing cases is not wider. It is not counted here: that would read all cases several times a key.
    let digits = model.view.browse.visible.len().to_string().len();
    strip == 0 || title_width(model) + strip + 2 * digits + 1 + 3 + 4 <= usize::from(width)
}

/// The width of turns and attempts, and the position among the failing cases, that fit beside the title into the upper border.
/// Before the position is shortened, its keys and then those of turns and attempts are left out.
fn fitting_parts(model: &Model, case: &CaseScreen, room: usize) -> Option<(usize, String)> {
    let [with_keys, text, short] = failing_texts(model);
    let wide = strip_width(model, case, StripNames::WithKeys);
    let narrow = strip_width(model, case, StripNames::Short);
    let parts = [
        (wide, with_keys),
        (wide, text.clone()),
        (narrow, text),
        (narrow, short),
    ];
    let title = title_width(model);
    let fits = |(strip, note): &(usize, String)| title + strip + note_width(note) + 4 <= room;
    parts.into_iter().find(fits)
}

/// The number of columns of a note in a border, with what is around it.
fn note_width(note: &str) -> usize {
    match note.width() {
        0 => 0,
        width => width + 3,
    }
}

/// Number of columns of the upper border for turns and attempts, with the spaces around them.
fn strip_width(model: &Model, case: &CaseScreen, names: StripNames) -> usize {
    match strip::width(model, case, names) {
        0 => 0,
        width => width + 5,
    }
}

/// Draws turns and attempts into the upper border of the main pane, after the title if that is not in the header.
pub(crate) fn upper_border(
    model: &Model,
    case: &CaseScreen,
    areas: &Layout,
    theme: &Theme,
    buffer: &mut Buffer,
) {
    let mut strip_area = areas.main;
    if areas.header.is_empty() {
        let parts = fitting_parts(model, case, usize::from(areas.main.width));
        // A long id gives way to the position.
        let (strip_width, note) = parts.unwrap_or_else(|| {
            let [.., short] = failing_texts(model);
            (strip_width(model, case, StripNames::Short), short)
        });
        let strip_width = strip_width.min(usize::from(areas.main.width)) as u16;
        let title_area = Rect {
            width: areas.main.width - strip_width,
            ..areas.main
        };
        title_in_border(model, &note, title_area, theme, buffer);
        strip_area.x = title_area.right().saturating_sub(2);
        strip_area.width = areas.main.right() - strip_area.x;
    }
    strip::turns_and_attempts(model, case, strip_area, theme, buffer);
}

/// Draws the title into the upper border of an area, and a note at the right end.
fn title_in_border(model: &Model, note: &str, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let row = Rect {
        x: area.x + 2,
        width: area.width.saturating_sub(4),
        height: 1,
        ..area
    };
    let used = note_width(note) as u16;
    if used > 0 {
        let (end, words) = (area.right().saturating_sub(2), format!(" {note} "));
        put_right(
            buffer,
            end,
            area.y,
            used - 1,
            &words,
            theme.style(Role::Accent),
        );
    }
    let row = Rect {
        width: row.width.saturating_sub(used),
        ..row
    };
    // The border stays behind the title, which has gaps.
    let mut drawn = Buffer::empty(row);
    drawn.set_style(row, theme.style(Role::Text));
    title(model, row, theme, &mut drawn);
    let is_text = |x: &u16| drawn[(*x, row.y)].symbol() != " ";
    if let Some(end) = (row.left()..row.right()).rev().find(is_text) {
        for x in row.left()..=end {
            buffer[(x, row.y)] = drawn[(x, row.y)].clone();
        }
        let style = theme.style(Role::Text);
        for x in [row.x.saturating_sub(1), (end + 1).min(row.right())] {
            put(buffer, x, row.y, 1, " ", style);
        }
    }
}
