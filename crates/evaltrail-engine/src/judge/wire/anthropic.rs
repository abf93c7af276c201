//! Anthropic's Messages API.

use super::Settings;
use super::call::{Call, FormMode, ModelAnswer, count, join};
use crate::judge::endpoint::ModelEndpoint;
use serde_json::{Map, Value, json};

/// The default limit of output tokens. The API requires a limit.
const TOKENS: u64 = 8192;
/// The tool whose arguments are the response.
const TOOL: &str = "answer";

pub(super) fn call(
    endpoint: &ModelEndpoint,
    prompt: &str,
    settings: &Settings,
    schema: Option<&Value>,
    mode: FormMode,
) -> Call {
    let mut body = Map::new();
    body.insert("model".into(), endpoint.model.clone().into());
    body.insert(
        "max_tokens".into(),
        settings
            .get("max_output_tokens")
            .cloned()
            .unwrap_or_else(|| TOKENS.into()),
    );
    if let Some(system) = settings.get("system_instruction").and_then(Value::as_str) {
        body.insert("system".into(), system.into());
    }
    body.insert(
        "messages".into(),
        json!([{"role": "user", "content": prompt}]),
    );
    for key in ["temperature", "top_p", "top_k"] {
        if let Some(value) = settings.get(key) {
            body.insert(key.into(), value.clone());
        }
    }
    match (schema, mode) {
        (None, _) => {}
        // Models before 4.5 accept only tools; models that always think accept only the format.
        (Some(schema), FormMode::Tool) => {
            let tool =
                json!({"name": TOOL, "description": "Give the answer.", "input_schema": schema});
            body.insert("tools".into(), json!([tool]));
            body.insert("tool_choice".into(), json!({"type": "tool", "name": TOOL}));
        }
        (Some(schema), _) => {
            let format = json!({"type": "json_schema", "schema": schema});
            body.insert("output_config".into(), json!({"format": format}));
        }
    }
    Call {
        body: Some(body.into()),
        ..request(endpoint, &["v1", "messages"])
    }
}

pub(super) fn probe(endpoint: &ModelEndpoint) -> Call {
    request(endpoint, &["v1", "models", &endpoint.model])
}

fn request(endpoint: &ModelEndpoint, parts: &[&str]) -> Call {
    let secret = endpoint
        .key
        .iter()
        .map(|key| ("x-api-key", key.clone()))
        .collect();
    Call {
        url: join(&endpoint.base, parts),
        secret,
        headers: vec![("anthropic-version", "2023-06-01")],
        body: None,
    }
}

pub(super) fn read(body: &Value) -> ModelAnswer {
    let tokens = |key: &str| count(body.pointer(&format!("/usage/{key}")));
    ModelAnswer {
        text: text(body),
        input_tokens: tokens("input_tokens"),
        output_tokens: tokens("output_tokens"),
    }
}

fn text(body: &Value) -> Result<String, String> {
    let blocks = || {
        body.get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let texts = blocks().filter(|block| block.get("type").and_then(Value::as_str) == Some("text"));
    let texts: Vec<&str> = texts
        .filter_map(|block| block.get("text")?.as_str())
        .collect();
    let mut calls = blocks().filter(|block| block["type"] == "tool_use" && block["name"] == TOOL);
    let input = calls.find_map(|call| call.get("input").filter(|input| input.is_object()));
    let text = input.map_or_else(|| texts.concat(), Value::to_string);
    if text.is_empty() {
        let reason = body
            .get("stop_reason")
            .and_then(Value::as_str)
            .unwrap_or("no reason given");
        return Err(format!("the judge answered without text ({reason})"));
    }
    Ok(text)
}
