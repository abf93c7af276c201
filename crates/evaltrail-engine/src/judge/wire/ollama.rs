//! Ollama's chat API.

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
    let known = [
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("seed", "seed"),
        ("max_output_tokens", "num_predict"),
    ];
    let options: Map<String, Value> = known
        .iter()
        .filter_map(|(ours, theirs)| Some(((*theirs).to_string(), settings.get(ours)?.clone())))
        .collect();
    let mut body = Map::new();
    body.insert("model".into(), endpoint.model.clone().into());
    body.insert("messages".into(), messages.into());
    body.insert("stream".into(), false.into());
    if !options.is_empty() {
        body.insert("options".into(), options.into());
    }
    if let Some(schema) = schema {
        body.insert("format".into(), schema.clone());
    }
    request(endpoint, "chat", body.into())
}

pub(super) fn probe(endpoint: &ModelEndpoint) -> Call {
    request(endpoint, "show", json!({"model": endpoint.model}))
}

fn request(endpoint: &ModelEndpoint, what: &str, body: Value) -> Call {
    let secret = endpoint
        .key
        .iter()
        .map(|key| ("authorization", key.clone()))
        .collect();
    Call {
        url: join(&endpoint.base, &["api", what]),
        secret,
        headers: Vec::new(),
        body: Some(body),
    }
}

pub(super) fn read(body: &Value) -> ModelAnswer {
    let text = body.pointer("/message/content").and_then(Value::as_str);
    ModelAnswer {
        text: match (body.get("error").and_then(Value::as_str), text) {
            (Some(error), _) => Err(format!("the judge failed: {error}")),
            (None, Some(text)) => Ok(text.to_string()),
            (None, None) => Err("the judge answered without a message".into()),
        },
        input_tokens: count(body.get("prompt_eval_count")),
        output_tokens: count(body.get("eval_count")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::Provider;

    #[test]
    fn options_are_sent_if_there_are_any() {
        let endpoint = ModelEndpoint {
            provider: Provider::Ollama,
            model: "m".into(),
            base: "http://localhost:1/".parse().unwrap(),
            key: None,
            service: false,
            vertex: None,
        };
        let body = |settings: Value| {
            call(
                &endpoint,
                "?",
                &Settings::new(settings.as_object().unwrap()),
                None,
            )
            .body
            .unwrap()
        };
        let messages = json!([{"role": "user", "content": "?"}]);
        assert_eq!(
            body(json!({})),
            json!({"model": "m", "messages": messages, "stream": false})
        );
        assert_eq!(
            body(json!({"max_output_tokens": 9, "seed": 1}))["options"],
            json!({"num_predict": 9, "seed": 1})
        );
    }
}
