//! Rubrics: properties that a judge answers yes or no to.

use serde::{Deserialize, Serialize};

/// One property that a judge answers yes or no to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rubric {
    /// The rubric's id.
    pub id: String,
    /// The property, in words.
    pub text: Option<String>,
    /// A description to display.
    pub description: Option<String>,
    /// Which metric may use it: one of [`RUBRIC_KINDS`].
    pub kind: Option<String>,
    /// The group of a data set (`rubric_groups`) that contains it. A criterion may choose one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// The type of the rubrics of responses.
pub const RESPONSE_RUBRICS: &str = "FINAL_RESPONSE_QUALITY";

/// The types of rubrics that ADK's metrics read from a set.
pub const RUBRIC_KINDS: [&str; 3] = [RESPONSE_RUBRICS, "TOOL_USE_QUALITY", "TRAJECTORY_QUALITY"];

impl Rubric {
    /// The type by which a metric reads the rubric. A group of a data set has a free name and often no type: its rubrics
    /// are about the response.
    pub fn read_as(&self) -> Option<&str> {
        let own = self.kind.as_deref();
        match (
            own.is_some_and(|kind| RUBRIC_KINDS.contains(&kind)),
            &self.group,
        ) {
            (false, Some(_)) => Some(RESPONSE_RUBRICS),
            _ => own,
        }
    }
}
