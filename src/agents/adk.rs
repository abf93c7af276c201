//! An application on an ADK server, in any of ADK's languages.

use super::adk_server::Server;
use super::budget::{EVENT, parse_answer};
use super::{AgentError, ErrorKind, Opening, Turn, TurnBudget};
use crate::domain::AdkServer;
use crate::formats::adk::{Event, golden_events, read_event, write_message};
use crate::net::SseDecoder;
use crate::net::http::{self, BodyError, cause, chain, client, retry_after};
use crate::process::clock::{Stopwatch, timeout};
use futures_util::StreamExt;
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::task::TaskTracker;
use url::Url;

/// The time limit of every request except a turn, which has the attempt's limit.
const SHORT_CALL: Duration = Duration::from_secs(30);
/// The maximum size of a response body, in bytes.
const LONGEST_ANSWER: usize = 32 << 20;
/// How long a run waits at its end for its sessions to be deleted.
const TIDIES_WITHIN: Duration = Duration::from_secs(3);
/// The maximum size of the events of one turn as they are sent, in bytes.
const LONGEST_TURN: usize = 256 << 20;

/// An application on an ADK server.
#[derive(Debug)]
pub struct AdkAgent {
    remote: Arc<Remote>,
    pinned: Mutex<Vec<(String, String)>>,
    /// The server, if evaltrail started it. It is stopped when this is dropped.
    server: tokio::sync::Mutex<Option<Server>>,
}

#[derive(Debug)]
struct Remote {
    client: Client,
    base: Url,
    app: String,
    /// Tasks that delete the sessions of interrupted conversations.
    tidying: TaskTracker,
}

/// A session on the server.
#[derive(Debug)]
pub struct AdkSession {
    remote: Arc<Remote>,
    user_id: String,
    id: String,
    /// Whether the session is deleted when the conversation ends. A session that a case pins stays for the other cases
    /// that share it.
    is_ours: bool,
}

impl AdkAgent {
    /// Starts the server if the configuration requires it, and checks that it serves the application. `limit` applies
    /// to the check.
    pub(super) async fn connect(
        server: &AdkServer,
        app: &str,
        limit: Duration,
    ) -> Result<AdkAgent, AgentError> {
        let (base, started) = match server {
            AdkServer::Url(url) => (url.clone(), None),
            AdkServer::Start(program) => {
                let server = Server::start(program)?;
                (server.url(), Some(server))
            }
        };
        let base = Url::parse(&base)
            .map_err(|error| AgentError::new(ErrorKind::Setup, format!("{base}: {error}")))?;
        let remote = Arc::new(Remote {
            client: client(&base).map_err(|why| AgentError::new(ErrorKind::Setup, why))?,
            base,
            app: app.to_string(),
            tidying: TaskTracker::new(),
        });
        let mut server = started;
        if let Some(server) = &mut server {
            server.wait_until_up(&remote.client).await?;
        }
        timeout(limit, remote.hello()).await.unwrap_or_else(|_| Err(remote.silent(limit)))?;
        Ok(AdkAgent { remote, pinned: Mutex::default(), server: tokio::sync::Mutex::new(server) })
    }

    /// Why the server that evaltrail started has ended; `None` while it runs.
    pub(super) async fn died(&self) -> Option<String> {
        self.server.lock().await.as_mut()?.died()
    }

    pub(super) async fn open(&self, opening: Opening) -> Result<AdkSession, AgentError> {
        let session = self.remote.create_session(&opening).await?;
        if opening.pinned
            && let Ok(mut pinned) = self.pinned.lock()
        {
            pinned.push((session.user_id.clone(), session.id.clone()));
        }
        Ok(session)
    }

    /// Deletes the pinned sessions and stops the server. Cases that name the same session share it, so it is deleted
    /// only when the run ends.
    pub(super) async fn finish(&self) {
        let pinned = self.pinned.lock().map(|mut pinned| std::mem::take(&mut *pinned)).unwrap_or_default();
        for (user, id) in pinned {
            self.remote.delete_session(&user, &id).await;
        }
        self.remote.tidying.close();
        let _ = tokio::time::timeout(TIDIES_WITHIN, self.remote.tidying.wait()).await;
        self.server.lock().await.take();
    }
}

impl Remote {
    fn url(&self, parts: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        url
    }

    async fn call(
        &self,
        method: Method,
        parts: &[&str],
        body: Option<Value>,
    ) -> Result<(StatusCode, String), AgentError> {
        let mut request = self.client.request(method, self.url(parts));
        if let Some(body) = body {
            request = request.json(&body);
        }
        let calling = async {
            let response = request.send().await.map_err(|error| self.broken(error))?;
            let status = response.status();
            if is_busy(status) {
                return Err(self.busy(response).await);
            }
            Ok((status, self.text(response).await?))
        };
        timeout(SHORT_CALL, calling).await.unwrap_or_else(|_| Err(self.silent(SHORT_CALL)))
    }

    fn silent(&self, limit: Duration) -> AgentError {
        let why = format!("{} did not answer within {} s", self.shown(), limit.as_secs_f64());
        AgentError::new(ErrorKind::Timeout, why)
    }

    async fn text(&self, response: Response) -> Result<String, AgentError> {
        http::text(response, LONGEST_ANSWER).await.map_err(|error| match error {
            BodyError::Broken(error) => self.broken(error),
            BodyError::TooLong => {
                AgentError::new(ErrorKind::Protocol, "the server's response is longer than 32 MB")
            }
        })
    }

    /// Checks that the server serves the application.
    async fn hello(&self) -> Result<(), AgentError> {
        let (status, text) = self.call(Method::GET, &["list-apps"], None).await?;
        let Some(apps) = parse_answer(&text).ok().filter(|_| status.is_success()) else {
            // Not every server lists its applications. If this one is missing, creating the session fails.
            return Ok(());
        };
        let Some(apps) = apps.as_array().cloned() else { return Ok(()) };
        if apps.iter().any(|app| app.as_str() == Some(&self.app)) {
            return Ok(());
        }
        let there: Vec<&str> = apps.iter().filter_map(Value::as_str).collect();
        Err(AgentError::new(
            ErrorKind::Setup,
            format!("{} does not serve app {:?}; it serves {}", self.shown(), self.app, there.join(", ")),
        ))
    }

    async fn create_session(self: &Arc<Self>, opening: &Opening) -> Result<AdkSession, AgentError> {
        let sessions = ["apps", &self.app, "users", &opening.user_id, "sessions"];
        let mut body = json!({"sessionId": opening.session_id, "state": opening.state});
        let events = self.golden(opening).await;
        if !events.is_empty() {
            body["events"] = events.clone().into();
        }
        let (mut status, mut text) = self.call(Method::POST, &sessions, Some(body)).await?;
        if is_other_dialect(status) {
            // ADK for Go and Java accept the id only in the path.
            let mut with_id = sessions.to_vec();
            with_id.push(&opening.session_id);
            let body = json!({"state": opening.state});
            (status, text) = self.call(Method::POST, &with_id, Some(body)).await?;
        }
        let taken = status == StatusCode::CONFLICT && opening.pinned;
        if !status.is_success() && !taken {
            return Err(AgentError::new(ErrorKind::Protocol, format!("no session: {}", said(status, &text))));
        }
        let made = parse_answer(&text).unwrap_or_default();
        let kept = made["events"].as_array().map_or(0, Vec::len);
        if kept < events.len() {
            let why =
                "a single turn needs a server that accepts a history for new sessions (ADK 2.13 for Python)";
            return Err(AgentError::new(ErrorKind::Protocol, why));
        }
        let id = made["id"].as_str().map(str::to_string);
        Ok(AdkSession {
            remote: self.clone(),
            user_id: opening.user_id.clone(),
            id: id.unwrap_or_else(|| opening.session_id.clone()),
            is_ours: !opening.pinned,
        })
    }

    /// The events of the history that the case expects.
    async fn golden(&self, opening: &Opening) -> Vec<Value> {
        if opening.history.is_empty() {
            return Vec::new();
        }
        // ADK presents events of an agent of another name to the model as another agent's messages.
        let info = self.call(Method::GET, &["apps", &self.app, "app-info"], None).await.ok();
        let info = info.and_then(|(status, text)| parse_answer(&text).ok().filter(|_| status.is_success()));
        let root = info.and_then(|info| info["rootAgentName"].as_str().map(str::to_string));
        golden_events(&opening.history, root.as_deref().unwrap_or(&self.app))
    }

    async fn session_state(&self, user: &str, id: &str) -> Option<Value> {
        let parts = ["apps", &self.app, "users", user, "sessions", id];
        let (status, text) = self.call(Method::GET, &parts, None).await.ok()?;
        let mut session = parse_answer(&text).ok().filter(|_| status.is_success())?;
        session.get_mut("state").map(Value::take)
    }

    async fn delete_session(&self, user: &str, id: &str) {
        // A session that is not deleted does not affect any result.
        let _ = self.call(Method::DELETE, &["apps", &self.app, "users", user, "sessions", id], None).await;
    }

    /// The address, without the parts that may contain secrets.
    fn shown(&self) -> String {
        let mut url = self.base.clone();
        url.set_query(None);
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        url.to_string()
    }

    fn broken(&self, error: reqwest::Error) -> AgentError {
        let why = chain(cause(&error));
        if error.is_connect() && !error.is_timeout() {
            let hint = "is the server running?";
            return AgentError::new(
                ErrorKind::Unavailable,
                format!("cannot reach {}: {why}; {hint}", self.shown()),
            );
        }
        if error.is_timeout() {
            return AgentError::new(ErrorKind::Timeout, format!("{} did not answer in time", self.shown()));
        }
        AgentError::new(ErrorKind::Protocol, format!("the response was cut off: {why}"))
    }

    async fn busy(&self, response: Response) -> AgentError {
        let retry_after = retry_after(&response);
        let status = response.status();
        let text = self.text(response).await.unwrap_or_default();
        AgentError { retry_after, ..AgentError::new(ErrorKind::Unavailable, said(status, &text)) }
    }
}

/// Whether the status means that the server is temporarily unavailable, so that the request can be retried.
fn is_busy(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

fn is_other_dialect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 404 | 405 | 415 | 422)
}

fn said(status: StatusCode, text: &str) -> String {
    let detail = parse_answer(text).ok().and_then(|answer| {
        let detail = answer.get("detail").or_else(|| answer.get("error"))?;
        Some(detail.as_str().map_or_else(|| detail.to_string(), str::to_string))
    });
    let words: String = detail.unwrap_or_else(|| text.trim().to_string()).chars().take(500).collect();
    match words.is_empty() {
        true => format!("the server answered {status}"),
        false => format!("the server answered {status}: {words}"),
    }
}

impl AdkSession {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The current state of the session.
    pub(super) async fn state(&self) -> Option<Value> {
        self.remote.session_state(&self.user_id, &self.id).await
    }

    pub(super) async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<(), AgentError> {
        let began = Stopwatch::start();
        let remote = &self.remote;
        let body = json!({
            "appName": remote.app,
            "userId": self.user_id,
            "sessionId": self.id,
            "newMessage": write_message(turn.user),
            "streaming": turn.streams,
        });
        let sent = remote.client.post(remote.url(&["run_sse"])).json(&body).send().await;
        let response = sent.map_err(|error| remote.broken(error))?;
        let status = response.status();
        if is_busy(status) {
            return Err(remote.busy(response).await);
        }
        if !status.is_success() {
            let text = remote.text(response).await?;
            return Err(AgentError::new(ErrorKind::Protocol, said(status, &text)));
        }
        let mut decoder = SseDecoder::default();
        let mut stream = response.bytes_stream();
        let garbage = |why: String| AgentError::new(ErrorKind::Protocol, why);
        let mut budget = turn.budget;
        let mut take = |data: &str| -> Result<(), AgentError> {
            let (mut event, taken) = event_of(data, &budget)?;
            event.at = Some(began.elapsed().as_secs_f64());
            // Partial events are not stored, so they do not count.
            if !event.partial {
                budget.keep(taken + EVENT)?;
            }
            on_event(event);
            Ok(())
        };
        let mut read = 0;
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| remote.broken(error))?;
            read += chunk.len();
            if read > LONGEST_TURN {
                return Err(garbage("the agent sent more than 256 MB in one turn".into()));
            }
            for data in decoder.feed(&chunk).map_err(garbage)? {
                take(&data)?;
            }
        }
        match decoder.finish().map_err(garbage)? {
            Some(data) => take(&data),
            None => Ok(()),
        }
    }

    pub(super) async fn close(mut self) {
        if std::mem::take(&mut self.is_ours) {
            self.remote.delete_session(&self.user_id, &self.id).await;
        }
    }
}

/// Deletes the session of an interrupted conversation, in the background.
impl Drop for AdkSession {
    fn drop(&mut self) {
        if let (true, Ok(runtime)) = (self.is_ours, tokio::runtime::Handle::try_current()) {
            let (remote, user, id) = (self.remote.clone(), self.user_id.clone(), self.id.clone());
            let tidying = self.remote.tidying.clone();
            tidying.spawn_on(async move { remote.delete_session(&user, &id).await }, &runtime);
        }
    }
}

/// Reads an event, and the memory that its values take, in bytes. A data line with an `error` becomes an error.
fn event_of(data: &str, budget: &TurnBudget) -> Result<(Event, usize), AgentError> {
    if data.len() > budget.left() {
        return Err(budget.exceeded());
    }
    let short = || data.chars().take(200).collect::<String>();
    let no_json = |error| format!("an event is not JSON ({error}): {}", short());
    let (value, taken) = budget.parse(data, no_json)?;
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        let words = error.as_str().map_or_else(|| error.to_string(), str::to_string);
        return Err(AgentError::new(ErrorKind::Agent, words));
    }
    let event = read_event(&value)
        .map_err(|error| AgentError::new(ErrorKind::Protocol, format!("an event cannot be read: {error}")))?;
    Ok((event, taken))
}
