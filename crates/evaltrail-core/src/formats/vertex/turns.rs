//! Lists of messages in the cells of a row: recognising them before `row` reads them.

use super::calls::decoded;
use crate::domain::Content;
use crate::formats::messages;
use crate::formats::read::{JsonNode, Read};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// A list of messages or of items of OpenAI's Responses, also one that is written as a text in a cell.
pub(super) fn message_list(value: &Value) -> Option<Cow<'_, Value>> {
    let list = match value {
        Value::Array(_) => Cow::Borrowed(value),
        Value::String(text) if text.trim_start().starts_with('[') => Cow::Owned(decoded(text)?),
        _ => return None,
    };
    let is_message = |one: &Value| one.get("role").is_some() || one.get("type").is_some();
    list.as_array()
        .is_some_and(|list| !list.is_empty() && list.iter().all(is_message))
        .then_some(list)
}

/// Whether a value is a list of messages with the roles of a conversation.
pub(super) fn is_conversation(value: &Value) -> bool {
    let has_role = |one: &Value| {
        matches!(
            one.get("role").and_then(Value::as_str),
            Some("user" | "assistant")
        )
    };
    message_list(value).is_some_and(|list| list.as_array().into_iter().flatten().all(has_role))
}

/// The messages, with deepeval's `tools_called` as a message with calls before the text that they led to.
pub(super) fn with_tool_calls(list: &Value) -> Value {
    let list = message_list(list).map(Cow::into_owned).unwrap_or_default();
    let messages = |message: &Value| -> Vec<Value> {
        let Value::Object(mut message) = message.clone() else {
            return vec![message.clone()];
        };
        let Some(Value::Array(tools)) = message.remove("tools_called") else {
            return vec![message.into()];
        };
        let calls: Vec<Value> = tools.iter().map(tool_call).collect();
        let calls = (!calls.is_empty())
            .then(|| json!({"role": "assistant", "content": null, "tool_calls": calls}));
        calls.into_iter().chain([message.into()]).collect()
    };
    list.as_array()
        .into_iter()
        .flatten()
        .flat_map(messages)
        .collect()
}

/// A tool of deepeval, with its parameters or only its name.
fn tool_call(tool: &Value) -> Value {
    if let Value::String(_) = tool {
        return json!({"function": {"name": tool}});
    }
    let arguments = ["input_parameters", "inputParameters"]
        .into_iter()
        .find_map(|key| tool.get(key));
    let arguments = arguments.filter(|arguments| !arguments.is_null()).cloned();
    let mut function = Map::from_iter([(
        "name".to_string(),
        tool.get("name").cloned().unwrap_or_default(),
    )]);
    function.extend(arguments.map(|arguments| ("arguments".to_string(), arguments)));
    json!({"type": "function", "function": function})
}

/// A list with one text, as the text itself; several are not one reference.
pub(super) fn single_text<'a>(node: &'a JsonNode<'a>) -> Read<Option<&'a str>> {
    let Value::Array(items) = node.value else {
        return Ok(None);
    };
    match items.as_slice() {
        [Value::String(text)] => Ok(Some(text)),
        [Value::String(_), ..] if items.iter().all(Value::is_string) => Err(node.wrong(
            "one text: several accepted answers cannot be compared with; leave one, or map another column",
        )),
        _ => Ok(None),
    }
}

/// Whether a content has no text and no other part.
pub(super) fn is_blank(content: &Content) -> bool {
    content.parts.iter().all(|part| part.is_blank())
}

pub(super) fn opened(value: &Value) -> Value {
    match value {
        Value::String(text) => decoded(text).unwrap_or_else(|| value.clone()),
        other => other.clone(),
    }
}

/// A conversation in a cell, which may be JSON in a text; `None` for any other cell.
pub(super) fn messages_in(value: &Value) -> Option<Value> {
    let value = match value {
        Value::String(text) if !text.trim_start().starts_with(['{', '[']) => return None,
        value => opened(value),
    };
    (messages::is_list_of_messages(&value) || messages::is_conversation(&value)).then_some(value)
}

/// Whether a value is a conversation, a content, or a response of a model's interface, rather than data.
pub(super) fn is_structure(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let is_error = has("error") && value.as_object().is_some_and(|map| map.len() == 1);
    is_error
        || ["choices", "candidates", "parts"].into_iter().any(has)
        || messages_in(value).is_some()
}
