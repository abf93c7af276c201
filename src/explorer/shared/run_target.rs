//! What cases are run against, and the options of one run.

use crate::explorer::shared::case_ref::CaseRef;
use evaltrail_core::domain::{EndedAttempt, Gate, StubMode};
use std::sync::Arc;

/// The agent or saved responses that cases are run against.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RunTarget {
    /// The set's agent.
    #[default]
    Agent,
    /// The set's agent, with options that the user chose for this run.
    AgentWith(Box<RunOverrides>),
    /// The set's agent, for a single turn (from 1). The turns before it are sent as the case expects them.
    Turn(u32),
    /// The agent's responses that are saved in the file.
    Saved,
    /// What the unfinished run with this id is against, which is continued with its own cases.
    Resume(String),
    /// Attempts of earlier runs, to be scored again: the same number of attempts for each case, in order.
    Recorded(Arc<Vec<(CaseRef, Arc<EndedAttempt>)>>),
}

impl RunTarget {
    /// Follows cases whose positions changed; attempts of cases that are gone are dropped.
    pub(crate) fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) {
        if let RunTarget::Recorded(attempts) = self {
            let followed = attempts
                .iter()
                .filter_map(|(case, attempt)| Some((new(*case)?, attempt.clone())));
            *attempts = Arc::new(followed.collect());
        }
    }
}

/// Options of one run that override the configuration. `None`: as configured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOverrides {
    /// Number of attempts for each case.
    pub repeat: Option<u32>,
    /// When a case with several attempts passes.
    pub gate: Option<Gate>,
    /// Number of attempts in flight at the same time.
    pub jobs: Option<u32>,
    /// The agent, as a name or address in the syntax of `run --agent`.
    pub agent: Option<String>,
    /// Whether tools are answered from stubs, as for `run --stubs`.
    pub stubs: Option<StubMode>,
    /// Whether stubs answer tools even if the configuration does not say so: they did in the results that are shown.
    pub keeps_stubs: bool,
    /// The judge model, in the syntax of `run --judge`.
    pub judge: Option<String>,
    /// Number of judge samples for each question, if the criterion does not specify it.
    pub samples: Option<u32>,
    /// Path of a criteria file in ADK's format, relative to the workspace, for all sets of the run.
    pub criteria: Option<String>,
    /// Further metrics, as for `run --metric`.
    pub metrics: Vec<String>,
    /// Filter for the cases, in the syntax of the list's filter. Empty: all cases.
    pub filter: String,
}
