//! Reads spans of any library: each has attributes of its own.

mod ai_sdk;
pub(super) mod langfuse;
pub(super) mod langsmith;
pub(super) mod openinference;

use crate::formats::spans::TraceSpan;
use crate::formats::spans::dialect::Dialect;
use crate::formats::spans::facts::{SpanFacts, TOOL, first, string, tool_of};
use crate::formats::spans::flattened::flattened;
use crate::formats::spans::message::messages;
use serde_json::Value;

const CONVERSATION: &[&str] = &[
    "gen_ai.conversation.id",
    "gcp.vertex.agent.session_id",
    "session.id",
];
const AGENT: &[&str] = &[
    "gen_ai.agent.name",
    "gcp.vertex.agent.agent_name",
    "agent.name",
];
const INPUT: &[&str] = &["gen_ai.input.messages", "gcp.vertex.agent.llm_request"];
const OUTPUT: &[&str] = &["gen_ai.output.messages", "gcp.vertex.agent.llm_response"];
/// The tool name in spans in which ADK only merges the results of parallel calls.
const MERGED: &str = "(merged tools)";

/// The libraries that do not follow OpenTelemetry's conventions. A new one is a file of this folder, and a line here.
static DIALECTS: &[&Dialect] = &[
    &langsmith::DIALECT,
    &openinference::DIALECT,
    &langfuse::DIALECT,
    &ai_sdk::DIALECT,
];

/// Reads a span.
pub(in crate::formats::spans) fn facts_of(span: &TraceSpan) -> SpanFacts {
    let dialect = DIALECTS.iter().find(|dialect| (dialect.wrote)(span));
    let facts = dialect.map_or_else(|| of_conventions(span), |dialect| (dialect.facts_of)(span));
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
    let of = |keys, prefix| {
        first(span, keys)
            .map(messages)
            .unwrap_or_else(|| flattened(span, prefix))
    };
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
    span.attributes
        .get("gen_ai.operation.name")
        .and_then(Value::as_str)
}

/// What to do so that the library that wrote the spans records messages and arguments.
pub(in crate::formats::spans) fn how_to_record(spans: &[&TraceSpan]) -> &'static str {
    let wrote_any = |dialect: &&&Dialect| spans.iter().any(|span| (dialect.wrote)(span));
    let known = DIALECTS
        .iter()
        .filter(wrote_any)
        .find_map(|dialect| dialect.how_to_record);
    known.unwrap_or(
        "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT where the agent runs",
    )
}
