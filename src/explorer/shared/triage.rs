//! State of the triage queue.

use crate::explorer::shared::case_ref::CaseRef;
use evaltrail_core::domain::{Decision, DecisionKind};
use evaltrail_core::metrics::WhatIf;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The triage queue.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// The failures by what they share, the largest group first, as when the queue was opened.
    pub groups: Vec<QueueGroup>,
    /// The case on the screen.
    pub at: CaseRef,
    /// Cases that were skipped. They come after all others.
    pub later: BTreeSet<CaseRef>,
    /// What can be undone, the last step at the end.
    pub steps: Vec<QueueStep>,
    /// The change of criteria of this triage. While the queue is shown it is the active what-if.
    pub change: WhatIf,
    /// The undecided cases, and the pending decisions by kind, as of `counted`.
    pub undecided: HashSet<CaseRef>,
    /// The number of pending decisions of each kind.
    pub pending: BTreeMap<DecisionKind, usize>,
    /// The versions of outcomes and decisions for which the two above were counted.
    pub counted: Option<(u64, u64)>,
    /// The decisions that are carried out as soon as the files are written.
    pub applying: Option<Applying>,
}

/// Failures that share a cause.
#[derive(Clone, Debug)]
pub struct QueueGroup {
    /// The cause in words.
    pub words: String,
    /// Whether the cases share a cause; if not, each has its own reason.
    pub is_shared: bool,
    /// The cases.
    pub cases: Vec<CaseRef>,
}

/// A step that can be undone.
#[derive(Clone, Debug)]
pub struct QueueStep {
    /// The case that was on the screen.
    pub at: CaseRef,
    /// What was done.
    pub change: StepChange,
}

/// What a step changed.
#[derive(Clone, Debug)]
pub enum StepChange {
    /// Decisions. Contains those before; without an earlier one, one that takes the new one back.
    Decisions(Vec<Decision>),
    /// The change of criteria. Contains the one before.
    Criteria(WhatIf),
    /// Cases were skipped.
    Skipped(Vec<CaseRef>),
}

/// What happens as soon as the files are written.
#[derive(Clone, Debug, Default)]
pub struct Applying {
    /// The decisions that are carried out.
    pub decisions: Vec<Decision>,
    /// The cases that are run again.
    pub run_again: Vec<CaseRef>,
    /// Decisions on the cases that pass with the changed criteria, if these are among what is written.
    pub relaxed: Vec<Decision>,
    /// What the summary says.
    pub words: String,
}

/// The decisions of a triage whose changes of files were saved, for its undo.
#[derive(Clone, Debug)]
pub struct FinishedTriage {
    /// The description of the edit, by which its undo is recognised. Several triages may have the same.
    pub words: String,
    /// Whether it is undone.
    pub is_undone: bool,
    /// The decisions before.
    pub before: Vec<Decision>,
    /// The decisions after.
    pub after: Vec<Decision>,
}

impl Queue {
    /// All cases in their order.
    pub fn cases(&self) -> impl Iterator<Item = CaseRef> {
        self.groups
            .iter()
            .flat_map(|group| group.cases.iter().copied())
    }

    /// The group of a case.
    pub fn group_of(&self, case: CaseRef) -> Option<&QueueGroup> {
        self.groups.iter().find(|group| group.cases.contains(&case))
    }

    /// Updates the positions of cases that moved within their files.
    pub(crate) fn follow(&mut self, new: &impl Fn(CaseRef) -> Option<CaseRef>) {
        for group in &mut self.groups {
            group.cases = group.cases.iter().filter_map(|case| new(*case)).collect();
        }
        self.counted = None;
        self.later = self.later.iter().filter_map(|case| new(*case)).collect();
        if let Some(applying) = &mut self.applying {
            applying.run_again = applying
                .run_again
                .iter()
                .filter_map(|case| new(*case))
                .collect();
        }
        for step in &mut self.steps {
            step.at = new(step.at).unwrap_or(step.at);
            if let StepChange::Skipped(cases) = &mut step.change {
                *cases = cases.iter().filter_map(|case| new(*case)).collect();
            }
        }
        self.at = new(self.at).unwrap_or(self.at);
    }
}
