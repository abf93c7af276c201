//! The request to a program that computes a metric.

use evaltrail_core::domain::{Criterion, Invocation, plain_json};
use evaltrail_core::formats::adk::{write_content, write_invocation};
use evaltrail_core::formats::vertex::write_trajectory;
use evaltrail_core::metrics::Evidence;
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
    if options.is_empty() {
        Value::Null
    } else {
        Value::Object(options)
    }
}

/// The last turn as a row of a Vertex data set.
fn instance(evidence: &Evidence) -> Value {
    let mut row = Map::new();
    let expected = evidence.expected.and_then(<[Invocation]>::last);
    let actual = evidence.actual.last();
    let mut put = |key: &str, value: Option<Value>| {
        row.insert(key.into(), value.unwrap_or_default());
    };
    put(
        "prompt",
        expected
            .or(actual)
            .map(|turn| turn.user.scored_text().into()),
    );
    put("reference", expected.and_then(text));
    put("response", actual.and_then(text));
    put("reference_trajectory", expected.and_then(write_trajectory));
    put("predicted_trajectory", actual.and_then(write_trajectory));
    put("latency_in_seconds", evidence.latency_s.map(Value::from));
    put("agent_data", Some(agent_data(evidence.actual)));
    Value::Object(row)
}

/// The conversation as the events of `agent_data`, which functions of agents-cli read.
fn agent_data(turns: &[Invocation]) -> Value {
    let turn = |(at, turn): (usize, &Invocation)| {
        let mut events = vec![json!({"author": "user", "content": write_content(&turn.user)})];
        match turn.trajectory.events() {
            Some(recorded) => events.extend(recorded.iter().filter_map(|event| {
                Some(json!({"author": event.author, "content": write_content(event.content.as_ref()?)}))
            })),
            None => events.extend(turn.calls().into_iter().map(|call| {
                let part = json!({"function_call": {"name": call.name, "args": call.args}});
                json!({"author": "agent", "content": {"role": "model", "parts": [part]}})
            })),
        }
        let response = turn.final_response.as_ref();
        events.extend(
            response.map(|said| json!({"author": "agent", "content": write_content(said)})),
        );
        json!({"turn_index": at, "events": events})
    };
    json!({"turns": turns.iter().enumerate().map(turn).collect::<Vec<_>>()})
}

fn text(turn: &Invocation) -> Option<Value> {
    turn.final_response
        .as_ref()
        .map(|content| content.scored_text().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{Content, ToolCall, Trajectory};

    fn turn(said: &str, response: &str, trajectory: Trajectory) -> Invocation {
        Invocation {
            user: Content::text("user", said),
            final_response: Some(Content::text("model", response)),
            trajectory,
            ..Invocation::default()
        }
    }

    #[test]
    fn program_receives_criterion_and_turns() {
        let mut criterion = Criterion::new("own", Some(0.5));
        let call = ToolCall {
            name: "find".into(),
            ..ToolCall::default()
        };
        let listed = Trajectory::Listed {
            calls: vec![call],
            responses: Vec::new(),
            texts: Vec::new(),
        };
        let (expected, actual) = (
            [turn("hi", "wanted", Trajectory::Unknown)],
            [turn("hi", "given", listed)],
        );
        let evidence = Evidence::turns(Some(&expected), &actual);
        let sent = request(&criterion, "a", &evidence);
        assert_eq!(
            (&sent["metric"], &sent["eval_id"]),
            (&json!("own"), &json!("a"))
        );
        assert_eq!(sent["criterion"], json!({"threshold": 0.5}));
        let instance = &sent["instance"];
        let texts =
            ["prompt", "reference", "response"].map(|name| instance[name].as_str().unwrap());
        assert_eq!(texts, ["hi", "wanted", "given"]);
        let events = instance["agent_data"]["turns"][0]["events"]
            .as_array()
            .unwrap();
        let authors: Vec<&str> = events
            .iter()
            .map(|event| event["author"].as_str().unwrap())
            .collect();
        assert_eq!(authors, ["user", "agent", "agent"]);
        assert_eq!(
            events[1]["content"]["parts"][0]["function_call"]["name"],
            "find"
        );
        criterion.threshold = None;
        assert_eq!(
            request(&criterion, "a", &evidence)["criterion"],
            Value::Null
        );
        criterion.options.insert("threshold".into(), json!(0.9));
        criterion.threshold = Some(0.5);
        assert_eq!(
            request(&criterion, "a", &evidence)["criterion"],
            json!({"threshold": 0.9})
        );
    }
}
