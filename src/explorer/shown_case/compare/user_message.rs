//! The message of the user above the comparison of a turn.

use super::lines::ComparisonLines;
use crate::explorer::shared::command_names::TIMELINE;
use evaltrail_core::diff::{Span, Tone};

/// Maximum number of lines of the user message above the comparison. The timeline shows all of them.
const USER_LINES: usize = 8;

/// Adds the message. Of a long one, only the first lines are shown.
pub(super) fn add_user_message(out: &mut ComparisonLines, text: &str, has_run: bool) {
    let first = out.lines.len();
    for (at, line) in text.lines().enumerate() {
        let author = if at == 0 { "user  " } else { "      " };
        out.wide(&[
            Span::single_line(author, Tone::Faint),
            Span::single_line(line, Tone::Plain),
        ]);
    }
    shorten(out, first, has_run);
}

/// Cuts the user message to [`USER_LINES`] lines, and adds a note if it was cut.
fn shorten(out: &mut ComparisonLines, first: usize, has_run: bool) {
    let more = (out.lines.len() - first).saturating_sub(USER_LINES);
    if more > 0 {
        out.lines.truncate(first + USER_LINES);
        let all = match has_run {
            true => format!("; {} shows them all", TIMELINE.key()),
            false => String::new(),
        };
        out.note(&format!("… and {more} more lines{all}"));
    }
}
