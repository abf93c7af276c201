//! The session that a result of ADK contains for a case: the events until the agent failed, the error, and the final state.

use super::content::write_content;
use super::event::{event, invocations_of, write_event};
use crate::domain::{Attempt, Invocation, ModelError};
use crate::formats::read::{JsonNode, Read};
use serde_json::{Value, json};

/// The key under which ADK's evaluation stores the model's request in the state of a session. It is not part of the state
/// of the agent.
const INTERNAL: &str = "__llm_request_key__";

/// What the agent did until it failed, and the error.
pub(super) struct RecordedEnd {
    pub(super) turns: Vec<Invocation>,
    pub(super) error: String,
}

impl RecordedEnd {
    /// The turns and the error of a session. ADK adds no session of a case whose application it finds under another name.
    pub(super) fn read(session: Option<JsonNode>) -> RecordedEnd {
        let of_error = |error: String| RecordedEnd {
            turns: Vec::new(),
            error,
        };
        match session {
            None => of_error("the agent failed; ADK does not record why".into()),
            Some(session) => read(session).unwrap_or_else(|error| {
                of_error(format!(
                    "the agent failed; its session in the result cannot be read: {error}"
                ))
            }),
        }
    }
}

fn read(session: JsonNode) -> Read<RecordedEnd> {
    let mut events = session.list("events", event)?;
    // The error of the attempt is not also one that the agent continued after.
    let error = events.last_mut().and_then(|event| event.error.take());
    let error = error.map_or_else(
        || "the agent failed; its session in the result contains no error".into(),
        |error| full_text(&error),
    );
    Ok(RecordedEnd {
        turns: invocations_of(&events),
        error,
    })
}

/// "CODE: message", with all of the message.
fn full_text(error: &ModelError) -> String {
    match (error.code.is_empty(), error.message.is_empty()) {
        (true, _) => error.message.clone(),
        (false, true) => error.text(),
        (false, false) => format!("{}: {}", error.code, error.message),
    }
}

/// The state at the end of a session.
pub(super) fn final_state(session: JsonNode) -> Option<Value> {
    let mut state = session.get("state")?.value.as_object()?.clone();
    state.remove(INTERNAL);
    Some(Value::Object(state))
}

/// The session of an attempt as ADK writes it into a result of `created`, in Unix seconds. The state is left out if it is not known.
pub(super) fn session(app: &str, created: f64, attempt: &Attempt) -> Value {
    let mut events: Vec<Value> = attempt
        .actual
        .iter()
        .flat_map(|turn| events_of_turn(app, turn))
        .collect();
    if let Some(error) = &attempt.error {
        let last = attempt
            .actual
            .last()
            .map(|turn| turn.id.as_str())
            .unwrap_or_default();
        events.push(json!({"author": app, "invocation_id": last, "error_message": error}));
    }
    let mut session = json!({
        "id": attempt.session_id,
        "app_name": app,
        "user_id": attempt.user_id,
        "events": events,
        "last_update_time": created,
    });
    if let Some(state) = attempt
        .actual_state
        .as_ref()
        .filter(|state| state.is_object())
    {
        session["state"] = state.clone();
    }
    session
}

/// The user's message, the events, and the final response in the event that it was taken from, or after all events.
fn events_of_turn(app: &str, turn: &Invocation) -> Vec<Value> {
    let mut written = vec![json!({
        "author": "user",
        "invocation_id": turn.id,
        "content": write_content(&turn.user),
        "timestamp": turn.created,
    })];
    let events = turn.trajectory.events().unwrap_or_default();
    let mut response = turn.final_response.as_ref();
    for event in events {
        let mut value = write_event(event);
        let content = event.content.as_ref().or(response);
        if content == response {
            response = None;
        }
        value["content"] = content.map_or(Value::Null, write_content);
        value["invocation_id"] = turn.id.as_str().into();
        write_error(&mut value, event.error.as_ref());
        written.push(value);
    }
    for error in &turn.reported_errors {
        let mut value = json!({"author": error.author, "invocation_id": turn.id});
        write_error(&mut value, Some(error));
        written.push(value);
    }
    if let Some(response) = response {
        let author = events.last().map_or(app, |event| event.author.as_str());
        written.push(json!({
            "author": author, "invocation_id": turn.id, "content": write_content(response),
        }));
    }
    written
}

fn write_error(event: &mut Value, error: Option<&ModelError>) {
    let text = |text: fn(&ModelError) -> &String| error.map(text).filter(|text| !text.is_empty());
    event["error_code"] = text(|error| &error.code).cloned().into();
    event["error_message"] = text(|error| &error.message).cloned().into();
}
