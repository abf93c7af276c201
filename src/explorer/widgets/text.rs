//! Drawing of text into cells: control characters are replaced, and text that is too wide is cut.

use crate::explorer::shared::theme::{Role, Theme};
use evaltrail_core::diff::{Span, Tone};
use evaltrail_core::domain::clean_line;
use ratatui::buffer::Buffer;
use ratatui::style::Style;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Writes text at a position in at most `width` columns; `…` marks text that was cut. Returns the number of columns
/// used.
pub(crate) fn put(
    buffer: &mut Buffer,
    x: u16,
    y: u16,
    width: u16,
    text: &str,
    style: Style,
) -> u16 {
    if width == 0 || !buffer.area.contains((x, y).into()) {
        return 0;
    }
    let text = fit(text, usize::from(width));
    let (end, _) = buffer.set_stringn(x, y, &text, usize::from(width), style);
    end - x
}

/// Writes text so that it ends before the column `end`. Returns the number of columns used.
pub(crate) fn put_right(
    buffer: &mut Buffer,
    end: u16,
    y: u16,
    width: u16,
    text: &str,
    style: Style,
) -> u16 {
    if width == 0 {
        return 0;
    }
    let text = fit(text, usize::from(width));
    let wide = text.width() as u16;
    put(buffer, end.saturating_sub(wide), y, wide, &text, style)
}

/// A name that is cut in the middle to a width in columns, so that names with the same beginning are told apart.
pub(crate) fn fit_middle(name: &str, width: usize) -> String {
    let clean = clean_line(name);
    let letters: Vec<&str> = clean.graphemes(true).collect();
    let is_narrow = clean.width() == letters.len();
    if letters.len() <= width || !is_narrow {
        return fit(&clean, width).into_owned();
    }
    let tail = width.saturating_sub(1) * 2 / 3;
    let head = width.saturating_sub(1) - tail;
    let end = letters[letters.len() - tail..].concat();
    format!("{}…{end}", letters[..head].concat())
}

/// Cleans text and cuts it to `width` columns.
pub(crate) fn fit(text: &str, width: usize) -> Cow<'_, str> {
    // Only the beginning of a very long text is cleaned.
    let most = width.saturating_mul(16) + 64;
    let cut = text
        .char_indices()
        .nth(most)
        .map_or(text, |(at, _)| &text[..at]);
    let clean = clean_line(cut);
    if clean.width() <= width {
        return clean;
    }
    let mut out = String::new();
    let mut used = 0;
    for grapheme in clean.graphemes(true) {
        let wide = grapheme.width();
        if used + wide + 1 > width {
            break;
        }
        out.push_str(grapheme);
        used += wide;
    }
    out.push('…');
    Cow::Owned(out)
}

/// Writes the spans of a line. `changed` is the role of text that is not on the other side.
pub(crate) fn put_spans(
    buffer: &mut Buffer,
    (x, y): (u16, u16),
    width: u16,
    line: &[Span],
    theme: &Theme,
    changed: Role,
) {
    let mut used = 0;
    for span in line {
        let mut style = theme.style(role_of(span.tone));
        if span.changed {
            style = style.patch(theme.style(changed));
        }
        used += put(
            buffer,
            x + used,
            y,
            width.saturating_sub(used),
            &span.text,
            style,
        );
        if used >= width {
            break;
        }
    }
}

fn role_of(tone: Tone) -> Role {
    match tone {
        Tone::Plain => Role::Text,
        Tone::Faint => Role::Faint,
        Tone::Tool => Role::Tool,
        Tone::Key => Role::Key,
        Tone::Value => Role::Value,
        Tone::Note => Role::Note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cleaned_and_cut() {
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("ab\u{1b}[31m", 20), "ab␛[31m");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit(&"x".repeat(1 << 20), 3), "xx…");
        assert_eq!(fit("abc", 0), "…");
    }
}
