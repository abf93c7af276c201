//! Identifies the run that results come from.

use super::RunPlan;

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
        RunRef { id: plan.run_id.clone(), started: plan.started.clone(), by: RunBy::Evaltrail }
    }

    /// Start time in Unix seconds; `None` when unknown.
    pub fn started_at(&self) -> Option<f64> {
        unix_seconds(&self.started)
    }
}

/// Converts RFC 3339 to Unix seconds.
pub fn unix_seconds(time: &str) -> Option<f64> {
    let time: jiff::Timestamp = time.parse().ok()?;
    Some(time.as_microsecond() as f64 / 1e6)
}

/// Converts Unix seconds to RFC 3339; empty when out of range.
pub fn rfc3339(seconds: f64) -> String {
    let time = jiff::Timestamp::from_microsecond((seconds * 1e6) as i64);
    time.map(|time| time.to_string()).unwrap_or_default()
}
