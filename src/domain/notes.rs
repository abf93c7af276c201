//! What is kept of a case beside its file, so that the file stays ADK's: tags, and other trajectories that are
//! allowed.

use super::Trajectory;
use serde::{Deserialize, Serialize};

/// What is kept beside a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseNotes {
    /// Words to find the case by.
    pub tags: Vec<String>,
    /// Other ways that are as good as the file's own.
    pub variants: Vec<Variant>,
}

/// Another allowed way through a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// The trajectory of each turn.
    pub turns: Vec<Trajectory>,
}

impl CaseNotes {
    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.variants.is_empty()
    }
}
