//! A metric that a person writes for a judge (Vertex's model-based metrics).

use serde::{Deserialize, Serialize};

/// A prompt with `{placeholders}`, and how its answers are read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgeTemplate {
    /// The prompt. `{name}` stands for what the case has under this name.
    pub prompt: String,
    /// A system instruction.
    #[serde(default)]
    pub system: Option<String>,
    /// The model that is asked.
    #[serde(default)]
    pub model: Option<String>,
    /// How often it is asked.
    #[serde(default)]
    pub samples: Option<u32>,
    /// Whether a lower score is better.
    #[serde(default)]
    pub lower_is_better: bool,
    /// For a comparison of two responses: what the other one is called. A score for one when `None`.
    #[serde(default)]
    pub baseline: Option<String>,
    /// Whether half of the samples see the two responses in the other order.
    #[serde(default)]
    pub flip: bool,
}
