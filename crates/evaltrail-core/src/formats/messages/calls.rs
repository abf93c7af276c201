//! Calls of tools in all forms: `function` with `arguments`, `name` with `args` or `input`.

use super::message::Message;
use super::results;
use crate::domain::{Part, ToolCall};
use crate::formats::read::{JsonNode, Read};
use crate::formats::vertex;
use serde_json::Map;

const NAMES: &[&str] = &["name", "tool_name"];
const ARGUMENTS: &[&str] = &["arguments", "args", "input", "parameters"];
const IDS: &[&str] = &["call_id", "tool_call_id", "id"];

/// Reads a call. A call without a name, or with arguments that are no object, is an error.
pub(super) fn call(node: JsonNode) -> Read<Part> {
    node.object()
        .map_err(|_| node.wrong("a call: an object with name and arguments"))?;
    let inner = ["function", "function_call", "custom"]
        .into_iter()
        .find_map(|key| node.get(key));
    let fields = inner
        .filter(|inner| inner.value.is_object())
        .unwrap_or(node);
    let name = match inner.filter(|inner| inner.value.is_string()) {
        Some(name) => Some(name),
        None => NAMES.iter().find_map(|key| fields.get(key)),
    };
    let name = name.ok_or_else(|| fields.missing("name"))?;
    if name.value.as_str().is_some_and(str::is_empty) {
        return Err(name.wrong("the name of a tool"));
    }
    let args = ARGUMENTS
        .iter()
        .find_map(|key| fields.get(key))
        .map(vertex::arguments)
        .transpose()?;
    let id = [node, fields].iter().find_map(|object| id(*object));
    let call = ToolCall {
        id,
        ..ToolCall::new(name.str()?, args)
    };
    Ok(Part {
        call: Some(call),
        ..Part::default()
    })
}

/// Reads a call with its result, if it has one, as the AI SDK stores them.
pub(super) fn with_result(node: JsonNode) -> Read<Vec<Part>> {
    let mut parts = vec![call(node)?];
    if ["result", "output"]
        .into_iter()
        .any(|key| node.get(key).is_some())
    {
        parts.push(results::result(node, None)?);
    }
    Ok(parts)
}

/// Reads a call that LangChain found to be invalid: its arguments are a text that is not JSON.
pub(super) fn invalid_call(node: JsonNode) -> Read<Part> {
    if let Ok(part) = call(node) {
        return Ok(part);
    }
    let text = node.opt_str("args")?.unwrap_or_default();
    let args = Map::from_iter([(vertex::PLAIN_INPUT.to_string(), text.into())]);
    let call = ToolCall {
        id: id(node),
        ..ToolCall::new(node.need("name")?.str()?, Some(args))
    };
    Ok(Part {
        call: Some(call),
        ..Part::default()
    })
}

fn id(node: JsonNode) -> Option<String> {
    IDS.iter()
        .find_map(|key| Some(node.get(key)?.value.as_str()?.to_string()))
        .filter(|id| !id.is_empty())
}

/// Adds calls to a message. A call that the message already has is not added again: LangChain repeats the calls of the
/// content in `tool_calls`, and those in `additional_kwargs`.
pub(super) fn merge(found: Vec<Part>, message: &mut Message) {
    let own = message.parts.len();
    let mut is_taken = vec![false; own];
    for part in found {
        let Some(call) = &part.call else { continue };
        let repeats = |at: &usize| {
            message.parts[*at]
                .call
                .as_ref()
                .is_some_and(|own| !is_taken[*at] && is_same(own, call))
        };
        match (0..own).find(repeats) {
            Some(at) => {
                is_taken[at] = true;
                // The content of a streamed message has no arguments.
                let own = message.parts[at]
                    .call
                    .as_mut()
                    .filter(|own| own.args.as_ref().is_none_or(Map::is_empty));
                if let (Some(own), Some(args)) = (own, &call.args) {
                    own.args = Some(args.clone());
                }
            }
            None => message.parts.push(part),
        }
    }
}

fn is_same(a: &ToolCall, b: &ToolCall) -> bool {
    match (&a.id, &b.id) {
        (Some(a), Some(b)) => a == b,
        _ => a.name == b.name && a.args == b.args,
    }
}

/// Whether the name of a member or the type of a block is that of a call.
pub(super) fn is_named_as_call(name: &str) -> bool {
    let name = name.to_lowercase();
    ["tool", "function", "call"]
        .iter()
        .any(|word| name.contains(word))
}
