//! Items of OpenAI's Responses that are not messages.

use super::blocks::{looks_like_call, reasoning};
use super::message::{Message, MessageRole, unknown};
use super::{calls, results};
use crate::formats::read::{JsonNode, Read};

/// Reads an item. One of an unknown type is displayed; if it is a call, the calls of its turn are unknown.
pub(super) fn item(kind: &str, node: JsonNode) -> Read<Message> {
    let mut out = Message {
        is_item: true,
        ..Message::new(MessageRole::Model, Vec::new())
    };
    match kind {
        "reasoning" => reasoning(node, &mut out)?,
        "function_call" | "custom_tool_call" => out.parts.push(calls::call(node)?),
        // LangGraph's instruction to remove a message.
        "remove" => {}
        // Contains the result as well.
        "mcp_call" => {
            out.parts.push(calls::call(node)?);
            let error = node.get("error").map(|error| error.value.clone());
            if node.get("output").is_some() || error.is_some() {
                let mut result = results::result(node, node.opt_str("id")?)?;
                if let (Some(response), Some(error)) = (&mut result.response, error) {
                    response.response = serde_json::json!({ "error": error });
                }
                out.parts.push(result);
            }
        }
        "function_call_output" | "custom_tool_call_output" => {
            out.role = MessageRole::Tool;
            out.parts.push(results::result(node, None)?);
        }
        kind => {
            let is_answer = kind.ends_with("_output") || kind.ends_with("_list_tools");
            out.has_unknown_call =
                kind == "item_reference" || (looks_like_call(kind, node.value) && !is_answer);
            out.parts.push(unknown(kind, node.value));
        }
    }
    Ok(out)
}
