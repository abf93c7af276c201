//! OpenAI's chat completions, and servers with the same API.

use super::Settings;
use super::call::{Call, ModelAnswer, count, join};
use crate::judge::endpoint::ModelEndpoint;
use serde_json::{Map, Value, json};

pub(super) fn call(
    endpoint: &ModelEndpoint,
    prompt: &str,
    settings: &Settings,
    schema: Option<&Value>,
) -> Call {
    let mut messages = Vec::new();
    if let Some(system) = settings.get("system_instruction").and_then(Value::as_str) {
        messages.push(json!({"role": "system", "content": system}));
    }
    messages.push(json!({"role": "user", "content": prompt}));
    let mut body = Map::new();
    body.insert("model".into(), endpoint.model.clone().into());
    body.insert("messages".into(), messages.into());
    // Reasoning models accept no temperature, and their thoughts count as output.
    let reasons = endpoint.model.starts_with("gpt-5")
        || endpoint.model.starts_with('o')
            && endpoint.model[1..].starts_with(|c: char| c.is_ascii_digit());
    let limit = if reasons {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    let known = [
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("max_output_tokens", limit),
        ("seed", "seed"),
    ];
    for (ours, theirs) in known {
        if let Some(value) = settings
            .get(ours)
            .filter(|_| !(reasons && matches!(ours, "temperature" | "top_p")))
        {
            body.insert(theirs.into(), value.clone());
        }
    }
    if let Some(schema) = schema {
        let named = json!({"name": "answer", "strict": true, "schema": schema});
        body.insert(
            "response_format".into(),
            json!({"type": "json_schema", "json_schema": named}),
        );
    }
    Call {
        body: Some(body.into()),
        ..request(endpoint, &["chat", "completions"])
    }
}

pub(super) fn probe(endpoint: &ModelEndpoint) -> Call {
    request(endpoint, &["models", &endpoint.model])
}

fn request(endpoint: &ModelEndpoint, parts: &[&str]) -> Call {
    let secret = endpoint
        .key
        .iter()
        .map(|key| ("authorization", key.clone()))
        .collect();
    Call {
        url: join(&endpoint.base, parts),
        secret,
        headers: Vec::new(),
        body: None,
    }
}

pub(super) fn read(body: &Value) -> ModelAnswer {
    let tokens = |key: &str| count(body.pointer(&format!("/usage/{key}")));
    ModelAnswer {
        text: text(body),
        input_tokens: tokens("prompt_tokens"),
        output_tokens: tokens("completion_tokens"),
    }
}

fn text(body: &Value) -> Result<String, String> {
    let choice = body.pointer("/choices/0").unwrap_or(&Value::Null);
    let message = choice.get("message").unwrap_or(&Value::Null);
    if let Some(refusal) = message.get("refusal").and_then(Value::as_str) {
        return Err(format!("the judge refused to answer: {refusal}"));
    }
    match message.get("content").and_then(Value::as_str) {
        Some(text) => Ok(text.to_string()),
        None => {
            let reason = choice
                .get("finish_reason")
                .and_then(Value::as_str)
                .unwrap_or("no reason given");
            Err(format!("the judge answered without text ({reason})"))
        }
    }
}
