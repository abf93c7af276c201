//! One face for all kinds of connections.

use super::adk::{AdkAgent, AdkSession};
use super::command::{CommandAgent, CommandSession};
use super::replay::{Replay, ReplaySession};
use super::{AgentError, ErrorKind};
use crate::domain::{AgentSpec, Content, Invocation};
use crate::formats::adk::Event;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Mutex, OnceCell};

/// The agents of a run, each connected once.
#[derive(Debug, Default)]
pub struct Agents {
    connected: Mutex<HashMap<AgentSpec, Arc<OnceCell<Arc<Agent>>>>>,
}

impl Agents {
    /// The agent, connected by the first who asks; the others wait. A failure is not remembered.
    pub async fn connect(&self, spec: &AgentSpec) -> Result<Arc<Agent>, AgentError> {
        let cell = self.connected.lock().await.entry(spec.clone()).or_default().clone();
        let agent = cell.get_or_try_init(|| async { Agent::connect(spec).await.map(Arc::new) }).await?;
        Ok(agent.clone())
    }

    /// Cleans up what outlives a session: pinned sessions, servers that we started.
    pub async fn finish(&self) {
        for (_, cell) in self.connected.lock().await.drain() {
            if let Some(agent) = cell.get() {
                agent.finish().await;
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
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// From 1.
    pub number: usize,
    /// What the user says.
    pub user: &'a Content,
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
    async fn connect(spec: &AgentSpec) -> Result<Agent, AgentError> {
        Ok(match spec {
            AgentSpec::Adk { server, app } => Agent::Adk(Box::new(AdkAgent::connect(server, app).await?)),
            AgentSpec::Command { argv, cwd } => Agent::Command(CommandAgent::new(argv.clone(), cwd.clone())),
            AgentSpec::Saved | AgentSpec::Kept => {
                let why = "saved responses are scored, not run";
                return Err(AgentError::new(ErrorKind::Setup, why));
            }
            AgentSpec::Replay { path, speed } => {
                let (path, speed) = (path.clone(), *speed);
                let read = tokio::task::spawn_blocking(move || Replay::read(&path, speed)).await;
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

    async fn finish(&self) {
        if let Agent::Adk(agent) = self {
            agent.finish().await;
        }
    }
}

impl Session {
    /// Takes one turn; every event is handed on as it happens. Partial events are not: they come
    /// again whole.
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
