//! Reading of single cells of a row: durations, messages of the user, responses and references.

use crate::domain::{Content, float_of, plausible_seconds};
use crate::formats::adk;
use crate::formats::messages::{self, Answer};
use crate::formats::read::{JsonNode, Read, ReadError, lax_float, lookup};
use crate::formats::vertex::calls::{decoded, is_nothing};
use crate::formats::vertex::turns::{is_structure, opened};
use serde_json::Value;

/// The value of a cell; `None` for null and for NaN, which stands for null in a table.
pub(super) fn cell<'a>(node: JsonNode<'a>, key: &'a str) -> Option<JsonNode<'a>> {
    let value = node.value.as_object().and_then(|map| lookup(map, key))?;
    let nothing = match value.1 {
        Value::Null => true,
        Value::Number(number) => float_of(number).is_some_and(f64::is_nan),
        _ => false,
    };
    (!nothing).then_some(node.member(value.0, value.1))
}

/// A duration; `None` for a text that stands for no value.
pub(super) fn seconds(cell: JsonNode) -> Read<Option<f64>> {
    if cell.value.as_str().is_some_and(is_nothing) {
        return Ok(None);
    }
    let number = if cell.value.is_boolean() {
        None
    } else {
        lax_float(cell.value)
    };
    let seconds = number.and_then(plausible_seconds);
    seconds
        .map(Some)
        .ok_or_else(|| cell.wrong("a number of seconds from 0 to 1000000000"))
}

/// Reads a message of the user: a text, or a content, which may be JSON in a text.
pub(super) fn message_content(node: JsonNode, role: &str) -> Read<Content> {
    match node.value {
        Value::String(text) => Ok(
            match text
                .trim_start()
                .starts_with('{')
                .then(|| decoded(text))
                .flatten()
            {
                Some(value) if value.get("parts").is_some() => {
                    adk::read_content(JsonNode::top(&value))?
                }
                _ => Content::text(role, text.clone()),
            },
        ),
        Value::Object(map) if map.contains_key("parts") => adk::read_content(node),
        // What Vertex's client writes for a response without content.
        Value::Object(map) if map.is_empty() => Ok(Content::default()),
        Value::Object(map) if map.contains_key("text") => {
            Ok(Content::text(role, node.need("text")?.str()?))
        }
        // The inputs of an example: {"question": "…"}.
        Value::Object(map) => match map.values().next() {
            Some(Value::String(text)) if map.len() == 1 => Ok(Content::text(role, text.clone())),
            _ => Ok(Content::text(role, node.value.to_string())),
        },
        Value::Number(_) | Value::Bool(_) => Ok(Content::text(role, node.value.to_string())),
        _ => Err(node.wrong("a text, a content with parts, or a list of messages")),
    }
}

/// Reads a response or a reference: a text, or a value that may be JSON in a text.
pub(super) fn read_answer(node: JsonNode) -> Read<Answer> {
    let Value::String(text) = node.value else {
        return messages::answer(node);
    };
    // Most answers are plain texts, which need not be parsed.
    if !text.trim_start().starts_with(['{', '[', '(']) {
        return Ok(Answer::of_text(text));
    }
    match opened(node.value) {
        value if !value.is_string() && is_structure(&value) => {
            messages::answer(JsonNode::top(&value)).map_err(|error| ReadError {
                path: node.path(),
                ..error
            })
        }
        _ => Ok(Answer::of_text(text)),
    }
}
