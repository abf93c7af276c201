//! A model's settings, as `judge_model_config` spells them (google-genai's `GenerateContentConfig`).

use evaltrail_core::domain::finite_number;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// Settings of one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::judge) struct Settings {
    /// As they were written.
    written: Map<String, Value>,
}

/// What is not part of the generation settings: HTTP options, and what a judge sends elsewhere or never.
const NOT_GENERATION: &[&str] = &[
    "http_options",
    "system_instruction",
    "safety_settings",
    "tools",
    "tool_config",
    "automatic_function_calling",
    "cached_content",
    "labels",
];

impl Settings {
    pub(in crate::judge) fn new(written: &Map<String, Value>) -> Settings {
        Settings {
            written: written.clone(),
        }
    }

    /// A setting in either spelling.
    pub(super) fn get(&self, snake: &str) -> Option<&Value> {
        self.written
            .get(&camel(snake))
            .or_else(|| self.written.get(snake))
            .filter(|value| !value.is_null())
    }

    /// The settings that decide a response, as text: all but those of the connection, whatever their spelling and order.
    pub(in crate::judge) fn deciding(&self) -> String {
        let spelt = self.written.iter().map(|(key, value)| (camel(key), value));
        let deciding = spelt
            .filter(|(key, value)| key != "httpOptions" && key != "labels" && !value.is_null());
        let sorted: BTreeMap<String, &Value> = deciding.collect();
        serde_json::to_string(&sorted).unwrap_or_default()
    }

    /// Whether they request a form of the response themselves.
    pub(in crate::judge) fn has_form(&self) -> bool {
        [
            "response_mime_type",
            "response_schema",
            "response_json_schema",
        ]
        .iter()
        .any(|key| self.get(key).is_some())
    }

    /// The settings for Gemini's `generationConfig`, in its spelling.
    pub(super) fn generation(&self) -> Map<String, Value> {
        let is_generation = |key: &str| {
            !NOT_GENERATION
                .iter()
                .any(|other| key == *other || key == camel(other))
        };
        let kept = self
            .written
            .iter()
            .filter(|(key, value)| is_generation(key) && !value.is_null());
        let spelt = |key: &String, value: &Value| match camel(key).as_str() {
            // The property names in it are the user's own and keep their spelling.
            "responseSchema" | "responseJsonSchema" => value.clone(),
            _ => deep(value),
        };
        kept.map(|(key, value)| (camel(key), spelt(key, value)))
            .collect()
    }

    /// The time limit of a request, if one is set; written in milliseconds.
    pub(in crate::judge) fn timeout(&self) -> Option<Duration> {
        self.get("http_options")?
            .get("timeout")?
            .as_u64()
            .map(Duration::from_millis)
    }

    /// The number of retries, and the first and longest delay.
    pub(in crate::judge) fn retries(&self) -> Option<(u32, Duration, Duration)> {
        let http = self.get("http_options")?;
        let retry = http
            .get("retryOptions")
            .or_else(|| http.get("retry_options"))?;
        let seconds = |key: &str, usual: f64| {
            let value = retry
                .get(camel(key))
                .or_else(|| retry.get(key))
                .and_then(finite_number);
            Duration::try_from_secs_f64(value.unwrap_or(usual)).unwrap_or_default()
        };
        let attempts = retry
            .get("attempts")
            .and_then(Value::as_u64)
            .unwrap_or(5)
            .clamp(1, 20);
        Some((
            attempts as u32 - 1,
            seconds("initial_delay", 1.0),
            seconds("max_delay", 60.0),
        ))
    }
}

fn deep(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (camel(key), deep(value)))
            .collect(),
        other => other.clone(),
    }
}

fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let first = words.next().unwrap_or_default().to_string();
    words.fold(first, |mut whole, word| {
        let mut letters = word.chars();
        whole.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        whole.push_str(letters.as_str());
        whole
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn deciding_settings_omit_connection_settings() {
        let deciding = |written: Value| Settings::new(written.as_object().unwrap()).deciding();
        let first = deciding(json!({"top_p": 0.5, "seed": 1, "http_options": {"timeout": 2000}}));
        assert_eq!(
            first,
            deciding(json!({"seed": 1, "topP": 0.5, "httpOptions": {"timeout": 9}, "labels": {}}))
        );
        assert_ne!(first, deciding(json!({"seed": 2, "topP": 0.5})));
    }

    #[test]
    fn own_form_is_recognised() {
        let has_form = |written: Value| Settings::new(written.as_object().unwrap()).has_form();
        assert!(has_form(json!({"response_mime_type": "text/plain"})));
        assert!(
            has_form(json!({"responseSchema": {}}))
                && has_form(json!({"response_json_schema": {}}))
        );
        assert!(
            !has_form(json!({"temperature": 0.5})) && !has_form(json!({"response_schema": null}))
        );
    }

    #[test]
    fn settings_are_read_in_both_spellings() {
        let written = json!({
            "max_output_tokens": 5, "topP": 0.5, "response_schema": {"properties": {"is_valid": {"type": "STRING"}}}, "thinking_config": {"thinking_budget": 0},
            "http_options": {"timeout": 2000, "retry_options": {"attempts": 3, "initial_delay": 0.05}},
        });
        let settings = Settings::new(written.as_object().unwrap());
        let generation = Value::Object(settings.generation());
        let wanted = json!({
            "maxOutputTokens": 5, "topP": 0.5, "responseSchema": {"properties": {"is_valid": {"type": "STRING"}}},
            "thinkingConfig": {"thinkingBudget": 0},
        });
        assert_eq!(generation, wanted);
        assert_eq!(settings.timeout(), Some(Duration::from_secs(2)));
        assert_eq!(
            settings.retries(),
            Some((2, Duration::from_millis(50), Duration::from_secs(60)))
        );
    }
}
