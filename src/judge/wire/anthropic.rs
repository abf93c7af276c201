//! Anthropic's messages.

use super::{Answer, Call, Settings, count, join};
use crate::judge::endpoint::Endpoint;
use serde_json::{Map, Value, json};

/// Their API wants a limit.
const TOKENS: u64 = 8192;

pub(super) fn call(endpoint: &Endpoint, prompt: &str, settings: &Settings) -> Call {
    let mut body = Map::new();
    body.insert("model".into(), endpoint.model.clone().into());
    body.insert(
        "max_tokens".into(),
        settings.get("max_output_tokens").cloned().unwrap_or_else(|| TOKENS.into()),
    );
    if let Some(system) = settings.get("system_instruction").and_then(Value::as_str) {
        body.insert("system".into(), system.into());
    }
    body.insert("messages".into(), json!([{"role": "user", "content": prompt}]));
    for key in ["temperature", "top_p", "top_k"] {
        if let Some(value) = settings.get(key) {
            body.insert(key.into(), value.clone());
        }
    }
    Call { body: Some(body.into()), ..request(endpoint, &["v1", "messages"]) }
}

pub(super) fn hello(endpoint: &Endpoint) -> Call {
    request(endpoint, &["v1", "models", &endpoint.model])
}

fn request(endpoint: &Endpoint, parts: &[&str]) -> Call {
    let secret = endpoint.key.iter().map(|key| ("x-api-key", key.clone())).collect();
    Call {
        url: join(&endpoint.base, parts),
        secret,
        headers: vec![("anthropic-version", "2023-06-01")],
        body: None,
    }
}

pub(super) fn read(body: &Value) -> Result<Answer, String> {
    let blocks = body.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = blocks.filter(|block| block.get("type").and_then(Value::as_str) == Some("text"));
    let texts: Vec<&str> = texts.filter_map(|block| block.get("text")?.as_str()).collect();
    if texts.is_empty() {
        let reason = body.get("stop_reason").and_then(Value::as_str).unwrap_or("no reason given");
        return Err(format!("the judge answered without text ({reason})"));
    }
    let tokens = |key: &str| count(body.pointer(&format!("/usage/{key}")));
    Ok(Answer {
        text: texts.concat(),
        input_tokens: tokens("input_tokens"),
        output_tokens: tokens("output_tokens"),
    })
}
