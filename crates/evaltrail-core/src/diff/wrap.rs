//! Wrapping of rows: both sides together, so that they stay aligned.

use super::{DiffRow, Line, Span};
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

/// Wraps both sides to a width. What is the same on both sides is in the same visual rows; the shorter side is padded.
pub fn wrap_rows(rows: &[DiffRow], width: usize) -> Vec<VisualRow> {
    let mut out = Vec::with_capacity(rows.len());
    for (row, content) in rows.iter().enumerate() {
        let (left, right) = match (&content.left, &content.right) {
            (Some(left), Some(right)) => wrap_level(left, right, width)
                .unwrap_or_else(|| (wrap_line(left, width), wrap_line(right, width))),
            (left, right) => {
                let wrapped = |side: &Option<Line>| {
                    side.as_ref()
                        .map_or_else(Vec::new, |line| wrap_line(line, width))
                };
                (wrapped(left), wrapped(right))
            }
        };
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

/// Wraps both sides so that the spans that are not changed are at the same height. `None` if those of one side are not those
/// of the other.
fn wrap_level(left: &[Span], right: &[Span], width: usize) -> Option<(Vec<Line>, Vec<Line>)> {
    let is_same = |span: &&Span| !span.changed;
    let same = || left.iter().filter(is_same).map(|span| &span.text);
    if !same().eq(right.iter().filter(is_same).map(|span| &span.text)) {
        return None;
    }
    let (mut expected, mut actual) = (Wrapper::new(width), Wrapper::new(width));
    let (mut rest_left, mut rest_right) = (left, right);
    loop {
        rest_left = expected.changed(rest_left);
        rest_right = actual.changed(rest_right);
        let ([of_left, left @ ..], [of_right, right @ ..]) = (rest_left, rest_right) else {
            return Some((expected.lines, actual.lines));
        };
        expected.pad_to(actual.lines.len());
        actual.pad_to(expected.lines.len());
        (rest_left, rest_right) = (left, right);
        for run in runs(&of_left.text) {
            match columns(run) <= width.max(1) {
                true => word_of_both(run, &mut expected, of_left, &mut actual, of_right),
                false => parts(run).into_iter().for_each(|part| {
                    word_of_both(part, &mut expected, of_left, &mut actual, of_right);
                }),
            }
        }
    }
}

/// Adds a word to both sides. Where one of them has to begin a line, both do.
fn word_of_both(
    word: &str,
    left: &mut Wrapper,
    of_left: &Span,
    right: &mut Wrapper,
    of_right: &Span,
) {
    let wide = columns(word);
    let fits = |side: &Wrapper| side.used + wide <= side.width;
    let is_begun = left.used > 0 || right.used > 0;
    if is_begun && !(fits(left) && fits(right)) {
        left.next_line();
        right.next_line();
        if word.chars().all(char::is_whitespace) {
            return;
        }
    }
    left.word(word, of_left);
    right.word(word, of_right);
}

/// Wraps a line at word boundaries if possible, otherwise between characters.
pub fn wrap_line(line: &[Span], width: usize) -> Vec<Line> {
    let mut wrapper = Wrapper::new(width);
    line.iter().for_each(|span| wrapper.span(span));
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

/// Whether all characters are one byte and one column.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The width of a text on the terminal, in columns.
fn columns(text: &str) -> usize {
    match is_plain(text) {
        true => text.len(),
        false => text.width(),
    }
}

struct Wrapper {
    lines: Vec<Line>,
    used: usize,
    width: usize,
}

impl Wrapper {
    fn new(width: usize) -> Wrapper {
        Wrapper {
            lines: vec![Vec::new()],
            used: 0,
            width: width.max(1),
        }
    }

    fn span(&mut self, span: &Span) {
        for run in runs(&span.text) {
            match columns(run) <= self.width {
                true => self.word(run, span),
                false => parts(run)
                    .into_iter()
                    .for_each(|part| self.word(part, span)),
            }
        }
    }

    /// Adds the changed spans at the beginning, and returns the others.
    fn changed<'a>(&mut self, spans: &'a [Span]) -> &'a [Span] {
        let count = spans.iter().take_while(|span| span.changed).count();
        let (changed, rest) = spans.split_at(count);
        changed.iter().for_each(|span| self.span(span));
        rest
    }

    fn pad_to(&mut self, height: usize) {
        while self.lines.len() < height {
            self.next_line();
        }
    }

    fn word(&mut self, word: &str, like: &Span) {
        let wide = columns(word);
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
        match is_plain(word) {
            true => self.cut_plain(word, like),
            false => self.cut(word, like),
        }
    }

    /// Adds a word that is longer than a line. It is broken between characters.
    fn cut(&mut self, word: &str, like: &Span) {
        for grapheme in word.graphemes(true) {
            let wide = grapheme.width();
            if self.used + wide > self.width && self.used > 0 {
                self.next_line();
            }
            self.put(grapheme, wide, like);
        }
    }

    /// The same for a word whose characters are all one byte and one column.
    fn cut_plain(&mut self, word: &str, like: &Span) {
        let mut rest = word;
        while !rest.is_empty() {
            if self.used >= self.width {
                self.next_line();
            }
            let (part, after) = rest.split_at(rest.len().min(self.width - self.used));
            self.put(part, part.len(), like);
            rest = after;
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
    use crate::diff::rows::line_text;
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
        let wrapped = wrap_rows(&rows, 8);
        let left: Vec<String> = wrapped.iter().map(|r| line_text(&r.left)).collect();
        let right: Vec<String> = wrapped.iter().map(|r| line_text(&r.right)).collect();
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

    /// A change of another length does not shift what follows it.
    #[test]
    fn same_words_are_at_the_same_height() {
        let text = |changed: &str| {
            let words: Vec<String> = (0..200).map(|at| format!("word{at}")).collect();
            format!(
                "{} {changed} {}",
                words[..50].join(" "),
                words[50..].join(" ")
            )
        };
        let (short, long) = (text("now"), text("in a while, when all of it is ready"));
        let wrapped = wrap_rows(&text_rows(&diff_words(&short, &long)), 31);
        let same = |line: &Line| -> String {
            let same = line.iter().filter(|span| !span.changed);
            same.map(|span| span.text.as_str()).collect()
        };
        for row in &wrapped {
            assert_eq!(same(&row.left), same(&row.right), "{row:?}");
            assert!(line_text(&row.left).width() <= 31 && line_text(&row.right).width() <= 31);
        }
        let all = |side: fn(&VisualRow) -> &Line| -> String {
            let lines = wrapped.iter().map(|row| line_text(side(row)));
            lines.collect::<String>().split_whitespace().collect()
        };
        let without_spaces = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(all(|row| &row.left), without_spaces(&short));
        assert_eq!(all(|row| &row.right), without_spaces(&long));
    }

    /// A long word is cut at the same columns, whether its characters are all plain or not.
    #[test]
    fn long_words_are_cut_at_the_width() {
        let cut = |text: &str| {
            let spans = ["ab ", text].map(|text| Span {
                text: text.into(),
                ..Span::default()
            });
            wrap_line(&spans, 8)
                .iter()
                .map(line_text)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            cut(&"w".repeat(20)),
            ["ab ", "wwwwwwww", "wwwwwwww", "wwww"]
        );
        let other = cut(&"é".repeat(20));
        assert_eq!(other, ["ab ", "éééééééé", "éééééééé", "éééé"]);
        assert_eq!(cut(&"Ｗ".repeat(5)), ["ab ", "ＷＷＷＷ", "Ｗ"]);
        // A character that is wider than the line leaves no room in it.
        let spans = ["Ｗ", "abc"].map(|text| Span {
            text: text.into(),
            ..Span::default()
        });
        let narrow = wrap_line(&spans, 1);
        assert_eq!(narrow.len(), 4, "{narrow:?}");
    }
}
