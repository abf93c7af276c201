//! Where results are from.

use super::RunPlan;

/// The run that results are from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunRef {
    /// The run's id; of ADK's results, the id of the result.
    pub id: String,
    /// When it began, RFC 3339; empty when that is not known.
    pub started: String,
    /// Who ran it.
    pub by: RunBy,
}

/// Who ran something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunBy {
    /// evaltrail.
    Evaltrail,
    /// An evaltrail of somebody else, or of another machine; or it was planted. It is not signed with this person's
    /// key.
    Foreign,
    /// `adk eval` or `adk web`.
    Adk,
    /// The results stand in the file of the cases.
    File,
}

impl RunRef {
    /// A run of evaltrail.
    pub fn of_plan(plan: &RunPlan) -> RunRef {
        RunRef { id: plan.run_id.clone(), started: plan.started.clone(), by: RunBy::Evaltrail }
    }

    /// When it began, in Unix seconds; nothing when that is not known.
    pub fn started_at(&self) -> Option<f64> {
        unix_seconds(&self.started)
    }
}

/// RFC 3339 as Unix seconds.
pub fn unix_seconds(time: &str) -> Option<f64> {
    let time: jiff::Timestamp = time.parse().ok()?;
    Some(time.as_microsecond() as f64 / 1e6)
}

/// Unix seconds as RFC 3339; empty when out of range.
pub fn rfc3339(seconds: f64) -> String {
    let time = jiff::Timestamp::from_microsecond((seconds * 1e6) as i64);
    time.map(|time| time.to_string()).unwrap_or_default()
}
