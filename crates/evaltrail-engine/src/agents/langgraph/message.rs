//! Converts the messages of a graph to events. `formats::read_message` reads all forms that LangGraph accepts.

use crate::agents::messages::{event_with, usage_of};
use evaltrail_core::domain::{ModelError, Part, Usage};
use evaltrail_core::formats::adk::Event;
use evaltrail_core::formats::{Message, MessageRole, read_message};
use serde_json::{Value, json};

/// The key of a graph's input and state that contains the conversation.
pub(super) const MESSAGES: &str = "messages";

/// A message that a node added to the state.
pub(super) struct StateMessage {
    /// Empty if it has none.
    pub(super) id: String,
    pub(super) content: Message,
    usage: Option<Usage>,
    model_version: Option<String>,
    /// Why the model stopped early.
    error: Option<ModelError>,
}

impl StateMessage {
    /// Reads a message. As in `add_messages` of LangGraph, it is an object, a pair of role and content, or a text, which is
    /// one of the agent here.
    pub(super) fn read(value: &Value) -> StateMessage {
        // What LangChain wraps around the members of a message.
        let fields = ["kwargs", "data"]
            .iter()
            .map(|key| &value[*key])
            .find(|fields| fields.is_object());
        let fields = fields.unwrap_or(value);
        let about = &fields["response_metadata"];
        StateMessage {
            id: [value, fields]
                .iter()
                .find_map(|object| object["id"].as_str())
                .unwrap_or_default()
                .to_string(),
            content: content_of(value),
            usage: usage_of(&fields["usage_metadata"]),
            model_version: about["model_name"].as_str().map(str::to_string),
            error: finish_of(about),
        }
    }

    /// One event with the thoughts and one with everything else. The author is the agent's name, else the node of the graph.
    pub(super) fn events(self, node: &str) -> Vec<Event> {
        let StateMessage {
            content,
            usage,
            model_version,
            error,
            ..
        } = self;
        if !matches!(content.role, MessageRole::Model | MessageRole::Tool) {
            return Vec::new();
        }
        let author = content.author.as_deref().unwrap_or(node);
        let (thoughts, acts): (Vec<Part>, Vec<Part>) = content
            .parts
            .into_iter()
            .partition(|part| part.thought && part.call.is_none());
        let mut events = Vec::new();
        if !thoughts.is_empty() {
            events.push(Event {
                is_intermediate: true,
                ..event_with(node, thoughts)
            });
        }
        if !acts.is_empty() || usage.is_some() || error.is_some() {
            let event = event_with(author, joined(acts));
            events.push(Event {
                is_message: true,
                usage,
                model_version,
                error,
                ..event
            });
        }
        events
    }
}

/// Whether a value is a pair of role and content.
pub(super) fn is_pair(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.len() == 2) && read_message(value).is_ok()
}

fn content_of(value: &Value) -> Message {
    let of_agent = |content: &Value| json!({"role": "assistant", "content": content});
    let read = match value {
        Value::Object(map) => read_message(value).or_else(|error| {
            // A message with another role is one of the agent.
            let has_words = map.contains_key("content");
            let mut message = value.clone();
            message["role"] = "assistant".into();
            if has_words {
                read_message(&message)
            } else {
                Err(error)
            }
        }),
        Value::Array(_) if is_pair(value) => read_message(value),
        content => read_message(&of_agent(content)),
    };
    read.unwrap_or_else(|_| Message {
        role: MessageRole::Model,
        author: None,
        parts: vec![Part::text(value.to_string())],
        refuses: false,
        has_unknown_call: true,
        is_item: false,
        stopped: None,
    })
}

/// Texts that follow each other are blocks of one text, as in LangChain.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::new();
    for part in parts {
        let is_text = |part: &Part| {
            part.text
                .as_ref()
                .is_some_and(|text| *part == Part::text(text.as_str()))
        };
        match out.last_mut() {
            Some(last) if is_text(last) && is_text(&part) => {
                last.text
                    .get_or_insert_default()
                    .push_str(&part.text.unwrap_or_default());
            }
            _ => out.push(part),
        }
    }
    out
}

/// Why the model stopped early, from the metadata of its response: the names of OpenAI, Gemini and Anthropic, Ollama, and
/// Bedrock.
fn finish_of(about: &Value) -> Option<ModelError> {
    let keys = ["finish_reason", "stop_reason", "done_reason", "stopReason"];
    let reason = keys.into_iter().find_map(|key| about[key].as_str());
    let blocked = about["prompt_feedback"]["block_reason"].as_str();
    ModelError::of_finish(reason, None).or_else(|| ModelError::of_finish(blocked, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::Content;

    fn events(message: Value) -> Vec<Event> {
        StateMessage::read(&message).events("n")
    }

    fn content(message: Value) -> Content {
        events(message).pop().unwrap().content.unwrap()
    }

    #[test]
    fn provider_specific_message_forms_are_read() {
        let block = json!({"type": "tool_use", "id": "c", "name": "t", "input": {"n": 1}});
        let thinking = json!({"type": "thinking", "thinking": "hm"});
        let (so, far) = (
            json!({"type": "text", "text": "so "}),
            json!({"type": "text", "text": "far"}),
        );
        let found = events(
            json!({"role": "assistant", "content": [thinking, so, far, block],
            "response_metadata": {"stop_reason": "max_tokens"}}),
        );
        let [thoughts, said] = &found[..] else {
            panic!("{found:?}")
        };
        assert!(thoughts.is_intermediate);
        assert_eq!(
            thoughts.content.as_ref().unwrap().parts[0].text.as_deref(),
            Some("hm")
        );
        let words = said.content.as_ref().unwrap();
        assert_eq!(
            (words.spoken_text().as_str(), words.calls().count()),
            ("so far", 1)
        );
        assert_eq!(said.error.as_ref().unwrap().code, "max_tokens");
        let function = json!({"name": "t", "arguments": "{\"n\": 1}"});
        let openai = content(
            json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": function}]}),
        );
        assert_eq!(
            openai.calls().next().unwrap().args,
            json!({"n": 1}).as_object().cloned()
        );
        let summary = json!([{"type": "summary_text", "text": "so I thought"}]);
        let found =
            events(json!({"type": "ai", "content": [{"type": "reasoning", "summary": summary}]}));
        assert_eq!(
            found[0].content.as_ref().unwrap().parts,
            [Part {
                thought: true,
                ..Part::text("so I thought")
            }]
        );
    }

    #[test]
    fn calls_with_broken_arguments_are_calls() {
        let broken = json!({"name": "t", "args": "{\"a\": ", "id": "c", "error": "no JSON"});
        let read = content(
            json!({"type": "ai", "id": "m", "content": [{"type": "text", "text": "so"}], "invalid_tool_calls": [broken]}),
        );
        assert_eq!(read.spoken_text(), "so");
        assert_eq!(
            read.calls()
                .next()
                .unwrap()
                .args
                .as_ref()
                .unwrap()
                .values()
                .next(),
            Some(&json!("{\"a\": "))
        );
    }

    #[test]
    fn unknown_message_is_shown_and_calls_unknown() {
        let odd = json!({"type": "ai", "content": "so", "tool_requests": [{"name": "t"}]});
        let read = StateMessage::read(&odd);
        assert!(read.content.has_unknown_call);
        assert!(
            read.events("n")[0]
                .content
                .as_ref()
                .unwrap()
                .spoken_text()
                .contains("tool_requests")
        );
        assert!(events(json!({"type": "remove", "id": "m", "content": ""})).is_empty());
    }

    #[test]
    fn images_failed_tools_and_refusals_are_read() {
        let image =
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
        assert!(
            content(json!({"type": "ai", "content": [image]})).parts[0]
                .rest
                .contains_key("inline_data")
        );
        let failed = content(
            json!({"type": "tool", "name": "t", "tool_call_id": "c", "content": "no", "status": "error"}),
        );
        assert_eq!(
            failed.responses().next().unwrap().response,
            json!({"error": "no"})
        );
        let refused =
            json!({"type": "ai", "content": "", "additional_kwargs": {"refusal": "I will not."}});
        assert!(StateMessage::read(&refused).content.refuses);
    }
}
