//! The content of a message: a text, or a list of blocks of OpenAI, Anthropic, LangChain, the AI SDK and OpenTelemetry,
//! or of parts of Gemini.

use super::message::{Message, unknown};
use super::{calls, media, results};
use crate::domain::Part;
use crate::formats::adk;
use crate::formats::read::{JsonNode, Read, ReadError};
use serde_json::Value;

/// Adds a content to a message.
pub(super) fn add_content(node: JsonNode, out: &mut Message) -> Read<()> {
    match node.value {
        Value::String(text) => out.add_text(text),
        Value::Array(_) => {
            for block in node.items()? {
                add_block(block, out)?;
            }
        }
        Value::Object(map) if map.contains_key("parts") => {
            if let Some(parts) = node.get("parts") {
                add_content(parts, out)?;
            }
        }
        Value::Object(map) if map.contains_key("type") || map.contains_key("text") => {
            add_block(node, out)?
        }
        _ => return Err(node.wrong("a text or a list of parts")),
    }
    Ok(())
}

fn add_block(node: JsonNode, out: &mut Message) -> Read<()> {
    if let Value::String(text) = node.value {
        out.add_text(text);
        return Ok(());
    }
    node.object()
        .map_err(|_| node.wrong("a part of a message"))?;
    match node.value.get("type").and_then(Value::as_str) {
        Some("dynamic-tool") => {
            out.parts.extend(calls::with_result(node)?);
            Ok(())
        }
        Some("tool-invocation") => {
            out.parts
                .extend(calls::with_result(node.need("tool_invocation")?)?);
            Ok(())
        }
        // A part of the AI SDK with the name of the tool in its type.
        Some(kind)
            if kind.starts_with("tool-")
                && node.get("tool_call_id").is_some()
                && node.get("tool_name").is_none() =>
        {
            let mut named = node.value.clone();
            named["name"] = kind["tool-".len()..].into();
            let read = calls::with_result(JsonNode::top(&named));
            out.parts.extend(read.map_err(|error| ReadError {
                path: error.path.below(&node.path()),
                ..error
            })?);
            Ok(())
        }
        Some(kind) => add_typed(&kind.replace('-', "_"), node, out),
        None => {
            out.parts.extend(gemini_part(node)?);
            Ok(())
        }
    }
}

/// A part of Gemini; `None` if it is an empty text.
fn gemini_part(node: JsonNode) -> Read<Option<Part>> {
    let part = adk::read_part(node)?;
    if part.call.as_ref().is_some_and(|call| call.name.is_empty()) {
        return Err(node.wrong("a function call with a name"));
    }
    if let Some(key) = part.rest.keys().find(|key| calls::is_named_as_call(key)) {
        let value = &part.rest[key];
        return Err(node
            .below(key, value)
            .wrong("a call as function_call, or its result as function_response"));
    }
    Ok((part != Part::default() && part != Part::text("")).then_some(part))
}

/// Whether a block is the result of a tool.
pub(super) fn is_result(block: &Value) -> bool {
    match block.get("type").and_then(Value::as_str) {
        Some(kind) => is_kind_of_result(&kind.replace('-', "_")),
        None => block
            .get("functionResponse")
            .or(block.get("function_response"))
            .is_some(),
    }
}

fn is_kind_of_result(kind: &str) -> bool {
    kind.ends_with("tool_result") || kind == "tool_call_response" || kind == "function_response"
}

fn is_kind_of_call(kind: &str) -> bool {
    kind.ends_with("tool_use")
        || matches!(
            kind,
            "tool_call" | "server_tool_call" | "function_call" | "function"
        )
}

/// Adds a block of this type, whose words are separated by underscores.
fn add_typed(kind: &str, node: JsonNode, out: &mut Message) -> Read<()> {
    match kind {
        "text" | "input_text" | "output_text" | "summary_text" => {
            out.add_text(&text_in(node, &["text", "content"])?)
        }
        "refusal" => {
            out.add_text(&text_in(node, &["refusal", "text"])?);
            out.refuses = true;
        }
        "thinking" | "reasoning" | "reasoning_text" | "thought" => {
            match text_in(node, &["thinking", "reasoning", "text"])? {
                text if text.is_empty() => reasoning(node, out)?,
                text => out.add_thought(&text),
            }
        }
        // Marks the steps of the AI SDK.
        "step_start" => {}
        kind if is_kind_of_result(kind) => {
            let id = node.opt_str("id")?;
            out.parts.push(results::result(node, id)?);
        }
        kind if is_kind_of_call(kind) => out.parts.push(calls::call(node)?),
        kind => match media::part(kind, node) {
            Some(part) => out.parts.push(part),
            None if looks_like_call(kind, node.value) => {
                return Err(node.wrong("a part of a known type, since it looks like a call"));
            }
            None => out.parts.push(unknown(kind, node.value)),
        },
    }
    Ok(())
}

pub(super) fn looks_like_call(kind: &str, value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    calls::is_named_as_call(kind)
        || (has("name") && (has("arguments") || has("args") || has("input")))
}

/// The text in the first of these members. OpenAI's assistants have an object with `value` there.
pub(super) fn text_in(node: JsonNode, keys: &[&str]) -> Read<String> {
    let Some(found) = keys.iter().find_map(|key| node.get(key)) else {
        return Ok(String::new());
    };
    match found.value {
        Value::String(text) => Ok(text.clone()),
        Value::Object(map) if map.get("value").is_some_and(Value::is_string) => {
            found.need("value")?.str()
        }
        _ => Err(found.wrong("a text")),
    }
}

/// The summary and the content of reasoning: texts, or lists of blocks.
pub(super) fn reasoning(node: JsonNode, out: &mut Message) -> Read<()> {
    for list in ["summary", "content"]
        .into_iter()
        .filter_map(|key| node.get(key))
    {
        match list.value {
            Value::String(text) => out.add_thought(text),
            _ => {
                for block in list.items()? {
                    out.add_thought(&text_in(block, &["text"])?);
                }
            }
        }
    }
    Ok(())
}
