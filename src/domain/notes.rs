//! Data of a case that is stored outside of its file, so that the file stays compatible with ADK: tags, and other
//! allowed trajectories.

use super::Trajectory;
use serde::{Deserialize, Serialize};

/// Data of a case that is stored outside of its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseNotes {
    /// Tags to find the case by.
    pub tags: Vec<String>,
    /// Trajectories that are as good as the one in the file.
    pub variants: Vec<Variant>,
}

/// Another allowed trajectory of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// The variant's name.
    pub name: String,
    /// The trajectory of each turn.
    pub turns: Vec<Trajectory>,
}

impl CaseNotes {
    /// Whether there are no tags and no variants.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.variants.is_empty()
    }
}
