//! Vertex AI's evaluation service: `evaluateInstances`. The question is the request body.

use super::call::{Call, ModelAnswer, join};
use crate::judge::endpoint::{ModelEndpoint, VertexProject};
use serde_json::Value;

pub(super) fn call(endpoint: &ModelEndpoint, body: &str) -> Call {
    let VertexProject { project, location } = endpoint.vertex.clone().unwrap_or_default();
    let verb = format!("{location}:evaluateInstances");
    let url = join(
        &endpoint.base,
        &["v1beta1", "projects", &project, "locations", &verb],
    );
    let secret = endpoint
        .key
        .iter()
        .map(|key| ("authorization", key.clone()))
        .collect();
    Call {
        url,
        secret,
        headers: Vec::new(),
        body: serde_json::from_str(body).ok(),
    }
}

pub(super) fn read(body: &Value) -> ModelAnswer {
    let text = match body.get("metricResults").and_then(Value::as_array) {
        Some(results) if !results.is_empty() => Ok(body.to_string()),
        _ => Err("the service answered without a result".into()),
    };
    ModelAnswer {
        text,
        input_tokens: 0,
        output_tokens: 0,
    }
}
