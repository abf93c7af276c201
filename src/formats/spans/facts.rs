//! What a span says about an agent's work, whatever library wrote it.

use super::message::{Message, messages};
use super::{TraceSpan, langsmith, openinference, unquoted};
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

const CONVERSATION: &[&str] = &["gen_ai.conversation.id", "gcp.vertex.agent.session_id", "session.id"];
const AGENT: &[&str] = &["gen_ai.agent.name", "gcp.vertex.agent.agent_name", "agent.name"];
const TOOL: &[&str] = &["gen_ai.tool.name", "tool.name", "tool_name", "function.name", "ai.toolCall.name"];
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
const INPUT: &[&str] = &["gen_ai.input.messages", "gcp.vertex.agent.llm_request"];
const OUTPUT: &[&str] = &["gen_ai.output.messages", "gcp.vertex.agent.llm_response"];
/// The tool name in spans in which ADK only merges the results of parallel calls.
const MERGED: &str = "(merged tools)";
/// The kind of an observation of Langfuse.
const LANGFUSE: &str = "langfuse.observation.type";

/// Reads a span.
pub(super) fn facts_of(span: &TraceSpan) -> SpanFacts {
    let facts = if span.attributes.contains_key(langsmith::RUN) {
        langsmith::facts_of(span)
    } else if span.attributes.contains_key(openinference::KIND) {
        openinference::facts_of(span)
    } else if span.attributes.contains_key(LANGFUSE) {
        of_langfuse(span)
    } else {
        of_conventions(span)
    };
    SpanFacts {
        agent: facts.agent.or_else(|| string(span, AGENT)),
        conversation: facts.conversation.or_else(|| string(span, CONVERSATION)),
        ..facts
    }
}

/// OpenTelemetry's conventions for generative AI.
fn of_conventions(span: &TraceSpan) -> SpanFacts {
    let of = |keys| first(span, keys).map(messages).unwrap_or_default();
    SpanFacts {
        tool: is_tool(span).then(|| tool_of(span)),
        asked: of(INPUT),
        said: of(OUTPUT),
        ..SpanFacts::default()
    }
}

fn is_tool(span: &TraceSpan) -> bool {
    if string(span, TOOL).as_deref() == Some(MERGED) {
        return false;
    }
    let operation = span.attributes.get("gen_ai.operation.name").and_then(Value::as_str);
    operation == Some("execute_tool")
        || (operation.is_none() && (span.name.starts_with("execute_tool") || string(span, TOOL).is_some()))
}

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

/// An observation of Langfuse. Positional arguments of a function are in a list, without their names.
fn of_langfuse(span: &TraceSpan) -> SpanFacts {
    let value = |key: &str| span.attributes.get(key).map(unquoted);
    let (input, output) = (value("langfuse.observation.input"), value("langfuse.observation.output"));
    let given = |key: &str| input.as_ref().and_then(|input| input.get(key)).cloned();
    let positional = given("args").and_then(|args| args.as_array().cloned()).unwrap_or_default();
    let kind = span.attributes[LANGFUSE].as_str().unwrap_or_default();
    let text = |value: &Value| match value {
        Value::String(text) => vec![Message { text: text.clone(), ..Message::default() }],
        value => messages(value),
    };
    let user =
        |value: &Value| text(value).into_iter().map(|one| Message { role: "user".into(), ..one }).collect();
    let mut facts = SpanFacts { is_whole: kind != "generation", ..SpanFacts::default() };
    match kind {
        "tool" => {
            let named = given("kwargs").filter(|_| positional.is_empty());
            let args = named.or(input).and_then(|args| args.as_object().cloned());
            facts.tool = Some(ToolFacts { name: span.name.clone(), id: None, args, result: output });
        }
        "agent" | "generation" => {
            facts.agent = (kind == "agent").then(|| span.name.clone());
            facts.asked = positional.first().or(input.as_ref()).map(user).unwrap_or_default();
            facts.said = output.as_ref().map(text).unwrap_or_default();
        }
        _ => {}
    }
    facts
}

fn first<'a>(span: &'a TraceSpan, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| span.attributes.get(*key)).filter(|value| !value.is_null())
}

pub(super) fn string(span: &TraceSpan, keys: &[&str]) -> Option<String> {
    first(span, keys).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_string)
}
