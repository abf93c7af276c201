//! What a server says about an error in the body of a response.

use crate::agents::memory_limit::parse_answer;
use reqwest::StatusCode;
use serde_json::Value;

/// The maximum length of the server's own words in an error message, in characters.
pub(super) const MAX_ERROR_TEXT: usize = 500;

/// What a server said with a response that is not a success.
pub(in crate::agents) fn error_text(status: StatusCode, text: &str) -> String {
    let words = parse_answer(text)
        .ok()
        .and_then(|answer| error_message(&answer));
    let words: String = words
        .unwrap_or_else(|| text.trim().to_string())
        .chars()
        .take(MAX_ERROR_TEXT)
        .collect();
    match words.is_empty() {
        true => format!("the server answered {status}"),
        false => format!("the server answered {status}: {words}"),
    }
}

/// The words of an error in a body: `detail`, `error` or `message`, and the `message` in it if it is an object.
pub(in crate::agents) fn error_message(answer: &Value) -> Option<String> {
    let detail = ["detail", "error", "message"]
        .iter()
        .find_map(|key| answer.get(key).filter(|value| !value.is_null()))?;
    Some(
        match (detail, detail.get("message").and_then(Value::as_str)) {
            (Value::String(words), _) => words.clone(),
            (_, Some(words)) => words.to_string(),
            _ => detail.to_string(),
        },
    )
}
