//! Messages with a role and a content, as in OpenAI's chat completions, Anthropic's messages, Gemini's contents and
//! LangChain. Their members do not collide, so that one reader takes all of them.

use super::message::{Message, MessageRole};
use super::{blocks, calls, media, results};
use crate::domain::ModelError;
use crate::formats::read::{JsonNode, Read, same_name};
use serde_json::Value;

/// Members with the model's reasoning.
const REASONING: &[&str] = &["reasoning_content", "reasoning", "thinking"];
/// Members with calls, apart from the content. The first that contains a call is the most exact: others repeat it.
const CALLS: &[&str] = &["tool_calls", "invalid_tool_calls", "function_call"];
/// Members about calls that contain none: the id of the call, or pieces that `tool_calls` joins.
const ABOUT_CALLS: &[&str] = &[
    "tool_call_id",
    "tool_use_id",
    "call_id",
    "tool_call_chunks",
    "tool_name",
    "tool_choice",
    "tool_invocations",
    "tools",
];

/// Members with the reason why the model stopped.
const STOPS: &[&str] = &["finish_reason", "stop_reason", "done_reason"];

/// Reads a message of this role.
pub(super) fn message(role: MessageRole, node: JsonNode) -> Read<Message> {
    let mut out = Message::new(role, Vec::new());
    let more = node.get("additional_kwargs");
    if role == MessageRole::Model {
        out.author = node.opt_str("name")?.filter(|name| !name.is_empty());
        for object in [Some(node), more].into_iter().flatten() {
            reasoning(object, &mut out);
        }
        let objects = [Some(node), node.get("response_metadata")];
        out.stopped = objects.into_iter().flatten().find_map(stopped_early);
    }
    for content in ["content", "parts"]
        .into_iter()
        .filter_map(|key| node.get(key))
    {
        if role == MessageRole::Tool && !has_results(content.value) {
            continue;
        }
        blocks::add_content(content, &mut out)?;
    }
    if role == MessageRole::Tool && out.parts.is_empty() {
        out.parts = vec![results::of_message(node)?];
    }
    for object in [Some(node), more].into_iter().flatten() {
        refusal(object, &mut out)?;
        if let Some(audio) = object.get("audio") {
            media::add_spoken(audio, &mut out);
        }
        add_calls(object, &mut out)?;
    }
    // The AI SDK repeats the calls of the parts.
    if !out.has_calls() {
        out.parts.extend(
            node.list("tool_invocations", calls::with_result)?
                .into_iter()
                .flatten(),
        );
    }
    no_other_calls(node)?;
    Ok(out)
}

fn reasoning(node: JsonNode, out: &mut Message) {
    // Servers repeat the same reasoning under two names.
    let texts = REASONING
        .iter()
        .filter_map(|key| node.value.get(*key)?.as_str());
    if let Some(text) = texts.into_iter().find(|text| !text.is_empty()) {
        out.add_thought(text);
    }
}

/// The reason why the model stopped, if the object has one and the message is not complete.
pub(super) fn stopped_early(node: JsonNode) -> Option<ModelError> {
    let reason = STOPS.iter().find_map(|key| node.get(key)?.value.as_str())?;
    let message = node
        .get("finish_message")
        .and_then(|message| message.value.as_str());
    ModelError::of_finish(Some(reason), message)
}

fn refusal(node: JsonNode, out: &mut Message) -> Read<()> {
    if let Some(words) = node.opt_str("refusal")?.filter(|words| !words.is_empty()) {
        out.add_text(&words);
        out.refuses = true;
    }
    Ok(())
}

/// Whether a content has results of tools among its parts.
fn has_results(content: &Value) -> bool {
    content
        .as_array()
        .into_iter()
        .flatten()
        .any(blocks::is_result)
}

fn add_calls(node: JsonNode, out: &mut Message) -> Read<()> {
    for key in CALLS {
        let Some(found) = node.get(key) else { continue };
        match found.value {
            Value::Array(_) => {
                let read = if *key == "invalid_tool_calls" {
                    calls::invalid_call
                } else {
                    calls::call
                };
                calls::merge(found.items()?.map(read).collect::<Read<_>>()?, out);
            }
            Value::Object(_) => calls::merge(vec![calls::call(found)?], out),
            _ => return Err(found.wrong("a list of calls")),
        }
    }
    Ok(())
}

/// Refuses a message with a member whose name is that of calls, and which is not known.
fn no_other_calls(node: JsonNode) -> Read<()> {
    let Some(map) = node.value.as_object() else {
        return Ok(());
    };
    let is_known = |key: &str| {
        let mut names = CALLS.iter().chain(ABOUT_CALLS);
        names.any(|known| same_name(key, known))
    };
    // In the message of a tool, its name.
    let is_name = |key: &str, value: &Value| key == "function" && value.is_string();
    let unknown = map.iter().find(|(key, value)| {
        calls::is_named_as_call(key) && !is_known(key) && !is_nothing(value) && !is_name(key, value)
    });
    match unknown {
        Some((key, value)) => Err(node
            .below(key, value)
            .wrong("calls in a member that is known: tool_calls or function_call")),
        None => Ok(()),
    }
}

/// Whether a value cannot contain a call.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
