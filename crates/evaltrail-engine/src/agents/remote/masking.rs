//! Texts, values and errors without the secrets that are sent to the server.

use super::endpoint::Remote;
use super::error_body::{MAX_ERROR_TEXT, error_message};
use crate::agents::{AgentError, ErrorKind};
use serde_json::Value;

/// The length of a text in which secrets are looked for before it is cut to a beginning, in characters.
const BEGINNING: usize = 16 << 10;

impl Remote {
    /// A text without the secrets that are sent to the server.
    pub(in crate::agents) fn clean(&self, message: &str) -> String {
        self.sent.mask(message)
    }

    /// A value without the secrets that are sent to the server.
    pub(in crate::agents) fn cleaned(&self, value: &Value) -> Value {
        let mut value = value.clone();
        self.sent.now().mask_foreign(&mut value);
        value
    }

    /// The beginning of what the server sent, for an error message.
    pub(in crate::agents) fn beginning(&self, text: &str) -> String {
        // Secrets are removed first: a cut could leave a part of one.
        let cut = text
            .char_indices()
            .nth(BEGINNING)
            .map_or(text, |(end, _)| &text[..end]);
        self.clean(cut).chars().take(200).collect()
    }

    /// An error whose message contains no secret of the server.
    pub(in crate::agents) fn error(&self, kind: ErrorKind, message: impl AsRef<str>) -> AgentError {
        AgentError::new(kind, self.clean(message.as_ref()))
    }

    /// The error that a server reports in an answer, in its words; `otherwise` if it gives none.
    pub(in crate::agents) fn reported(&self, answer: &Value, otherwise: &str) -> AgentError {
        let words = self.clean(&error_message(answer).unwrap_or_else(|| otherwise.to_string()));
        AgentError::new(
            ErrorKind::Agent,
            words.chars().take(MAX_ERROR_TEXT).collect::<String>(),
        )
    }
}
