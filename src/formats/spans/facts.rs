//! What spans say about an agent's work, in the same terms for all libraries.

use super::message::Message;
use super::{TraceSpan, unquoted};
use serde_json::{Map, Value};

/// What a span says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SpanFacts {
    /// The agent that works in it.
    pub(super) agent: Option<String>,
    /// The conversation that it belongs to.
    pub(super) conversation: Option<String>,
    /// The call of a tool that it is about.
    pub(super) tool: Option<ToolFacts>,
    /// The messages that were sent to a model.
    pub(super) asked: Vec<Message>,
    /// The messages with which a model replied.
    pub(super) said: Vec<Message>,
    /// Whether it is the work of the whole agent, and not a call of a model: then its messages count only if no model's do.
    pub(super) is_whole: bool,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToolFacts {
    pub(super) name: String,
    pub(super) id: Option<String>,
    /// The arguments by name, if the span contains them.
    pub(super) args: Option<Map<String, Value>>,
    pub(super) result: Option<Value>,
}

pub(super) const TOOL: &[&str] =
    &["gen_ai.tool.name", "tool.name", "tool_name", "function.name", "ai.toolCall.name"];
const CALL_ID: &[&str] = &["gen_ai.tool.call.id", "tool.call.id", "ai.toolCall.id"];
const ARGUMENTS: &[&str] = &[
    "gen_ai.tool.call.arguments",
    "gcp.vertex.agent.tool_call_args",
    "tool.arguments",
    "tool_arguments",
    "tool.input",
    "ai.toolCall.args",
    "input.value",
];
const RESULT: &[&str] = &[
    "gen_ai.tool.call.result",
    "gcp.vertex.agent.tool_response",
    "tool.output",
    "tool_response",
    "ai.toolCall.result",
    "output.value",
];

/// The call of a span that is about a tool.
pub(super) fn tool_of(span: &TraceSpan) -> ToolFacts {
    let name = string(span, TOOL)
        .unwrap_or_else(|| span.name.strip_prefix("execute_tool").unwrap_or(&span.name).trim().to_string());
    ToolFacts {
        name,
        id: string(span, CALL_ID),
        args: first(span, ARGUMENTS).map(unquoted).and_then(|args| args.as_object().cloned()),
        result: first(span, RESULT).map(|result| result_of(&unquoted(result))),
    }
}

/// The result of a tool: the content of LangChain's message if it is one.
pub(super) fn result_of(result: &Value) -> Value {
    let message = result.get("data").or(result.get("kwargs")).unwrap_or(result);
    match (message.get("content"), message.get("tool_call_id")) {
        (Some(content), Some(_)) => unquoted(content),
        _ => result.clone(),
    }
}

/// The first of these attributes that the span has; `None` if it is null.
pub(super) fn first<'a>(span: &'a TraceSpan, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| span.attributes.get(*key)).filter(|value| !value.is_null())
}

pub(super) fn string(span: &TraceSpan, keys: &[&str]) -> Option<String> {
    first(span, keys).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_string)
}
