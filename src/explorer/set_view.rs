//! An eval set as the explorer knows it.

use crate::explorer::ticket::Ticket;
use crate::formats::{Notes, SetFile};
use crate::history::PastResult;
use crate::workspace::SetPath;
use std::sync::Arc;

/// The state of the explorer. Owned by the event loop; only `update` changes it.
/// Maximum number of results of a set that wait for their cases; beyond it the oldest are dropped.
const MOST_WAITING: usize = 100_000;

/// An eval set, as shown on the screen.
#[derive(Clone, Debug)]
pub struct SetView {
    /// The file.
    pub path: SetPath,
    /// Whether the file is loaded.
    pub state: SetState,
    /// Name of the agent, or the reason why there is none.
    pub agent: Result<String, String>,
    /// Notes that are stored next to the file.
    pub notes: Arc<Notes>,
    /// The text of the file of stubs beside it.
    pub stubs: Option<Arc<str>>,
    /// The most recently read version of the file. It is retained when the file can no longer be read, because the
    /// positions of cases refer to it.
    pub read: Option<Arc<SetFile>>,
    /// Ticket of the request whose result is shown.
    pub loaded: Ticket,
    /// Past results whose cases are not in the most recently read version of the file.
    pub past: Vec<PastResult>,
    /// Like `past`, but results that arrived since evaltrail was started.
    pub waiting: Vec<PastResult>,
    /// Number of pending requests to re-evaluate cases of this set.
    pub reevaluating: usize,
    /// Whether such a request was for an older version of the file, so that outcomes may be out of date.
    pub is_behind: bool,
    /// Summaries of the cases, for the filter.
    pub summaries: Option<Arc<Vec<CaseSummary>>>,
}

/// State of a set's file.
#[derive(Clone, Debug)]
pub enum SetState {
    /// The file is being opened.
    Loading,
    /// The file was read. The digest (SHA-256) is used to detect changes.
    Ready(Arc<SetFile>, String),
    /// The file cannot be read, and why.
    Failed(String),
    /// The file was deleted.
    Gone,
}

/// Summary of a case, for the filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseSummary {
    /// Number of turns.
    pub turns: usize,
    /// The user messages in lower case, for free-text search.
    pub text: String,
    /// Names of the expected tools.
    pub tools: Vec<String>,
    /// Why the case cannot be read, if it cannot.
    pub problem: Option<String>,
}

impl SetView {
    /// A set whose file has not been opened yet.
    pub fn new(path: SetPath) -> SetView {
        SetView {
            path,
            state: SetState::Loading,
            agent: Err("not looked for yet".into()),
            notes: Arc::default(),
            stubs: None,
            read: None,
            loaded: Ticket::default(),
            past: Vec::new(),
            waiting: Vec::new(),
            reevaluating: 0,
            is_behind: false,
            summaries: None,
        }
    }

    /// Whether the file exists.
    pub fn exists(&self) -> bool {
        !matches!(self.state, SetState::Gone)
    }

    /// Stores results until their cases have been read.
    pub(crate) fn store_until_read(&mut self, results: impl IntoIterator<Item = PastResult>) {
        self.waiting.extend(results);
        self.waiting.drain(..self.waiting.len().saturating_sub(MOST_WAITING));
    }

    pub(super) fn appears_again(&mut self, path: SetPath) {
        self.path = path;
        if !self.exists() {
            self.state = SetState::Loading;
        }
    }
}
