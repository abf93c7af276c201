//! The intermediate responses of a turn, compared like calls.

use super::lines::ComparisonLines;
use super::unmarked::{one_sided, without_marks};
use crate::explorer::shared::case_lines::BodyLine;
use evaltrail_core::diff::{AcceptablePart, align, call_rows};
use evaltrail_core::domain::{IntermediateResponse, Invocation, ToolCall};
use serde_json::Value;

/// Adds the intermediate responses, each under its agent. Where none is expected, none is marked as extra.
pub(super) fn add_intermediate(
    out: &mut ComparisonLines,
    expected: Option<&Invocation>,
    actual: Option<&Invocation>,
) {
    let side = |turn: Option<&Invocation>| -> Vec<IntermediateResponse> {
        turn.map(Invocation::intermediate_responses)
            .unwrap_or_default()
    };
    let (expected, is_reached, actual) = (side(expected), actual.is_some(), side(actual));
    if expected.is_empty() && actual.is_empty() {
        return;
    }
    out.lines
        .push(BodyLine::Rule("intermediate responses".into()));
    let (left, right) = (as_calls(&expected), as_calls(&actual));
    let (left, right): (Vec<_>, Vec<_>) = (left.iter().collect(), right.iter().collect());
    let rows = call_rows(&align(&left, &right), &left, &right);
    let heading = out.lines.len() - 1;
    match (is_reached, expected.is_empty()) {
        (false, _) => drop(out.rows(&one_sided(rows))),
        (true, true) => drop(out.rows(&without_marks(rows))),
        (true, false) => {
            let rows = out.fold_identical(rows);
            out.rows(&rows);
            if left != right {
                out.piece(AcceptablePart::Intermediate, heading);
            }
        }
    }
}

/// Responses as calls, so that they are aligned as calls are: the agent is the name of the tool, the text is the argument.
fn as_calls(responses: &[IntermediateResponse]) -> Vec<ToolCall> {
    let call = |response: &IntermediateResponse| {
        let text = [("text".to_string(), Value::from(response.text()))];
        ToolCall::new(response.author.clone(), Some(text.into_iter().collect()))
    };
    responses.iter().map(call).collect()
}
