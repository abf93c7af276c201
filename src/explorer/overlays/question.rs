//! The text of a question: cleaned, wrapped, scrolled; shared by confirmations and the trust dialog.

use crate::diff::{Line, Span, wrap_line};
use crate::domain::{clean_exact, clean_line};
use crate::explorer::commands::Motion;
use crate::explorer::theme::{Role, Theme};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::{put, put_spans};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// A question and what it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionText {
    /// Its heading.
    pub title: String,
    /// What it is about, line by line; untrusted.
    pub lines: Vec<String>,
    /// Whether blanks that could hide something are made visible.
    exact: bool,
    /// The first visible line.
    scroll: usize,
}

impl QuestionText {
    /// A question, shown from its first line.
    pub fn new(title: impl Into<String>, lines: Vec<String>) -> QuestionText {
        QuestionText { title: title.into(), lines, exact: false, scroll: 0 }
    }

    /// The same with every blank visible that is not a single space: for what is allowed by the answer.
    pub fn exact(title: impl Into<String>, lines: Vec<String>) -> QuestionText {
        QuestionText { exact: true, ..QuestionText::new(title, lines) }
    }

    fn laid_out(&self, body: Rect) -> Vec<Line> {
        let width = usize::from(width(body).saturating_sub(4)).max(1);
        let wrapped = |text: &String| {
            let text = if self.exact { clean_exact(text) } else { clean_line(text).into_owned() };
            let span = Span { text, ..Span::default() };
            wrap_line(&[span], width)
        };
        self.lines.iter().flat_map(wrapped).collect()
    }

    /// How many lines are below the visible ones in this part of the screen.
    pub fn below(&self, body: Rect) -> usize {
        self.laid_out(body).len().saturating_sub(self.scroll + rows(body))
    }

    pub(super) fn scroll(&mut self, body: Rect, motion: Motion) {
        let last = self.laid_out(body).len().saturating_sub(rows(body));
        self.scroll = motion.of(self.scroll, last + 1, rows(body));
    }

    /// Draws the question, with the possible answers in its last line.
    pub(super) fn draw(&self, body: Rect, answers: &str, theme: &Theme, buffer: &mut Buffer) {
        let lines = self.laid_out(body);
        let inner = over(
            body,
            width(body),
            u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(5),
            &self.title,
            theme,
            buffer,
        );
        let room = inner.width.saturating_sub(2);
        let visible = lines.iter().skip(self.scroll).take(usize::from(inner.height.saturating_sub(2)));
        for (row, line) in visible.enumerate() {
            put_spans(buffer, (inner.x + 1, inner.y + 1 + row as u16), room, line, theme, Role::Text);
        }
        put(buffer, inner.x + 1, inner.bottom().saturating_sub(1), room, answers, theme.style(Role::Accent));
    }
}

/// Columns of the dialog, with its frame.
fn width(body: Rect) -> u16 {
    body.width.saturating_sub(4).min(100)
}

/// Lines of text that fit: without the frame, a margin and the line of answers.
fn rows(body: Rect) -> usize {
    usize::from(body.height.saturating_sub(4))
}
