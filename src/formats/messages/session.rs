//! Sessions of ADK, as its servers send them and as they are saved in files, and lists of their events.

use super::Conversation;
use super::shape::{is_conversation, is_list_of_messages};
use crate::domain::{Invocation, SessionInput};
use crate::formats::ReadError;
use crate::formats::adk::{Event, event, invocations_of};
use crate::formats::json;
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

/// The conversations that a file contains: sessions of ADK, one or a list or one per line, or lists of messages in any
/// form. `None` if the text contains something else.
///
/// # Errors
///
/// When a conversation cannot be read: a message with the place.
pub fn saved_conversations(text: &str) -> Result<Option<Vec<StoredSession>>, String> {
    let whole = json::parse(text).map(|parsed| vec![parsed.value]);
    let lines = || -> Option<Vec<Value>> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| json::parse(line).ok().map(|parsed| parsed.value)).collect()
    };
    let Some(mut values) = whole.ok().or_else(lines) else { return Ok(None) };
    if let [Value::Array(list)] = values.as_slice()
        && list.first().is_some_and(is_session)
    {
        values = list.clone();
    }
    let is_known = |value: &Value| is_conversation(value) || is_list_of_messages(value);
    if values.is_empty() || !values.iter().all(is_known) {
        return Ok(None);
    }
    let read = |(at, value): (usize, &Value)| {
        one(value).map_err(|error| match values.len() {
            1 => error.to_string(),
            _ => format!("conversation {}: {error}", at + 1),
        })
    };
    values.iter().enumerate().map(read).collect::<Result<_, _>>().map(Some)
}

fn one(value: &Value) -> Result<StoredSession, ReadError> {
    if let Some(session) = read_session(value)? {
        return Ok(session);
    }
    let turns = super::conversation(Node::top(value))?.recorded();
    let id = ["id", "thread_id"].iter().find_map(|key| value.get(*key)?.as_str());
    let id = id.unwrap_or_default().to_string();
    Ok(StoredSession { id, turns, input: SessionInput::default(), changed: Vec::new() })
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
