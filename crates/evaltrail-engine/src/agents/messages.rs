//! Messages in the form of chat completions, which several protocols share, and the events that they become.

use evaltrail_core::domain::{
    Content, Invocation, Part, ToolCall, ToolResponse, Usage, finite_number, plausible_count,
};
use evaltrail_core::formats::adk::{Event, golden_events, read_event};
use evaltrail_core::formats::vertex::{PLAIN_INPUT, tool_input};
use serde_json::{Map, Value, json};

/// The turns that a case expects before the first one, as messages: texts of user and agent, calls with their results.
pub(super) fn history_messages(history: &[Invocation]) -> Vec<Value> {
    let mut messages = Vec::new();
    for event in golden_events(history, "agent")
        .iter()
        .filter_map(|event| read_event(event).ok())
    {
        let Some(content) = &event.content else {
            continue;
        };
        let text = content.spoken_text();
        if event.author == "user" {
            messages.push(json!({"role": "user", "content": text}));
            continue;
        }
        let calls: Vec<Value> = content.calls().map(written_call).collect();
        match calls.is_empty() {
            false => {
                messages.push(json!({"role": "assistant", "content": text, "tool_calls": calls}))
            }
            true if !text.is_empty() => {
                messages.push(json!({"role": "assistant", "content": text}))
            }
            true => {}
        }
        messages.extend(content.responses().map(|response| {
            json!({"role": "tool", "tool_call_id": response.id, "content": text_of(&response.response)})
        }));
    }
    messages
}

fn written_call(call: &ToolCall) -> Value {
    let arguments = Value::Object(call.args.clone().unwrap_or_default()).to_string();
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

/// A value as the text of a message: a text as it is, anything else as JSON.
pub(super) fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_string)
}

/// The arguments of a call as text: a text as it is, an object or a list as JSON. Empty for null.
pub(super) fn arguments_text(arguments: &Value) -> String {
    match arguments {
        Value::Null => String::new(),
        arguments => text_of(arguments),
    }
}

/// A tool's result that is a text: the JSON in it, if it is JSON.
pub(super) fn value_in(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// The text of a message's content: a text, or a list of blocks with texts.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let text = |block: &Value| {
                block
                    .as_str()
                    .or_else(|| block["text"].as_str())
                    .map(str::to_string)
                    .unwrap_or_default()
            };
            blocks.iter().map(text).collect()
        }
        _ => String::new(),
    }
}

/// A call as a part. Arguments that are a text are read as JSON; if they are not JSON, the call has the text as its only
/// argument.
pub(super) fn call_part(name: &str, id: Option<&str>, arguments: &Value) -> Part {
    let args = match arguments {
        Value::Null => None,
        arguments => Some(tool_input(arguments).unwrap_or_else(|_| {
            Map::from_iter([(PLAIN_INPUT.to_string(), text_of(arguments).into())])
        })),
    };
    let call = ToolCall {
        id: id.map(str::to_string),
        ..ToolCall::new(name, args)
    };
    Part {
        call: Some(call),
        ..Part::default()
    }
}

/// A tool's response as a part.
pub(super) fn response_part(name: &str, id: Option<&str>, response: Value) -> Part {
    let response = ToolResponse {
        id: id.map(str::to_string),
        name: name.to_string(),
        response,
    };
    Part {
        response: Some(response),
        ..Part::default()
    }
}

/// A complete event of an agent.
pub(super) fn event_with(author: &str, parts: Vec<Part>) -> Event {
    let content = Content {
        role: Some("model".into()),
        parts,
    };
    Event {
        author: author.to_string(),
        content: Some(content),
        ..Event::default()
    }
}

/// A piece of a message of which the whole follows.
pub(super) fn partial_text(author: &str, text: impl Into<String>) -> Event {
    Event {
        partial: true,
        ..event_with(author, vec![Part::text(text)])
    }
}

/// Token counts under the names of OpenAI (`prompt_tokens`, `completion_tokens`), of LangChain (`input_tokens`,
/// `output_tokens`) or of the AI SDK (`inputTokens`, `outputTokens`).
pub(super) fn usage_of(usage: &Value) -> Option<Usage> {
    let count = |names: &[&str]| names.iter().find_map(|name| token_count(&usage[*name]));
    let prompt = count(&[
        "prompt_tokens",
        "input_tokens",
        "inputTokens",
        "promptTokens",
    ])?;
    let details = |names: [&str; 2], key: &str| {
        names
            .iter()
            .find_map(|name| token_count(&usage[*name][key]))
    };
    let cached = details(
        ["prompt_tokens_details", "input_tokens_details"],
        "cached_tokens",
    );
    let thoughts = details(
        ["completion_tokens_details", "output_tokens_details"],
        "reasoning_tokens",
    );
    let output = count(&[
        "completion_tokens",
        "output_tokens",
        "outputTokens",
        "completionTokens",
    ]);
    let cached = cached.or_else(|| count(&["cachedInputTokens"]));
    let thoughts = thoughts.or_else(|| count(&["reasoningTokens"]));
    let total = ["total_tokens", "totalTokens"]
        .iter()
        .map(|name| &usage[*name])
        .find(|total| !total.is_null());
    let raw = json!({
        "promptTokenCount": prompt,
        "candidatesTokenCount": output,
        "totalTokenCount": total,
    });
    Some(Usage {
        prompt: Some(prompt),
        cached,
        tool_use: None,
        candidates: output,
        thoughts,
        raw,
    })
}

/// The counts of two model calls as one.
pub(super) fn summed(first: &Usage, second: &Usage) -> Usage {
    let sum = |of: fn(&Usage) -> Option<f64>| match (of(first), of(second)) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
    };
    let total = |usage: &Usage| finite_number(&usage.raw["totalTokenCount"]);
    let total = total(first)
        .zip(total(second))
        .map(|(one, other)| one + other);
    let (prompt, candidates) = (sum(|usage| usage.prompt), sum(|usage| usage.candidates));
    let raw = json!({"promptTokenCount": prompt, "candidatesTokenCount": candidates, "totalTokenCount": total});
    Usage {
        prompt,
        cached: sum(|usage| usage.cached),
        tool_use: sum(|usage| usage.tool_use),
        candidates,
        thoughts: sum(|usage| usage.thoughts),
        raw,
    }
}

fn token_count(value: &Value) -> Option<f64> {
    finite_number(value).and_then(plausible_count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_not_json_are_a_text() {
        let args = |value: Value| call_part("t", None, &value).call.unwrap().args;
        assert_eq!(
            args(json!("{\"a\": 1}")),
            json!({"a": 1}).as_object().cloned()
        );
        let broken = args(json!("{\"a\": ")).unwrap();
        assert_eq!(broken.values().next(), Some(&json!("{\"a\": ")));
        assert_eq!(args(Value::Null), None);
    }

    #[test]
    fn token_counts_are_read_under_both_names() {
        let openai =
            usage_of(&json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}))
                .unwrap();
        let langchain =
            usage_of(&json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15})).unwrap();
        assert_eq!(openai, langchain);
        assert_eq!((openai.prompt, openai.candidates), (Some(10.0), Some(5.0)));
        assert_eq!(usage_of(&Value::Null), None);
    }
}
