//! Errors that a model reported although the agent ended its turn without failing, and reasons for which a model stopped
//! before its response was complete.

use super::clean_line;
use serde::{Deserialize, Deserializer, Serialize};

/// Maximum length of a message in [`ModelError::describe`], in characters.
const MAX_MESSAGE: usize = 300;

/// An error that a model reported, or the reason why it stopped early.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelError {
    /// The agent that acted.
    pub author: String,
    /// The code as reported, for instance `SAFETY`, `MAX_TOKENS` or `length`; empty if there is only a message.
    pub code: String,
    /// The message as reported; empty if there is only a code.
    pub message: String,
    /// Seconds since the start of the turn, if known.
    pub at: Option<f64>,
}

/// Finish reasons of models that completed their response or call tools, in lower case and with `_` for `-`: those of
/// Gemini, OpenAI, Anthropic, Cohere, Bedrock, Ollama, TGI and the AI SDK. `unknown` means that none was reported.
const COMPLETE: &[&str] = &[
    "",
    "stop",
    "finish_reason_unspecified",
    "unspecified",
    "unknown",
    "end_turn",
    "stop_sequence",
    "eos",
    "eos_token",
    "complete",
    "completed",
    "success",
    "tool_call",
    "tool_calls",
    "tool_use",
    "function_call",
    "tool_code",
];

impl ModelError {
    /// An error with a code and a message, of which one may be missing. `None` if both are.
    pub fn reported(code: Option<&str>, message: Option<&str>) -> Option<ModelError> {
        let text = |text: Option<&str>| text.unwrap_or_default().trim().to_string();
        let (code, message) = (text(code), text(message));
        match (code.is_empty(), message.is_empty()) {
            (true, true) => None,
            (true, false) => Some(ModelError::of_text(&message)),
            _ => Some(ModelError {
                code,
                message,
                ..ModelError::default()
            }),
        }
    }

    /// The error of a finish reason; `None` if the model completed its response or calls tools.
    pub fn of_finish(reason: Option<&str>, message: Option<&str>) -> Option<ModelError> {
        let reason = reason.unwrap_or_default().trim();
        let key = reason
            .strip_prefix("FinishReason.")
            .unwrap_or(reason)
            .to_lowercase()
            .replace('-', "_");
        match COMPLETE.contains(&key.as_str()) {
            true => None,
            false => ModelError::reported(Some(reason), message),
        }
    }

    /// Reads "CODE: message", as journals of earlier versions have it. Other texts are messages.
    pub fn of_text(text: &str) -> ModelError {
        let is_code = |code: &str| {
            !code.is_empty()
                && code
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        };
        let (code, message) = match text.split_once(": ") {
            Some((code, message)) if is_code(code) => (code, message),
            _ if is_code(text) => (text, ""),
            _ => ("", text),
        };
        ModelError {
            code: code.into(),
            message: message.into(),
            ..ModelError::default()
        }
    }

    /// The same error as part of an event.
    pub fn by(self, author: &str, at: Option<f64>) -> ModelError {
        ModelError {
            author: author.to_string(),
            at,
            ..self
        }
    }

    /// "SAFETY: blocked by safety", in one line without control characters. A code without a message is explained if it is a
    /// common one.
    pub fn text(&self) -> String {
        let message = match self.message.is_empty() {
            true => meaning(&self.code).unwrap_or_default(),
            false => &self.message,
        };
        let shortened: String = match message.char_indices().nth(MAX_MESSAGE) {
            Some((end, _)) => format!("{}…", &message[..end]),
            None => message.to_string(),
        };
        let parts = [self.code.as_str(), &shortened];
        let text = parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(": ");
        clean_line(&text).into_owned()
    }

    /// "the model reported SAFETY: blocked by safety"; "the agent reported" if the error may be one of its code or its tools.
    pub fn describe(&self) -> String {
        format!("{} reported {}", self.reporter(), self.text())
    }

    /// "the model", or "the agent" if it is not known that the model reported the error.
    pub fn reporter(&self) -> &'static str {
        reporter_of(self.kind())
    }

    /// What errors of the same kind have in common: the code, or the message if there is none.
    pub fn kind(&self) -> &str {
        if self.code.is_empty() {
            &self.message
        } else {
            &self.code
        }
    }
}

/// Who reported errors of a kind, as [`ModelError::kind`] has it. Models have codes such as `SAFETY`, `content_filter` or `429`;
/// names of exceptions and messages without a code may be from the agent's code or its tools, too.
pub(super) fn reporter_of(kind: &str) -> &'static str {
    let is_code = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let has = |is: fn(&char) -> bool| kind.chars().any(|c| is(&c));
    let is_mixed = has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
    match !kind.is_empty() && kind.chars().all(is_code) && !is_mixed {
        true => "the model",
        false => "the agent",
    }
}

/// What a code without a message means.
fn meaning(code: &str) -> Option<&'static str> {
    Some(match code.to_lowercase().replace('-', "_").as_str() {
        "max_tokens"
        | "length"
        | "max_output_tokens"
        | "model_length"
        | "model_context_window_exceeded" => "the response was cut at the token limit",
        "safety"
        | "content_filter"
        | "content_filtered"
        | "guardrail_intervened"
        | "prohibited_content"
        | "blocklist"
        | "image_safety" => "the response was blocked or cut by a content filter",
        "malformed_function_call" => "the model wrote a tool call that cannot be parsed",
        "unexpected_tool_call" => "the model called a tool that it was not given",
        "recitation" => "the response was blocked because it repeats a source",
        "spii" => "the response was blocked because of personal data",
        "refusal" => "the model refused",
        _ => return None,
    })
}

/// Deserializes an error, or the text that earlier versions wrote.
pub(super) fn error_or_text<'de, D: Deserializer<'de>>(
    error: D,
) -> Result<Option<ModelError>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Error(ModelError),
        Text(String),
    }
    Ok(
        Option::<Stored>::deserialize(error)?.map(|stored| match stored {
            Stored::Error(error) => error,
            Stored::Text(text) => ModelError::of_text(&text),
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::InvocationEvent;

    #[test]
    fn normal_finish_reasons_are_not_errors() {
        for reason in [
            "STOP",
            "stop",
            "tool_calls",
            "tool-calls",
            "end_turn",
            "FinishReason.STOP",
            "",
            "tool_use",
        ] {
            assert_eq!(ModelError::of_finish(Some(reason), None), None, "{reason}");
        }
        for reason in [
            "length",
            "MAX_TOKENS",
            "content-filter",
            "refusal",
            "SAFETY",
            "OTHER",
            "a_new_reason",
        ] {
            assert_eq!(
                ModelError::of_finish(Some(reason), None).unwrap().code,
                reason
            );
        }
    }

    #[test]
    fn errors_are_worded_in_one_line() {
        let words = |code: &str, message: &str| {
            ModelError::reported(Some(code), Some(message))
                .unwrap()
                .describe()
        };
        assert_eq!(
            words("SAFETY", "blocked by safety"),
            "the model reported SAFETY: blocked by safety"
        );
        assert_eq!(
            words("", "no\u{1b}[31m quota"),
            "the agent reported no␛[31m quota"
        );
        assert_eq!(
            words("ValueError", "fuse box 3 does not answer"),
            "the agent reported ValueError: fuse box 3 does not answer"
        );
        assert_eq!(words("429", "slow"), "the model reported 429: slow");
        assert_eq!(
            words("length", ""),
            "the model reported length: the response was cut at the token limit"
        );
        assert_eq!(words("X1", ""), "the model reported X1");
        assert!(words("X", &"é".repeat(1000)).chars().count() < 350);
        assert_eq!(ModelError::reported(Some(" "), None), None);
    }

    #[test]
    fn error_events_of_older_journals_are_read() {
        let event = |json: &str| serde_json::from_str::<InvocationEvent>(json).unwrap();
        let old = event(r#"{"author": "a", "content": null, "error": "SAFETY: blocked"}"#)
            .error
            .unwrap();
        assert_eq!(
            (old.code.as_str(), old.message.as_str()),
            ("SAFETY", "blocked")
        );
        let new = InvocationEvent {
            error: Some(old),
            ..InvocationEvent::default()
        };
        assert_eq!(event(&serde_json::to_string(&new).unwrap()), new);
        assert_eq!(event(r#"{"author": "a", "error": null}"#).error, None);
    }

    #[test]
    fn the_text_of_earlier_versions_is_read() {
        let read = |text: &str| {
            let error = ModelError::of_text(text);
            (error.code, error.message)
        };
        let pair = |code: &str, message: &str| (code.to_string(), message.to_string());
        assert_eq!(
            read("SAFETY: blocked: twice"),
            pair("SAFETY", "blocked: twice")
        );
        assert_eq!(read("MAX_TOKENS"), pair("MAX_TOKENS", ""));
        assert_eq!(read("Quota: used up"), pair("", "Quota: used up"));
    }
}
