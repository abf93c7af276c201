//! Any HTTP endpoint, described by a template: what is sent, and where in the reply the response and the calls are.

mod form;
mod found;
mod paths;
mod placeholders;
mod probe;

pub use self::probe::{TemplateProbe, probe_template};

use self::form::encoded;
use self::found::FoundFields;
use self::paths::Paths;
use self::placeholders::{filled, replaced};
use super::event_times::with_times;
use super::memory_limit::EVENT;
use super::messages::{history_messages, text_of};
use super::remote::{Remote, RequestBody, setup};
use super::stream_items::Items;
use super::{
    Agent, AgentError, ErrorKind, OnEvent, Session, SessionOptions, Turn, TurnBudget, TurnOutcome,
};
use async_trait::async_trait;
use evaltrail_core::domain::{Content, HttpSettings};
use evaltrail_core::formats::adk::write_content;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use std::sync::Arc;
use url::Url;

/// An endpoint.
#[derive(Debug)]
pub(super) struct HttpAgent {
    endpoint: Arc<TurnEndpoint>,
}

#[derive(Debug)]
struct TurnEndpoint {
    remote: Arc<Remote>,
    address: String,
    settings: HttpSettings,
    method: Method,
    paths: Paths,
}

/// A conversation.
#[derive(Debug)]
struct HttpSession {
    endpoint: Arc<TurnEndpoint>,
    opening: SessionOptions,
    /// The id of the session: ours, or the server's after it has sent one.
    id: String,
    messages: Vec<Value>,
}

impl HttpAgent {
    /// Compiles the template. The server is not asked for anything.
    pub(super) fn connect(
        remote: Arc<Remote>,
        address: &str,
        settings: &HttpSettings,
    ) -> Result<HttpAgent, AgentError> {
        if settings.body.is_some() && settings.form.is_some() {
            return Err(setup("a template has either a body or a form"));
        }
        let paths = Paths::compile(settings).map_err(setup)?;
        let method = Method::from_bytes(settings.method.to_uppercase().as_bytes())
            .map_err(|_| setup(format!("{:?} is not a method of HTTP", settings.method)))?;
        let (address, settings) = (address.to_string(), settings.clone());
        Ok(HttpAgent {
            endpoint: Arc::new(TurnEndpoint {
                remote,
                address,
                settings,
                method,
                paths,
            }),
        })
    }
}

impl TurnEndpoint {
    /// The values of the body, or of the fields of a form, as the body of a request.
    fn body<'a>(&self, values: Option<&'a Value>) -> RequestBody<'a> {
        match (values, &self.settings.form) {
            (None, _) => RequestBody::None,
            (Some(values), None) => RequestBody::Json(values),
            (Some(values), Some(_)) => {
                let (kind, bytes) = encoded(values, self.settings.form_encoding);
                RequestBody::Form(kind, bytes)
            }
        }
    }
}

#[async_trait]
impl Agent for HttpAgent {
    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        let endpoint = self.endpoint.clone();
        let messages = history_messages(&opening.history);
        if !messages.is_empty() && !endpoint.settings.body_text().contains("messages}") {
            return Err(setup(
                "a single turn cannot be run: the body of the template has no {messages}",
            ));
        }
        Ok(Box::new(HttpSession {
            endpoint,
            id: opening.session_id.clone(),
            opening,
            messages,
        }))
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
        let TurnEndpoint {
            address, settings, ..
        } = self.endpoint.as_ref();
        let value = |name: &str| self.value(name, turn, user);
        let in_url = |name: &str| {
            let text = value(name).map(|value| text_of(&value))?;
            Some(
                url::form_urlencoded::byte_serialize(text.as_bytes())
                    .collect::<String>()
                    .replace('+', "%20"),
            )
        };
        let url = Url::parse(&replaced(address, in_url))
            .map_err(|error| setup(format!("the address: {error}")))?;
        let template = settings.body.as_ref().or(settings.form.as_ref());
        let body = template.map(|members| filled(&Value::Object(members.clone()), &value));
        Ok((url, body))
    }

    async fn ask(&self, turn: usize, user: &Content) -> Result<Response, AgentError> {
        let TurnEndpoint {
            remote,
            settings,
            method,
            ..
        } = self.endpoint.as_ref();
        let (url, body) = self.request(turn, user)?;
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", traceparent());
        if let Ok(baggage) = HeaderValue::from_str(&format!("evaltrail.turn={turn}")) {
            headers.insert("baggage", baggage);
        }
        remote
            .exchange(
                method.clone(),
                url,
                &self.endpoint.body(body.as_ref()),
                &headers,
                &settings.ok,
            )
            .await
    }

    /// Reads the reply as a whole.
    async fn read(
        &self,
        response: Response,
        budget: &mut TurnBudget,
        emit: OnEvent<'_>,
    ) -> Result<FoundFields, AgentError> {
        let TurnEndpoint {
            remote,
            settings,
            paths,
            ..
        } = self.endpoint.as_ref();
        let mut found = FoundFields::default();
        if settings.response.is_none() {
            // Without a path, the reply is the response.
            let text = remote.text(response).await?;
            budget.charge(text.len())?;
            let (value, size) = budget.parse(&text, |_| String::new()).unwrap_or_default();
            budget.charge(size)?;
            found.take(paths, &value, emit);
            found.take_reply(text);
            return Ok(found);
        }
        let value = remote.json_body(response, budget).await?;
        found.take(paths, &value, emit);
        Ok(found)
    }

    /// Reads the reply item by item.
    async fn read_stream(
        &self,
        mut items: Items<'_>,
        streams: bool,
        emit: OnEvent<'_>,
    ) -> Result<FoundFields, AgentError> {
        let TurnEndpoint {
            settings, paths, ..
        } = self.endpoint.as_ref();
        let mut found = FoundFields::default();
        let wanted = settings
            .stream
            .as_ref()
            .and_then(|stream| stream.event.as_deref());
        while let Some(item) = items.next().await? {
            items.charge(item.size + EVENT)?;
            found.take(paths, &item.value, emit);
            let is_text = wanted.is_none_or(|name| item.name == name || item.value["type"] == name);
            let piece = is_text
                .then(|| found.take_text(paths, &item.value))
                .flatten();
            piece.filter(|_| streams).into_iter().for_each(&mut *emit);
        }
        Ok(found)
    }
}

#[async_trait]
impl Session for HttpSession {
    fn id(&self) -> &str {
        &self.id
    }

    async fn turn(
        &mut self,
        mut turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let mut emit = with_times(on_event);
        self.messages
            .push(json!({"role": "user", "content": turn.user.spoken_text()}));
        let response = self.ask(turn.number, turn.user).await?;
        let endpoint = self.endpoint.clone();
        let mut found = match endpoint.settings.stream {
            None => self.read(response, &mut turn.budget, &mut emit).await?,
            Some(_) => {
                let items = endpoint.remote.items(response, turn.budget.take_rest());
                self.read_stream(items, turn.streams, &mut emit).await?
            }
        };
        self.id = found
            .session
            .clone()
            .unwrap_or_else(|| std::mem::take(&mut self.id));
        if let Some(words) = found.error.take() {
            found.break_off(&mut emit);
            return Err(endpoint.remote.error(ErrorKind::Agent, words));
        }
        let is_streamed = endpoint.settings.stream.is_some();
        if !found.has_response() && !is_streamed {
            let path = endpoint.settings.response.as_deref().unwrap_or_default();
            let why = format!(
                "the reply has nothing at {path}; `evaltrail agents check` displays the reply"
            );
            return Err(AgentError::new(ErrorKind::Protocol, why));
        }
        // In a stream, an item without calls says nothing about the others.
        let has_all_calls = endpoint.settings.calls.is_some() && (found.knows_calls || is_streamed);
        let text = found.finish(&mut emit);
        self.messages
            .push(json!({"role": "assistant", "content": text}));
        Ok(TurnOutcome {
            has_all_calls,
            ..TurnOutcome::ANSWERED
        })
    }
}

/// A message in the form of Vercel's AI SDK.
fn ui_message((at, message): (usize, &Value)) -> Value {
    let parts = json!([{"type": "text", "text": message["content"]}]);
    json!({"id": format!("message-{}", at + 1), "role": message["role"], "parts": parts})
}

/// A trace context, by which an instrumented agent relates its spans to the turn.
fn traceparent() -> HeaderValue {
    let (trace, span) = (
        uuid::Uuid::new_v4().simple().to_string(),
        uuid::Uuid::new_v4().simple().to_string(),
    );
    HeaderValue::from_str(&format!("00-{trace}-{}-01", &span[..16]))
        .unwrap_or(HeaderValue::from_static(""))
}
