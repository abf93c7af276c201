//! What spans say about an agent's work, in the same terms for all libraries.

use super::arguments::given_arguments;
use super::message::SpanMessage;
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
    pub(super) asked: Vec<SpanMessage>,
    /// The messages with which a model replied.
    pub(super) said: Vec<SpanMessage>,
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

pub(super) const TOOL: &[&str] = &[
    "gen_ai.tool.name",
    "tool.name",
    "tool_name",
    "function.name",
    "ai.toolCall.name",
];
const CALL_ID: &[&str] = &["gen_ai.tool.call.id", "tool.call.id", "ai.toolCall.id"];
const ARGUMENTS: &[&str] = &[
    "gen_ai.tool.call.arguments",
    "gcp.vertex.agent.tool_call_args",
    "tool.arguments",
    "tool_arguments",
    "tool.input",
    "ai.toolCall.args",
    "ai.toolCall.input",
    "traceloop.entity.input",
    "input.value",
];
const RESULT: &[&str] = &[
    "gen_ai.tool.call.result",
    "gcp.vertex.agent.tool_response",
    "tool.output",
    "tool_response",
    "ai.toolCall.result",
    "ai.toolCall.output",
    "traceloop.entity.output",
    "output.value",
];

/// The name of the tool in spans of OpenLLMetry before it followed OpenTelemetry's conventions.
const ENTITY: &[&str] = &["traceloop.entity.name"];

/// The call of a span that is about a tool.
pub(super) fn tool_of(span: &TraceSpan) -> ToolFacts {
    let name = string(span, TOOL)
        .or_else(|| string(span, ENTITY))
        .unwrap_or_else(|| {
            span.name
                .strip_prefix("execute_tool")
                .unwrap_or(&span.name)
                .trim()
                .to_string()
        });
    let given = first(span, ARGUMENTS)
        .map(|recorded| given_arguments(span, recorded))
        .unwrap_or_default();
    let result = first(span, RESULT).map(unquoted);
    let id_of_result = || {
        result
            .as_ref()
            .and_then(|result| message_of(result)?["tool_call_id"].as_str())
    };
    ToolFacts {
        name,
        id: string(span, CALL_ID)
            .or(given.id)
            .or_else(|| id_of_result().map(str::to_string)),
        args: given.args,
        result: result.as_ref().map(result_of),
    }
}

/// The result of a tool: the content of LangChain's message if it is one.
pub(super) fn result_of(result: &Value) -> Value {
    match message_of(result).and_then(|message| message.get("content")) {
        Some(content) => unquoted(content),
        None => payload_of(result).clone(),
    }
}

/// The fields of LangChain's message with a tool's result.
fn message_of(result: &Value) -> Option<&Value> {
    let result = payload_of(result);
    let message = result
        .get("data")
        .or(result.get("kwargs"))
        .unwrap_or(result);
    message.get("tool_call_id").is_some().then_some(message)
}

/// The output in the payload of LangChain's callback, which OpenLLMetry records.
fn payload_of(result: &Value) -> &Value {
    let is_payload =
        |map: &Map<String, Value>| map.len() == 2 && map["kwargs"].get("tags").is_some();
    match (
        result.get("output"),
        result.get("kwargs"),
        result.as_object(),
    ) {
        (Some(output), Some(_), Some(map)) if is_payload(map) => output,
        _ => result,
    }
}

/// The first of these attributes that the span has; `None` if it is null.
pub(super) fn first<'a>(span: &'a TraceSpan, keys: &[&str]) -> Option<&'a Value> {
    keys.iter()
        .find_map(|key| span.attributes.get(*key))
        .filter(|value| !value.is_null())
}

pub(super) fn string(span: &TraceSpan, keys: &[&str]) -> Option<String> {
    first(span, keys)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
        .map(str::to_string)
}
