//! Conversations that were saved in files of their own.

use super::session::{StoredSession, is_session, read_session};
use super::shape::{conversation, is_conversation, is_list_of_messages};
use crate::domain::SessionInput;
use crate::formats::ReadError;
use crate::formats::json;
use crate::formats::read::JsonNode;
use serde_json::Value;

/// The conversations that a file contains: sessions of ADK, one or a list or one per line, or lists of messages in any
/// form. `None` if the text contains something else.
///
/// # Errors
///
/// When a conversation cannot be read: a message with the position.
pub fn saved_conversations(text: &str) -> Result<Option<Vec<StoredSession>>, String> {
    let whole = json::parse(text).map(|parsed| vec![parsed.value]);
    let lines = || -> Option<Vec<Value>> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines
            .map(|line| json::parse(line).ok().map(|parsed| parsed.value))
            .collect()
    };
    let Some(mut values) = whole.ok().or_else(lines) else {
        return Ok(None);
    };
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
    values
        .iter()
        .enumerate()
        .map(read)
        .collect::<Result<_, _>>()
        .map(Some)
}

fn one(value: &Value) -> Result<StoredSession, ReadError> {
    if let Some(session) = read_session(value)? {
        return Ok(session);
    }
    let turns = conversation(JsonNode::top(value))?.into_turns();
    let id = ["id", "thread_id"]
        .iter()
        .find_map(|key| value.get(*key)?.as_str());
    let id = id.unwrap_or_default().to_string();
    Ok(StoredSession {
        id,
        turns,
        input: SessionInput::default(),
        states: Vec::new(),
    })
}
