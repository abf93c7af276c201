//! One face for all kinds of connections.

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
    /// What they sent, as far as it is in memory.
    pub memory: Arc<RunMemory>,
    places: Mutex<HashMap<AgentSpec, Arc<Place>>>,
}

/// Where the connection of an agent is kept.
#[derive(Debug, Default)]
struct Place {
    /// Tries that ended.
    tried: AtomicU64,
    connection: Mutex<Connection>,
}

#[derive(Debug, Default)]
struct Connection {
    connected: Option<Arc<Agent>>,
    /// Why the last try failed.
    failed: Option<AgentError>,
    /// Whether trying again cannot help.
    is_final: bool,
    /// How often nothing answered in time.
    timeouts: u32,
    /// How often a server of ours was started again because it had ended.
    restarts: u32,
}

/// A server that ends more often than this is not started again.
const RESTARTS: u32 = 3;
/// An agent that so often did not answer in time is not waited for again.
const TIMEOUTS: u32 = 2;

impl Agents {
    /// The agent, connected by the first who asks, within a limit (a server that is started has its own). Who asks
    /// meanwhile gets what that comes to. A server of ours that ended is started again. A failure that would be the
    /// same again is remembered.
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

    /// Cleans up what outlives a session: pinned sessions, servers that we started.
    pub async fn finish(&self) {
        for (_, place) in self.places.lock().await.drain() {
            if let Some(agent) = place.connection.lock().await.connected.take() {
                agent.finish().await;
            }
        }
    }
}

impl Connection {
    /// The agent, where it is connected and its server, if we started it, still runs.
    async fn living(&mut self) -> Option<Arc<Agent>> {
        let agent = self.connected.clone()?;
        let Some(why) = agent.died().await else { return Some(agent) };
        self.connected = None;
        self.restarts += 1;
        if self.restarts > RESTARTS {
            let why = format!("it was started {RESTARTS} times again, and ended each time; at last {why}");
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

/// An agent that said hello.
#[derive(Debug)]
pub enum Agent {
    /// On an ADK server.
    Adk(Box<AdkAgent>),
    /// A program.
    Command(CommandAgent),
    /// A recording.
    Replay(Arc<Replay>),
}

/// What a session begins with.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The case.
    pub eval_id: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The user's id.
    pub user_id: String,
    /// The session's id: the case's fixed one, or a fresh one.
    pub session_id: String,
    /// Whether the case fixed it.
    pub pinned: bool,
    /// The initial state.
    pub state: Map<String, Value>,
    /// What was said and done before, as the case expects it.
    pub history: Vec<Invocation>,
}

/// One turn to take.
#[derive(Debug)]
pub struct Turn<'a> {
    /// From 1.
    pub number: usize,
    /// What the user says.
    pub user: &'a Content,
    /// What the turn may take in memory.
    pub budget: TurnBudget,
    /// Whether the agent is asked for messages piece by piece, where it can send them so.
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

    /// Begins a conversation.
    pub async fn open(self: &Arc<Self>, opening: Opening) -> Result<Session, AgentError> {
        Ok(match self.as_ref() {
            Agent::Adk(agent) => Session::Adk(agent.open(opening).await?),
            Agent::Command(agent) => Session::Command(Box::new(agent.open(opening)?)),
            Agent::Replay(replay) => Session::Replay(replay.open(opening)),
        })
    }

    /// Why it is not there any more, where it is not.
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
    /// Takes one turn; every event is handed on as it happens. What partial events say comes again in a whole one.
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

    /// The session's id, as the agent knows it.
    pub fn id(&self) -> &str {
        match self {
            Session::Adk(session) => session.id(),
            Session::Command(session) => session.id(),
            Session::Replay(session) => session.id(),
        }
    }

    /// The session's state now, where the agent tells it.
    pub async fn state(&self) -> Option<Value> {
        match self {
            Session::Adk(session) => session.state().await,
            Session::Command(session) => session.state(),
            Session::Replay(session) => session.state(),
        }
    }

    /// Ends the conversation and leaves nothing behind.
    pub async fn close(self) {
        if let Session::Adk(session) = self {
            session.close().await;
        }
    }
}
