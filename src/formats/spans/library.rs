//! Reads spans of any library: each has attributes of its own.

use super::facts::{SpanFacts, TOOL, first, string, tool_of};
use super::flattened::flattened;
use super::message::messages;
use super::{TraceSpan, ai_sdk, langfuse, langsmith, openinference};
use serde_json::Value;

const CONVERSATION: &[&str] = &["gen_ai.conversation.id", "gcp.vertex.agent.session_id", "session.id"];
const AGENT: &[&str] = &["gen_ai.agent.name", "gcp.vertex.agent.agent_name", "agent.name"];
const INPUT: &[&str] = &["gen_ai.input.messages", "gcp.vertex.agent.llm_request"];
const OUTPUT: &[&str] = &["gen_ai.output.messages", "gcp.vertex.agent.llm_response"];
/// The tool name in spans in which ADK only merges the results of parallel calls.
const MERGED: &str = "(merged tools)";

/// Reads a span.
pub(super) fn facts_of(span: &TraceSpan) -> SpanFacts {
    let facts = if span.attributes.contains_key(langsmith::RUN) {
        langsmith::facts_of(span)
    } else if span.attributes.contains_key(openinference::KIND) {
        openinference::facts_of(span)
    } else if span.attributes.contains_key(langfuse::KIND) {
        langfuse::facts_of(span)
    } else if ai_sdk::is_span(span) {
        ai_sdk::facts_of(span)
    } else {
        of_conventions(span)
    };
    // Some libraries have a trace for the creation of an agent.
    let agent = || string(span, AGENT).filter(|_| operation(span) != Some("create_agent"));
    SpanFacts {
        agent: facts.agent.or_else(agent),
        conversation: facts.conversation.or_else(|| string(span, CONVERSATION)),
        ..facts
    }
}

/// OpenTelemetry's conventions for generative AI, also those of older versions of OpenLLMetry.
fn of_conventions(span: &TraceSpan) -> SpanFacts {
    let of = |keys, prefix| first(span, keys).map(messages).unwrap_or_else(|| flattened(span, prefix));
    SpanFacts {
        tool: is_tool(span).then(|| tool_of(span)),
        asked: of(INPUT, "gen_ai.prompt."),
        said: of(OUTPUT, "gen_ai.completion."),
        ..SpanFacts::default()
    }
}

fn is_tool(span: &TraceSpan) -> bool {
    if string(span, TOOL).as_deref() == Some(MERGED) {
        return false;
    }
    match operation(span) {
        Some(operation) => operation == "execute_tool",
        None => {
            span.name.starts_with("execute_tool")
                || string(span, TOOL).is_some()
                || string(span, &["traceloop.span.kind"]).as_deref() == Some("tool")
        }
    }
}

fn operation(span: &TraceSpan) -> Option<&str> {
    span.attributes.get("gen_ai.operation.name").and_then(Value::as_str)
}

/// What to do so that the library that wrote the spans records messages and arguments.
pub(super) fn how_to_record(spans: &[&TraceSpan]) -> &'static str {
    let has = |key: &str| spans.iter().any(|span| span.attributes.contains_key(key));
    if has(openinference::KIND) {
        "OpenInference's instrumentation of the library does not record it, or OPENINFERENCE_HIDE_INPUTS is set where the \
         agent runs"
    } else if has(langfuse::KIND) {
        "Langfuse does not record the names of positional arguments: call the function with named ones"
    } else if spans.iter().any(|span| ai_sdk::is_span(span)) {
        "recordInputs of the AI SDK's telemetry must not be false"
    } else {
        "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT where the agent runs"
    }
}
