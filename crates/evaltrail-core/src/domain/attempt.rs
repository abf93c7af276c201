//! An attempt: one execution of a case in a run.

use super::{
    Invocation, JudgeUsage, MetricResult, ReportedSetup, Rubric, Status, ToolUse, Variant,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Identifies an attempt: the case's position in the plan, and the number of the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptKey {
    /// Index into [`super::RunPlan::cases`].
    pub case: usize,
    /// From 1.
    pub attempt: u32,
}

/// The result of one attempt. The journal contains one per line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Which attempt this is.
    pub key: AttemptKey,
    /// The case's id, so that a line of the journal can be read without the plan.
    pub eval_id: String,
    /// The outcome.
    pub status: Status,
    /// The outcome by ADK's rules.
    pub adk_status: Status,
    /// Start time, RFC 3339.
    pub started: String,
    /// Seconds from the first user message to the last response, without waits before retries; `None` if unknown. 0 in
    /// the journals of older versions can also mean that it is unknown.
    #[serde(deserialize_with = "super::number::known_seconds")]
    pub latency_s: Option<f64>,
    /// Whether the agent failed to complete the conversation; `None` if unknown, for instance of a row without a column
    /// for it, and in the journals of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// Why it errored.
    pub error: Option<String>,
    /// The scores.
    pub metrics: Vec<MetricResult>,
    /// The metrics that were requested, if the attempt errored before it was scored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
    /// The expected turns, as they were in the file at that time. Shared, because the same turns are scored many
    /// times.
    pub expected: Arc<[Invocation]>,
    /// The actual turns.
    pub actual: Arc<[Invocation]>,
    /// The expected final session state, if the file specifies one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_state: Option<serde_json::Value>,
    /// The final session state, if the agent reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual_state: Option<serde_json::Value>,
    /// The case's rubrics, which apply to every turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<Rubric>,
    /// Further fields of the case in its file, which a metric's prompt template may reference.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub variables: serde_json::Map<String, serde_json::Value>,
    /// The other allowed trajectories at the time of scoring.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
    /// The scenario that a simulated user played, as it is in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<serde_json::Value>,
    /// The id of the session at the agent.
    pub session_id: String,
    /// The user id of the session.
    pub user_id: String,
    /// The number of tries; 1 if the first one succeeded.
    pub tries: u32,
    /// The turn, from 1, if only one was run, with the expected turns before it as history. `expected` and `actual`
    /// then contain this turn only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// How the calls of tools were answered, if evaltrail saw them before the tools did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<ToolUse>,
    /// What the agent reported of itself; `None` if it reported nothing, and in the journals of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Arc<ReportedSetup>>,
    /// The cost of the simulated user's messages; `None` if there is no such user, or no response was needed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_spent: Option<JudgeUsage>,
}

impl Attempt {
    /// An attempt without results.
    pub fn blank(key: AttemptKey, eval_id: &str) -> Attempt {
        Attempt {
            key,
            eval_id: eval_id.to_string(),
            status: Status::NotEvaluated,
            adk_status: Status::NotEvaluated,
            started: String::new(),
            latency_s: None,
            failed: None,
            error: None,
            metrics: Vec::new(),
            asked: Vec::new(),
            expected: Arc::default(),
            actual: Arc::default(),
            expected_state: None,
            actual_state: None,
            rubrics: Vec::new(),
            variants: Vec::new(),
            scenario: None,
            variables: serde_json::Map::new(),
            session_id: String::new(),
            user_id: String::new(),
            tries: 1,
            turn: None,
            tool_use: None,
            setup: None,
            user_spent: None,
        }
    }

    /// Marks the attempt as errored. ADK has no such status: it records a failure.
    pub fn set_errored(&mut self, why: String) {
        self.status = Status::Errored;
        self.adk_status = Status::Failed;
        self.error = Some(why);
    }
}
