//! Reads spans of any library: each has attributes of its own.

use super::facts::{SpanFacts, TOOL, ToolFacts, first, string, tool_of};
use super::message::{Message, messages};
use super::{TraceSpan, langsmith, openinference, unquoted};
use serde_json::Value;

const CONVERSATION: &[&str] = &["gen_ai.conversation.id", "gcp.vertex.agent.session_id", "session.id"];
const AGENT: &[&str] = &["gen_ai.agent.name", "gcp.vertex.agent.agent_name", "agent.name"];
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
