//! The request to a program that computes a metric.

use crate::domain::{Criterion, Invocation, plain_json};
use crate::formats::adk::write_invocation;
use crate::formats::vertex::write_trajectory;
use crate::metrics::Evidence;
use serde_json::{Map, Value, json};

/// A case as a program receives it: in Vertex AI's form (`instance`), and in ADK's.
pub(super) fn request(criterion: &Criterion, eval_id: &str, evidence: &Evidence) -> Value {
    plain_json(json!({
        "metric": criterion.metric,
        "criterion": criterion_of(criterion),
        "eval_id": eval_id,
        "instance": instance(evidence),
        "expected": evidence.expected.map(|turns| turns.iter().map(write_invocation).collect::<Vec<_>>()),
        "actual": evidence.actual.iter().map(write_invocation).collect::<Vec<_>>(),
        "scenario": null,
        "final_session_state": evidence.expected_state,
        "session_state": evidence.actual_state,
    }))
}

/// The criterion as ADK passes it to a custom metric, with the threshold included.
fn criterion_of(criterion: &Criterion) -> Value {
    let mut options = criterion.options.clone();
    if let Some(threshold) = criterion.threshold {
        options.entry("threshold").or_insert(threshold.into());
    }
    if options.is_empty() { Value::Null } else { Value::Object(options) }
}

/// The last turn as a row of a Vertex data set.
fn instance(evidence: &Evidence) -> Value {
    let mut row = Map::new();
    let expected = evidence.expected.and_then(<[Invocation]>::last);
    let actual = evidence.actual.last();
    let mut put = |key: &str, value: Option<Value>| {
        row.insert(key.into(), value.unwrap_or_default());
    };
    put("prompt", expected.or(actual).map(|turn| turn.user.scored_text().into()));
    put("reference", expected.and_then(text));
    put("response", actual.and_then(text));
    put("reference_trajectory", expected.and_then(write_trajectory));
    put("predicted_trajectory", actual.and_then(write_trajectory));
    put("latency_in_seconds", evidence.latency_s.map(Value::from));
    Value::Object(row)
}

fn text(turn: &Invocation) -> Option<Value> {
    turn.final_response.as_ref().map(|content| content.scored_text().into())
}
