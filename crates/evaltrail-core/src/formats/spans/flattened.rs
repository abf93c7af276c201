//! Messages whose fields are attributes of their own: `llm.input_messages.0.message.content` of OpenInference,
//! `gen_ai.completion.0.tool_calls.0.name` of older versions of OpenLLMetry.

use super::message::SpanMessage;
use super::{TraceSpan, unquoted};
use crate::domain::ToolCall;
use serde_json::Value;
use std::collections::BTreeMap;

/// The fields of a message.
#[derive(Default)]
struct FlattenedFields {
    message: SpanMessage,
    /// The texts of content in parts.
    parts: BTreeMap<usize, String>,
    calls: BTreeMap<usize, ToolCall>,
}

/// The messages in attributes that begin with a prefix.
pub(super) fn flattened(span: &TraceSpan, prefix: &str) -> Vec<SpanMessage> {
    let mut found: BTreeMap<usize, FlattenedFields> = BTreeMap::new();
    for (key, value) in &span.attributes {
        let Some((at, field)) = key.strip_prefix(prefix).and_then(numbered) else {
            continue;
        };
        let field = field.strip_prefix("message.").unwrap_or(field);
        take_field(found.entry(at).or_default(), field, value);
    }
    found.into_values().map(message_of).collect()
}

fn take_field(fields: &mut FlattenedFields, field: &str, value: &Value) {
    let text = value.as_str().unwrap_or_default();
    match field {
        "role" => fields.message.role = text.to_string(),
        "content" => fields.message.text = text.to_string(),
        field => {
            if let Some((at, field)) = field.strip_prefix("tool_calls.").and_then(numbered) {
                let call = fields
                    .calls
                    .entry(at)
                    .or_insert_with(|| ToolCall::new("", None));
                take_field_of_call(
                    call,
                    field.strip_prefix("tool_call.").unwrap_or(field),
                    value,
                );
            } else if let Some((at, "message_content.text")) =
                field.strip_prefix("contents.").and_then(numbered)
            {
                fields.parts.insert(at, text.to_string());
            }
        }
    }
}

fn take_field_of_call(call: &mut ToolCall, field: &str, value: &Value) {
    match field.strip_prefix("function.").unwrap_or(field) {
        "id" => call.id = value.as_str().map(str::to_string),
        "name" => call.name = value.as_str().unwrap_or_default().to_string(),
        "arguments" => call.args = unquoted(value).as_object().cloned(),
        _ => {}
    }
}

fn message_of(fields: FlattenedFields) -> SpanMessage {
    let FlattenedFields {
        mut message,
        parts,
        calls,
    } = fields;
    if message.text.is_empty() {
        message.text = parts.into_values().collect::<Vec<_>>().join("\n");
    }
    SpanMessage {
        calls: calls.into_values().collect(),
        ..message
    }
}

/// The number at the beginning of a key, and the rest after its point.
fn numbered(key: &str) -> Option<(usize, &str)> {
    let (number, rest) = key.split_once('.')?;
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_spellings_are_the_same_message() {
        let of = |attributes: Value, prefix: &str| {
            let attributes = attributes.as_object().cloned().unwrap_or_default();
            flattened(
                &TraceSpan {
                    attributes,
                    ..TraceSpan::default()
                },
                prefix,
            )
        };
        let call = ToolCall {
            id: Some("1".into()),
            ..ToolCall::new("get", json!({"n": 1}).as_object().cloned())
        };
        let expected = [SpanMessage {
            role: "assistant".into(),
            text: "a\nb".into(),
            calls: vec![call],
        }];
        let openinference = json!({
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.contents.1.message_content.text": "b",
            "llm.output_messages.0.message.contents.0.message_content.text": "a",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{\"n\": 1}",
        });
        assert_eq!(of(openinference, "llm.output_messages."), expected);
        let openllmetry = json!({
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "a\nb",
            "gen_ai.completion.0.tool_calls.0.id": "1",
            "gen_ai.completion.0.tool_calls.0.name": "get",
            "gen_ai.completion.0.tool_calls.0.arguments": "{\"n\": 1}",
        });
        assert_eq!(of(openllmetry, "gen_ai.completion."), expected);
    }
}
