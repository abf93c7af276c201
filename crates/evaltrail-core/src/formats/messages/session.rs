//! Sessions of ADK, as its servers send them and as they are saved in files, and lists of their events.

use super::conversation::ParsedConversation;
use crate::domain::{Invocation, SessionInput};
use crate::formats::ReadError;
use crate::formats::adk::{Event, event, invocations_of};
use crate::formats::read::{JsonNode, Read, below};
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
    /// The state before each turn; empty if the source contains none.
    pub states: Vec<StateBefore>,
}

/// The state of a session before a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateBefore {
    /// The values that are known.
    pub state: Map<String, Value>,
    /// The keys that were changed for the first time later, each once: the session does not contain the values before.
    pub unknown: Vec<String>,
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
    let text = |key: &str| {
        below(session, &[key])
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string()
    };
    let turns = conversation(JsonNode::top(session))?.turns;
    let events = below(session, &["events"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let events: Vec<&Value> = events.collect();
    let last = session
        .get("state")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let states: Vec<StateBefore> = (0..turns.len())
        .map(|turn| state_before(turn, &turns, &events, &last))
        .collect();
    let state = states.first().map_or(last, |first| first.state.clone());
    let (app_name, user_id) = (text("app_name"), text("user_id"));
    let input = SessionInput {
        app_name,
        user_id,
        state,
        ..SessionInput::default()
    };
    Ok(Some(StoredSession {
        id: text("id"),
        input,
        turns,
        states,
    }))
}

/// What stands before the name of a value that lives for one invocation only.
const TEMPORARY: &str = "temp:";

/// The state before a turn: what was changed before it has the value of the last change, and what was never changed the
/// value at the end.
fn state_before(
    turn: usize,
    turns: &[Invocation],
    events: &[&Value],
    last: &Map<String, Value>,
) -> StateBefore {
    let mut before = StateBefore::default();
    let mut later: Vec<&String> = Vec::new();
    for event in events {
        let invocation = below(event, &["invocation_id"])
            .and_then(Value::as_str)
            .unwrap_or_default();
        let of = turns
            .iter()
            .position(|one| one.id == invocation)
            .unwrap_or_default();
        let delta = below(event, &["actions", "state_delta"]).and_then(Value::as_object);
        for (key, value) in delta
            .into_iter()
            .flatten()
            .filter(|(key, _)| !key.starts_with(TEMPORARY))
        {
            match of < turn {
                true => drop(before.state.insert(key.clone(), value.clone())),
                false => later.push(key),
            }
        }
    }
    for key in later {
        if !before.state.contains_key(key) && !before.unknown.contains(key) {
            before.unknown.push(key.clone());
        }
    }
    let never_changed =
        |key: &String| !before.unknown.contains(key) && !before.state.contains_key(key);
    let rest: Vec<(String, Value)> = last
        .iter()
        .filter(|(key, _)| never_changed(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    before.state.extend(rest);
    before
}

/// The conversation of a session.
pub(super) fn conversation(node: JsonNode) -> Read<ParsedConversation> {
    of_events(node.need("events")?)
}

/// The conversation in a list of events.
pub(super) fn of_events(node: JsonNode) -> Read<ParsedConversation> {
    let events: Vec<Event> = node.items()?.map(event).collect::<Read<_>>()?;
    Ok(ParsedConversation {
        turns: invocations_of(&events),
        ..ParsedConversation::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The values that the turns before led to, each key once.
    #[test]
    fn state_before_turn_comes_from_earlier_turns() {
        let event = |turn: &str, author: &str, delta: Value| json!({"author": author, "invocationId": turn, "content": {"parts": [{"text": "x"}]}, "actions": {"stateDelta": delta}});
        let session = json!({"appName": "a", "userId": "u", "state": {"room": "x", "held": 3, "late": true}, "events": [
            event("1", "user", json!({})), event("1", "a", json!({"held": 1, "temp:step": 1})),
            event("2", "user", json!({})), event("2", "a", json!({"held": 2})),
            event("3", "user", json!({})), event("3", "a", json!({"held": 3})), event("3", "a", json!({"held": 3, "late": true})),
        ]});
        let read = read_session(&session).unwrap().unwrap();
        let before = |turn: usize| {
            (
                Value::Object(read.states[turn].state.clone()),
                read.states[turn].unknown.clone(),
            )
        };
        assert_eq!(
            before(0),
            (
                json!({"room": "x"}),
                vec!["held".to_string(), "late".to_string()]
            )
        );
        assert_eq!(
            before(1),
            (json!({"held": 1, "room": "x"}), vec!["late".to_string()])
        );
        assert_eq!(
            before(2),
            (json!({"held": 2, "room": "x"}), vec!["late".to_string()])
        );
    }
}
