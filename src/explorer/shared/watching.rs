//! The state of watch mode.

use crate::explorer::shared::ticket::Ticket;
use evaltrail_core::domain::RunOptions;
use evaltrail_engine::runner::{ChangedCase, SeenCases};
use std::path::PathBuf;

/// The state of watch mode and of the search for changed cases.
#[derive(Debug, Default)]
pub struct Watching {
    /// Whether changed cases are run again.
    pub is_on: bool,
    /// The changed cases that are not run again; `None` until watching has begun.
    pub(crate) seen: Option<SeenCases>,
    /// The search that is under way, and whether the user asked for all changed cases.
    pub(crate) search: Option<(Ticket, bool)>,
    /// Whether files changed since the search began, or during a run.
    pub(crate) look_again: bool,
    /// Whether a run was requested that the user did not start, and has not begun.
    pub(crate) is_starting: bool,
    /// When the last run began and ended, in Unix seconds. It has not ended if both are equal.
    pub(crate) last_run: (f64, f64),
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
