//! One request to an endpoint that a template describes, and what each path finds in the reply.

use super::found::FoundFields;
use super::paths::Paths;
use super::{HttpAgent, HttpSession};
use crate::agents::masked::{mask_event, sent_to};
use crate::agents::remote::Remote;
use crate::agents::{AgentError, SessionOptions};
use evaltrail_core::domain::{
    AgentServer, AgentSpec, Content, HttpSettings, Invocation, Protocol, SentSecrets, ServerSpec,
    TurnEnd,
};
use evaltrail_core::formats::adk::{Event, invocation_of};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use serde_json_path::JsonPath;
use std::sync::Arc;

/// What was sent to an endpoint for a prompt, what came back, and what each path found in it.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateProbe {
    /// Method and address.
    pub request: String,
    /// The body that was sent.
    pub body: String,
    /// The status of the reply.
    pub status: String,
    /// The body of the reply.
    pub reply: String,
    /// The settings with a path: key, path, and the values that the path found.
    pub found: Vec<(&'static str, String, Vec<Value>)>,
    /// The turn that the paths lead to.
    pub turn: Invocation,
}

/// Sends a prompt to an endpoint that a template describes; `None` for any other agent.
pub async fn probe_template(
    spec: &AgentSpec,
    prompt: &str,
) -> Option<Result<TemplateProbe, AgentError>> {
    let AgentSpec::Server(server) = spec else {
        return None;
    };
    let (Protocol::Http(settings), AgentServer::Url(address)) = (&server.protocol, &server.server)
    else {
        return None;
    };
    Some(probe(server, settings, address, prompt).await)
}

async fn probe(
    server: &ServerSpec,
    settings: &HttpSettings,
    address: &str,
    prompt: &str,
) -> Result<TemplateProbe, AgentError> {
    let sent = Arc::new(sent_to(&AgentSpec::Server(Box::new(server.clone()))));
    let remote = Arc::new(Remote::from_spec(address, server, &sent)?);
    let endpoint = HttpAgent::connect(remote.clone(), address, settings)?.endpoint;
    let user = Content::text("user", prompt);
    let session = HttpSession {
        endpoint: endpoint.clone(),
        id: "probe".into(),
        opening: SessionOptions::default(),
        messages: vec![json!({"role": "user", "content": prompt})],
    };
    let (url, body) = session.request(1, &user)?;
    let (status, reply) = remote
        .call_with_body(
            endpoint.method.clone(),
            url,
            &endpoint.body(body.as_ref()),
            &HeaderMap::new(),
        )
        .await?;
    let values = values_in(&reply);
    let body = body
        .map(|body| serde_json::to_string_pretty(&body).unwrap_or_default())
        .unwrap_or_default();
    Ok(TemplateProbe {
        request: format!("{} {}", endpoint.method, remote.shown()),
        body: remote.clean(&body),
        status: status.to_string(),
        reply: remote.clean(&reply),
        found: found_by_path(&endpoint.paths, &values, &remote),
        turn: turn_of(settings, &endpoint.paths, (&user, &reply), (&values, &sent)),
    })
}

/// The settings with a path, and the values that each path finds, without secrets.
fn found_by_path(
    paths: &Paths,
    values: &[Value],
    remote: &Remote,
) -> Vec<(&'static str, String, Vec<Value>)> {
    let plain = |key: &'static str, path: &Option<JsonPath>| {
        path.as_ref().map(|path| {
            let found: Vec<Value> = values
                .iter()
                .flat_map(|value| path.query(value).all())
                .cloned()
                .collect();
            (key, path.to_string(), found)
        })
    };
    let calls = paths.calls.as_ref().map(|calls| {
        let found: Vec<Value> = values.iter().flat_map(|value| calls.nodes(value)).collect();
        ("calls", calls.path.to_string(), found)
    });
    let results = paths.results.as_ref().map(|results| {
        let found: Vec<Value> = values
            .iter()
            .flat_map(|value| results.nodes(value))
            .collect();
        ("results", results.path.to_string(), found)
    });
    let found = [
        plain("response", &paths.response),
        plain("text", &paths.text),
        calls,
        results,
        plain("session", &paths.session),
        plain("error", &paths.error),
        plain("finish", &paths.finish),
        plain("usage", &paths.usage),
    ];
    let cleaned = |values: Vec<Value>| -> Vec<Value> {
        values.iter().map(|value| remote.cleaned(value)).collect()
    };
    found
        .into_iter()
        .flatten()
        .map(|(key, path, values)| (key, path, cleaned(values)))
        .collect()
}

/// The reply as one value, or as the items of a stream.
fn values_in(reply: &str) -> Vec<Value> {
    match serde_json::from_str(reply) {
        Ok(value) => vec![value],
        Err(_) => {
            let data = |line: &str| {
                serde_json::from_str(line.strip_prefix("data:").unwrap_or(line).trim()).ok()
            };
            reply.lines().filter_map(data).collect()
        }
    }
}

/// The turn that the paths lead to, without secrets.
fn turn_of(
    settings: &HttpSettings,
    paths: &Paths,
    (user, reply): (&Content, &str),
    (values, sent): (&[Value], &SentSecrets),
) -> Invocation {
    let mut events: Vec<Event> = Vec::new();
    let mut emit = |event: Event| events.push(event);
    let mut found = FoundFields::default();
    let wanted = settings
        .stream
        .as_ref()
        .and_then(|stream| stream.event.as_deref());
    for value in values {
        found.take(paths, value, &mut emit);
        if wanted.is_none_or(|name| value["type"] == name) {
            found.take_text(paths, value);
        }
    }
    if settings.response.is_none() && settings.stream.is_none() {
        found.take_reply(reply.to_string());
    }
    let has_all_calls =
        settings.calls.is_some() && (found.knows_calls || settings.stream.is_some());
    found.finish(&mut emit);
    events
        .iter_mut()
        .for_each(|event| mask_event(&sent.now(), event));
    invocation_of(user, events).with_end(TurnEnd::Answered, has_all_calls)
}
