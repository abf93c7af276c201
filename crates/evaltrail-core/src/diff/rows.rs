//! The rows of a side-by-side display: what is on the left and what on the right of each.

use crate::domain::{clean, clean_line};

/// The kind of a piece of text, which determines its color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// Less important.
    Faint,
    /// The name of a tool.
    Tool,
    /// The name of an argument.
    Key,
    /// A value.
    Value,
    /// A note by evaltrail.
    Note,
}

/// A piece of text with one style. The text is safe to display (see `domain::clean`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// Its kind.
    pub tone: Tone,
    /// Whether the other side differs here.
    pub changed: bool,
}

impl Span {
    /// A text that does not differ. Breaks of lines stay.
    pub fn new(text: &str, tone: Tone) -> Span {
        span(text, tone, false)
    }

    /// A text that does not differ, as one line.
    pub fn single_line(text: &str, tone: Tone) -> Span {
        Span {
            text: clean_line(text).into_owned(),
            tone,
            changed: false,
        }
    }
}

/// One side of a row.
pub type Line = Vec<Span>;

/// A row: the left and the right side, and the mark in the gutter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiffRow {
    /// The expected side; `None` if there is none.
    pub left: Option<Line>,
    /// The actual side.
    pub right: Option<Line>,
    /// `=`, `~`, `-`, `+`, `↕` on the first row of a call; empty elsewhere.
    pub mark: &'static str,
    /// The index of the call or text that the row belongs to, from 0.
    pub item: usize,
    /// The argument that the row shows.
    pub key: Option<String>,
}

pub(super) fn span(text: &str, tone: Tone, changed: bool) -> Span {
    Span {
        text: clean(text).into_owned(),
        tone,
        changed,
    }
}

/// The text of a line, without its styles.
#[cfg(test)]
pub(super) fn line_text(line: &Line) -> String {
    line.iter().map(|span| span.text.as_str()).collect()
}

/// The text of one side of a row without its styles; empty if the row does not have that side.
#[cfg(test)]
pub(super) fn side_text(side: &Option<Line>) -> String {
    side.as_ref().map(line_text).unwrap_or_default()
}
