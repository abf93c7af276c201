//! The user's verdicts on computed results. They are stored next to the computed verdict and never replace it.

use serde::{Deserialize, Serialize};

/// The user's verdict on a metric, or on one rubric, of one attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HumanVerdict {
    /// The run's id.
    pub run_id: String,
    /// The set's file, as displayed.
    pub file: String,
    /// The case's id.
    pub eval_id: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The metric, label included.
    pub metric: String,
    /// The rubric's id; the metric as a whole when `None`.
    #[serde(default)]
    pub rubric_id: Option<String>,
    /// The user's verdict; `None` withdraws an earlier one.
    pub verdict: Option<bool>,
    /// The computed verdict at that time; `None` if there was none.
    #[serde(default)]
    pub computed: Option<bool>,
    /// The user's explanation.
    #[serde(default)]
    pub note: String,
    /// The time of the verdict, RFC 3339.
    #[serde(default)]
    pub at: String,
}

impl HumanVerdict {
    /// Whether both verdicts refer to the same metric or rubric of the same attempt, so that the later one counts.
    pub fn is_about(&self, other: &HumanVerdict) -> bool {
        self.run_id == other.run_id
            && self.file == other.file
            && self.eval_id == other.eval_id
            && self.attempt == other.attempt
            && self.metric == other.metric
            && self.rubric_id == other.rubric_id
    }
}
