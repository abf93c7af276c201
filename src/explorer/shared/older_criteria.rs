//! Results that were scored by other criteria than the ones that a run would use now.

/// What is known of criteria that are not those of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OlderCriteria {
    /// This file was edited in the explorer since.
    Edited(String),
    /// They differ, because a file was edited elsewhere, or the run was started with options of its own.
    Other,
}

impl OlderCriteria {
    /// What is told beside a result.
    pub(crate) fn describe(&self) -> String {
        match self {
            OlderCriteria::Edited(file) => format!("{file} was edited since this run"),
            OlderCriteria::Other => "this run had other criteria than there are now".into(),
        }
    }

    /// What is told after a reason.
    pub(crate) fn after_reason(&self) -> String {
        match self {
            OlderCriteria::Edited(file) => format!("{file} was edited after this result"),
            OlderCriteria::Other => "scored by other criteria than there are now".into(),
        }
    }
}
