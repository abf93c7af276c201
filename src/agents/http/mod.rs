//! Any HTTP endpoint, described by a template: what is sent, and where in the reply the response and the calls are.

mod paths;
mod placeholders;

use self::paths::Paths;
use self::placeholders::{filled, replaced};
use super::budget::EVENT;
use super::masked::sent_to;
use super::messages::{content_text, event_with, history_messages, partial_text, response_part, text_of};
use super::remote::{Items, Remote, setup};
use super::{Agent, AgentError, ErrorKind, OnEvent, Opening, Session, Turn, TurnBudget, TurnOutcome};
use crate::domain::{AgentServer, AgentSpec, Content, HttpSettings, Part, Protocol, ServerSpec};
use crate::formats::adk::{Event, write_content};
use crate::process::clock::Stopwatch;
use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use serde_json_path::JsonPath;
use std::collections::HashMap;
use std::sync::Arc;
use url::Url;

/// An endpoint.
#[derive(Debug)]
pub(super) struct HttpAgent {
    endpoint: Arc<Endpoint>,
}

#[derive(Debug)]
struct Endpoint {
    remote: Arc<Remote>,
    address: String,
    settings: HttpSettings,
    method: Method,
    paths: Paths,
}

/// A conversation.
#[derive(Debug)]
struct HttpSession {
    endpoint: Arc<Endpoint>,
    opening: Opening,
    /// The id of the session: ours, or the server's after it has sent one.
    id: String,
    messages: Vec<Value>,
}

/// What the paths found in the items of a turn.
#[derive(Default)]
struct Found {
    response: Vec<String>,
    /// The pieces of a streamed text.
    streamed: String,
    session: Option<String>,
    error: Option<String>,
    /// Whether the reply says which calls were made.
    knows_calls: bool,
    /// The tools of the calls, by the ids of the calls.
    tools: HashMap<String, String>,
}

impl HttpAgent {
    /// Compiles the template. The server is not asked for anything.
    pub(super) fn connect(
        remote: Arc<Remote>,
        address: &str,
        settings: &HttpSettings,
    ) -> Result<HttpAgent, AgentError> {
        let paths = Paths::of(settings).map_err(setup)?;
        let method = Method::from_bytes(settings.method.to_uppercase().as_bytes())
            .map_err(|_| setup(format!("{:?} is not a method of HTTP", settings.method)))?;
        let (address, settings) = (address.to_string(), settings.clone());
        Ok(HttpAgent { endpoint: Arc::new(Endpoint { remote, address, settings, method, paths }) })
    }
}

#[async_trait]
impl Agent for HttpAgent {
    async fn open(&self, opening: Opening) -> Result<Box<dyn Session>, AgentError> {
        let endpoint = self.endpoint.clone();
        let messages = history_messages(&opening.history);
        if !messages.is_empty() && !endpoint.settings.body_text().contains("messages}") {
            return Err(setup("a single turn cannot be run: the body of the template has no {messages}"));
        }
        Ok(Box::new(HttpSession { endpoint, id: opening.session_id.clone(), opening, messages }))
    }
}

impl HttpSession {
    /// The value of a placeholder.
    fn value(&self, name: &str, turn: usize, user: &Content) -> Option<Value> {
        Some(match name {
            "prompt" => user.spoken_text().into(),
            "user_content" => write_content(user),
            "messages" => self.messages.clone().into(),
            "ui_messages" => self.messages.iter().enumerate().map(ui_message).collect(),
            "session_id" => self.id.clone().into(),
            "user_id" => self.opening.user_id.clone().into(),
            "eval_id" => self.opening.eval_id.clone().into(),
            "turn" => turn.into(),
            "state" => self.opening.state.clone().into(),
            _ => return None,
        })
    }

    /// The address and the body of the request for a turn.
    fn request(&self, turn: usize, user: &Content) -> Result<(Url, Option<Value>), AgentError> {
        let Endpoint { address, settings, .. } = self.endpoint.as_ref();
        let value = |name: &str| self.value(name, turn, user);
        let in_url = |name: &str| {
            let text = value(name).map(|value| text_of(&value))?;
            Some(
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20"),
            )
        };
        let url =
            Url::parse(&replaced(address, in_url)).map_err(|error| setup(format!("the address: {error}")))?;
        let body = settings.body.as_ref().map(|body| filled(&Value::Object(body.clone()), &value));
        Ok((url, body))
    }

    async fn ask(&self, turn: usize, user: &Content) -> Result<Response, AgentError> {
        let Endpoint { remote, settings, method, .. } = self.endpoint.as_ref();
        let (url, body) = self.request(turn, user)?;
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", traceparent());
        if let Ok(baggage) = HeaderValue::from_str(&format!("evaltrail.turn={turn}")) {
            headers.insert("baggage", baggage);
        }
        remote.exchange(method.clone(), url, body.as_ref(), &headers, &settings.ok).await
    }

    /// Reads the reply as a whole.
    async fn read(
        &self,
        response: Response,
        budget: &mut TurnBudget,
        emit: OnEvent<'_>,
    ) -> Result<Found, AgentError> {
        let Endpoint { remote, settings, paths, .. } = self.endpoint.as_ref();
        let mut found = Found::default();
        if settings.response.is_none() {
            // Without a path, the reply is the response.
            let text = remote.text(response).await?;
            budget.keep(text.len())?;
            let (value, size) = budget.parse(&text, |_| String::new()).unwrap_or_default();
            budget.keep(size)?;
            found.take(paths, &value, emit);
            found.response.push(text);
            return Ok(found);
        }
        let value = remote.whole(response, budget).await?;
        found.take(paths, &value, emit);
        Ok(found)
    }

    /// Reads the reply item by item.
    async fn read_stream(
        &self,
        mut items: Items<'_>,
        streams: bool,
        emit: OnEvent<'_>,
    ) -> Result<Found, AgentError> {
        let Endpoint { settings, paths, .. } = self.endpoint.as_ref();
        let mut found = Found::default();
        let wanted = settings.stream.as_ref().and_then(|stream| stream.event.as_deref());
        while let Some(item) = items.next().await? {
            items.keep(item.size + EVENT)?;
            found.take(paths, &item.value, emit);
            let is_text = wanted.is_none_or(|name| item.name == name || item.value["type"] == name);
            let piece =
                paths.text.as_ref().filter(|_| is_text).and_then(|path| path.query(&item.value).first());
            if let Some(piece) = piece.map(content_text).filter(|piece| !piece.is_empty()) {
                found.streamed.push_str(&piece);
                if streams {
                    emit(partial_text("agent", piece));
                }
            }
        }
        Ok(found)
    }
}

impl Found {
    fn take(&mut self, paths: &Paths, value: &Value, emit: &mut (dyn FnMut(Event) + Send)) {
        let at =
            |path: &Option<JsonPath>| path.as_ref().map(|path| path.query(value).all()).unwrap_or_default();
        let texts = |path: &Option<JsonPath>| -> Vec<String> {
            at(path).into_iter().filter(|value| !value.is_null()).map(text_of).collect()
        };
        self.response.extend(texts(&paths.response));
        self.session = texts(&paths.session).into_iter().next().or(self.session.take());
        self.error = texts(&paths.error).into_iter().next().or(self.error.take());
        if let Some(calls) = &paths.calls {
            self.knows_calls |= calls.are_known(value);
            for event in calls.events(value) {
                self.note_calls(&event);
                emit(event);
            }
        }
        for (id, response) in paths.results.iter().flat_map(|results| results.found(value)) {
            let name = self.tools.get(&id).cloned().unwrap_or_default();
            emit(event_with("agent", vec![response_part(&name, Some(&id), response)]));
        }
    }

    fn note_calls(&mut self, event: &Event) {
        let calls = event.content.iter().flat_map(|content| content.calls());
        self.tools.extend(calls.filter_map(|call| Some((call.id.clone()?, call.name.clone()))));
    }
}

#[async_trait]
impl Session for HttpSession {
    fn id(&self) -> &str {
        &self.id
    }

    async fn turn(&mut self, mut turn: Turn<'_>, on_event: OnEvent<'_>) -> Result<TurnOutcome, AgentError> {
        let began = Stopwatch::start();
        let mut emit = |event: Event| on_event(Event { at: Some(began.elapsed().as_secs_f64()), ..event });
        self.messages.push(json!({"role": "user", "content": turn.user.spoken_text()}));
        let response = self.ask(turn.number, turn.user).await?;
        let endpoint = self.endpoint.clone();
        let found = match endpoint.settings.stream {
            None => self.read(response, &mut turn.budget, &mut emit).await?,
            Some(_) => {
                let items = endpoint.remote.items(response, turn.budget.split());
                self.read_stream(items, turn.streams, &mut emit).await?
            }
        };
        self.id = found.session.unwrap_or_else(|| std::mem::take(&mut self.id));
        if let Some(words) = found.error {
            return Err(endpoint.remote.error(ErrorKind::Agent, words));
        }
        let is_streamed = endpoint.settings.stream.is_some();
        let is_missing = found.response.is_empty() && !is_streamed;
        let text = match found.response.is_empty() {
            true => found.streamed,
            false => found.response.join("\n"),
        };
        if is_missing {
            let path = endpoint.settings.response.as_deref().unwrap_or_default();
            let why = format!("the reply has nothing at {path}; `evaltrail agents check` displays the reply");
            return Err(AgentError::new(ErrorKind::Protocol, why));
        }
        self.messages.push(json!({"role": "assistant", "content": text}));
        emit(event_with("agent", vec![Part::text(text)]));
        // In a stream, an item without calls says nothing about the others.
        let has_all_calls = endpoint.settings.calls.is_some() && (found.knows_calls || is_streamed);
        Ok(TurnOutcome { has_all_calls, ..TurnOutcome::ANSWERED })
    }
}

/// A message in the form of Vercel's AI SDK.
fn ui_message((at, message): (usize, &Value)) -> Value {
    let parts = json!([{"type": "text", "text": message["content"]}]);
    json!({"id": format!("message-{}", at + 1), "role": message["role"], "parts": parts})
}

/// A trace context, by which an instrumented agent relates its spans to the turn.
fn traceparent() -> HeaderValue {
    let (trace, span) =
        (uuid::Uuid::new_v4().simple().to_string(), uuid::Uuid::new_v4().simple().to_string());
    HeaderValue::from_str(&format!("00-{trace}-{}-01", &span[..16])).unwrap_or(HeaderValue::from_static(""))
}

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
}

/// Sends a prompt to an endpoint that a template describes; `None` for any other agent.
pub async fn probe_template(spec: &AgentSpec, prompt: &str) -> Option<Result<TemplateProbe, AgentError>> {
    let AgentSpec::Server(server) = spec else { return None };
    let (Protocol::Http(settings), AgentServer::Url(address)) = (&server.protocol, &server.server) else {
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
    let remote = Arc::new(Remote::of(address, server, &sent)?);
    let agent = HttpAgent::connect(remote.clone(), address, settings)?;
    let (user, opening) = (Content::text("user", prompt), Opening::default());
    let messages = vec![json!({"role": "user", "content": prompt})];
    let session = HttpSession { endpoint: agent.endpoint.clone(), id: "probe".into(), opening, messages };
    let (url, body) = session.request(1, &user)?;
    let (status, reply) =
        remote.call(agent.endpoint.method.clone(), url, body.as_ref(), &HeaderMap::new()).await?;
    let values: Vec<Value> = match serde_json::from_str(&reply) {
        Ok(value) => vec![value],
        Err(_) => {
            let data =
                |line: &str| serde_json::from_str(line.strip_prefix("data:").unwrap_or(line).trim()).ok();
            reply.lines().filter_map(data).collect()
        }
    };
    let at = |path: &JsonPath| {
        values.iter().flat_map(|value| path.query(value).all()).cloned().collect::<Vec<Value>>()
    };
    let Paths { response, error, session, text, calls, results } = &agent.endpoint.paths;
    let results = results.as_ref().map(|results| &results.path);
    let calls = calls.as_ref().map(|calls| &calls.path);
    let paths = [
        ("response", response.as_ref()),
        ("text", text.as_ref()),
        ("calls", calls),
        ("results", results),
        ("session", session.as_ref()),
        ("error", error.as_ref()),
    ];
    let found =
        paths.into_iter().filter_map(|(key, path)| path.map(|path| (key, path.to_string(), at(path))));
    let found = found
        .map(|(key, path, values)| (key, path, values.iter().map(|value| remote.cleaned(value)).collect()));
    Ok(TemplateProbe {
        request: format!("{} {}", agent.endpoint.method, remote.shown()),
        body: remote.clean(
            &body.map(|body| serde_json::to_string_pretty(&body).unwrap_or_default()).unwrap_or_default(),
        ),
        status: status.to_string(),
        reply: remote.clean(&reply),
        found: found.collect(),
    })
}
