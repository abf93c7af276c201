//! What is said and done in a turn: contents, their parts, tool calls and tool responses.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A message: who speaks (`user`, `model`) and the parts of what is said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// `user` or `model`; nothing when the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The parts in order. A file's `null` is an empty list here.
    #[serde(default)]
    pub parts: Vec<Part>,
}

impl Content {
    /// A message of one text part.
    pub fn text(role: &str, text: impl Into<String>) -> Self {
        Content { role: Some(role.to_string()), parts: vec![Part::text(text)] }
    }

    /// The text that ADK scores: every non-empty text part, thoughts too, joined by newlines.
    pub fn scored_text(&self) -> String {
        join_texts(self.parts.iter())
    }

    /// The text a person reads: like [`Content::scored_text`] without the thoughts.
    pub fn spoken_text(&self) -> String {
        join_texts(self.parts.iter().filter(|part| !part.thought))
    }

    /// Whether any part holds a non-empty text.
    pub fn has_text(&self) -> bool {
        self.parts.iter().any(Part::has_text)
    }

    /// The tool calls among the parts, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| part.call.as_ref())
    }

    /// The tool responses among the parts, in order.
    pub fn responses(&self) -> impl Iterator<Item = &ToolResponse> {
        self.parts.iter().filter_map(|part| part.response.as_ref())
    }
}

fn join_texts<'a>(parts: impl Iterator<Item = &'a Part>) -> String {
    let texts: Vec<&str> =
        parts.filter_map(|part| part.text.as_deref()).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// One part of a message. Real parts carry one payload; a file may hold more, and all are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the text is the model's reasoning rather than its answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub thought: bool,
    /// A tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<ToolCall>,
    /// A tool's response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ToolResponse>,
    /// Everything else (inline data, files, code …) under the file's own keys.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub rest: Map<String, Value>,
}

impl Part {
    /// A part of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Part { text: Some(text.into()), ..Part::default() }
    }

    /// Whether the part holds a non-empty text.
    pub fn has_text(&self) -> bool {
        self.text.as_deref().is_some_and(|text| !text.is_empty())
    }

    /// Whether the part holds a payload under this key, in either spelling.
    pub fn has(&self, snake: &str, camel: &str) -> bool {
        let set = |key| self.rest.get(key).is_some_and(|value| !value.is_null());
        set(snake) || set(camel)
    }
}

/// A call of a tool: its name and arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The call's id, where the agent gave one. Never compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name; empty when the file gives none.
    pub name: String,
    /// The arguments in the file's order. `None` (absent or null) is not the same as empty.
    #[serde(default)]
    pub args: Option<Map<String, Value>>,
}

impl ToolCall {
    /// A call without an id.
    pub fn new(name: impl Into<String>, args: Option<Map<String, Value>>) -> Self {
        ToolCall { id: None, name: name.into(), args }
    }
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolResponse {
    /// The id of the call that is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The answer, an object in ADK.
    #[serde(default)]
    pub response: Value,
}
