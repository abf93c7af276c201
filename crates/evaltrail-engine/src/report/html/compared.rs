//! What was expected beside what the agent did, aligned and marked as in the explorer.

use super::escape::text;
use evaltrail_core::diff::{DiffRow, Line, Span, Tone, align, call_rows, diff_words, text_rows};
use evaltrail_core::domain::{Attempt, IntermediateResponse, Invocation, ModelError};
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
            "<p class=\"user\"><b>user</b> {}</p>\n<table class=\"sides\"><tr><th><th>expected<th>actual</tr>",
            text(&user)
        );
        write_sides(expected, actual, out);
        out.push_str("</table>\n");
    }
}

fn write_sides(expected: Option<&Invocation>, actual: Option<&Invocation>, out: &mut String) {
    let none = Invocation::default();
    let (left, right) = (expected.unwrap_or(&none), actual.unwrap_or(&none));
    // Only what is known on both sides differs.
    let are_both = expected.is_some() && actual.is_some();
    let has_calls = are_both && left.trajectory.is_known() && right.trajectory.is_known();
    if are_both && !right.trajectory.is_known() {
        write_note("the agent does not report its tool calls", out);
    }
    if let Some(agents) = agents_of_calls(right) {
        write_note(&agents, out);
    }
    let (wanted, made) = (left.calls(), right.calls());
    let calls = call_rows(&align(&wanted, &made), &wanted, &made);
    write_rows(calls.clone(), has_calls, out);
    let (wanted, made) = (intermediate(left), intermediate(right));
    write_texts(&wanted, &made, are_both && !wanted.is_empty(), out);
    for error in right.model_errors().map(ModelError::describe) {
        let _ = writeln!(
            out,
            "<tr><td><td><td><pre class=\"errored\">{}</pre></tr>",
            text(&error)
        );
    }
    if !calls.is_empty() {
        out.push_str("<tr class=\"part\"><td><td colspan=\"2\">response</tr>\n");
    }
    let has_reference = are_both && left.final_response.is_some();
    let (wanted, made) = (left.response_text(), right.response_text());
    write_texts(&wanted, &made, has_reference, out);
}

/// Writes a note of evaltrail on the actual side.
fn write_note(words: &str, out: &mut String) {
    let _ = writeln!(out, "<tr><td><td><td><i>{}</i></tr>", text(words));
}

/// Which agent made which call, where several act.
fn agents_of_calls(turn: &Invocation) -> Option<String> {
    let authors = turn.trajectory.call_authors();
    let calls = turn.calls();
    let named: Vec<String> = authors
        .iter()
        .zip(&calls)
        .map(|(author, call)| format!("{author}: {}", call.name))
        .collect();
    (!named.is_empty()).then(|| format!("calls by agent: {}", named.join(", ")))
}

/// Responses of agents before the final one, a line each.
fn intermediate(turn: &Invocation) -> String {
    let line = |one: &IntermediateResponse| format!("{}: {}", one.author, one.text());
    let lines: Vec<String> = turn.intermediate_responses().iter().map(line).collect();
    lines.join("\n")
}

fn write_texts(expected: &str, actual: &str, is_compared: bool, out: &mut String) {
    if expected.is_empty() && actual.is_empty() {
        return;
    }
    write_rows(text_rows(&diff_words(expected, actual)), is_compared, out);
}

/// Writes rows. Differences are marked only if the sides can be compared.
fn write_rows(rows: Vec<DiffRow>, is_compared: bool, out: &mut String) {
    let unmarked = |line: Line| -> Line {
        let plain = |span: Span| Span {
            changed: false,
            ..span
        };
        line.into_iter().map(plain).collect()
    };
    for one in rows {
        match is_compared {
            true => write_row(&one, out),
            false => write_row(
                &DiffRow {
                    mark: "",
                    left: one.left.map(unmarked),
                    right: one.right.map(unmarked),
                    ..one
                },
                out,
            ),
        }
    }
}

fn write_row(row: &DiffRow, out: &mut String) {
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
