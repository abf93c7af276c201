//! Sessions of ADK, as its servers send them and as they are saved in files, and lists of their events.

use super::Conversation;
use crate::domain::{Invocation, SessionInput};
use crate::formats::ReadError;
use crate::formats::adk::{Event, event, invocations_of};
use crate::formats::read::{Node, Read, below};
use serde_json::{Map, Value};

/// A session of ADK, or another conversation that was saved.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSession {
    /// The session's id; empty if it has none.
    pub id: String,
    /// Application (empty if it is not known), user, and the initial state as far as it can be derived from the session.
    pub input: SessionInput,
    /// The turns.
    pub turns: Vec<Invocation>,
    /// Keys of the state that the conversation changed. The session does not contain their initial values.
    pub changed: Vec<String>,
}

/// Whether a value is a session: it has events, and an application or a user.
pub(super) fn is_session(value: &Value) -> bool {
    let has = |key: &str| below(value, &[key]).is_some();
    below(value, &["events"]).is_some_and(Value::is_array) && (has("app_name") || has("user_id"))
}

/// Whether a value is an event of a session.
pub(super) fn is_event(value: &Value) -> bool {
    below(value, &["invocation_id"]).is_some() && value.get("author").is_some_and(Value::is_string)
}

/// Reads a session. `None` if the value is none.
///
/// # Errors
///
/// When an event cannot be read.
pub fn read_session(session: &Value) -> Result<Option<StoredSession>, ReadError> {
    if !is_session(session) {
        return Ok(None);
    }
    let text = |key: &str| below(session, &[key]).and_then(Value::as_str).unwrap_or_default().to_string();
    let turns = conversation(Node::top(session))?.turns;
    let events = below(session, &["events"]).and_then(Value::as_array).into_iter().flatten();
    let deltas = events.filter_map(|event| below(event, &["actions", "state_delta"])?.as_object());
    let mut changed: Vec<String> = Vec::new();
    for key in deltas.flat_map(Map::keys) {
        if !changed.contains(key) {
            changed.push(key.clone());
        }
    }
    let mut state = session.get("state").and_then(Value::as_object).cloned().unwrap_or_default();
    state.retain(|key, _| !changed.contains(key));
    let (app_name, user_id) = (text("app_name"), text("user_id"));
    let input = SessionInput { app_name, user_id, state, ..SessionInput::default() };
    Ok(Some(StoredSession { id: text("id"), input, turns, changed }))
}

/// The conversation of a session.
pub(super) fn conversation(node: Node) -> Read<Conversation> {
    of_events(node.need("events")?)
}

/// The conversation in a list of events.
pub(super) fn of_events(node: Node) -> Read<Conversation> {
    let events: Vec<Event> = node.items()?.map(event).collect::<Read<_>>()?;
    Ok(Conversation { turns: invocations_of(&events), ..Conversation::default() })
}
