//! What every kind of agent provides: a connection that opens sessions, and sessions that run turns.

use super::tools::AttemptRegistration;
use super::{AgentError, TurnBudget};
use crate::stubs::AttemptTools;
use async_trait::async_trait;
use evaltrail_core::domain::{Content, Invocation, JsonKind, TurnEnd};
use evaltrail_core::formats::adk::Event;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// A connected agent.
#[async_trait]
pub trait Agent: Debug + Send + Sync {
    /// Starts a conversation.
    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError>;

    /// What the agent says about itself.
    async fn describe(&self) -> AgentDescription {
        AgentDescription::default()
    }

    /// Admits an attempt before it starts, if evaltrail sees the calls of the agent's tools: it may have to wait for others.
    async fn register_attempt(&self, _opening: &SessionOptions) -> Option<AttemptRegistration> {
        None
    }

    /// Makes the agent's process load the plugins that it loads only with the agent. Errors: it cannot load the agent.
    async fn load_plugins(&self) -> Result<(), AgentError> {
        Ok(())
    }

    /// An error with what the output of the agent's server says about it.
    async fn explain(&self, error: AgentError) -> AgentError {
        error
    }

    /// Why the agent's server has ended; `None` while it runs, and for agents without a server that evaltrail started.
    async fn exit_error(&self) -> Option<String> {
        None
    }

    /// Removes what the agent left behind, and stops its server if evaltrail started it.
    async fn finish(&self) {}
}

/// What an agent says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentDescription {
    /// Whether the agent was asked. Some protocols have no way to ask without a message.
    pub was_asked: bool,
    /// Facts in words, each under a short name.
    pub about: Vec<(&'static str, String)>,
    /// The tools that it declares.
    pub tools: Vec<DeclaredTool>,
    /// The whole description of an application of ADK, as its server sent it; null for other agents.
    pub app_info: Value,
}

impl AgentDescription {
    /// What the agent is for, as far as it says so: the instruction and the description of the root agent of ADK, else the facts.
    pub fn purpose(&self) -> String {
        let root = self.app_info["rootAgentName"].as_str().unwrap_or_default();
        let root = &self.app_info["agents"][root];
        let of_root = ["description", "instruction"];
        let of_root = of_root.iter().filter_map(|key| root[*key].as_str());
        let of_root: Vec<&str> = of_root.filter(|text| !text.is_empty()).collect();
        match of_root.is_empty() {
            false => of_root.join("\n"),
            true => {
                let facts = self.about.iter();
                let facts: Vec<String> =
                    facts.map(|(key, text)| format!("{key}: {text}")).collect();
                facts.join("\n")
            }
        }
    }

    /// The tools, each with the names of its arguments, in a line; `None` if it declares none.
    pub fn tool_text(&self) -> Option<String> {
        let shown = |tool: &DeclaredTool| match tool.arguments.is_empty() {
            true => tool.name.clone(),
            false => {
                let names = tool.arguments.iter().map(|argument| argument.name.as_str());
                format!("{}({})", tool.name, names.collect::<Vec<_>>().join(", "))
            }
        };
        // Agents may share a tool.
        let tools: BTreeSet<String> = self.tools.iter().map(shown).collect();
        (!tools.is_empty()).then(|| {
            format!(
                "tools: {}",
                tools.into_iter().collect::<Vec<_>>().join(", ")
            )
        })
    }
}

/// A tool that an agent declares.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredTool {
    /// The name.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// The arguments in their order.
    pub arguments: Vec<DeclaredArgument>,
    /// The JSON Schema of the arguments, if it is declared.
    pub schema: Option<Value>,
}

/// An argument of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredArgument {
    /// The name.
    pub name: String,
    /// The kind of its values, if the declaration names one.
    pub kind: Option<JsonKind>,
}

/// A conversation with an agent.
#[async_trait]
pub trait Session: Debug + Send + Sync {
    /// Runs one turn and passes each event to `on_event` as it arrives. The content of partial events is repeated in a
    /// complete event.
    async fn turn(
        &mut self,
        turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError>;

    /// The session's id at the agent.
    fn id(&self) -> &str;

    /// The current state of the session, if the agent reports it.
    async fn state(&self) -> Option<Value> {
        None
    }

    /// Ends the conversation and deletes its session.
    async fn close(self: Box<Self>) {}
}

/// Receives the events of a turn.
pub type OnEvent<'a> = &'a mut (dyn FnMut(Event) + Send);

/// The parameters of a new session.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// The case.
    pub eval_id: String,
    /// The application that the case names; empty if it names none.
    pub app: String,
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
    /// The agent's tools.
    pub tools: Arc<AttemptTools>,
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

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnOutcome {
    /// With a response, or in another way.
    pub end: TurnEnd,
    /// Whether the agent reported all its tool calls. If not, they are not scored.
    pub has_all_calls: bool,
    /// How long evaltrail waited for anything but the agent's response. It is not part of the turn's duration.
    pub waited: Duration,
}

impl TurnOutcome {
    /// A turn that ended with a response, and of which all calls are known.
    pub(super) const ANSWERED: TurnOutcome = TurnOutcome {
        end: TurnEnd::Answered,
        has_all_calls: true,
        waited: Duration::ZERO,
    };
}
