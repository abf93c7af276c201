//! A change of criteria that is tried on all results.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::outcomes::Outcomes;
use crate::explorer::shared::ticket::Ticket;
use evaltrail_core::domain::{MatchRule, Status};
use evaltrail_core::metrics::WhatIf;
use std::sync::Arc;

/// An active what-if. While it is active, the screens show the outcomes with the change applied.
#[derive(Clone, Debug, Default)]
pub struct ActiveWhatIf {
    /// The change of criteria.
    pub change: WhatIf,
    /// The outcomes without the change.
    pub before: Arc<Outcomes>,
    /// The cases whose status would change.
    pub status_changes: Vec<StatusChange>,
    /// The pending request for rescored outcomes, with the version of the outcomes that were sent.
    pub pending: Option<(Ticket, u64)>,
    /// Whether the files of the criteria contain the change. The results remain those of runs with the earlier criteria,
    /// rescored.
    pub is_written: bool,
}

/// A case whose status would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusChange {
    /// Which case.
    pub case: CaseRef,
    /// The status without the change.
    pub from: Status,
    /// The status with the change.
    pub to: Status,
}

impl ActiveWhatIf {
    /// Description of the edit that writes a change.
    pub fn edit_text(change: &WhatIf) -> String {
        format!("change the criteria: {}", change.describe().join(", "))
    }

    /// How many cases would newly pass, and how many would no longer pass.
    pub fn counts(&self) -> (usize, usize) {
        let would_pass = self
            .status_changes
            .iter()
            .filter(|status_change| status_change.to == Status::Passed)
            .count();
        let no_more = self
            .status_changes
            .iter()
            .filter(|status_change| status_change.from == Status::Passed)
            .count();
        (would_pass, no_more)
    }

    /// Updates `status_changes` for one case.
    pub(crate) fn note_flip(&mut self, case: CaseRef, after: &Outcomes) {
        let status_change = match (self.before.worst(case), after.worst(case)) {
            (Some(from), Some(to)) if from != to => Some(StatusChange { case, from, to }),
            _ => None,
        };
        match (
            self.status_changes
                .binary_search_by_key(&case, |status_change| status_change.case),
            status_change,
        ) {
            (Ok(at), Some(status_change)) => self.status_changes[at] = status_change,
            (Ok(at), None) => drop(self.status_changes.remove(at)),
            (Err(at), Some(status_change)) => self.status_changes.insert(at, status_change),
            (Err(_), None) => {}
        }
    }
}

/// The result of rescoring outcomes under a change.
#[derive(Clone, Debug)]
pub struct Rescored {
    /// The outcomes with the change applied.
    pub outcomes: Outcomes,
    /// The cases whose status would change, in order.
    pub status_changes: Vec<StatusChange>,
    /// Rules of the change that match neither an expected nor an actual call. Only rules that have argument paths or
    /// that are optional are checked.
    pub unmatched: Vec<MatchRule>,
}
