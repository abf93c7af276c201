//! A judge metric defined by the user's prompt (Vertex's model-based metrics).

use serde::{Deserialize, Serialize};

/// A prompt with `{placeholders}`, and how responses to it are read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgeTemplate {
    /// The prompt. `{name}` is replaced by the case's field of this name.
    pub prompt: String,
    /// A system instruction.
    #[serde(default)]
    pub system: Option<String>,
    /// The judge model.
    #[serde(default)]
    pub model: Option<String>,
    /// The number of samples.
    #[serde(default)]
    pub samples: Option<u32>,
    /// Whether a lower score is better.
    #[serde(default)]
    pub lower_is_better: bool,
    /// For a comparison of two responses: the name of the other one. When `None`, a single response is scored.
    #[serde(default)]
    pub baseline: Option<String>,
    /// Whether half of the samples get the two responses in reverse order.
    #[serde(default)]
    pub flip: bool,
}
