//! Eval sets and eval cases.

use super::{Invocation, MetricResult, Part};
use crate::domain::Rubric;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A file of cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvalSet {
    /// The set's id as it is in the file.
    pub id: String,
    /// A name to display.
    pub name: Option<String>,
    /// What the set is for.
    pub description: Option<String>,
    /// The cases in the file's order.
    pub cases: Vec<EvalCase>,
    /// Unix seconds; 0 when unknown.
    pub created: f64,
    /// Keys in the file that ADK does not know.
    pub extra: Map<String, Value>,
}

/// One conversation to hold with the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvalCase {
    /// The case's id. Not necessarily unique: a case is identified by its file and position.
    pub eval_id: String,
    /// The turns or the scenario.
    pub conversation: Conversation,
    /// Application, user and initial state of the session.
    #[serde(default)]
    pub session_input: Option<SessionInput>,
    /// Rubrics for every turn.
    #[serde(default)]
    pub rubrics: Vec<Rubric>,
    /// The expected final session state, which decides the case. ADK reads it and never compares it.
    #[serde(default)]
    pub final_session_state: Option<Value>,
    /// Unix seconds; 0 when unknown.
    #[serde(default)]
    pub created: f64,
    /// The saved responses of an agent, if the file contains them.
    #[serde(default)]
    pub saved: Option<Saved>,
    /// The scores that are recorded in the file.
    #[serde(default)]
    pub recorded: Vec<MetricResult>,
    /// Keys in the file that ADK does not know; ADK preserves them.
    #[serde(default)]
    pub extra: Map<String, Value>,
}

/// What an agent did, as saved in a file, so that it can be scored without running the agent again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// The turns, as many as the conversation has.
    pub turns: Vec<Invocation>,
    /// Seconds that the agent took.
    pub latency_s: Option<f64>,
    /// Whether the agent failed; `None` if the file has no such column.
    pub failed: Option<bool>,
    /// How the agent failed, if it did.
    pub error: Option<String>,
    /// The final session state.
    pub state: Option<Value>,
}

impl EvalCase {
    /// The first line of the first message of the user that is not empty, in the first turn or the scenario; at most `most`
    /// characters. Empty if there is none.
    pub fn first_prompt(&self, most: usize) -> String {
        let text = match &self.conversation {
            Conversation::Turns(turns) => turns.first().map(|turn| turn.user.shown_text()),
            Conversation::Scenario(scenario) => {
                let prompt = ["starting_prompt", "startingPrompt"];
                let prompt = prompt.iter().find_map(|key| scenario.get(key)?.as_str());
                prompt.map(str::to_string)
            }
        };
        let text = text.unwrap_or_default();
        let mut lines = text.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
        first.chars().take(most).collect()
    }

    /// The expected turns; empty for a scenario.
    pub fn turns(&self) -> &[Invocation] {
        match &self.conversation {
            Conversation::Turns(turns) => turns,
            Conversation::Scenario(_) => &[],
        }
    }

    /// Why the case cannot be sent to an agent, if a row of a data set has no prompt: it may have another name.
    pub fn missing_prompt(&self) -> Option<String> {
        let is_blank = |turn: &Invocation| turn.user.parts.iter().all(Part::is_blank);
        let lacks = self
            .turns()
            .iter()
            .any(|turn| turn.is_data && !turn.history && is_blank(turn));
        let named = self.extra.iter().filter(|(_, value)| value.is_string());
        let names: Vec<&str> = named.map(|(name, _)| name.as_str()).collect();
        lacks.then(|| match names.is_empty() {
            true => "the row has no prompt".into(),
            false => format!(
                "the row has no prompt; its other columns are {}: --columns prompt=NAME reads one as the prompt",
                names.join(", ")
            ),
        })
    }
}

/// Either a fixed list of turns, or a scenario that a simulated user plays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversation {
    /// The expected turns.
    Turns(Vec<Invocation>),
    /// The scenario as it is in the file.
    Scenario(Value),
}

impl Default for Conversation {
    fn default() -> Self {
        Conversation::Turns(Vec::new())
    }
}

/// The application, user, session and initial state of a case.
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
    /// Keys in the file that ADK does not know; ADK preserves them.
    #[serde(default)]
    pub extra: Map<String, Value>,
}
