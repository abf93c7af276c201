//! Results of tools.

use crate::domain::{Part, ToolResponse};
use crate::formats::json;
use crate::formats::read::{JsonNode, Read};
use serde_json::{Value, json};

const IDS: &[&str] = &["tool_call_id", "tool_use_id", "call_id"];
const VALUES: &[&str] = &["content", "output", "result", "response"];

/// The result in a message of a tool.
pub(super) fn of_message(node: JsonNode) -> Read<Part> {
    result(node, None)
}

/// The result in a block or item. `id` is used if it has no id of a call.
pub(super) fn result(node: JsonNode, id: Option<String>) -> Read<Part> {
    let own = IDS
        .iter()
        .find_map(|key| node.get(key))
        .map(|id| id.str())
        .transpose()?;
    let name = ["name", "tool_name", "function"]
        .into_iter()
        .find_map(|key| node.get(key))
        .map(|name| name.str());
    let value = VALUES
        .iter()
        .find_map(|key| node.get(key))
        .map(|value| value_of(value.value));
    let value = value.unwrap_or(Value::Null);
    let member = |key: &str| node.get(key).map(|node| node.value.clone());
    let failed =
        member("is_error") == Some(true.into()) || member("status") == Some("error".into());
    let response = match (failed, value.is_object()) {
        (true, false) => json!({ "error": value }),
        _ => value,
    };
    let response = ToolResponse {
        id: own.or(id),
        name: name.transpose()?.unwrap_or_default(),
        response,
    };
    Ok(Part {
        response: Some(response),
        ..Part::default()
    })
}

/// The value of a content: the JSON in a text, or the text; parts that are texts are one text, any other value is
/// preserved.
fn value_of(content: &Value) -> Value {
    match content {
        Value::String(text) => {
            json::parse(text).map_or_else(|_| text.as_str().into(), |parsed| parsed.value)
        }
        Value::Array(parts) if !parts.is_empty() => {
            let texts: Option<Vec<&str>> = parts.iter().map(text_of).collect();
            texts.map_or_else(
                || content.clone(),
                |texts| value_of(&texts.join("\n").into()),
            )
        }
        // The AI SDK's {"type": "text", "value": "…"}.
        Value::Object(map)
            if map.len() == 2 && map.contains_key("type") && map.contains_key("value") =>
        {
            map["value"].clone()
        }
        other => other.clone(),
    }
}

fn text_of(part: &Value) -> Option<&str> {
    match part["type"].as_str() {
        Some("text" | "input_text" | "output_text") => part["text"].as_str(),
        _ => None,
    }
}
