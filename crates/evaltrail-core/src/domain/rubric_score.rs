//! The score of one rubric.

use super::{Score, Votes};
use serde::{Deserialize, Serialize};

/// A judge's verdict on one rubric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RubricScore {
    /// The rubric's id.
    pub rubric_id: String,
    /// 1 for yes, 0 for no, or the mean over turns; `None` without a verdict.
    pub score: Option<Score>,
    /// The judge's reason.
    pub rationale: Option<String>,
    /// The votes of the samples, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<Votes>,
}

impl RubricScore {
    /// The score as a number.
    pub fn score(&self) -> Option<f64> {
        self.score.map(Score::get)
    }
}
