//! The final responses of a turn, compared word by word or, if both are JSON, by keys.

use super::lines::ComparisonLines;
use super::unmarked::{one_sided, without_marks};
use crate::explorer::shared::case_lines::BodyLine;
use crate::explorer::shown_case::response_text::shown_response;
use evaltrail_core::diff::{AcceptablePart, DiffRow, Line, diff_words, json_rows, text_rows};
use evaltrail_core::domain::Invocation;
use serde_json::Value;

/// Adds the responses, compared word by word.
pub(super) fn add_response(
    out: &mut ComparisonLines,
    expected: Option<&Invocation>,
    actual: Option<&Invocation>,
) {
    out.lines.push(BodyLine::Rule("response".into()));
    if let Some(words) = actual.and_then(|turn| turn.end.describe()) {
        out.note(words);
    }
    let text = |turn: Option<&Invocation>| turn.map(shown_response).unwrap_or_default();
    if let (Some(e), Some(a)) = (json_response(expected), json_response(actual)) {
        return add_json_response(out, &e, &a, text(expected) != text(actual));
    }
    let diff = diff_words(&text(expected), &text(actual));
    let is_coarse = diff.coarse;
    let differs_in_ends = !diff.is_changed() && text(expected) != text(actual);
    match actual {
        None => drop(out.rows(&one_sided(text_rows(&diff_words(
            &text(expected),
            &text(expected),
        ))))),
        Some(_) if expected.is_none() => drop(out.rows(&without_marks(text_rows(&diff)))),
        Some(_) => {
            let rows = out.fold_identical(text_rows(&out.shown_texts(diff)));
            let changed = |line: &Line| line.iter().any(|span| span.changed);
            let differs = |row: &DiffRow| row.left.iter().chain(&row.right).any(changed);
            let first = rows.iter().position(differs).unwrap_or(0);
            let starts = out.rows(&rows);
            if text(expected) != text(actual) {
                out.piece(
                    AcceptablePart::Response,
                    starts.get(first).copied().unwrap_or(0),
                );
            }
        }
    }
    if differs_in_ends && actual.is_some() && expected.is_some() {
        out.note("the texts differ in the ends of their lines");
    }
    if is_coarse {
        out.note("parts of more than 1 MB that differ are not compared by words");
    }
}

/// Adds responses that are JSON on both sides. `differs` tells whether their texts do.
fn add_json_response(out: &mut ComparisonLines, expected: &Value, actual: &Value, differs: bool) {
    let rows = out.folded(json_rows(expected, actual));
    let rows = out.fold_identical(rows);
    let changed = |line: &Line| line.iter().any(|span| span.changed);
    let is_changed = |row: &DiffRow| row.left.iter().chain(&row.right).any(changed);
    let first = rows.iter().position(is_changed);
    let starts = out.rows(&rows);
    if differs {
        let line = first.and_then(|row| starts.get(row)).or(starts.first());
        out.piece(AcceptablePart::Response, line.copied().unwrap_or(0));
    }
    if differs && first.is_none() {
        out.note("the texts have the same JSON values, written in another way");
    }
}

/// The response as a JSON object or list, if it is one.
fn json_response(turn: Option<&Invocation>) -> Option<Value> {
    let text = shown_response(turn?);
    let begins = text.trim_start().starts_with(['{', '[']);
    begins.then(|| serde_json::from_str(&text).ok()).flatten()
}
