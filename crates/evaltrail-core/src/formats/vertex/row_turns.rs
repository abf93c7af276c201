//! What reading a row and reading its `agent_data` have in common.

use super::calls::decoded;
use crate::domain::{Invocation, InvocationEvent};
use crate::formats::read::{JsonNode, Read, ReadError};
use serde_json::{Map, Value};

/// The expected and the saved turns of a row.
#[derive(Default)]
pub(super) struct RowTurns {
    pub(super) expected: Vec<Invocation>,
    pub(super) saved: Option<Vec<Invocation>>,
    pub(super) state: Map<String, Value>,
    pub(super) error: Option<String>,
    /// The text of the system messages.
    pub(super) system: Option<String>,
    /// What the agent did in the last turn before the response, if the request contains it.
    pub(super) steps: Vec<InvocationEvent>,
}

/// Reads a cell that may contain its structure as a text, as in a table.
pub(super) fn in_text<T>(node: JsonNode, read: impl Fn(JsonNode) -> Read<T>) -> Read<T> {
    let Value::String(text) = node.value else {
        return read(node);
    };
    let value = decoded(text).ok_or_else(|| node.wrong("JSON in the text"))?;
    read(JsonNode::top(&value)).map_err(|error| ReadError {
        path: node.path(),
        ..error
    })
}

/// A turn with only the user's message and, if the turn is history, the response.
pub(super) fn without_actions(turn: &Invocation) -> Invocation {
    let said = turn.final_response.clone().filter(|_| turn.history);
    Invocation {
        user: turn.user.clone(),
        final_response: said,
        history: turn.history,
        ..Invocation::default()
    }
}
