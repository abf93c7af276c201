//! Spans of OpenInference, as the instrumentations of LangChain and the OpenAI Agents SDK write them.

use super::facts::{SpanFacts, string, tool_of};
use super::message::{Message, messages};
use super::{TraceSpan, unquoted};
use crate::domain::ToolCall;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The attribute with the kind of a span.
pub(super) const KIND: &str = "openinference.span.kind";
/// How the name of a span begins in which the Agents SDK hands over to another agent.
const HANDOFF: &str = "handoff to ";

/// Reads a span.
pub(super) fn facts_of(span: &TraceSpan) -> SpanFacts {
    let kind = span.attributes[KIND].as_str().unwrap_or_default();
    let mut facts = SpanFacts { is_whole: kind != "LLM", ..SpanFacts::default() };
    match kind {
        "TOOL" if span.attributes.contains_key("tool.name") => facts.tool = Some(tool_of(span)),
        "TOOL" => facts.tool = handoff(span),
        "LLM" => {
            facts.asked = flattened(span, "llm.input_messages.");
            facts.said = flattened(span, "llm.output_messages.");
        }
        // Only the outermost span is about the whole conversation.
        _ if span.parent.is_empty() => {
            let of = |key: &str| span.attributes.get(key).map(messages).unwrap_or_default();
            facts.asked = of("input.value");
            facts.said = of("output.value");
        }
        _ => {}
    }
    facts
}

/// A handover to another agent, which the Agents SDK offers to the model as a tool of this name.
fn handoff(span: &TraceSpan) -> Option<super::facts::ToolFacts> {
    let to = span.name.strip_prefix(HANDOFF)?;
    let name = format!("transfer_to_{}", to.to_lowercase().replace(' ', "_"));
    let result = string(span, &["output.value"]).map(Value::from);
    Some(super::facts::ToolFacts { name, id: None, args: Some(Map::new()), result })
}

/// The messages in attributes such as `llm.input_messages.0.message.content`.
fn flattened(span: &TraceSpan, prefix: &str) -> Vec<Message> {
    let mut found: BTreeMap<usize, (Message, BTreeMap<usize, ToolCall>)> = BTreeMap::new();
    for (key, value) in &span.attributes {
        let Some((at, rest)) = key.strip_prefix(prefix).and_then(numbered) else { continue };
        let (message, calls) = found.entry(at).or_default();
        let text = value.as_str().unwrap_or_default();
        match rest {
            "message.role" => message.role = text.to_string(),
            "message.content" => message.text = text.to_string(),
            rest => {
                let call = rest.strip_prefix("message.tool_calls.").and_then(numbered);
                if let Some((at, rest)) = call {
                    take(calls.entry(at).or_insert_with(|| ToolCall::new("", None)), rest, value);
                }
            }
        }
    }
    found
        .into_values()
        .map(|(message, calls)| Message { calls: calls.into_values().collect(), ..message })
        .collect()
}

fn take(call: &mut ToolCall, key: &str, value: &Value) {
    match key {
        "tool_call.id" => call.id = value.as_str().map(str::to_string),
        "tool_call.function.name" => call.name = value.as_str().unwrap_or_default().to_string(),
        "tool_call.function.arguments" => call.args = unquoted(value).as_object().cloned(),
        _ => {}
    }
}

/// The number at the beginning of a key, and the rest after its point.
fn numbered(key: &str) -> Option<(usize, &str)> {
    let (number, rest) = key.split_once('.')?;
    Some((number.parse().ok()?, rest))
}
