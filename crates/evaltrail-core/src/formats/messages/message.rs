//! A message in no particular form: what all forms have in common.

use crate::domain::{Content, ModelError, Part};
use serde_json::{Map, Value};

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageRole {
    /// The developer, before the conversation.
    System,
    /// The user.
    User,
    /// The model or agent.
    Model,
    /// A tool.
    Tool,
}

impl MessageRole {
    /// The role that a word means in any form: `assistant`, `ai`, `AIMessage`, …
    pub(super) fn named(word: &str) -> Option<MessageRole> {
        Some(match word {
            "system" | "developer" | "SystemMessage" | "SystemMessageChunk" => MessageRole::System,
            "user" | "human" | "HumanMessage" | "HumanMessageChunk" => MessageRole::User,
            "assistant" | "model" | "ai" | "gpt" | "agent" | "AIMessage" | "AIMessageChunk" => {
                MessageRole::Model
            }
            "tool"
            | "function"
            | "ToolMessage"
            | "ToolMessageChunk"
            | "FunctionMessage"
            | "FunctionMessageChunk" => MessageRole::Tool,
            _ => return None,
        })
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who wrote it.
    pub role: MessageRole,
    /// The name of the agent, if the message contains one.
    pub author: Option<String>,
    /// Texts, thoughts, media, calls, and results of tools, in order.
    pub parts: Vec<Part>,
    /// Whether the text is a refusal.
    pub refuses: bool,
    /// Whether it is or contains a call whose name and arguments are not known. It is among the parts, to be displayed.
    pub has_unknown_call: bool,
    /// Whether it is an item of a response, which may have further ones: its calls are not all calls of the response.
    pub is_item: bool,
    /// Why the model stopped before the message was complete.
    pub stopped: Option<ModelError>,
}

impl Message {
    pub(super) fn new(role: MessageRole, parts: Vec<Part>) -> Message {
        Message {
            role,
            author: None,
            parts,
            refuses: false,
            has_unknown_call: false,
            is_item: false,
            stopped: None,
        }
    }

    /// Adds a text, unless it is empty.
    pub(super) fn add_text(&mut self, text: &str) {
        self.parts
            .extend((!text.is_empty()).then(|| Part::text(text)));
    }

    /// Adds a text of the model's reasoning, unless it is empty.
    pub(super) fn add_thought(&mut self, text: &str) {
        let thought = || Part {
            thought: true,
            ..Part::text(text)
        };
        self.parts.extend((!text.is_empty()).then(thought));
    }

    pub(super) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| part.call.is_some())
    }

    /// The text, without thoughts.
    pub(super) fn text(&self) -> String {
        Content {
            role: None,
            parts: self.parts.clone(),
        }
        .spoken_text()
    }
}

/// A part that is displayed under its type, with everything that it contains.
pub(super) fn unknown(kind: &str, value: &Value) -> Part {
    Part {
        rest: Map::from_iter([(kind.to_string(), value.clone())]),
        ..Part::default()
    }
}
