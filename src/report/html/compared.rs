//! What was expected beside what the agent did, aligned and marked as in the explorer.

use super::escape::text;
use crate::diff::{Line, Row, Tone, align, call_rows, diff_words, text_rows};
use crate::domain::{Attempt, Invocation, ModelError};
use std::fmt::Write;

/// The turns of an attempt.
pub(super) fn turns(attempt: &Attempt, out: &mut String) {
    for turn in 0..attempt.expected.len().max(attempt.actual.len()) {
        let (expected, actual) = (attempt.expected.get(turn), attempt.actual.get(turn));
        let user = expected
            .or(actual)
            .map(|turn| turn.user.shown_text())
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "<p><b>user</b> {}</p>\n<table class=\"sides\"><tr><th><th>expected<th>actual</tr>",
            text(&user)
        );
        sides(expected, actual, out);
        out.push_str("</table>\n");
    }
}

fn sides(expected: Option<&Invocation>, actual: Option<&Invocation>, out: &mut String) {
    let none = Invocation::default();
    let (left, right) = (expected.unwrap_or(&none), actual.unwrap_or(&none));
    let (wanted, made) = (left.calls(), right.calls());
    let calls = call_rows(&align(&wanted, &made), &wanted, &made);
    calls.iter().for_each(|one| row(one, out));
    let (wanted, made) = (intermediate(left), intermediate(right));
    compared_texts(&wanted, &made, out);
    let errors: Vec<String> = right.model_errors().map(ModelError::describe).collect();
    for error in errors {
        let _ = writeln!(
            out,
            "<tr><td><td><td><pre class=\"errored\">{}</pre></tr>",
            text(&error)
        );
    }
    if !calls.is_empty() {
        out.push_str("<tr class=\"part\"><td><td colspan=\"2\">response</tr>\n");
    }
    compared_texts(&left.response_text(), &right.response_text(), out);
}

/// Responses of agents before the final one, a line each.
fn intermediate(turn: &Invocation) -> String {
    let line =
        |one: &crate::domain::IntermediateResponse| format!("{}: {}", one.author, one.text());
    let lines: Vec<String> = turn.intermediate_responses().iter().map(line).collect();
    lines.join("\n")
}

fn compared_texts(expected: &str, actual: &str, out: &mut String) {
    if expected.is_empty() && actual.is_empty() {
        return;
    }
    text_rows(&diff_words(expected, actual))
        .iter()
        .for_each(|one| row(one, out));
}

fn row(row: &Row, out: &mut String) {
    let _ = writeln!(
        out,
        "<tr><td>{}<td>{}<td>{}</tr>",
        row.mark,
        line(&row.left, "gone"),
        line(&row.right, "new")
    );
}

/// A line; what differs from the other side is marked.
fn line(line: &Option<Line>, class: &str) -> String {
    let Some(spans) = line else {
        return String::new();
    };
    let mut out = String::from("<pre>");
    for span in spans {
        let escaped = text(&span.text);
        let _ = match (span.tone, span.changed) {
            (Tone::Note | Tone::Faint, _) => write!(out, "<i>{escaped}</i>"),
            (_, true) => write!(out, "<mark class=\"{class}\">{escaped}</mark>"),
            (Tone::Tool, false) => write!(out, "<b>{escaped}</b>"),
            (Tone::Plain | Tone::Key | Tone::Value, false) => write!(out, "{escaped}"),
        };
    }
    out + "</pre>"
}
