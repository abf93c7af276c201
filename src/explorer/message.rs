//! What can happen.

use crate::domain::{Attempt, EndedAttempt, HumanVerdict, RunEvent, RunState};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::commands::key::Key;
use crate::explorer::commands::{Command, Motion};
use crate::explorer::effect::{Against, EditorOf};
use crate::explorer::model::CaseSummary;
use crate::explorer::screens::case::body::{Body, BodyKey};
use crate::explorer::screens::edit::state::Tools;
use crate::explorer::ticket::Ticket;
use crate::explorer::what_if::Rescored;
use crate::formats::{Notes, SetFile};
use crate::history::PastResult;
use crate::runner::{ChatEvent, TrustQuestion};
use crate::workspace::SetPath;
use std::path::PathBuf;
use std::sync::Arc;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// A command was given otherwise than by a key.
    Command(&'static Command),
    /// The mouse did something.
    Mouse(Mouse),
    /// The terminal has another size.
    Resize(u16, u16),
    /// Time went on: seconds since the explorer opened.
    Tick(f64),
    /// About files of sets.
    Sets(SetMsg),
    /// About results.
    Results(ResultMsg),
    /// About the run.
    Run(RunMsg),
    /// About edits of files.
    Edits(EditMsg),
    /// About a conversation: which one, and what.
    Chat(u64, ChatMsg),
    /// Something to tell for a while.
    Told(String),
    /// Something went wrong.
    Failed(String),
}

/// What happened to files of sets.
#[derive(Clone, Debug)]
pub enum SetMsg {
    /// A set's file was opened, or not.
    Loaded(SetLoaded),
    /// The cases of a set were read.
    Summarised {
        /// Which set.
        set: usize,
        /// The file's digest.
        digest: String,
        /// In the file's order.
        summaries: Arc<Vec<CaseSummary>>,
    },
    /// Results of cases, re-evaluated with the cases as they are in the file of this digest. Cases that say the same
    /// are not among them.
    Reevaluated {
        /// The set.
        set: usize,
        /// The file's digest.
        digest: String,
        /// The cases that were asked about, with the revisions of their outcomes.
        asked: Vec<(CaseRef, u64)>,
        /// The attempts as they would have come out.
        results: Vec<(CaseRef, Vec<Arc<EndedAttempt>>)>,
    },
    /// Files changed on disk.
    FilesChanged,
    /// These eval sets are there now.
    Found(Vec<SetPath>),
    /// The tools that are known.
    ToolsSeen(Tools),
}

/// What happened to results.
#[derive(Clone, Debug)]
pub enum ResultMsg {
    /// Past results were read.
    History {
        /// Of which request.
        ticket: Ticket,
        /// The oldest run first.
        results: Vec<PastResult>,
    },
    /// What people said of verdicts, the oldest first.
    Verdicts(Vec<HumanVerdict>),
    /// Outcomes were rescored: for which request, and what they would be.
    Rescored(Ticket, Box<Rescored>),
    /// A comparison is ready.
    BodyBuilt(BodyKey, Arc<Body>),
    /// The answer to [`crate::explorer::ResultEffect::ReadAttempt`]: the attempt, or why it cannot be read.
    AttemptRead(BodyKey, Result<Arc<Attempt>, String>),
    /// Changed criteria were written; what was done, in words.
    CriteriaWritten(String),
}

/// What happened to edits.
#[derive(Clone, Debug)]
pub enum EditMsg {
    /// An edit was made, undone or made again.
    Made(EditDone),
    /// A text came back from the person's editor.
    TextEdited(EditorOf, String),
    /// An edit was not made, and why.
    Failed(EditFailure),
}

/// A set's file, opened or not.
#[derive(Clone, Debug)]
pub struct SetLoaded {
    /// Which set.
    pub set: usize,
    /// Of which request.
    pub ticket: Ticket,
    /// The file, or why not.
    pub result: Result<OpenedSet, String>,
}

/// An opened file.
#[derive(Clone, Debug)]
pub struct OpenedSet {
    /// Its cases.
    pub file: Arc<SetFile>,
    /// SHA-256 of its bytes.
    pub digest: String,
    /// The agent's name, or why there is none.
    pub agent: Result<String, String>,
    /// What is kept beside it, or why that cannot be read.
    pub notes: Result<Notes, String>,
}

/// About a conversation.
#[derive(Clone, Debug)]
pub enum ChatMsg {
    /// It would start these programs.
    AskTrust(Vec<TrustQuestion>),
    /// It cannot begin.
    Refused(String),
    /// It went on.
    Event(ChatEvent),
}

/// An edit that was made, taken back or made again.
#[derive(Clone, Debug, Default)]
pub struct EditDone {
    /// What it does, in words.
    pub words: String,
    /// What to know beside.
    pub note: Option<String>,
    /// The files with their new texts; nothing for one that was deleted.
    pub written: Vec<(PathBuf, Option<Arc<str>>)>,
    /// Whether it stands now, so that it can be taken back; else it can be made again.
    pub stands: bool,
}

/// Why an edit was not made.
#[derive(Clone, Debug)]
pub enum EditFailure {
    /// This file is not what was read any more, but has this text.
    Changed(PathBuf, Arc<str>),
    /// It is a link to this file, outside the folder.
    Outside(PathBuf),
    /// Something else.
    Other(String),
}

/// About the run.
#[derive(Clone, Debug)]
pub enum RunMsg {
    /// It began.
    Started(Box<RunState>),
    /// It went on.
    Events(Vec<RunEvent>),
    /// It cannot begin.
    Refused(String),
    /// Some of the cases that were to be run are not in it: which, and why.
    LeftOut(String),
    /// It would start these programs.
    AskTrust(Vec<CaseRef>, Vec<TrustQuestion>, Against),
}

/// What the mouse did, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mouse {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
    /// What.
    pub kind: MouseKind,
}

/// What the mouse did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseKind {
    /// The left button went down.
    Click,
    /// The wheel went up.
    ScrollUp,
    /// The wheel went down.
    ScrollDown,
}

impl MouseKind {
    /// Whether a button went down.
    pub fn is_click(self) -> bool {
        self == MouseKind::Click
    }

    /// The direction of the wheel.
    pub fn wheel(self) -> Option<Motion> {
        match self {
            MouseKind::Click => None,
            MouseKind::ScrollUp => Some(Motion::Up),
            MouseKind::ScrollDown => Some(Motion::Down),
        }
    }
}
