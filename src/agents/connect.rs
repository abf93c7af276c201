//! The common interface of all kinds of agents.

use super::adk::{AdkAgent, AdkSession};
use super::budget::RunMemory;
use super::command::{CommandAgent, CommandSession};
use super::replay::{Replay, ReplaySession};
use super::{AgentError, ErrorKind, TurnBudget};
use crate::domain::{AgentSpec, Content, Invocation};
use crate::formats::adk::Event;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// The agents of a run, each connected once.
#[derive(Debug, Default)]
pub struct Agents {
    /// The memory of the events that the agents sent.
    pub memory: Arc<RunMemory>,
    places: Mutex<HashMap<AgentSpec, Arc<Place>>>,
}

/// The connection of one agent.
#[derive(Debug, Default)]
struct Place {
    /// The number of connection attempts that ended.
    tried: AtomicU64,
    connection: Mutex<Connection>,
}

#[derive(Debug, Default)]
struct Connection {
    connected: Option<Arc<Agent>>,
    /// Why the last try failed.
    failed: Option<AgentError>,
    /// Whether another try would fail in the same way.
    is_final: bool,
    /// The number of tries that timed out.
    timeouts: u32,
    /// How often the server that evaltrail starts was restarted because it had ended.
    restarts: u32,
}

/// The maximum number of restarts of a server.
const RESTARTS: u32 = 3;
/// The number of timeouts after which no connection to an agent is attempted.
const TIMEOUTS: u32 = 2;

impl Agents {
    /// Returns the agent. The first caller connects, within `limit` (the start of a server has its own limit);
    /// concurrent callers share the outcome. A server that evaltrail started and that has ended is restarted. A failure
    /// that would repeat is cached.
    pub async fn connect(&self, spec: &AgentSpec, limit: Duration) -> Result<Arc<Agent>, AgentError> {
        let place = self.places.lock().await.entry(spec.clone()).or_default().clone();
        let tried = place.tried.load(Ordering::Acquire);
        let mut connection = place.connection.lock().await;
        if let Some(agent) = connection.living().await {
            return Ok(agent);
        }
        let was_waited_for = place.tried.load(Ordering::Acquire) > tried;
        if let Some(failed) = connection.failed.as_ref().filter(|_| connection.is_final || was_waited_for) {
            return Err(failed.clone());
        }
        let outcome = Agent::connect(spec, limit).await;
        place.tried.fetch_add(1, Ordering::Release);
        connection.take(outcome)
    }

    /// Deletes pinned sessions and stops the servers that evaltrail started.
    pub async fn finish(&self) {
        for (_, place) in self.places.lock().await.drain() {
            if let Some(agent) = place.connection.lock().await.connected.take() {
                agent.finish().await;
            }
        }
    }
}

impl Connection {
    /// The agent if it is connected and its server, if evaltrail started it, still runs.
    async fn living(&mut self) -> Option<Arc<Agent>> {
        let agent = self.connected.clone()?;
        let Some(why) = agent.died().await else { return Some(agent) };
        self.connected = None;
        self.restarts += 1;
        if self.restarts > RESTARTS {
            let why = format!("it was restarted {RESTARTS} times and ended each time; most recently: {why}");
            self.failed = Some(AgentError::new(ErrorKind::Setup, why));
            self.is_final = true;
        }
        None
    }

    fn take(&mut self, outcome: Result<Agent, AgentError>) -> Result<Arc<Agent>, AgentError> {
        match outcome {
            Ok(agent) => {
                self.failed = None;
                Ok(self.connected.insert(Arc::new(agent)).clone())
            }
            Err(error) => {
                self.timeouts += u32::from(error.kind == ErrorKind::Timeout);
                self.is_final = error.kind == ErrorKind::Setup || self.timeouts >= TIMEOUTS;
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }
}

/// A connected agent.
#[derive(Debug)]
pub enum Agent {
    /// On an ADK server.
    Adk(Box<AdkAgent>),
    /// A program.
    Command(CommandAgent),
    /// A recording.
    Replay(Arc<Replay>),
}

/// The parameters of a new session.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The case.
    pub eval_id: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The user's id.
    pub user_id: String,
    /// The session's id: the one that the case pins, or a new one.
    pub session_id: String,
    /// Whether the case pins the session's id.
    pub pinned: bool,
    /// The initial state.
    pub state: Map<String, Value>,
    /// The turns before the first one, as the case expects them.
    pub history: Vec<Invocation>,
}

/// One turn of a conversation.
#[derive(Debug)]
pub struct Turn<'a> {
    /// The number of the turn, from 1.
    pub number: usize,
    /// The user's message.
    pub user: &'a Content,
    /// The memory that the turn may take.
    pub budget: TurnBudget,
    /// Whether to request partial messages from an agent that can stream.
    pub streams: bool,
}

/// A conversation with an agent.
#[derive(Debug)]
pub enum Session {
    /// On an ADK server.
    Adk(AdkSession),
    /// A program's process.
    Command(Box<CommandSession>),
    /// A recording.
    Replay(ReplaySession),
}

impl Agent {
    async fn connect(spec: &AgentSpec, limit: Duration) -> Result<Agent, AgentError> {
        Ok(match spec {
            AgentSpec::Adk { server, app } => {
                Agent::Adk(Box::new(AdkAgent::connect(server, app, limit).await?))
            }
            AgentSpec::Command(program) => Agent::Command(CommandAgent::new(program.clone())),
            AgentSpec::Saved | AgentSpec::Kept => {
                let why = "saved responses are scored, not run";
                return Err(AgentError::new(ErrorKind::Setup, why));
            }
            AgentSpec::Replay { path, speed, fallback } => {
                let (path, speed, fallback) = (path.clone(), *speed, fallback.clone());
                let read = tokio::task::spawn_blocking(move || Replay::read(&path, speed, fallback)).await;
                let replay = read.map_err(|error| AgentError::new(ErrorKind::Setup, error.to_string()))??;
                Agent::Replay(Arc::new(replay))
            }
        })
    }

    /// Starts a conversation.
    pub async fn open(self: &Arc<Self>, opening: Opening) -> Result<Session, AgentError> {
        Ok(match self.as_ref() {
            Agent::Adk(agent) => Session::Adk(agent.open(opening).await?),
            Agent::Command(agent) => Session::Command(Box::new(agent.open(opening)?)),
            Agent::Replay(replay) => Session::Replay(replay.open(opening)),
        })
    }

    /// Why the agent's server has ended; `None` while it runs, and for agents without a server.
    async fn died(&self) -> Option<String> {
        match self {
            Agent::Adk(agent) => agent.died().await,
            Agent::Command(_) | Agent::Replay(_) => None,
        }
    }

    async fn finish(&self) {
        if let Agent::Adk(agent) = self {
            agent.finish().await;
        }
    }
}

impl Session {
    /// Runs one turn and passes each event to `on_event` as it arrives. The content of partial events is repeated in a
    /// complete event.
    pub async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<(), AgentError> {
        match self {
            Session::Adk(session) => session.turn(turn, on_event).await,
            Session::Command(session) => session.turn(turn, on_event).await,
            Session::Replay(session) => session.turn(turn, on_event).await,
        }
    }

    /// The session's id at the agent.
    pub fn id(&self) -> &str {
        match self {
            Session::Adk(session) => session.id(),
            Session::Command(session) => session.id(),
            Session::Replay(session) => session.id(),
        }
    }

    /// The current state of the session, if the agent reports it.
    pub async fn state(&self) -> Option<Value> {
        match self {
            Session::Adk(session) => session.state().await,
            Session::Command(session) => session.state(),
            Session::Replay(session) => session.state(),
        }
    }

    /// Ends the conversation and deletes its session.
    pub async fn close(self) {
        if let Session::Adk(session) = self {
            session.close().await;
        }
    }
}
