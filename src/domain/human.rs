//! What a person says of a computed verdict: kept beside it, never over it.

use serde::{Deserialize, Serialize};

/// A person's verdict on a metric, or on one rubric, of one attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HumanVerdict {
    /// The run.
    pub run_id: String,
    /// The set's file, as shown.
    pub file: String,
    /// The case.
    pub eval_id: String,
    /// The repetition, from 1.
    pub attempt: u32,
    /// The metric, label included.
    pub metric: String,
    /// The rubric; the metric as a whole when `None`.
    #[serde(default)]
    pub rubric_id: Option<String>,
    /// What the person says; `None` takes an earlier verdict back.
    pub verdict: Option<bool>,
    /// What was computed then; `None` for no verdict.
    #[serde(default)]
    pub computed: Option<bool>,
    /// Why, in the person's words.
    #[serde(default)]
    pub note: String,
    /// When, RFC 3339.
    #[serde(default)]
    pub at: String,
}

impl HumanVerdict {
    /// Whether both are of the same thing, so that the later one counts.
    pub fn is_about(&self, other: &HumanVerdict) -> bool {
        self.run_id == other.run_id
            && self.file == other.file
            && self.eval_id == other.eval_id
            && self.attempt == other.attempt
            && self.metric == other.metric
            && self.rubric_id == other.rubric_id
    }
}
