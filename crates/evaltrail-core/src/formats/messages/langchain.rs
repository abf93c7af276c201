//! What LangChain and LangGraph wrap around messages: dumps with `lc` and `kwargs`, with `type` and `data`, pairs of role
//! and content; and `{"from": …, "value": …}`, as sets of conversations for training have them.

use super::chat;
use super::message::{Message, MessageRole};
use crate::domain::Part;
use crate::formats::read::{JsonNode, Read};
use serde_json::Value;

/// Whether a list is `[role, content]`.
pub(super) fn is_pair(list: &[Value]) -> bool {
    match list {
        [Value::String(role), content] => {
            MessageRole::named(role).is_some() && !content.is_object()
        }
        _ => false,
    }
}

/// Reads `[role, content]`.
pub(super) fn pair(node: JsonNode) -> Read<Message> {
    let mut items = node.items()?;
    let (Some(role), Some(content), None) = (items.next(), items.next(), items.next()) else {
        return Err(node.wrong("[role, content]"));
    };
    let wrong = || role.wrong("a role: system, human, ai, user, assistant or tool");
    let role = role
        .value
        .as_str()
        .and_then(MessageRole::named)
        .ok_or_else(wrong)?;
    let mut message = Message::new(role, Vec::new());
    super::blocks::add_content(content, &mut message)?;
    match role {
        // Without the id of a call.
        MessageRole::Tool => Err(node.wrong("a message of a tool as an object with tool_call_id")),
        _ => Ok(message),
    }
}

/// Reads a dump of a message; `None` if it is not wrapped.
pub(super) fn dumped(node: JsonNode) -> Read<Option<Message>> {
    let value = node.value;
    if value.get("lc").is_some() {
        let fields = node.need("kwargs")?;
        let names = value.get("id").and_then(Value::as_array);
        let class = names.and_then(|names| names.last()?.as_str());
        let kind = fields.value.get("type").and_then(Value::as_str);
        return of_kind(class.or(kind), fields).map(Some);
    }
    match node.get("data").filter(|data| data.value.is_object()) {
        Some(fields) => of_kind(value.get("type").and_then(Value::as_str), fields).map(Some),
        None => Ok(None),
    }
}

fn of_kind(kind: Option<&str>, fields: JsonNode) -> Read<Message> {
    let role = fields
        .value
        .get("role")
        .and_then(Value::as_str)
        .and_then(MessageRole::named);
    let role = kind.and_then(MessageRole::named).or(role);
    let role = role.ok_or_else(|| {
        fields.wrong("a message of LangChain whose type is system, human, ai or tool")
    })?;
    chat::message(role, fields)
}

/// Reads `{"from": "human", "value": "…"}`.
pub(super) fn from_value(from: &str, node: JsonNode) -> Read<Message> {
    match MessageRole::named(from).filter(|role| *role != MessageRole::Tool) {
        Some(role) => Ok(Message::new(
            role,
            vec![Part::text(node.need("value")?.str()?)],
        )),
        None => Err(node.wrong("a message from system, human or gpt")),
    }
}
