//! An application on an ADK server, in any of ADK's languages.

use super::adk_description::AgentDescriptions;
use super::adk_tools::declared;
use super::memory_limit::{EVENT, parse_answer};
use super::remote::{Remote, error_text};
use super::{
    Agent, AgentDescription, AgentError, ErrorKind, OnEvent, Session, SessionOptions, Turn,
    TurnOutcome,
};
use crate::process::clock::{Stopwatch, timeout};
use async_trait::async_trait;
use evaltrail_core::domain::{ModelError, SentSecrets, TurnEnd};
use evaltrail_core::formats::adk::{Event, golden_events, read_event, write_message};
use parking_lot::Mutex;
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

/// How long a run waits at its end for its sessions to be deleted.
const TIDIES_WITHIN: Duration = Duration::from_secs(3);

/// How long a server may take to describe its agents: those with toolsets connect to the servers of their tools.
const DESCRIBES_WITHIN: Duration = Duration::from_secs(10);
/// The waits before a session is created again. ADK's server fails if several cases create sessions in its database at the
/// same time ("database is locked"); the agent has not done anything then.
const CREATED_AGAIN_AFTER: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(150),
    Duration::from_millis(400),
    Duration::from_millis(1000),
];

/// An application on an ADK server.
#[derive(Debug)]
pub(super) struct AdkAgent {
    app: Arc<AdkApp>,
    pinned: Mutex<Vec<(String, String)>>,
}

#[derive(Debug)]
struct AdkApp {
    remote: Remote,
    name: String,
    /// What the server describes of its agents, once it was asked.
    descriptions: OnceCell<AgentDescriptions>,
    /// Tasks that delete the sessions of interrupted conversations.
    tidying: TaskTracker,
}

/// A session on the server.
#[derive(Debug)]
struct AdkSession {
    app: Arc<AdkApp>,
    user_id: String,
    id: String,
    /// Whether the session is deleted when the conversation ends. A session that a case pins stays for the other cases
    /// that share it.
    is_ours: bool,
}

impl AdkAgent {
    /// Checks that the server serves the application.
    pub(super) async fn connect(
        address: &str,
        app: &str,
        sent: &Arc<SentSecrets>,
    ) -> Result<AdkAgent, AgentError> {
        let remote = Remote::plain(address, sent)?;
        let app = AdkApp {
            remote,
            name: app.to_string(),
            descriptions: OnceCell::new(),
            tidying: TaskTracker::new(),
        };
        app.check_application().await?;
        Ok(AdkAgent {
            app: Arc::new(app),
            pinned: Mutex::default(),
        })
    }

    /// Requests once what the server describes of its agents, which their events have then: nothing if it cannot, or takes too
    /// long.
    pub(super) async fn load_descriptions(&self) {
        let read = async {
            let info = timeout(DESCRIBES_WITHIN, self.app.info())
                .await
                .ok()
                .flatten();
            info.map(|info| AgentDescriptions::read(&info))
                .unwrap_or_default()
        };
        self.app.descriptions.get_or_init(|| read).await;
    }

    /// Makes the server import the agent. Errors: it cannot.
    pub(super) async fn load(&self) -> Result<(), AgentError> {
        let (status, text) = self
            .app
            .call(Method::GET, &["apps", &self.app.name, "app-info"], None)
            .await?;
        match status == StatusCode::INTERNAL_SERVER_ERROR {
            true => Err(AgentError::new(ErrorKind::Setup, error_text(status, &text))),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Agent for AdkAgent {
    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        let session = self.app.create_session(&opening).await?;
        if opening.pinned {
            self.pinned
                .lock()
                .push((session.user_id.clone(), session.id.clone()));
        }
        Ok(Box::new(session))
    }

    /// ADK loads plugins with the first request to run the agent. A session that does not exist ends it before the agent
    /// is asked anything.
    async fn load_plugins(&self) -> Result<(), AgentError> {
        let session = format!("evaltrail-none-{}", uuid::Uuid::new_v4());
        let body = json!({"appName": self.app.name, "userId": "evaltrail", "sessionId": session, "newMessage": {"parts": []}});
        let (status, text) = self.app.call(Method::POST, &["run"], Some(body)).await?;
        match status == StatusCode::INTERNAL_SERVER_ERROR {
            true => Err(AgentError::new(ErrorKind::Setup, error_text(status, &text))),
            false => Ok(()),
        }
    }

    async fn describe(&self) -> AgentDescription {
        let info = self.app.info().await.unwrap_or_default();
        let root = info["rootAgentName"]
            .as_str()
            .map(|root| ("root agent", root.to_string()));
        AgentDescription {
            was_asked: true,
            about: root.into_iter().collect(),
            tools: declared(&info),
            app_info: info,
        }
    }

    /// Deletes the pinned sessions. Cases that name the same session share it, so it is deleted only when the run ends.
    async fn finish(&self) {
        let pinned = std::mem::take(&mut *self.pinned.lock());
        for (user, id) in pinned {
            self.app.delete_session(&user, &id).await;
        }
        self.app.tidying.close();
        let _ = tokio::time::timeout(TIDIES_WITHIN, self.app.tidying.wait()).await;
    }
}

impl AdkApp {
    async fn call(
        &self,
        method: Method,
        parts: &[&str],
        body: Option<Value>,
    ) -> Result<(StatusCode, String), AgentError> {
        self.remote
            .call(
                method,
                self.remote.url(parts),
                body.as_ref(),
                &HeaderMap::new(),
            )
            .await
    }

    /// What the server reports about the application; `None` if it cannot.
    async fn info(&self) -> Option<Value> {
        let (status, text) = self
            .call(Method::GET, &["apps", &self.name, "app-info"], None)
            .await
            .ok()?;
        parse_answer(&text).ok().filter(|_| status.is_success())
    }

    /// Checks that the server serves the application.
    async fn check_application(&self) -> Result<(), AgentError> {
        let (status, text) = self.call(Method::GET, &["list-apps"], None).await?;
        let Some(apps) = parse_answer(&text).ok().filter(|_| status.is_success()) else {
            // Not every server lists its applications. If this one is missing, creating the session fails.
            return Ok(());
        };
        let Some(apps) = apps.as_array().cloned() else {
            return Ok(());
        };
        if apps.iter().any(|app| app.as_str() == Some(&self.name)) {
            return Ok(());
        }
        let there: Vec<&str> = apps.iter().filter_map(Value::as_str).collect();
        Err(AgentError::new(
            ErrorKind::Setup,
            format!(
                "{} does not serve app {:?}; it serves {}",
                self.remote.shown(),
                self.name,
                there.join(", ")
            ),
        ))
    }

    async fn create_session(
        self: &Arc<Self>,
        opening: &SessionOptions,
    ) -> Result<AdkSession, AgentError> {
        let sessions = ["apps", &self.name, "users", &opening.user_id, "sessions"];
        let mut body = json!({"sessionId": opening.session_id, "state": opening.state});
        let events = self.golden(opening).await;
        if !events.is_empty() {
            body["events"] = events.clone().into();
        }
        let (mut status, mut text) = self
            .call(Method::POST, &sessions, Some(body.clone()))
            .await?;
        let mut is_retried = false;
        for wait in CREATED_AGAIN_AFTER {
            if status != StatusCode::INTERNAL_SERVER_ERROR {
                break;
            }
            tokio::time::sleep(wait).await;
            (status, text) = self
                .call(Method::POST, &sessions, Some(body.clone()))
                .await?;
            is_retried = true;
        }
        if is_other_dialect(status) {
            // ADK for Go and Java accept the id only in the path.
            let mut with_id = sessions.to_vec();
            with_id.push(&opening.session_id);
            let body = json!({"state": opening.state});
            (status, text) = self.call(Method::POST, &with_id, Some(body)).await?;
        }
        // The id of another session is unique: if it is taken, an earlier try has created the session.
        let taken = status == StatusCode::CONFLICT && (opening.pinned || is_retried);
        if !status.is_success() && !taken {
            return Err(AgentError::new(
                ErrorKind::Protocol,
                format!("no session: {}", error_text(status, &text)),
            ));
        }
        let made = parse_answer(&text).unwrap_or_default();
        let kept = made["events"].as_array().map_or(0, Vec::len);
        if kept < events.len() {
            let why = "a single turn needs a server that accepts a history for new sessions (ADK 2.13 for Python)";
            return Err(AgentError::new(ErrorKind::Protocol, why));
        }
        let id = made["id"].as_str().map(str::to_string);
        Ok(AdkSession {
            app: self.clone(),
            user_id: opening.user_id.clone(),
            id: id.unwrap_or_else(|| opening.session_id.clone()),
            is_ours: !opening.pinned,
        })
    }

    /// The events of the history that the case expects.
    async fn golden(&self, opening: &SessionOptions) -> Vec<Value> {
        if opening.history.is_empty() {
            return Vec::new();
        }
        // ADK presents events of an agent of another name to the model as another agent's messages.
        let root = self
            .info()
            .await
            .and_then(|info| info["rootAgentName"].as_str().map(str::to_string));
        golden_events(&opening.history, root.as_deref().unwrap_or(&self.name))
    }

    async fn session_state(&self, user: &str, id: &str) -> Option<Value> {
        let parts = ["apps", &self.name, "users", user, "sessions", id];
        let (status, text) = self.call(Method::GET, &parts, None).await.ok()?;
        let mut session = parse_answer(&text).ok().filter(|_| status.is_success())?;
        session.get_mut("state").map(Value::take)
    }

    async fn delete_session(&self, user: &str, id: &str) {
        // A session that is not deleted does not affect any result.
        let _ = self
            .call(
                Method::DELETE,
                &["apps", &self.name, "users", user, "sessions", id],
                None,
            )
            .await;
    }
}

fn is_other_dialect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 404 | 405 | 415 | 422)
}

#[async_trait]
impl Session for AdkSession {
    fn id(&self) -> &str {
        &self.id
    }

    /// The current state of the session.
    async fn state(&self) -> Option<Value> {
        self.app.session_state(&self.user_id, &self.id).await
    }

    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let began = Stopwatch::start();
        let app = &self.app;
        let body = json!({
            "appName": app.name,
            "userId": self.user_id,
            "sessionId": self.id,
            "newMessage": write_message(turn.user),
            "streaming": turn.streams,
        });
        let response = app
            .remote
            .begin_turn(app.remote.url(&["run_sse"]), &body, &HeaderMap::new())
            .await?;
        let descriptions = app.descriptions.get();
        let mut described = HashSet::new();
        let mut items = app.remote.items(response, turn.budget);
        let mut outcome = TurnOutcome::ANSWERED;
        let mut broke = None;
        while let Some(item) = items.next().await? {
            let mut event = event_of(&item.value)?;
            event.at = Some(began.elapsed().as_secs_f64());
            // While it streams, ADK can send the calls of one message one by one.
            event.is_message = !turn.streams;
            // Partial events are not stored, so they do not count.
            if !event.partial {
                let added = descriptions.map_or(0, |all| all.add_to(&mut event, &mut described));
                items.charge(item.size + EVENT + added)?;
                let is_javascript = in_seconds(&mut event);
                broke = failure_of(&event).filter(|_| is_javascript);
                outcome.end = match event.has_long_running {
                    true => TurnEnd::LongRunning,
                    false => outcome.end,
                };
            }
            on_event(event);
        }
        match broke {
            Some(words) => Err(AgentError::new(ErrorKind::Agent, words)),
            None => Ok(outcome),
        }
    }

    async fn close(mut self: Box<Self>) {
        if std::mem::take(&mut self.is_ours) {
            self.app.delete_session(&self.user_id, &self.id).await;
        }
    }
}

/// Deletes the session of an interrupted conversation, in the background.
impl Drop for AdkSession {
    fn drop(&mut self) {
        if let (true, Ok(runtime)) = (self.is_ours, tokio::runtime::Handle::try_current()) {
            let (app, user, id) = (self.app.clone(), self.user_id.clone(), self.id.clone());
            let tidying = self.app.tidying.clone();
            tidying.spawn_on(
                async move { app.delete_session(&user, &id).await },
                &runtime,
            );
        }
    }
}

/// The smallest time of an event that is in milliseconds, as ADK for JavaScript sends it, and not in seconds.
const MILLISECONDS: f64 = 1e11;

/// Changes the time of an event of ADK for JavaScript to seconds. Returns whether the event is one.
fn in_seconds(event: &mut Event) -> bool {
    let is_in_milliseconds = event.timestamp.is_some_and(|at| at > MILLISECONDS);
    if is_in_milliseconds {
        event.timestamp = event.timestamp.map(|at| at / 1000.0);
    }
    is_in_milliseconds
}

/// The error of an event without content. If it is the last event of a turn, the agent failed: ADK for JavaScript and
/// Agent Engine report failures in this form. In ADK's server for Python, it is an error that the model reported, and ADK
/// scores the turn.
pub(super) fn failure_of(event: &Event) -> Option<String> {
    let is_empty = event
        .content
        .as_ref()
        .is_none_or(|content| content.parts.is_empty());
    event
        .error
        .as_ref()
        .filter(|_| is_empty && event.has_error_code)
        .map(ModelError::text)
}

/// Reads an event. A data line with an `error` becomes an error.
pub(super) fn event_of(value: &Value) -> Result<Event, AgentError> {
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        let words = error
            .as_str()
            .map_or_else(|| error.to_string(), str::to_string);
        return Err(AgentError::new(ErrorKind::Agent, words));
    }
    let event = read_event(value).map_err(|error| {
        AgentError::new(
            ErrorKind::Protocol,
            format!("an event cannot be read: {error}"),
        )
    })?;
    Ok(event)
}
