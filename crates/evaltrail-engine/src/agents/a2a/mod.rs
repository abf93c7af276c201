//! Agent2Agent, versions 1.0 and 0.3, as JSON-RPC or as HTTP with JSON.

mod card;
mod reader;
pub(crate) mod request;
mod security;
mod texts;

use self::card::{Card, Interface};
use self::reader::{A2aReader, TaskState};
use self::request::{A2aVersion, EXTENSION, Method};
use super::event_times::with_times;
use super::memory_limit::EVENT;
use super::remote::{Remote, setup};
use super::{
    Agent, AgentDescription, AgentError, ErrorKind, OnEvent, Session, SessionOptions, Turn,
    TurnOutcome,
};
use async_trait::async_trait;
use evaltrail_core::domain::{A2aSettings, Content};
use evaltrail_core::formats::adk::Event;
use parking_lot::Mutex;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;
use url::Url;

/// How long the server has to take note that a task is cancelled.
const CANCELS_WITHIN: Duration = Duration::from_secs(2);
/// The first and the longest wait before a task is asked for again.
const POLLS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// An agent that speaks Agent2Agent.
#[derive(Debug)]
pub(super) struct A2aAgent {
    endpoint: Arc<A2aEndpoint>,
    /// What the card says.
    description: AgentDescription,
}

#[derive(Debug)]
struct A2aEndpoint {
    remote: Arc<Remote>,
    url: Url,
    streams: bool,
    /// The protocol that the card names; the other version after the server has refused that one.
    protocol: Mutex<A2aVersion>,
    /// Tasks that cancel what interrupted conversations left unfinished.
    tidying: TaskTracker,
}

/// A conversation with the agent.
#[derive(Debug)]
struct A2aSession {
    endpoint: Arc<A2aEndpoint>,
    /// Empty until the server has given the conversation an id.
    context: String,
    /// The task that waits for an answer of the user.
    asking: Option<String>,
    /// The task that is not finished yet.
    running: Option<String>,
    /// The protocol of the current turn.
    protocol: A2aVersion,
}

impl A2aAgent {
    /// Reads the agent's card and chooses the interface.
    pub(super) async fn connect(
        remote: Arc<Remote>,
        settings: &A2aSettings,
    ) -> Result<A2aAgent, AgentError> {
        let card = Card::fetch(&remote).await?;
        let Interface { url, protocol } = card
            .interface(settings.binding, remote.base())
            .map_err(setup)?;
        let streams = settings.stream && card.streams();
        let mut description = card.describe();
        let version = if protocol.is_latest { "1.0" } else { "0.3" };
        let how = if streams { "streamed" } else { "not streamed" };
        if let Some(words) = card.authentication() {
            remote.asks_for(&words);
            description.about.push(("authentication", words));
        }
        description.about.push((
            "protocol",
            format!(
                "{version}, {}, {how}, at {url}",
                protocol.binding.describe()
            ),
        ));
        let protocol = Mutex::new(protocol);
        let endpoint = A2aEndpoint {
            remote,
            url,
            streams,
            protocol,
            tidying: TaskTracker::new(),
        };
        Ok(A2aAgent {
            endpoint: Arc::new(endpoint),
            description,
        })
    }
}

#[async_trait]
impl Agent for A2aAgent {
    async fn describe(&self) -> AgentDescription {
        self.description.clone()
    }

    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        if !opening.history.is_empty() {
            return Err(setup(
                "a single turn cannot be run: Agent2Agent has no way to send the turns before it",
            ));
        }
        let (endpoint, protocol) = (self.endpoint.clone(), self.endpoint.protocol());
        Ok(Box::new(A2aSession {
            endpoint,
            context: String::new(),
            asking: None,
            running: None,
            protocol,
        }))
    }

    async fn finish(&self) {
        self.endpoint.tidying.close();
        let _ = tokio::time::timeout(CANCELS_WITHIN, self.endpoint.tidying.wait()).await;
    }
}

impl A2aEndpoint {
    fn protocol(&self) -> A2aVersion {
        *self.protocol.lock()
    }

    fn headers(&self, protocol: A2aVersion, streams: bool) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if protocol.is_latest {
            headers.insert("A2A-Version", HeaderValue::from_static("1.0"));
        }
        headers.insert(
            "Accept",
            HeaderValue::from_static(match streams {
                true => "text/event-stream",
                false => "application/json",
            }),
        );
        if !streams {
            // With ADK's extension, a reply that is not streamed names the author of each call.
            let name = if protocol.is_latest {
                "A2A-Extensions"
            } else {
                "X-A2A-Extensions"
            };
            headers.insert(name, HeaderValue::from_static(EXTENSION));
        }
        headers
    }

    /// The current state of a task.
    async fn task(&self, protocol: A2aVersion, id: &str) -> Result<Value, AgentError> {
        self.method(protocol, Method::Get, id).await
    }

    async fn method(
        &self,
        protocol: A2aVersion,
        method: Method,
        task: &str,
    ) -> Result<Value, AgentError> {
        let request = protocol.about_task(&self.url, method, task);
        let headers = self.headers(protocol, false);
        let (status, text) = self
            .remote
            .call(request.method, request.url, request.body.as_ref(), &headers)
            .await?;
        match status.is_success() {
            true => self.remote.parsed(&text),
            false => Err(self.remote.error(
                ErrorKind::Protocol,
                super::remote::error_text(status, &text),
            )),
        }
    }
}

#[async_trait]
impl Session for A2aSession {
    fn id(&self) -> &str {
        &self.context
    }

    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let mut on_event = with_times(on_event);
        let endpoint = self.endpoint.clone();
        let protocol = endpoint.protocol();
        let mut turn = turn;
        match self.exchange(protocol, &mut turn, &mut on_event).await {
            Err(TurnFailure::Version(why)) => {
                let other = protocol.other_version();
                let outcome = self.exchange(other, &mut turn, &mut on_event).await;
                let outcome = outcome.map_err(|refusal| match refusal {
                    TurnFailure::Version(_) => why,
                    TurnFailure::Error(error) => error,
                })?;
                *endpoint.protocol.lock() = other;
                Ok(outcome)
            }
            outcome => outcome.map_err(TurnFailure::into_error),
        }
    }
}

/// Why a turn failed.
enum TurnFailure {
    /// The server does not speak this version of the protocol; it did nothing.
    Version(AgentError),
    Error(AgentError),
}

impl TurnFailure {
    fn into_error(self) -> AgentError {
        match self {
            TurnFailure::Version(error) | TurnFailure::Error(error) => error,
        }
    }
}

impl From<AgentError> for TurnFailure {
    fn from(error: AgentError) -> Self {
        TurnFailure::Error(error)
    }
}

impl A2aSession {
    async fn exchange(
        &mut self,
        protocol: A2aVersion,
        turn: &mut Turn<'_>,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<TurnOutcome, TurnFailure> {
        let endpoint = self.endpoint.clone();
        self.protocol = protocol;
        let request = protocol.message(
            &endpoint.url,
            endpoint.streams,
            turn.user,
            &self.context,
            self.asking.as_deref(),
        );
        let headers = endpoint.headers(protocol, endpoint.streams);
        let body = request.body.unwrap_or_default();
        let response = endpoint
            .remote
            .begin_turn(request.url, &body, &headers)
            .await?;
        let mut reader = A2aReader::new(protocol.is_latest);
        let broke = match is_stream(&response) {
            true => {
                self.read_stream(response, &mut reader, turn, on_event)
                    .await?
            }
            false => {
                let value = endpoint
                    .remote
                    .json_body(response, &mut turn.budget)
                    .await?;
                self.take(&mut reader, &value, on_event)?;
                None
            }
        };
        self.wait_for_end(&mut reader, broke, turn, on_event)
            .await?;
        Ok(self.end(reader, on_event)?)
    }

    /// Reads a stream to its end. Returns why it broke, if it did after the task had begun.
    async fn read_stream(
        &mut self,
        response: Response,
        reader: &mut A2aReader,
        turn: &mut Turn<'_>,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Option<AgentError>, TurnFailure> {
        let endpoint = self.endpoint.clone();
        let mut items = endpoint.remote.items(response, turn.budget.take_rest());
        let mut read = Ok(None);
        loop {
            match items.next().await {
                Ok(None) => break,
                Ok(Some(item)) => {
                    let kept = items.charge(item.size + EVENT).map_err(TurnFailure::Error);
                    if let Err(refusal) =
                        kept.and_then(|()| self.take(reader, &item.value, on_event))
                    {
                        read = Err(refusal);
                        break;
                    }
                }
                Err(error) if error.kind == ErrorKind::Protocol && reader.task().is_some() => {
                    read = Ok(Some(error));
                    break;
                }
                Err(error) => {
                    read = Err(error.into());
                    break;
                }
            }
        }
        turn.budget = items.into_budget();
        read
    }

    fn take(
        &mut self,
        reader: &mut A2aReader,
        value: &Value,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<(), TurnFailure> {
        if let Some(error) = request::error_of(value) {
            let words = self.endpoint.remote.error(ErrorKind::Agent, &error.words);
            // After the agent has begun, the message must not be sent again.
            return Err(
                match error.is_about_version() && reader.state() == TaskState::None {
                    true => TurnFailure::Version(words),
                    false => TurnFailure::Error(words),
                },
            );
        }
        reader.take(value).into_iter().for_each(on_event);
        if let Some(context) = reader.context() {
            self.context = context.to_string();
        }
        self.running = reader
            .task()
            .filter(|_| reader.state().is_running())
            .map(str::to_string);
        Ok(())
    }

    /// Asks for the task until it is finished: some servers answer before, and some break the stream.
    async fn wait_for_end(
        &mut self,
        reader: &mut A2aReader,
        broke: Option<AgentError>,
        turn: &mut Turn<'_>,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<(), TurnFailure> {
        let (mut wait, longest) = POLLS;
        while let (true, Some(task)) = (
            reader.state().is_running(),
            reader.task().map(str::to_string),
        ) {
            // The agent has begun: no error may be one after which the message is sent again.
            let asked = self
                .endpoint
                .task(self.protocol, &task)
                .await
                .map_err(|error| {
                    let why = format!(
                        "the agent was working, and its task cannot be read: {}",
                        error.message
                    );
                    broke
                        .clone()
                        .unwrap_or_else(|| AgentError::new(ErrorKind::Protocol, why))
                })?;
            turn.budget.charge(EVENT)?;
            self.take(reader, &asked, on_event)?;
            if let (Some(broke), true) = (&broke, reader.state().is_running()) {
                return Err(broke.clone().into());
            }
            if reader.state().is_running() {
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(longest);
            }
        }
        Ok(())
    }

    /// The end of a turn: its response, or why there is none.
    fn end(
        &mut self,
        reader: A2aReader,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<TurnOutcome, AgentError> {
        let state = reader.state();
        self.running = None;
        self.asking = reader.task().filter(|_| state.asks()).map(str::to_string);
        if state == TaskState::Failed {
            let words = reader
                .failure()
                .unwrap_or_else(|| "the agent failed without saying why".into());
            // What the agent wrote before it failed; the reason is the error.
            let texts = reader.finish().into_iter().filter(|event| {
                let text = event
                    .content
                    .as_ref()
                    .map(Content::shown_text)
                    .unwrap_or_default();
                !text.is_empty() && !words.contains(text.trim())
            });
            texts
                .map(|event| Event {
                    is_intermediate: true,
                    ..event
                })
                .for_each(on_event);
            return Err(self.endpoint.remote.error(ErrorKind::Agent, words));
        }
        if state == TaskState::None {
            let why = "the server answered with nothing that Agent2Agent defines";
            return Err(AgentError::new(ErrorKind::Protocol, why));
        }
        if state == TaskState::Canceled {
            return Err(AgentError::new(
                ErrorKind::Agent,
                "the agent's server cancelled the task",
            ));
        }
        let outcome = TurnOutcome {
            end: state.end(),
            has_all_calls: reader.has_all_calls(),
            ..TurnOutcome::ANSWERED
        };
        reader.finish().into_iter().for_each(on_event);
        Ok(outcome)
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// Cancels what an interrupted conversation left unfinished, in the background.
impl Drop for A2aSession {
    fn drop(&mut self) {
        if let (Some(task), Ok(runtime)) =
            (self.running.take(), tokio::runtime::Handle::try_current())
        {
            let (endpoint, protocol) = (self.endpoint.clone(), self.protocol);
            let tidying = self.endpoint.tidying.clone();
            tidying.spawn_on(
                async move {
                    // A task that is not cancelled does not affect any result.
                    let _ = tokio::time::timeout(
                        CANCELS_WITHIN,
                        endpoint.method(protocol, Method::Cancel, &task),
                    )
                    .await;
                },
                &runtime,
            );
        }
    }
}
