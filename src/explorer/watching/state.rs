//! The state of watch mode.

use crate::domain::{CaseKey, RunOptions};
use crate::explorer::ticket::Ticket;
use crate::runner::{CaseVersion, ChangedCase};
use std::collections::HashMap;
use std::path::PathBuf;

/// The state of watch mode and of the search for changed cases.
#[derive(Debug, Default)]
pub struct Watching {
    /// Whether changed cases are run again.
    pub is_on: bool,
    /// The versions of changed cases that are not run again.
    pub(super) seen: HashMap<(PathBuf, CaseKey), CaseVersion>,
    /// The search for cases that changed since watching began, if one is under way, and whether it is the first.
    pub(super) search: Option<(Ticket, bool)>,
    /// The search for all changed cases, if one is under way.
    pub(super) search_all: Option<Ticket>,
    /// Whether files changed during the current run.
    pub(super) changed_meanwhile: bool,
    /// Whether the next run is one that the user did not start.
    pub(crate) is_starting: bool,
}

/// A changed case with the path of its file.
pub type ChangedInFile = (PathBuf, ChangedCase);

/// The changed cases, and what a run of them would take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CasesToRunAgain {
    /// The cases in the order of the files.
    pub cases: Vec<ChangedInFile>,
    /// The configured options of runs.
    pub options: RunOptions,
}
