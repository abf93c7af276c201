//! Identifies the run that results come from.

use super::RunPlan;
use crate::domain::unix_seconds;

/// The run that results come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunRef {
    /// The run's id; for ADK's results, the id of the result.
    pub id: String,
    /// Start time, RFC 3339; empty when unknown.
    pub started: String,
    /// Which program ran it.
    pub by: RunBy,
}

/// Which program ran something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunBy {
    /// evaltrail.
    Evaltrail,
    /// evaltrail of another user or on another machine, or a forged run: it is not signed with this user's key.
    Foreign,
    /// `adk eval` or `adk web`.
    Adk,
    /// The results are stored in the file of the cases.
    File,
}

impl RunRef {
    /// A run of evaltrail.
    pub fn of_plan(plan: &RunPlan) -> RunRef {
        RunRef {
            id: plan.run_id.clone(),
            started: plan.started.clone(),
            by: RunBy::Evaltrail,
        }
    }

    /// Start time in Unix seconds; `None` when unknown.
    pub fn started_at(&self) -> Option<f64> {
        unix_seconds(&self.started)
    }
}
