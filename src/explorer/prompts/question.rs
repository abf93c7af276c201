//! The text of a question: cleaned, wrapped and scrollable. Shared by confirmations and the trust dialog.

use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::over;
use crate::explorer::widgets::text::{put, put_spans};
use evaltrail_core::diff::{Line, Span, wrap_line};
use evaltrail_core::domain::{clean_exact, clean_line};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// A question with details.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionText {
    /// The question, shown as the title.
    pub title: String,
    /// Details, line by line. Untrusted text.
    pub lines: Vec<String>,
    /// Whether whitespace that could hide something is made visible.
    exact: bool,
    /// The first visible line.
    scroll: usize,
}

impl QuestionText {
    /// Creates a question, scrolled to its first line.
    pub fn new(title: impl Into<String>, lines: Vec<String>) -> QuestionText {
        QuestionText {
            title: title.into(),
            lines,
            exact: false,
            scroll: 0,
        }
    }

    /// Like [`QuestionText::new`], but makes all whitespace visible except single spaces. For text that the user
    /// gives permission to.
    pub fn exact(title: impl Into<String>, lines: Vec<String>) -> QuestionText {
        QuestionText {
            exact: true,
            ..QuestionText::new(title, lines)
        }
    }

    fn laid_out(&self, body: Rect) -> Vec<Line> {
        let width = usize::from(width(body).saturating_sub(4)).max(1);
        let wrapped = |text: &String| {
            let text = if self.exact {
                clean_exact(text)
            } else {
                clean_line(text).into_owned()
            };
            let span = Span {
                text,
                ..Span::default()
            };
            wrap_line(&[span], width)
        };
        self.lines.iter().flat_map(wrapped).collect()
    }

    /// Number of lines below the visible ones in this part of the screen.
    pub fn lines_below(&self, body: Rect) -> usize {
        self.laid_out(body)
            .len()
            .saturating_sub(self.scroll + rows(body))
    }

    pub(crate) fn scroll(&mut self, body: Rect, motion: Motion) {
        let last = self.laid_out(body).len().saturating_sub(rows(body));
        self.scroll = motion.target(self.scroll, last + 1, rows(body));
    }

    /// Draws the question, with the possible answers in its last line.
    pub(crate) fn draw(&self, body: Rect, answers: &str, theme: &Theme, buffer: &mut Buffer) {
        let lines = self.laid_out(body);
        let inner = over(
            body,
            width(body),
            u16::try_from(lines.len())
                .unwrap_or(u16::MAX)
                .saturating_add(5),
            &self.title,
            theme,
            buffer,
        );
        let room = inner.width.saturating_sub(2);
        let visible = lines
            .iter()
            .skip(self.scroll)
            .take(usize::from(inner.height.saturating_sub(2)));
        for (row, line) in visible.enumerate() {
            put_spans(
                buffer,
                (inner.x + 1, inner.y + 1 + row as u16),
                room,
                line,
                theme,
                Role::Text,
            );
        }
        put(
            buffer,
            inner.x + 1,
            inner.bottom().saturating_sub(1),
            room,
            answers,
            theme.style(Role::Accent),
        );
    }
}

/// Width of the dialog including its frame.
fn width(body: Rect) -> u16 {
    body.width.saturating_sub(4).min(100)
}

/// Number of lines of text that fit, without frame, margin and answers.
fn rows(body: Rect) -> usize {
    usize::from(body.height.saturating_sub(4))
}
