//! Wrapping of rows: both sides together, so that they stay aligned.

use super::{Line, Row, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// A row after wrapping: both sides have the same height.
#[derive(Clone, Debug, PartialEq)]
pub struct VisualRow {
    /// The index of the row before wrapping.
    pub row: usize,
    /// Whether it continues the row above.
    pub continued: bool,
    /// The expected side.
    pub left: Line,
    /// The actual side.
    pub right: Line,
}

/// Wraps both sides to their widths. The shorter side is padded, so that both sides stay aligned.
pub fn wrap_rows(rows: &[Row], left_width: usize, right_width: usize) -> Vec<VisualRow> {
    let mut out = Vec::with_capacity(rows.len());
    for (row, content) in rows.iter().enumerate() {
        let side = |line: &Option<Line>, width| {
            line.as_ref()
                .map_or_else(Vec::new, |line| wrap_line(line, width))
        };
        let (left, right) = (
            side(&content.left, left_width),
            side(&content.right, right_width),
        );
        let height = left.len().max(right.len()).max(1);
        let (mut left, mut right) = (left.into_iter(), right.into_iter());
        out.extend((0..height).map(|at| VisualRow {
            row,
            continued: at > 0,
            left: left.next().unwrap_or_default(),
            right: right.next().unwrap_or_default(),
        }));
    }
    out
}

/// Wraps a line at word boundaries if possible, otherwise between characters.
pub fn wrap_line(line: &[Span], width: usize) -> Vec<Line> {
    let width = width.max(1);
    let mut wrapper = Wrapper {
        lines: vec![Vec::new()],
        used: 0,
        width,
    };
    for span in line {
        for run in runs(&span.text) {
            match run.width() <= width {
                true => wrapper.word(run, span),
                false => parts(run)
                    .into_iter()
                    .for_each(|part| wrapper.word(part, span)),
            }
        }
    }
    wrapper.lines
}

/// Splits a text into runs of white space and runs of other characters; lines may break between them.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_space = rest.chars().next()?.is_whitespace();
        let end = rest
            .find(|c: char| c.is_whitespace() != is_space)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

/// Splits a run that is longer than a line into words with adjacent punctuation; a line may break between them.
fn parts(text: &str) -> Vec<&str> {
    let is_closing =
        |word: &str| word.starts_with([',', ';', ':', '.', '!', '?', ')', ']', '}', '…', '”']);
    let is_opening = |word: &str| word.ends_with(['(', '[', '{', '“']);
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for (start, word) in text.split_word_bound_indices() {
        let end = start + word.len();
        match parts.last_mut() {
            Some((from, to)) if belongs(&text[*from..*to], word, is_opening, is_closing) => {
                *to = end
            }
            _ => parts.push((start, end)),
        }
    }
    parts
        .into_iter()
        .map(|(from, to)| &text[from..to])
        .collect()
}

/// Whether a line must not break between two words. It may always break at white space.
fn belongs(
    before: &str,
    word: &str,
    is_opening: impl Fn(&str) -> bool,
    is_closing: impl Fn(&str) -> bool,
) -> bool {
    let is_space = |text: &str| text.ends_with(char::is_whitespace);
    !is_space(before) && !is_space(word) && (is_closing(word) || is_opening(before))
}

struct Wrapper {
    lines: Vec<Line>,
    used: usize,
    width: usize,
}

impl Wrapper {
    fn word(&mut self, word: &str, like: &Span) {
        let wide = word.width();
        if self.used + wide <= self.width {
            return self.put(word, wide, like);
        }
        if word.chars().all(char::is_whitespace) {
            return self.next_line();
        }
        if self.used > 0 {
            self.next_line();
        }
        if wide <= self.width {
            return self.put(word, wide, like);
        }
        for grapheme in word.graphemes(true) {
            let wide = grapheme.width();
            if self.used + wide > self.width && self.used > 0 {
                self.next_line();
            }
            self.put(grapheme, wide, like);
        }
    }

    fn next_line(&mut self) {
        self.lines.push(Vec::new());
        self.used = 0;
    }

    fn put(&mut self, text: &str, wide: usize, like: &Span) {
        self.used += wide;
        let Some(line) = self.lines.last_mut() else {
            return;
        };
        match line.last_mut() {
            Some(last) if last.tone == like.tone && last.changed == like.changed => {
                last.text.push_str(text)
            }
            _ => line.push(Span {
                text: text.to_string(),
                ..*like
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{diff_words, text_rows};

    #[test]
    fn lines_wrap_at_spaces_not_at_punctuation() {
        let wrapped = |text: &str, width| {
            let span = Span {
                text: text.into(),
                ..Span::default()
            };
            let words = |line: &Line| {
                line.iter()
                    .map(|span| span.text.as_str())
                    .collect::<String>()
            };
            wrap_line(&[span], width)
                .iter()
                .map(words)
                .collect::<Vec<_>>()
        };
        assert_eq!(wrapped("the file, then", 8), ["the ", "file, ", "then"]);
        assert_eq!(
            wrapped("differs (expected 6)", 12),
            ["differs ", "(expected 6)"]
        );
        assert_eq!(
            wrapped("see *.test.json now", 14),
            ["see ", "*.test.json ", "now"]
        );
        assert_eq!(
            wrapped("litres: 5", 6),
            ["litres", ": 5"],
            "what does not fit on a line is cut"
        );
    }

    #[test]
    fn both_sides_stay_level() {
        let rows = text_rows(&diff_words("one two three four\nend", "one\nend"));
        let wrapped = wrap_rows(&rows, 8, 8);
        let left: Vec<String> = wrapped.iter().map(|r| plain(&r.left)).collect();
        let right: Vec<String> = wrapped.iter().map(|r| plain(&r.right)).collect();
        assert_eq!(
            left,
            ["one two ", "three ", "four", "end"],
            "no word of the left side is lost"
        );
        assert_eq!(
            right,
            ["one", "", "", "end"],
            "and what is equal stands beside it"
        );
        assert!(left.iter().all(|line| line.width() <= 8));
    }

    fn plain(line: &Line) -> String {
        line.iter().map(|span| span.text.as_str()).collect()
    }
}
