//! A person's decisions on failures.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What a person decided about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// The case is run again.
    RunAgain,
    /// What the agent did becomes what is expected.
    Accept,
    /// The criteria were changed so that the case passes. It fails until it is run with them.
    Relax,
    /// The failure is counted apart until a date.
    Quarantine,
    /// The failure stays, with a comment.
    Comment,
}

impl DecisionKind {
    /// The name for display.
    pub fn label(self) -> &'static str {
        match self {
            DecisionKind::RunAgain => "run again",
            DecisionKind::Accept => "accept",
            DecisionKind::Relax => "criteria changed",
            DecisionKind::Quarantine => "quarantine",
            DecisionKind::Comment => "comment",
        }
    }
}

/// A decision on the failure of a case. It holds for as long as the case fails for the same reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The set's file, as displayed.
    pub file: String,
    /// The case's id.
    pub eval_id: String,
    /// The case's content hash, if its id is not unique in the file; else empty.
    #[serde(default)]
    pub content: String,
    /// Why the case failed: its first cause in words.
    pub finding: String,
    /// The decision; `None` takes an earlier one back.
    pub kind: Option<DecisionKind>,
    /// The reason or comment; may be empty.
    #[serde(default)]
    pub note: String,
    /// The last day of a quarantine, as `2026-12-31`; empty for other decisions.
    #[serde(default)]
    pub until: String,
    /// The number of the attempt that is accepted; 0 for the one to look at first.
    #[serde(default)]
    pub attempt: u32,
    /// The case's content hash when a person decided to accept; empty for other decisions. If someone edits the case, the
    /// decision does not hold.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub accepted_for: String,
    /// Whether it was carried out; if not, it is one of a triage that is not finished.
    #[serde(default)]
    pub is_applied: bool,
    /// The name of the user who decided.
    #[serde(default)]
    pub author: String,
    /// When it was decided, RFC 3339.
    #[serde(default)]
    pub at: String,
}

impl Decision {
    /// Whether both are about the same case, so that the later one counts.
    pub fn is_about(&self, other: &Decision) -> bool {
        (&self.file, &self.eval_id, &self.content) == (&other.file, &other.eval_id, &other.content)
    }
}

/// The current decisions.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// By file and case id; several of an id if it is not unique.
    by_case: HashMap<String, HashMap<String, Vec<Decision>>>,
}

impl Decisions {
    /// The current decisions of a list, the latest last.
    pub fn new(decisions: &[Decision]) -> Decisions {
        let mut current = Decisions::default();
        current.take(decisions);
        current
    }

    /// Adds decisions; one without a kind takes an earlier one back.
    pub fn take(&mut self, decisions: &[Decision]) {
        for decision in decisions {
            let of_file = self.by_case.entry(decision.file.clone()).or_default();
            let of_case = of_file.entry(decision.eval_id.clone()).or_default();
            of_case.retain(|known| !known.is_about(decision));
            of_case.extend(decision.kind.map(|_| decision.clone()));
        }
    }

    /// Whether there are decisions on cases of a file.
    pub fn has_any_of(&self, file: &str) -> bool {
        self.by_case.contains_key(file)
    }

    /// Whether there are decisions of a kind.
    pub fn has_any_of_kind(&self, kind: DecisionKind) -> bool {
        let mut all = self.by_case.values().flat_map(HashMap::values).flatten();
        all.any(|decision| decision.kind == Some(kind))
    }

    /// The decisions on cases with this id.
    pub fn on_case(&self, file: &str, eval_id: &str) -> &[Decision] {
        let of_case = self
            .by_case
            .get(file)
            .and_then(|of_file| of_file.get(eval_id));
        of_case.map_or(&[], Vec::as_slice)
    }
}
