//! Whether both sides of a turn are identical.

use crate::explorer::shown_case::response_text::shown_response;
use evaltrail_core::diff::calls_equal;
use evaltrail_core::domain::{IntermediateResponse, Invocation};

/// Whether calls and responses are identical and no event has an error. Intermediate responses are compared if some are
/// expected.
pub(super) fn is_identical(expected: Option<&Invocation>, actual: Option<&Invocation>) -> bool {
    let (Some(expected), Some(actual)) = (expected, actual) else {
        return false;
    };
    let (left, right) = (expected.calls(), actual.calls());
    let same_calls = left.len() == right.len()
        && left
            .iter()
            .zip(&right)
            .all(|(e, a)| calls_equal(e, a, false));
    let has_errors = actual.model_errors().next().is_some();
    same_calls
        && !has_errors
        && expected.trajectory.is_known()
        && actual.trajectory.is_known()
        && shown_response(expected) == shown_response(actual)
        && has_expected_intermediate(expected, actual)
}

fn has_expected_intermediate(expected: &Invocation, actual: &Invocation) -> bool {
    let expected = expected.intermediate_responses();
    let texts = |responses: &[IntermediateResponse]| -> Vec<(String, String)> {
        responses
            .iter()
            .map(|one| (one.author.clone(), one.text()))
            .collect()
    };
    expected.is_empty() || texts(&expected) == texts(&actual.intermediate_responses())
}
