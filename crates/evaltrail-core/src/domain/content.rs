//! The messages of a turn: contents, their parts, tool calls and tool responses.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A message: its role and its parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// `user` or `model`; `None` when the file does not specify it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The parts in order. A `null` in the file becomes an empty list.
    #[serde(default)]
    pub parts: Vec<Part>,
}

impl Content {
    /// A message of one text part.
    pub fn text(role: &str, text: impl Into<String>) -> Self {
        Content {
            role: Some(role.to_string()),
            parts: vec![Part::text(text)],
        }
    }

    /// The text that ADK scores: all non-empty text parts, thoughts included, joined by newlines.
    pub fn scored_text(&self) -> String {
        join_texts(self.parts.iter())
    }

    /// All non-empty text parts without thoughts, joined by newlines.
    pub fn spoken_text(&self) -> String {
        join_texts(self.parts.iter().filter(|part| !part.thought))
    }

    /// The text to display: the texts, and a label in brackets for every other part. Never compared or scored.
    pub fn shown_text(&self) -> String {
        let shown = self.parts.iter().map(|part| match part.has_text() {
            true => part.text.clone(),
            false => part.label(),
        });
        shown.flatten().collect::<Vec<_>>().join("\n")
    }

    /// Whether any part has non-empty text.
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
    let texts: Vec<&str> = parts
        .filter_map(|part| part.text.as_deref())
        .filter(|text| !text.is_empty())
        .collect();
    texts.join("\n")
}

/// One part of a message. A part normally has one payload; a file may contain several, and all are preserved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the text is the model's reasoning rather than its response.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub thought: bool,
    /// A tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<ToolCall>,
    /// A tool's response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<ToolResponse>,
    /// Everything else (inline data, files, code …) under the keys of the file.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub rest: Map<String, Value>,
}

impl Part {
    /// A part of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Part {
            text: Some(text.into()),
            ..Part::default()
        }
    }

    /// Whether the part has non-empty text.
    pub fn has_text(&self) -> bool {
        self.text.as_deref().is_some_and(|text| !text.is_empty())
    }

    /// Whether the part has neither text nor anything else.
    pub fn is_blank(&self) -> bool {
        !self.has_text() && self.call.is_none() && self.response.is_none() && self.rest.is_empty()
    }

    /// A short description of a part that is not text; `None` for a part without a payload.
    pub fn label(&self) -> Option<String> {
        if let Some(call) = &self.call {
            let args = call
                .args
                .clone()
                .map(|args| Value::Object(args).to_string())
                .unwrap_or_default();
            return Some(format!("[calls {} {args}]", call.name));
        }
        if let Some(response) = &self.response {
            return Some(format!(
                "[{} returned {}]",
                response.name, response.response
            ));
        }
        let member =
            |snake: &str, camel: &str| self.rest.get(snake).or_else(|| self.rest.get(camel));
        let text = |value: &Value, snake: &str, camel: &str| {
            value
                .get(snake)
                .or_else(|| value.get(camel))
                .and_then(Value::as_str)
                .map(str::to_string)
        };
        if let Some(data) = member("inline_data", "inlineData") {
            let bytes = text(data, "data", "data")
                .map_or(0, |data| data.trim_end_matches('=').len() * 3 / 4);
            let name = text(data, "display_name", "displayName");
            let kind = text(data, "mime_type", "mimeType").unwrap_or_else(|| "data".into());
            let words: Vec<String> = name
                .into_iter()
                .chain([kind, format!("{bytes} bytes")])
                .collect();
            return Some(format!("[{}]", words.join(", ")));
        }
        if let Some(file) = member("file_data", "fileData") {
            let words = [
                text(file, "mime_type", "mimeType"),
                text(file, "file_uri", "fileUri"),
            ];
            return Some(format!(
                "[file {}]",
                words.into_iter().flatten().collect::<Vec<_>>().join(" ")
            ));
        }
        if let Some(code) = member("executable_code", "executableCode") {
            let language = text(code, "language", "language").unwrap_or_else(|| "code".into());
            return Some(format!(
                "[{language}] {}",
                text(code, "code", "code").unwrap_or_default()
            ));
        }
        if let Some(result) = member("code_execution_result", "codeExecutionResult") {
            let outcome = text(result, "outcome", "outcome").unwrap_or_default();
            let output = text(result, "output", "output").unwrap_or_default();
            return Some(format!("[code result {outcome}] {output}"));
        }
        // Metadata of a payload is not a payload.
        let about = [
            "video_metadata",
            "videoMetadata",
            "thought_signature",
            "thoughtSignature",
            "part_metadata",
        ];
        let unknown = self.rest.keys().find(|key| !about.contains(&key.as_str()));
        unknown.map(|key| format!("[{key}]"))
    }

    /// Whether the part has a payload under this key, in snake case or camel case.
    pub fn has(&self, snake: &str, camel: &str) -> bool {
        let set = |key| self.rest.get(key).is_some_and(|value| !value.is_null());
        set(snake) || set(camel)
    }
}

/// ADK's tool that transfers a conversation to another agent. No agent declares it.
pub const TRANSFER_TOOL: &str = "transfer_to_agent";

/// A call of a tool: its name and arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The call's id, if the agent assigned one. Never compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name; empty when the file contains none.
    pub name: String,
    /// The arguments in the file's order. `None` (absent or null) is not the same as empty.
    #[serde(default)]
    pub args: Option<Map<String, Value>>,
    /// Whether the agent's server may have rounded integers above 2^53. They are compared after rounding.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rounded: bool,
    /// Whether the arguments are not known, as in a list of names. Such a call is compared by its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub args_unknown: bool,
}

impl ToolCall {
    /// A call without an id.
    pub fn new(name: impl Into<String>, args: Option<Map<String, Value>>) -> Self {
        ToolCall {
            name: name.into(),
            args,
            ..ToolCall::default()
        }
    }

    /// A call of which only the name is known.
    pub fn named(name: impl Into<String>) -> Self {
        ToolCall {
            args_unknown: true,
            ..ToolCall::new(name, None)
        }
    }
}

/// The response of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolResponse {
    /// The id of the call that this responds to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The response, an object in ADK.
    #[serde(default)]
    pub response: Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_part_can_be_seen() {
        let rest = |value: Value| Part {
            rest: value.as_object().cloned().unwrap(),
            ..Part::default()
        };
        let call = ToolCall::new("f", json!({"x": 1}).as_object().cloned());
        let response = ToolResponse {
            id: None,
            name: "f".into(),
            response: json!({"y": 2}),
        };
        for (part, label) in [
            (
                rest(
                    json!({"inline_data": {"mime_type": "image/png", "data": "AAAABBBBCCC=", "display_name": "a.png"}}),
                ),
                Some("[a.png, image/png, 8 bytes]"),
            ),
            (
                rest(
                    json!({"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/x.pdf"}}),
                ),
                Some("[file application/pdf gs://b/x.pdf]"),
            ),
            (
                rest(json!({"executable_code": {"language": "PYTHON", "code": "print(1)"}})),
                Some("[PYTHON] print(1)"),
            ),
            (
                rest(json!({"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"}})),
                Some("[code result OUTCOME_OK] 1"),
            ),
            (rest(json!({"something_new": {}})), Some("[something_new]")),
            (rest(json!({"thought_signature": "x"})), None),
            (
                Part {
                    call: Some(call),
                    ..Part::default()
                },
                Some("[calls f {\"x\":1}]"),
            ),
            (
                Part {
                    response: Some(response),
                    ..Part::default()
                },
                Some("[f returned {\"y\":2}]"),
            ),
        ] {
            assert_eq!(part.label().as_deref(), label);
        }
        let content = Content {
            role: None,
            parts: vec![
                Part::text("Look:"),
                rest(json!({"fileData": {"fileUri": "u"}})),
            ],
        };
        assert_eq!(
            (
                content.shown_text().as_str(),
                content.scored_text().as_str()
            ),
            ("Look:\n[file u]", "Look:")
        );
    }
}
