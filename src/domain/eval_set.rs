//! Eval sets and eval cases.

use super::{Invocation, MetricResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A file of cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvalSet {
    /// The set's id as the file gives it.
    pub id: String,
    /// A name for people.
    pub name: Option<String>,
    /// What the set is for.
    pub description: Option<String>,
    /// The cases in the file's order.
    pub cases: Vec<EvalCase>,
    /// Unix seconds; 0 when unknown.
    pub created: f64,
    /// Keys of the file that ADK does not know.
    pub extra: Map<String, Value>,
}

/// One conversation to hold with the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvalCase {
    /// The case's name. Not unique by itself: cases are known by file and position.
    pub eval_id: String,
    /// What is to be said.
    pub conversation: Conversation,
    /// Application, user and initial state of the session.
    #[serde(default)]
    pub session_input: Option<SessionInput>,
    /// Rubrics for every turn.
    #[serde(default)]
    pub rubrics: Vec<Rubric>,
    /// What the session state should be afterwards. ADK reads it and never compares it.
    #[serde(default)]
    pub final_session_state: Option<Value>,
    /// Unix seconds; 0 when unknown.
    #[serde(default)]
    pub created: f64,
    /// What the file says that an agent already did.
    #[serde(default)]
    pub saved: Option<Saved>,
    /// The scores that the file says it was given.
    #[serde(default)]
    pub recorded: Vec<MetricResult>,
    /// Keys of the file that ADK does not know; it keeps them.
    #[serde(default)]
    pub extra: Map<String, Value>,
}

/// What an agent did, as a file keeps it: to be scored without asking the agent again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// The turns, as many as the conversation has.
    pub turns: Vec<Invocation>,
    /// Seconds the agent took.
    pub latency_s: Option<f64>,
    /// How the agent failed, if it did.
    pub error: Option<String>,
    /// The session's state afterwards.
    pub state: Option<Value>,
}

impl EvalCase {
    /// The expected turns; empty for a scenario.
    pub fn turns(&self) -> &[Invocation] {
        match &self.conversation {
            Conversation::Turns(turns) => turns,
            Conversation::Scenario(_) => &[],
        }
    }
}

/// Either a fixed list of turns, or a scenario that a simulated user plays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversation {
    /// The turns, with what is expected of each.
    Turns(Vec<Invocation>),
    /// The scenario as the file gives it.
    Scenario(Value),
}

impl Default for Conversation {
    fn default() -> Self {
        Conversation::Turns(Vec::new())
    }
}

/// Where and with what state a case's session begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionInput {
    /// The application's name.
    pub app_name: String,
    /// The user's id.
    pub user_id: String,
    /// A fixed session id, shared by all cases that name it.
    pub session_id: Option<String>,
    /// The initial state.
    pub state: Map<String, Value>,
    /// Keys of the file that ADK does not know; it keeps them.
    #[serde(default)]
    pub extra: Map<String, Value>,
}

/// One property that a judge answers yes or no to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rubric {
    /// The rubric's id.
    pub id: String,
    /// The property, in words.
    pub text: Option<String>,
    /// A description for people.
    pub description: Option<String>,
    /// Which metric may use it: `FINAL_RESPONSE_QUALITY`, `TOOL_USE_QUALITY`, `TRAJECTORY_QUALITY`.
    pub kind: Option<String>,
}
