//! Messages of conversations with models, in the forms in which traces contain them.

use super::unquoted;
use crate::domain::ToolCall;
use crate::formats::read_message;
use serde_json::{Map, Value};

/// A message.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SpanMessage {
    /// The role; empty if it is not known.
    pub(super) role: String,
    /// The text; empty if there is none.
    pub(super) text: String,
    /// The calls that the model asks for.
    pub(super) calls: Vec<ToolCall>,
}

impl SpanMessage {
    pub(super) fn is_user(&self) -> bool {
        matches!(self.role.as_str(), "user" | "human")
    }

    /// The message with this role, unless it has one.
    pub(super) fn with_role(self, role: &str) -> SpanMessage {
        let role = if self.role.is_empty() {
            role.to_string()
        } else {
            self.role
        };
        SpanMessage { role, ..self }
    }
}

/// The messages in a value: a list, possibly of lists; an object with `messages`; ADK's older request (`contents`) or
/// response (`content`); LangChain's `generations`.
pub(super) fn messages(value: &Value) -> Vec<SpanMessage> {
    match &unquoted(value) {
        Value::Array(list) if list.iter().all(Value::is_array) => {
            list.iter().flat_map(messages).collect()
        }
        Value::Array(list) => list.iter().filter_map(message).collect(),
        Value::Object(map) => {
            let list = ["messages", "contents", "generations"]
                .iter()
                .find_map(|key| map.get(*key));
            match (list, map.get("content")) {
                (Some(list), _) => messages(list),
                (None, Some(content)) if content.get("parts").is_some() => {
                    message(content).into_iter().collect()
                }
                _ => message(&Value::Object(map.clone())).into_iter().collect(),
            }
        }
        _ => Vec::new(),
    }
}

/// One message; `None` if the value is none.
fn message(value: &Value) -> Option<SpanMessage> {
    let outer = value.as_object()?;
    // LangChain wraps the fields of a message in one of these.
    let wrapped = ["kwargs", "data", "message"]
        .iter()
        .find_map(|key| outer.get(*key)?.as_object());
    if let Some(inner) = wrapped {
        let mut found = message(&Value::Object(inner.clone()))?;
        if found.role.is_empty() {
            found.role = text_at(outer, "type");
        }
        return Some(found);
    }
    let role = [text_at(outer, "role"), text_at(outer, "type")]
        .into_iter()
        .find(|role| !role.is_empty());
    let content = outer.get("parts").or(outer.get("content"));
    let parts: Vec<&Value> = content
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect();
    let texts: Vec<&str> = parts.iter().filter_map(|part| plain_text(part)).collect();
    let text = match content.and_then(Value::as_str) {
        Some(text) => text.to_string(),
        None => texts.join("\n"),
    };
    let in_list = outer
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let in_parts = parts.into_iter().filter(|part| is_call(part));
    // OpenAI's older form has one call; in its Responses an item is a message or a call.
    let older = outer.get("function_call").filter(|call| call.is_object());
    let item = Some(value).filter(|value| is_call(value) && older.is_none());
    let calls: Vec<ToolCall> = in_list
        .chain(in_parts)
        .chain(older)
        .chain(item)
        .filter_map(call)
        .collect();
    let found = SpanMessage {
        role: role.unwrap_or_default(),
        text,
        calls,
    };
    Some(if found.calls.is_empty() {
        with_other_calls(found, value)
    } else {
        found
    })
}

/// A message with the calls of forms that are not in traces only: Anthropic's blocks, items of Responses, `function_call`.
fn with_other_calls(found: SpanMessage, value: &Value) -> SpanMessage {
    let Ok(read) = read_message(value) else {
        return found;
    };
    let calls = read
        .parts
        .into_iter()
        .filter_map(|part| part.call)
        .collect();
    SpanMessage { calls, ..found }
}

fn text_at(map: &Map<String, Value>, key: &str) -> String {
    map.get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_string()
}

fn is_call(part: &Value) -> bool {
    let kinds = ["tool_call", "tool-call", "tool_use", "function_call"];
    part["type"]
        .as_str()
        .is_some_and(|kind| kinds.contains(&kind))
        || gemini_call(part).is_some()
}

fn gemini_call(part: &Value) -> Option<&Value> {
    ["function_call", "functionCall"]
        .iter()
        .find_map(|key| part.get(*key))
        .filter(|call| !call.is_null())
}

/// A call in OpenTelemetry's form, in OpenAI's, Anthropic's, LangChain's, Gemini's or the AI SDK's.
fn call(value: &Value) -> Option<ToolCall> {
    let call = gemini_call(value)
        .or(value.get("function"))
        .unwrap_or(value);
    let name = ["name", "toolName"]
        .iter()
        .find_map(|key| call[*key].as_str())?;
    let args = ["arguments", "args", "input"]
        .iter()
        .find_map(|key| call.get(*key))
        .map(unquoted);
    let ids = ["call_id", "toolCallId", "id"];
    let id = [call, value]
        .iter()
        .find_map(|object| ids.iter().find_map(|key| object[*key].as_str()));
    let args = args.and_then(|args| args.as_object().cloned());
    Some(ToolCall {
        id: id.map(str::to_string),
        ..ToolCall::new(name, args)
    })
}

/// The text of a part that is one, and not a thought.
fn plain_text(part: &Value) -> Option<&str> {
    if let Some(text) = part.as_str() {
        return Some(text);
    }
    let text = match part["type"].as_str() {
        Some("text" | "output_text" | "input_text") => part.get("content").or(part.get("text")),
        None if part["thought"] != true => part.get("text"),
        _ => None,
    };
    text.and_then(Value::as_str).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_form_is_the_same_message() {
        let forms = [
            json!({"role": "ai", "parts": [{"type": "text", "content": "hi"}, {"type": "tool_call", "id": "1", "name": "get", "arguments": {"n": 1}}]}),
            json!({"role": "ai", "parts": [{"text": "thinking", "thought": true}, {"text": "hi"}, {"function_call": {"id": "1", "name": "get", "args": {"n": 1}}}]}),
            json!({"role": "ai", "content": "hi", "tool_calls": [{"id": "1", "function": {"name": "get", "arguments": "{\"n\": 1}"}}]}),
            json!({"type": "ai", "data": {"content": "hi", "tool_calls": [{"id": "1", "name": "get", "args": {"n": 1}}]}}),
            json!({"role": "ai", "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "1", "name": "get", "input": {"n": 1}}]}),
            json!({"lc": 1, "kwargs": {"type": "ai", "content": "hi", "tool_calls": [{"id": "1", "name": "get", "args": {"n": 1}}]}}),
        ];
        let args = json!({"n": 1}).as_object().cloned();
        let call = ToolCall {
            id: Some("1".into()),
            ..ToolCall::new("get", args)
        };
        let expected = SpanMessage {
            role: "ai".into(),
            text: "hi".into(),
            calls: vec![call],
        };
        for form in forms {
            assert_eq!(
                messages(&json!([form])),
                std::slice::from_ref(&expected),
                "{form}"
            );
            assert_eq!(
                messages(&json!([[form]]).to_string().into()),
                std::slice::from_ref(&expected),
                "{form}"
            );
        }
    }
}
