//! Rows of two compared texts.

use super::folded::{HIDDEN, hidden_row};
use super::rows::span;
use super::{DiffRow, Line, TextDiff, TextPart, Tone};

/// Rows of two compared texts, line by line. Common lines are in the same row.
pub fn text_rows(diff: &TextDiff) -> Vec<DiffRow> {
    let mut rows = TextRows::default();
    for part in &diff.parts {
        match part {
            TextPart::Same(text) => rows.add_same(text),
            TextPart::Changed { expected, actual } => rows.add_changed(expected, actual),
            TextPart::Hidden(words) => rows.add_hidden(*words),
        }
    }
    rows.finish()
}

/// The rows of compared texts, and the lines of both sides since the last common end of a line.
#[derive(Default)]
struct TextRows {
    rows: Vec<DiffRow>,
    left: Vec<Line>,
    right: Vec<Line>,
}

impl TextRows {
    fn add_same(&mut self, text: &str) {
        for (at, piece) in text.split('\n').enumerate() {
            if at > 0 {
                self.end_row();
            }
            for side in [&mut self.left, &mut self.right] {
                add_text(side, piece, false);
            }
        }
    }

    fn add_changed(&mut self, expected: &str, actual: &str) {
        for (side, text) in [(&mut self.left, expected), (&mut self.right, actual)] {
            for (at, piece) in text.split('\n').enumerate() {
                if at > 0 {
                    side.push(Line::new());
                }
                add_text(side, piece, true);
            }
        }
    }

    /// Adds a row with the number of words that are not shown.
    fn add_hidden(&mut self, words: usize) {
        if !self.left.is_empty() || !self.right.is_empty() {
            self.end_row();
        }
        self.rows.push(hidden_row(words, "word"));
    }

    /// Ends the lines of both sides at a common end of a line: the last ones are in the same row.
    fn end_row(&mut self) {
        let height = self.left.len().max(self.right.len()).max(1);
        for side in [&mut self.left, &mut self.right] {
            let last = side.pop().unwrap_or_default();
            side.resize(height - 1, Line::new());
            side.push(last);
        }
        self.push_rows();
    }

    /// Adds the pending lines of both sides as rows, paired from the first line on.
    fn push_rows(&mut self) {
        let mut left = std::mem::take(&mut self.left);
        let mut right = std::mem::take(&mut self.right);
        let height = left.len().max(right.len()).max(1);
        left.resize(height, Line::new());
        right.resize(height, Line::new());
        let pairs = left.into_iter().zip(right);
        self.rows.extend(pairs.map(|(left, right)| DiffRow {
            left: Some(left),
            right: Some(right),
            ..DiffRow::default()
        }));
    }

    fn finish(mut self) -> Vec<DiffRow> {
        let ends_hidden = self.rows.last().is_some_and(|row| row.item == HIDDEN);
        if !ends_hidden || !self.left.is_empty() || !self.right.is_empty() {
            self.push_rows();
        }
        self.rows
    }
}

fn add_text(side: &mut Vec<Line>, text: &str, changed: bool) {
    if side.is_empty() {
        side.push(Line::new());
    }
    let text = text.trim_end_matches('\r');
    if let (false, Some(line)) = (text.is_empty(), side.last_mut()) {
        line.push(span(text, Tone::Plain, changed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::rows::side_text;

    #[test]
    fn common_lines_of_texts_share_a_row() {
        let diff = super::super::diff_words("a\nx\ny\nend", "a\nz\nend");
        let rows: Vec<_> = text_rows(&diff)
            .iter()
            .map(|row| (side_text(&row.left), side_text(&row.right)))
            .collect();
        assert_eq!(rows.first().unwrap(), &("a".into(), "a".into()));
        assert_eq!(rows.last().unwrap(), &("end".into(), "end".into()));
        assert_eq!(rows.len(), 4);
    }
}
