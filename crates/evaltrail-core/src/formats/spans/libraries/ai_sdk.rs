//! Spans of Vercel's AI SDK: `ai.generateText` and `ai.streamText` are whole turns, `….doGenerate` and `….doStream` the calls
//! of the model in them.

use crate::formats::spans::dialect::Dialect;
use crate::formats::spans::facts::{SpanFacts, first, string, tool_of};
use crate::formats::spans::message::{SpanMessage, messages};
use crate::formats::spans::{TraceSpan, unquoted};
use serde_json::Value;

const OPERATION: &[&str] = &["ai.operationId", "operation.name"];
const CONVERSATION: &[&str] = &[
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.threadId",
    "ai.telemetry.metadata.chatId",
];

/// What the library writes into spans.
pub(super) static DIALECT: Dialect = Dialect {
    wrote: is_span,
    facts_of,
    how_to_record: Some("recordInputs of the AI SDK's telemetry must not be false"),
};

/// Whether the AI SDK wrote the span.
pub(in crate::formats::spans) fn is_span(span: &TraceSpan) -> bool {
    string(span, OPERATION).is_some_and(|operation| operation.starts_with("ai."))
}

/// Reads a span.
fn facts_of(span: &TraceSpan) -> SpanFacts {
    // The older attribute also contains the name that the program gave: "ai.generateText desk".
    let operation = string(span, OPERATION).unwrap_or_default();
    let operation = operation.split(' ').next().unwrap_or_default();
    if operation == "ai.toolCall" {
        return SpanFacts {
            tool: Some(tool_of(span)),
            ..SpanFacts::default()
        };
    }
    let is_model = operation.ends_with(".doGenerate") || operation.ends_with(".doStream");
    SpanFacts {
        agent: string(span, &["ai.telemetry.functionId"]),
        conversation: string(span, CONVERSATION),
        asked: request_messages(span),
        said: response_message(span).into_iter().collect(),
        is_whole: !is_model,
        ..SpanFacts::default()
    }
}

/// The messages of a request: of the model, or of the program, which may have given a text only.
fn request_messages(span: &TraceSpan) -> Vec<SpanMessage> {
    let prompt = first(span, &["ai.prompt.messages", "ai.prompt"])
        .map(unquoted)
        .unwrap_or_default();
    match prompt.get("prompt").unwrap_or(&prompt) {
        Value::String(text) => vec![
            SpanMessage {
                text: text.clone(),
                ..SpanMessage::default()
            }
            .with_role("user"),
        ],
        Value::Array(list) => messages(&Value::Array(list.clone())),
        _ => messages(&prompt),
    }
}

/// What the model replied, if the span contains it.
fn response_message(span: &TraceSpan) -> Option<SpanMessage> {
    let text = string(
        span,
        &["ai.response.text", "ai.result.text", "ai.response.object"],
    );
    let calls = first(span, &["ai.response.toolCalls", "ai.result.toolCalls"]).map(unquoted);
    if text.is_none() && calls.is_none() {
        return None;
    }
    let message = serde_json::json!({"role": "assistant", "content": text, "tool_calls": calls});
    messages(&message).into_iter().next()
}
