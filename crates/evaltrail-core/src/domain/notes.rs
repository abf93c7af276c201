//! Data of a case that is stored outside of its file, so that the file stays compatible with ADK: tags, other allowed
//! trajectories, and whether its failures count.

use super::{Trajectory, unix_seconds};
use serde::{Deserialize, Serialize};

/// Data of a case that is stored outside of its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseNotes {
    /// Tags to find the case by.
    pub tags: Vec<String>,
    /// Trajectories that are as good as the one in the file.
    pub variants: Vec<Variant>,
    /// Set while failures of the case do not count.
    pub quarantine: Option<Quarantine>,
}

/// A period in which failures of a case are counted apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quarantine {
    /// The first day, as `2026-12-31`.
    pub since: String,
    /// The last day.
    pub until: String,
    /// The reason; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The name of the user who decided it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}

impl Quarantine {
    /// Whether it holds on a day, given as `2026-12-31`. False if its days are not dates in this form.
    pub fn is_active_on(&self, day: &str) -> bool {
        is_day(&self.since)
            && is_day(&self.until)
            && (self.since.as_str()..=self.until.as_str()).contains(&day)
    }
}

/// Another allowed trajectory of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// The variant's name.
    pub name: String,
    /// The trajectory of each turn.
    pub turns: Vec<Trajectory>,
}

/// Whether a text is a date such as `2026-12-31`, so that dates can be compared as texts.
pub fn is_day(text: &str) -> bool {
    text.len() == 10 && unix_seconds(&format!("{text}T00:00:00Z")).is_some()
}

impl CaseNotes {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.variants.is_empty() && self.quarantine.is_none()
    }
}
