//! Gemini's `generateContent`, with a key or on Vertex AI with a token.

use super::Settings;
use super::call::{Call, ModelAnswer, count, join};
use crate::judge::endpoint::{ModelEndpoint, VertexProject};
use evaltrail_core::domain::VerdictParsing;
use serde_json::{Map, Value, json};

pub(super) fn call(
    endpoint: &ModelEndpoint,
    prompt: &str,
    settings: &Settings,
    schema: Option<&Value>,
) -> Call {
    let mut body = Map::new();
    body.insert(
        "contents".into(),
        json!([{"role": "user", "parts": [{"text": prompt}]}]),
    );
    if let Some(system) = settings.get("system_instruction").and_then(Value::as_str) {
        body.insert(
            "systemInstruction".into(),
            json!({"parts": [{"text": system}]}),
        );
    }
    let mut generation = settings.generation();
    if let Some(schema) = schema {
        generation.insert("responseMimeType".into(), "application/json".into());
        generation.insert("responseJsonSchema".into(), schema.clone());
    }
    if !generation.is_empty() {
        body.insert("generationConfig".into(), generation.into());
    }
    Call {
        body: Some(body.into()),
        ..request(endpoint, ":generateContent")
    }
}

pub(super) fn probe(endpoint: &ModelEndpoint) -> Call {
    request(endpoint, "")
}

fn request(endpoint: &ModelEndpoint, verb: &str) -> Call {
    let model = format!(
        "{}{verb}",
        endpoint.model.rsplit('/').next().unwrap_or_default()
    );
    let (url, header) = match &endpoint.vertex {
        None => (
            join(&endpoint.base, &["v1beta", "models", &model]),
            "x-goog-api-key",
        ),
        Some(VertexProject { project, location }) => {
            let own = format!("{}{verb}", endpoint.model);
            // A model's full resource name contains its location.
            let parts: Vec<&str> = match endpoint.model.starts_with("projects/") {
                true => ["v1"].into_iter().chain(own.split('/')).collect(),
                false => {
                    vec![
                        "v1",
                        "projects",
                        project,
                        "locations",
                        location,
                        "publishers",
                        "google",
                        "models",
                        &model,
                    ]
                }
            };
            (join(&endpoint.base, &parts), "authorization")
        }
    };
    let secret = endpoint
        .key
        .iter()
        .map(|key| (header, key.clone()))
        .collect();
    Call {
        url,
        secret,
        headers: Vec::new(),
        body: None,
    }
}

pub(super) fn read(body: &Value, reading: VerdictParsing) -> ModelAnswer {
    let usage = body.get("usageMetadata");
    let tokens = |key: &str| count(usage.and_then(|usage| usage.get(key)));
    ModelAnswer {
        text: text(body, reading),
        input_tokens: tokens("promptTokenCount"),
        output_tokens: tokens("candidatesTokenCount").saturating_add(tokens("thoughtsTokenCount")),
    }
}

fn text(body: &Value, reading: VerdictParsing) -> Result<String, String> {
    let candidate = body.get("candidates").and_then(|all| all.get(0));
    let Some(candidate) = candidate else {
        return Err(
            match body
                .pointer("/promptFeedback/blockReason")
                .and_then(Value::as_str)
            {
                Some(reason) => format!("the judge refused to answer: {reason}"),
                None => "the judge answered without a candidate".into(),
            },
        );
    };
    let parts = candidate
        .pointer("/content/parts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let is_adk = reading == VerdictParsing::Adk;
    let spoken = parts.filter(|part| is_adk || part.get("thought") != Some(&Value::Bool(true)));
    let texts: Vec<&str> = spoken
        .filter_map(|part| part.get("text")?.as_str())
        .collect();
    if texts.is_empty() {
        let reason = candidate
            .get("finishReason")
            .and_then(Value::as_str)
            .unwrap_or("no reason given");
        return Err(format!("the judge answered without text ({reason})"));
    }
    // ADK joins parts with line breaks. Inside JSON, a string may continue in the next part.
    Ok(texts.join(if is_adk { "\n" } else { "" }))
}
