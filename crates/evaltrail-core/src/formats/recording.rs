//! Recordings of an agent for the replay agent, one attempt per line.
//!
//! `{"eval_id": "…", "turns": [{"prompt": "…", "events": [{"at": 0.4, "author": "…", …}], "error": null}]}`;
//! `at` is seconds since the turn began, the rest is ADK's event shape. `"intermediate": true` marks
//! an event that is not the final response although it has a text, `"partial": true` a turn of an agent that does
//! not report all its calls, and `"end"` how a turn ended, if not with a response.

use super::adk::{Event, invocation_of, read_event, write_content_as_is};
use super::index::first_keys;
use super::json::{self, position};
use super::line_size::check_line_size;
use crate::domain::{
    Attempt, Content, Invocation, InvocationEvent, ModelError, Trajectory, TurnEnd, finite_number,
    plausible_seconds,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One recorded attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedAttempt {
    /// The case it belongs to.
    pub eval_id: String,
    /// Its turns.
    pub turns: Vec<RecordedTurn>,
    /// The session's state afterwards, if it was requested.
    pub state: Option<Value>,
}

/// One recorded turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedTurn {
    /// The user's message.
    pub prompt: String,
    /// The events, each with its time.
    pub events: Vec<Event>,
    /// The error, if the turn failed.
    pub error: Option<String>,
    /// Whether the agent did not report all its calls.
    pub partial: bool,
    /// How the turn ended.
    pub end: TurnEnd,
}

/// Reads a recording. The error names the line.
pub fn read_recording(text: &str) -> Result<Vec<RecordedAttempt>, String> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| attempt(line).map_err(|why| format!("line {}: {why}", at + 1)))
        .collect()
}

/// Whether a text begins as a recording, although its lines may not be valid.
pub fn is_recording(text: &str) -> bool {
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    line.trim_start().starts_with('{') && first_keys(line).iter().any(|key| key == "turns")
}

fn attempt(line: &str) -> Result<RecordedAttempt, String> {
    check_line_size(line)?;
    let value = json::parse(line)
        .map_err(|error| format!("column {}: {error}", position(line, error.offset).1))?
        .value;
    let turns = value["turns"]
        .as_array()
        .ok_or("expected \"turns\", a list")?;
    Ok(RecordedAttempt {
        eval_id: value["eval_id"].as_str().unwrap_or_default().to_string(),
        turns: turns.iter().map(turn).collect::<Result<_, _>>()?,
        state: value
            .get("state")
            .filter(|state| state.is_object())
            .cloned(),
    })
}

fn turn(value: &Value) -> Result<RecordedTurn, String> {
    let events = value["events"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    Ok(RecordedTurn {
        prompt: value["prompt"].as_str().unwrap_or_default().to_string(),
        events: events.iter().map(event).collect::<Result<_, _>>()?,
        error: value["error"].as_str().map(str::to_string),
        partial: value["partial"].as_bool().unwrap_or(false),
        end: value
            .get("end")
            .map_or(Ok(TurnEnd::default()), TurnEnd::deserialize)
            .map_err(|why| why.to_string())?,
    })
}

fn event(value: &Value) -> Result<Event, String> {
    let mut event = read_event(value).map_err(|error| format!("an event: {error}"))?;
    event.is_intermediate = value["intermediate"] == true;
    event.is_message = value["is_message"] == true;
    event.at = value
        .get("at")
        .and_then(finite_number)
        .and_then(plausible_seconds);
    Ok(event)
}

/// The turns of a recorded attempt.
pub fn recorded_turns(attempt: &RecordedAttempt) -> Vec<Invocation> {
    let turn = |turn: &RecordedTurn| {
        let user = Content::text("user", turn.prompt.as_str());
        invocation_of(&user, turn.events.clone()).with_end(turn.end, !turn.partial)
    };
    attempt.turns.iter().map(turn).collect()
}

/// An attempt as a line of a recording.
pub fn recording_line(attempt: &Attempt) -> String {
    let last = attempt.actual.len().saturating_sub(1);
    let turns: Vec<Value> = attempt
        .actual
        .iter()
        .enumerate()
        .map(|(at, turn)| {
            let error = attempt.error.as_ref().filter(|_| at == last);
            let mut line =
                json!({"prompt": turn.user.scored_text(), "events": events_of(turn), "error": error});
            if matches!(turn.trajectory, Trajectory::Partial(_)) {
                line["partial"] = true.into();
            }
            if !turn.end.is_answered() {
                line["end"] = json!(turn.end);
            }
            line
        })
        .collect();
    let mut line = json!({"eval_id": attempt.eval_id, "turns": turns});
    if let Some(state) = &attempt.actual_state {
        line["state"] = state.clone();
    }
    line.to_string()
}

/// The events of a turn. The final response is put back into the event from which it was moved.
fn events_of(turn: &Invocation) -> Vec<Value> {
    let Some(events) = turn.trajectory.events() else {
        return Vec::new();
    };
    let mut answer = turn.final_response.as_ref();
    let ends_with_answer = events.iter().any(|event| event.content.is_none());
    let mut out: Vec<Value> = events
        .iter()
        .map(|event| {
            let content = event.content.as_ref().or_else(|| answer.take());
            let mut value = event_value(event, content.map(write_content_as_is));
            // Without a final response, none of the texts is one.
            if turn.final_response.is_none() && event.content.is_some() {
                value["intermediate"] = true.into();
            }
            if event.is_message {
                value["is_message"] = true.into();
            }
            value
        })
        .collect();
    out.extend(turn.reported_errors.iter().map(error_value));
    if let Some(content) = answer.filter(|_| !ends_with_answer && !holds(events, answer)) {
        let at = turn.durations.total;
        out.push(json!({"at": at, "author": "agent", "content": write_content_as_is(content)}));
    }
    out
}

fn holds(events: &[InvocationEvent], answer: Option<&crate::domain::Content>) -> bool {
    events.iter().any(|event| event.content.as_ref() == answer)
}

/// An event with an error and nothing else.
fn error_value(error: &ModelError) -> Value {
    let event = InvocationEvent {
        author: error.author.clone(),
        at: error.at,
        error: Some(error.clone()),
        ..InvocationEvent::default()
    };
    event_value(&event, None)
}

fn event_value(event: &InvocationEvent, content: Option<Value>) -> Value {
    // An error beside content is a finish reason: with an error code, the event would be a final response.
    let (code, message) = match content.is_some() {
        true => ("finishReason", "finishMessage"),
        false => ("errorCode", "errorMessage"),
    };
    let mut out = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            out.insert(key.to_string(), value);
        }
    };
    put(
        "at",
        event.at.map(|at| json!((at * 1000.0).round() / 1000.0)),
    );
    put("author", Some(event.author.clone().into()));
    put("content", content);
    put("groundingMetadata", event.grounding.clone());
    put(
        "usageMetadata",
        event.usage.as_ref().map(|usage| usage.raw.clone()),
    );
    put("modelVersion", event.model_version.clone().map(Value::from));
    if let Some(error) = &event.error {
        put(
            code,
            Some(error.code.clone())
                .filter(|text| !text.is_empty())
                .map(Value::from),
        );
        put(
            message,
            Some(error.message.clone())
                .filter(|text| !text.is_empty())
                .map(Value::from),
        );
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::adk::invocations_of;

    #[test]
    fn a_recorded_attempt_is_read_back_as_it_was() {
        let line = r#"{"eval_id":"a","turns":[{"prompt":"hi","events":[{"at":0.5,"author":"x","content":{"parts":[{"function_call":{"args":{"n":1},"name":"t"}}]},"is_message":true},{"at":1,"author":"x","content":{"parts":[{"text":"done"}]}}],"error":null}]}"#;
        let read = &read_recording(line).unwrap()[0];
        let mut actual = invocations_of(&read.turns[0].events);
        actual[0].user = crate::domain::Content::text("user", "hi");
        let attempt = Attempt {
            asked: Vec::new(),
            rubrics: Vec::new(),
            scenario: None,
            variables: serde_json::Map::new(),
            variants: Vec::new(),
            expected_state: None,
            actual_state: None,
            key: crate::domain::AttemptKey {
                case: 0,
                attempt: 1,
            },
            eval_id: "a".into(),
            status: crate::domain::Status::Passed,
            adk_status: crate::domain::Status::Passed,
            started: String::new(),
            latency_s: Some(1.0),
            failed: None,
            error: None,
            metrics: vec![],
            expected: [].into(),
            actual: actual.into(),
            session_id: String::new(),
            user_id: String::new(),
            tries: 1,
            tool_use: None,
            setup: None,
            user_spent: None,
            turn: None,
        };
        let again = &read_recording(&recording_line(&attempt)).unwrap()[0];
        assert_eq!(again, read);
    }

    #[test]
    fn mistakes_name_the_line() {
        assert!(
            read_recording("{\"turns\": []}\n{oops")
                .unwrap_err()
                .starts_with("line 2: column 2")
        );
        let text = format!(
            "{{\"turns\": []}}\n{{\"turns\": [], \"eval_id\": \"{}\"}}",
            "a".repeat(33 << 20)
        );
        assert_eq!(
            read_recording(&text).unwrap_err(),
            "line 2: the line has 34 MB; the limit is 32 MB"
        );
    }

    #[test]
    fn recordings_and_traces_are_distinguished() {
        assert!(is_recording("\n{\"eval_id\": \"a\", \"turns\": [oops"));
        for other in [
            "",
            "[{\"turns\": []}]",
            "{\"resourceSpans\": [{\"turns\": []}]}",
        ] {
            assert!(!is_recording(other), "{other}");
        }
    }
}
