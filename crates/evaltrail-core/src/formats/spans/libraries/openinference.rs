//! Spans of OpenInference, as the instrumentations of LangChain and the OpenAI Agents SDK write them.

use crate::formats::spans::dialect::Dialect;
use crate::formats::spans::facts::{SpanFacts, ToolFacts, string, tool_of};
use crate::formats::spans::flattened::flattened;
use crate::formats::spans::message::{SpanMessage, messages};
use crate::formats::spans::{TraceSpan, unquoted};
use serde_json::{Map, Value};

/// The attribute with the kind of a span.
pub(in crate::formats::spans) const KIND: &str = "openinference.span.kind";
/// How the name of a span begins in which the Agents SDK hands over to another agent.
const HANDOFF: &str = "handoff to ";

/// What the library writes into spans.
pub(super) static DIALECT: Dialect = Dialect {
    wrote: |span| span.attributes.contains_key(KIND),
    facts_of,
    how_to_record: Some(
        "OpenInference's instrumentation of the library does not record it, or OPENINFERENCE_HIDE_INPUTS is set where the \
         agent runs",
    ),
};

/// Reads a span.
fn facts_of(span: &TraceSpan) -> SpanFacts {
    let kind = span.attributes[KIND].as_str().unwrap_or_default();
    let mut facts = SpanFacts {
        is_whole: kind != "LLM",
        ..SpanFacts::default()
    };
    match kind {
        "TOOL" if is_final_answer(span) => facts.said = given(span, "output.value", "assistant"),
        "TOOL" if span.attributes.contains_key("tool.name") => facts.tool = Some(tool_of(span)),
        "TOOL" => facts.tool = handoff(span),
        "LLM" => {
            facts.asked = flattened(span, "llm.input_messages.");
            facts.said = flattened(span, "llm.output_messages.");
        }
        // Only the outermost span is about the whole conversation.
        _ if span.parent.is_empty() || task(span).is_some() => {
            facts.asked = given(span, "input.value", "user");
            facts.said = given(span, "output.value", "assistant");
        }
        _ => {}
    }
    facts
}

/// Whether the span is about the tool with which agents of smolagents respond.
fn is_final_answer(span: &TraceSpan) -> bool {
    span.name == "FinalAnswerTool"
        && string(span, &["tool.name"]).as_deref() == Some("final_answer")
}

/// The message of the user to an agent of smolagents.
fn task(span: &TraceSpan) -> Option<String> {
    let is_agent = span.attributes[KIND] == "AGENT" && span.name.ends_with(".run");
    let input = is_agent
        .then(|| span.attributes.get("input.value").map(unquoted))
        .flatten()?;
    input["task"].as_str().map(str::to_string)
}

/// The messages in an attribute; a bare text is a message with the role.
fn given(span: &TraceSpan, key: &str, role: &str) -> Vec<SpanMessage> {
    let text = |text: &str| {
        vec![
            SpanMessage {
                text: text.to_string(),
                ..SpanMessage::default()
            }
            .with_role(role),
        ]
    };
    match (
        span.attributes.get(key),
        task(span).filter(|_| role == "user"),
    ) {
        (Some(_), Some(task)) => text(&task),
        (Some(value), None) => match unquoted(value) {
            Value::String(words) => text(&words),
            value => messages(&value),
        },
        (None, _) => Vec::new(),
    }
}

/// A handover to another agent, which the Agents SDK offers to the model as a tool of this name.
fn handoff(span: &TraceSpan) -> Option<ToolFacts> {
    let to = span.name.strip_prefix(HANDOFF)?;
    let name = format!("transfer_to_{}", to.to_lowercase().replace(' ', "_"));
    let result = string(span, &["output.value"]).map(Value::from);
    Some(ToolFacts {
        name,
        id: None,
        args: Some(Map::new()),
        result,
    })
}
