//! The calls of a turn, aligned, with their arguments.

use super::lines::ComparisonLines;
use super::unmarked::{one_sided, without_marks};
use crate::explorer::shared::case_lines::BodyLine;
use crate::explorer::shown_case::pieces::call_pieces;
use evaltrail_core::diff::{AcceptablePart, DiffRow, align, call_rows};
use evaltrail_core::domain::{Invocation, ToolCall, Trajectory};

/// Adds the aligned calls of both sides.
pub(super) fn add_calls(
    out: &mut ComparisonLines,
    expected: Option<&Invocation>,
    actual: Option<&Invocation>,
) {
    let calls = |turn: Option<&Invocation>| {
        turn.map(|turn| turn.calls().into_iter().cloned().collect::<Vec<_>>())
            .unwrap_or_default()
    };
    let (left, right) = (calls(expected), calls(actual));
    let (left, right): (Vec<_>, Vec<_>) = (left.iter().collect(), right.iter().collect());
    out.lines.push(BodyLine::Rule("tool calls".into()));
    let alignment = align(&left, &right);
    let rows = out.folded(call_rows(&alignment, &left, &right));
    match actual {
        None if left.is_empty() => out.note("no calls are expected"),
        None => drop(out.rows(&one_sided(rows))),
        Some(turn) if !turn.trajectory.is_known() => {
            add_unknown_calls(out, turn, rows, &left, &right)
        }
        Some(_) if alignment.pairs.is_empty() && expected.is_some_and(expects_unknown_calls) => {
            out.note("no calls");
        }
        Some(_) if alignment.pairs.is_empty() => out.note("no calls, none expected"),
        Some(_) if expected.is_none_or(expects_unknown_calls) => {
            drop(out.rows(&without_marks(rows)));
        }
        Some(_) => {
            let rows = out.fold_identical(rows);
            let heading = out.lines.len() - 1;
            let starts = out.rows(&rows);
            let found = call_pieces(&alignment, &rows, &left, &right);
            if found.len() > 1 {
                out.piece(AcceptablePart::Calls, heading);
            }
            found
                .into_iter()
                .for_each(|(piece, row)| out.piece(piece, starts[row]));
        }
    }
    if alignment.coarse {
        out.note("too many calls to align: paired by position");
    }
    let is_reported = actual.is_none_or(|turn| turn.trajectory.is_known());
    if is_reported && expected.is_some_and(|turn| turn.trajectory == Trajectory::Unknown) {
        out.note(match expected.is_some_and(|turn| turn.is_data) {
            true => "the row does not say which calls are expected; they are not scored",
            false => "the file specifies no expected calls; ADK treats this as an empty list",
        });
    }
    if expected.is_none() && actual.is_some() {
        out.note("this turn has no expected side: it is by a simulated user, or not in the file");
    }
}

/// Adds calls of which not all are known: none is marked as missing.
fn add_unknown_calls(
    out: &mut ComparisonLines,
    actual: &Invocation,
    rows: Vec<DiffRow>,
    left: &[&ToolCall],
    right: &[&ToolCall],
) {
    match (left.is_empty(), right.is_empty()) {
        (true, true) => {}
        (false, true) => drop(out.rows(&one_sided(rows))),
        _ => drop(out.rows(&without_marks(rows))),
    }
    out.note(match actual.calls().is_empty() {
        true => "the agent does not report its tool calls; they are not scored",
        false => "the agent reports only some of its tool calls; they are not scored",
    });
}

/// Whether the turn is of a data set's row that does not contain the expected calls.
fn expects_unknown_calls(expected: &Invocation) -> bool {
    expected.is_data && !expected.trajectory.is_known()
}
