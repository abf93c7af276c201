//! Which form a conversation, or one message of it, has. Each message is recognised by itself, since lists mix forms.

use super::conversation::ParsedConversation;
use super::message::{Message, MessageRole};
use super::turns::turns;
use super::{chat, items, langchain, session};
use crate::domain::Part;
use crate::formats::read::{JsonNode, Read, lookup};
use serde_json::Value;

const A_MESSAGE: &str = "a message: an object with role and content, a message of LangChain, an item of OpenAI's \
                         Responses, [role, content], or a text";
const ONE_LIST: &str =
    "one list of messages; several conversations are several rows, or several files of messages";

/// Values of `type` by which a message or an item is recognised in a list.
pub(in crate::formats) const KINDS: &[&str] = &[
    "human",
    "ai",
    "HumanMessage",
    "AIMessage",
    "SystemMessage",
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
];

/// The members of an object that contain a conversation.
const LISTS: &[&str] = &["messages", "contents"];

/// Whether a value is a list of messages, by its first element.
pub(in crate::formats) fn is_list_of_messages(value: &Value) -> bool {
    match value.get(0) {
        Some(Value::Array(pair)) => langchain::is_pair(pair),
        Some(first) => is_message(first),
        None => false,
    }
}

/// Whether a value is a message of a known form.
pub(super) fn is_message(value: &Value) -> bool {
    let Some(map) = value.as_object() else {
        return false;
    };
    let has = |key: &str| map.contains_key(key);
    let word = |key: &str| map.get(key).and_then(Value::as_str);
    let is_kind = |kind: &str| {
        KINDS.contains(&kind) || (MessageRole::named(kind).is_some() && has_content(map))
    };
    word("role").is_some_and(|role| MessageRole::named(role).is_some())
        || has("parts")
        || (has("lc") && has("kwargs"))
        || (has("from") && has("value"))
        || (has("author") && has("content"))
        || word("type").is_some_and(is_kind)
        || (word("type").is_some_and(is_item) && (has("id") || has("call_id")))
}

/// Whether a type is that of a call of OpenAI's Responses, or of its result: `web_search_call`, `shell_call_output`.
fn is_item(kind: &str) -> bool {
    kind.ends_with("_call") || kind.ends_with("_call_output") || kind.starts_with("mcp_")
}

fn has_content(map: &serde_json::Map<String, Value>) -> bool {
    map.contains_key("content") || map.contains_key("data")
}

/// Whether an object contains a conversation: a state of LangGraph, a request or a session.
pub(in crate::formats) fn is_conversation(value: &Value) -> bool {
    let list = |key: &str| value.get(key).is_some_and(is_list_of_messages);
    LISTS.iter().any(|key| list(key))
        || value.get("values").is_some_and(is_conversation)
        || session::is_session(value)
        || is_response(value)
}

/// Whether a value is a response of OpenAI's Responses. Its output can be empty, with the reason beside it.
fn is_response(value: &Value) -> bool {
    value
        .get("object")
        .is_some_and(|object| object == "response")
        && value.get("output").is_some_and(Value::is_array)
}

/// Reads a conversation: a list of messages, or an object that contains one.
pub(super) fn conversation(node: JsonNode) -> Read<ParsedConversation> {
    match node.value {
        Value::Array(_) => of_list(node),
        Value::Object(_) if session::is_session(node.value) => session::conversation(node),
        Value::Object(map) => {
            if let Some(list) = LISTS.iter().find_map(|key| node.get(key)) {
                let mut found = of_list(list)?;
                if let Some(system) = node
                    .get("system_instruction")
                    .or_else(|| node.get("system"))
                {
                    found.system = Some(system_text(system)?);
                }
                return Ok(found);
            }
            if let Some(values) = node.get("values") {
                return conversation(values);
            }
            if map.get("object").is_some_and(|object| object == "response") {
                return of_list(node.need("output")?);
            }
            Ok(turns(vec![message(node)?]))
        }
        Value::String(_) => Ok(turns(vec![message(node)?])),
        _ => Err(node.wrong("a list of messages")),
    }
}

fn system_text(node: JsonNode) -> Read<String> {
    let mut message = Message::new(MessageRole::System, Vec::new());
    super::blocks::add_content(node, &mut message)?;
    Ok(message.text())
}

fn of_list(node: JsonNode) -> Read<ParsedConversation> {
    let first = node.value.get(0);
    if first.is_some_and(|first| {
        first
            .as_array()
            .is_some_and(|list| !langchain::is_pair(list))
    }) {
        return Err(node.wrong(ONE_LIST));
    }
    if first.is_some_and(session::is_event) {
        return session::of_events(node);
    }
    let messages: Read<Vec<Message>> = node
        .items()
        .map_err(|_| node.wrong("a list of messages"))?
        .map(message)
        .collect();
    Ok(turns(messages?))
}

/// Reads one message by its shape.
pub(super) fn message(node: JsonNode) -> Read<Message> {
    let map = match node.value {
        // LangChain takes a text for a message of the user.
        Value::String(text) => return Ok(Message::new(MessageRole::User, vec![Part::text(text)])),
        Value::Array(_) => return langchain::pair(node),
        Value::Object(map) => map,
        _ => return Err(node.wrong(A_MESSAGE)),
    };
    if let Some(message) = langchain::dumped(node)? {
        return Ok(message);
    }
    let word = |key: &str| lookup(map, key).and_then(|(_, value)| value.as_str());
    if let Some(role) = word("role") {
        return match MessageRole::named(role) {
            Some(role) => chat::message(role, node),
            None => Err(node.wrong("a message whose role is system, user, assistant or tool")),
        };
    }
    match (word("type"), word("from")) {
        (Some(kind), _) if MessageRole::named(kind).is_some() => {
            chat::message(MessageRole::named(kind).unwrap_or(MessageRole::User), node)
        }
        (Some("message"), _) => Err(node.missing("role")),
        (Some(kind), _) => items::item(kind, node),
        (None, Some(from)) if map.contains_key("value") => langchain::from_value(from, node),
        _ if map.contains_key("parts") => chat::message(role_of_parts(node), node),
        _ => match (word("author"), node.get("content")) {
            (Some(author), _) => authored(author, node),
            // Vertex's histories have the role in the content.
            (None, Some(content)) if content.value.get("parts").is_some() => message(content),
            (None, _) => Err(node.wrong(A_MESSAGE)),
        },
    }
}

/// The role of a content of Gemini without one: the user's, unless it has calls.
fn role_of_parts(node: JsonNode) -> MessageRole {
    let parts = node.value["parts"].as_array().into_iter().flatten();
    let is_call = |part: &Value| {
        part.get("functionCall")
            .or(part.get("function_call"))
            .is_some()
    };
    if parts.into_iter().any(is_call) {
        MessageRole::Model
    } else {
        MessageRole::User
    }
}

/// `{"author": …, "content": …}`, as Vertex writes a history.
fn authored(author: &str, node: JsonNode) -> Read<Message> {
    let role = MessageRole::named(author).unwrap_or(MessageRole::Model);
    let mut message = chat::message(role, node)?;
    let is_agent = role == MessageRole::Model && MessageRole::named(author).is_none();
    message.author = is_agent.then(|| author.to_string());
    Ok(message)
}
