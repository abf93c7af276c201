//! Requests of Agent2Agent for each version and binding, and the errors that servers report.

use evaltrail_core::domain::{A2aBinding, Content, Part};
use reqwest::Method as HttpMethod;
use serde_json::{Value, json};
use url::Url;

/// The address of ADK's extension. With it, a server sends each event as a separate artifact with the event's author.
pub(super) const EXTENSION: &str = "https://google.github.io/adk-docs/a2a/a2a-extension/";

/// A version and a binding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct A2aVersion {
    /// Version 1.0 or later; 0.3 otherwise.
    pub(super) is_latest: bool,
    pub(super) binding: A2aBinding,
}

/// A method about a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum Method {
    Get,
    Cancel,
}

/// A request to send.
pub(super) struct HttpRequest {
    pub(super) method: HttpMethod,
    pub(super) url: Url,
    pub(super) body: Option<Value>,
}

impl A2aVersion {
    pub(super) fn other_version(self) -> A2aVersion {
        A2aVersion {
            is_latest: !self.is_latest,
            ..self
        }
    }

    /// Sends a message of the user.
    pub(super) fn message(
        self,
        url: &Url,
        streams: bool,
        user: &Content,
        context: &str,
        task: Option<&str>,
    ) -> HttpRequest {
        let is_protobuf = !self.is_latest && self.binding == A2aBinding::HttpJson;
        let parts: Vec<Value> = user.parts.iter().map(|part| self.part(part)).collect();
        let role = if self.is_latest || is_protobuf {
            "ROLE_USER"
        } else {
            "user"
        };
        let mut message = json!({"messageId": uuid::Uuid::new_v4().to_string(), "role": role});
        // The HTTP binding of version 0.3 is protobuf's JSON.
        message[if is_protobuf { "content" } else { "parts" }] = parts.into();
        if !self.is_latest && !is_protobuf {
            message["kind"] = "message".into();
        }
        if !context.is_empty() {
            message["contextId"] = context.into();
        }
        if let Some(task) = task {
            message["taskId"] = task.into();
        }
        // Some servers fail without the accepted modes if there is a configuration.
        let mut configuration = json!({"acceptedOutputModes": ["text/plain"]});
        if !self.is_latest && !streams {
            configuration["blocking"] = true.into();
        }
        let params = json!({"message": message, "configuration": configuration});
        let (rpc, rest) = match (self.is_latest, streams) {
            (true, true) => ("SendStreamingMessage", "message:stream"),
            (true, false) => ("SendMessage", "message:send"),
            (false, true) => ("message/stream", "v1/message:stream"),
            (false, false) => ("message/send", "v1/message:send"),
        };
        match self.binding {
            A2aBinding::JsonRpc => rpc_request(url, rpc, params),
            A2aBinding::HttpJson => HttpRequest {
                method: HttpMethod::POST,
                url: below(url, rest),
                body: Some(params),
            },
        }
    }

    /// Asks for a task, or cancels it.
    pub(super) fn about_task(self, url: &Url, method: Method, task: &str) -> HttpRequest {
        let prefix = if self.is_latest { "" } else { "v1/" };
        match (self.binding, method) {
            (A2aBinding::JsonRpc, _) => {
                let name = match (self.is_latest, method) {
                    (true, Method::Get) => "GetTask",
                    (true, Method::Cancel) => "CancelTask",
                    (false, Method::Get) => "tasks/get",
                    (false, Method::Cancel) => "tasks/cancel",
                };
                rpc_request(url, name, json!({"id": task}))
            }
            (A2aBinding::HttpJson, Method::Get) => HttpRequest {
                method: HttpMethod::GET,
                url: below(url, &format!("{prefix}tasks/{task}")),
                body: None,
            },
            (A2aBinding::HttpJson, Method::Cancel) => {
                let url = below(url, &format!("{prefix}tasks/{task}:cancel"));
                HttpRequest {
                    method: HttpMethod::POST,
                    url,
                    body: Some(json!({})),
                }
            }
        }
    }

    fn part(self, part: &Part) -> Value {
        let has_kind = !self.is_latest && self.binding == A2aBinding::JsonRpc;
        let mut out = match (
            &part.text,
            part.rest.is_empty() && part.call.is_none() && part.response.is_none(),
        ) {
            (Some(text), _) => json!({"text": text}),
            (None, true) => json!({"text": ""}),
            (None, false) => {
                let data = serde_json::to_value(part).unwrap_or_default();
                // Protobuf's JSON wraps data twice.
                let is_protobuf = !self.is_latest && self.binding == A2aBinding::HttpJson;
                if is_protobuf {
                    json!({"data": {"data": data}})
                } else {
                    json!({"data": data})
                }
            }
        };
        if has_kind {
            out["kind"] = if part.text.is_some() { "text" } else { "data" }.into();
        }
        out
    }
}

fn rpc_request(url: &Url, method: &str, params: Value) -> HttpRequest {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    HttpRequest {
        method: HttpMethod::POST,
        url: url.clone(),
        body: Some(body),
    }
}

fn below(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.pop_if_empty().extend(path.split('/'));
    }
    url
}

/// An error of the protocol.
pub(super) struct RpcError {
    code: i64,
    pub(super) words: String,
}

impl RpcError {
    /// Whether the server does not speak this version: the method or the version is not supported.
    pub(super) fn is_about_version(&self) -> bool {
        match self.code {
            -32009 | -32601 => true,
            -32603 => self.words.contains("A2A version") && self.words.contains("not supported"),
            _ => false,
        }
    }
}

/// The error in an answer, if it is one: that of JSON-RPC or of HTTP with JSON.
pub(super) fn error_of(value: &Value) -> Option<RpcError> {
    let error = value.get("error").filter(|error| error.is_object())?;
    let mut words = error["message"]
        .as_str()
        .unwrap_or("the agent's server reported an error")
        .to_string();
    let data = error["data"]
        .as_array()
        .or_else(|| error["details"].as_array());
    for one in data.into_iter().flatten() {
        for field in one["fieldViolations"].as_array().into_iter().flatten() {
            let text = |key: &str| field[key].as_str().unwrap_or_default();
            words = format!("{words}; {}: {}", text("field"), text("description"));
        }
    }
    if let Some(data) = error["data"].as_str() {
        words = format!("{words}: {data}");
    }
    Some(RpcError {
        code: error["code"].as_i64().unwrap_or(0),
        words,
    })
}
