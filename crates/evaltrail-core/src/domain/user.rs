//! The simulated user of scenarios (ADK's `user_simulator_config`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Configuration of a simulated user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserSpec {
    /// The model that plays the user; ADK's default when `None`.
    #[serde(default)]
    pub model: Option<String>,
    /// The model's settings, with the field names of google-genai.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// Maximum number of turns, the first included; ADK's default of 20 when `None`, no limit when −1.
    #[serde(default)]
    pub most_turns: Option<i64>,
    /// A custom prompt, with plain Jinja placeholders.
    #[serde(default)]
    pub instructions: Option<String>,
    /// Whether the simulated user sees which tools the agent called.
    #[serde(default)]
    pub sees_calls: bool,
    /// Why evaltrail does not support this simulated user; `None` if it does.
    #[serde(default)]
    pub unplayable: Option<String>,
}

impl UserSpec {
    /// Maximum number of turns; `None` without a limit.
    pub fn limit(&self) -> Option<usize> {
        usize::try_from(self.most_turns.unwrap_or(20)).ok()
    }

    /// Reads ADK's configuration object, in snake case or camel case.
    pub fn from_config(config: &Value) -> UserSpec {
        let get = |snake: &str, camel: &str| {
            config
                .get(camel)
                .or_else(|| config.get(snake))
                .filter(|value| !value.is_null())
        };
        let text = |snake: &str, camel: &str| {
            get(snake, camel)
                .and_then(Value::as_str)
                .map(str::to_string)
        };
        let kind = text("type", "type").unwrap_or_else(|| "llm_backed".into());
        let instructions = text("custom_instructions", "customInstructions");
        let unplayable = match (kind.as_str(), &instructions) {
            ("llm_backed", Some(own)) if own.contains("{%") => Some(
                "its custom_instructions use Jinja statements; only placeholders are supported"
                    .into(),
            ),
            ("llm_backed", _) => None,
            (kind, _) => Some(format!(
                "simulated users of type {kind:?} are not supported, only llm_backed"
            )),
        };
        UserSpec {
            model: text("model", "model"),
            config: get("model_configuration", "modelConfiguration")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
            most_turns: get("max_allowed_invocations", "maxAllowedInvocations")
                .and_then(Value::as_i64),
            instructions,
            sees_calls: get("include_function_calls", "includeFunctionCalls")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            unplayable,
        }
    }
}
