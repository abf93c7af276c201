//! The session state after the case, compared key by key like the arguments of a call.

use super::lines::ComparisonLines;
use super::unmarked::one_sided;
use crate::explorer::shared::case_lines::BodyLine;
use evaltrail_core::diff::{align, call_rows};
use evaltrail_core::domain::ToolCall;
use serde_json::Value;

/// Adds the session state, compared key by key like the arguments of a call.
pub(super) fn add_states(
    out: &mut ComparisonLines,
    expected: Option<&Value>,
    actual: Option<&Value>,
) {
    let side = |state: &Value| ToolCall::new("state", state.as_object().cloned());
    let (expected, actual) = (expected.map(side), actual.map(side));
    out.lines.push(BodyLine::Rule("session state".into()));
    let (left, right): (Vec<_>, Vec<_>) = (expected.iter().collect(), actual.iter().collect());
    let rows = out.folded(call_rows(&align(&left, &right), &left, &right));
    match right.is_empty() {
        true => {
            out.rows(&one_sided(rows));
            out.note("the agent did not report its session state");
        }
        false => drop(out.rows(&rows)),
    }
}
