//! The simulated user of scenarios (ADK's `user_simulator_config`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a simulated user is played.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserSpec {
    /// The model that plays it; ADK's when `None`.
    #[serde(default)]
    pub model: Option<String>,
    /// The model's settings, as google-genai spells them.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// Turns at most, the first included; ADK's 20 when `None`, no limit at −1.
    #[serde(default)]
    pub most_turns: Option<i64>,
    /// A prompt of the person's own, with Jinja's plain placeholders.
    #[serde(default)]
    pub instructions: Option<String>,
    /// Whether the user sees which tools the agent called.
    #[serde(default)]
    pub sees_calls: bool,
    /// Why this user cannot be played here.
    #[serde(default)]
    pub unplayable: Option<String>,
}

impl UserSpec {
    /// Turns at most; nothing without a limit.
    pub fn limit(&self) -> Option<usize> {
        usize::try_from(self.most_turns.unwrap_or(20)).ok()
    }

    /// Reads ADK's object, in either spelling.
    pub fn of(config: &Value) -> UserSpec {
        let get = |snake: &str, camel: &str| {
            config.get(camel).or_else(|| config.get(snake)).filter(|value| !value.is_null())
        };
        let text = |snake: &str, camel: &str| get(snake, camel).and_then(Value::as_str).map(str::to_string);
        let kind = text("type", "type").unwrap_or_else(|| "llm_backed".into());
        let instructions = text("custom_instructions", "customInstructions");
        let unplayable = match (kind.as_str(), &instructions) {
            ("llm_backed", Some(own)) if own.contains("{%") => Some(
                "its custom_instructions use Jinja statements, and only placeholders are filled in here"
                    .into(),
            ),
            ("llm_backed", _) => None,
            (kind, _) => {
                Some(format!("a simulated user of type {kind:?} is not played here, only llm_backed"))
            }
        };
        UserSpec {
            model: text("model", "model"),
            config: get("model_configuration", "modelConfiguration")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
            most_turns: get("max_allowed_invocations", "maxAllowedInvocations").and_then(Value::as_i64),
            instructions,
            sees_calls: get("include_function_calls", "includeFunctionCalls")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            unplayable,
        }
    }
}
