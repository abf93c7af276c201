//! The steps of an agent as lines: tool calls, tool responses and messages.

use evaltrail_core::diff::{Line, Span, Tone, wrap_line};
use evaltrail_core::domain::Progress;
use unicode_width::UnicodeWidthStr;

/// The lines of a step, `width` columns wide. Empty for a step without content.
pub(crate) fn step_lines(step: &Progress, width: usize) -> Vec<Line> {
    match step {
        Progress::Calls(call) => {
            wrap_line(&[faint("   calls "), Span::new(call, Tone::Tool)], width)
        }
        Progress::Answered { tool, response } => {
            let response = Span::new(&format!(" {response}"), Tone::Value);
            wrap_line(
                &[faint("   ← "), Span::new(tool, Tone::Tool), response],
                width,
            )
        }
        Progress::Says(text) | Progress::SaysMore(text) => said("   agent", text, width),
        Progress::Turn { turn, user, .. } => {
            let mut lines = vec![Line::new()];
            lines.extend(said(&format!("{turn}  user"), user, width));
            lines
        }
        Progress::Waiting(why) => wrap_line(
            &[Span::new(&format!("   waited: {why}"), Tone::Note)],
            width,
        ),
        Progress::Retrying { delay_ms, error } => {
            let words = format!(
                "   tried again after {:.1}s: {error}",
                *delay_ms as f64 / 1000.0
            );
            wrap_line(&[Span::new(&words, Tone::Note)], width)
        }
        Progress::Judging {
            metric,
            about,
            turn,
            answered,
            of,
        } => {
            let words = format!(
                "   judging {metric}: {about} of turn {turn}, {answered} of {of} responses"
            );
            wrap_line(&[faint(&words)], width)
        }
        Progress::Connecting | Progress::Scoring => Vec::new(),
    }
}

/// A text with its author before the first line; the other lines are indented like it.
pub(crate) fn said(who: &str, text: &str, width: usize) -> Vec<Line> {
    let author = format!("{who}  ");
    let indent = " ".repeat(author.width());
    let room = width.saturating_sub(author.width()).max(1);
    let wrapped = text
        .lines()
        .flat_map(|line| wrap_line(&[Span::new(line, Tone::Plain)], room));
    let with_author = |(at, line): (usize, Line)| {
        let author = Span::new(if at == 0 { &author } else { &indent }, Tone::Key);
        std::iter::once(author).chain(line).collect()
    };
    wrapped.enumerate().map(with_author).collect()
}

fn faint(text: &str) -> Span {
    Span::new(text, Tone::Faint)
}
