//! What the outside must do, as data.

use crate::domain::{AttemptKey, CancelReason, EndedAttempt, HumanVerdict, SessionInput};
use crate::explorer::case_ref::CaseRef;
use crate::explorer::outcomes::{CaseAttempts, Outcomes};
use crate::explorer::screens::case::body::{BodyKey, Compared};
use crate::explorer::screens::edit::state::Field;
use crate::explorer::ticket::Ticket;
use crate::formats::{Notes, SetFile};
use crate::metrics::WhatIf;
use crate::runner::TrustQuestion;
use crate::store::FileJob;
use std::path::PathBuf;
use std::sync::Arc;

/// What cases are run against.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Against {
    /// The set's agent.
    #[default]
    Agent,
    /// The set's agent, with options that the person chose for this run.
    AgentWith(Box<RunOverrides>),
    /// The set's agent, for this turn alone (from 1), on the history that the case expects before it.
    Turn(u32),
    /// What the file says an agent already did.
    Saved,
    /// What an agent did before, judged again: equally many attempts of each case, in order.
    Kept(Arc<Vec<(CaseRef, Arc<EndedAttempt>)>>),
}

/// Options of one run instead of those of the configuration; none: as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOverrides {
    /// Attempts of each case.
    pub repeat: Option<u32>,
    /// Attempts at the same time.
    pub jobs: Option<u32>,
    /// The agent, by name or address as `run --agent` takes it.
    pub agent: Option<String>,
    /// The model that judges, as `run --judge` takes it.
    pub judge: Option<String>,
    /// Samples of the judge for each question, where a criterion does not say.
    pub samples: Option<u32>,
    /// A file of criteria in ADK's form, relative to the workspace, for all sets of the run.
    pub criteria: Option<String>,
    /// Which of the cases, in the syntax of the list's filter; empty: all.
    pub filter: String,
}

/// What a text in the person's editor is of.
#[derive(Clone, Debug, PartialEq)]
pub enum EditorOf {
    /// A field of the case that is being edited.
    Field(Field),
    /// The whole case.
    Case,
    /// The criteria of a set: the file, and what was read from it, if it is there.
    Criteria(PathBuf, Option<Arc<str>>),
}

/// A request of `update` to the outside, by area; `terminal` executes it. The answer arrives as a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// With the terminal, the clipboard and the person's editor.
    Terminal(TerminalEffect),
    /// With files of sets.
    Sets(SetEffect),
    /// With runs.
    Run(RunEffect),
    /// With results.
    Results(ResultEffect),
    /// With edits of files.
    Edits(EditEffect),
    /// With the conversation.
    Chat(ChatEffect),
}

/// Effects that need the terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum TerminalEffect {
    /// Put a text on the clipboard.
    Copy(String),
    /// Open a file in the person's editor.
    OpenEditor {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Let the person edit a text in their editor; the answer is [`crate::explorer::EditMsg::TextEdited`].
    EditText {
        /// The text.
        text: String,
        /// What it is called.
        name: String,
        /// The ending of its file, which editors colour by.
        ending: &'static str,
        /// What it is of.
        of: EditorOf,
    },
    /// Let the person edit the criteria beside a set; the text comes as for any other.
    EditCriteria(usize),
    /// Take the mouse, or give it back.
    CaptureMouse(bool),
    /// Back to the shell for a while.
    Suspend,
    /// Remember what is open, and leave.
    Quit,
}

/// Effects on files of sets.
#[derive(Clone, Debug, PartialEq)]
pub enum SetEffect {
    /// Open a set's file.
    Load {
        /// Which set.
        set: usize,
        /// The answer carries it.
        ticket: Ticket,
    },
    /// Look again which files there are; the answer is [`crate::explorer::SetMsg::Found`].
    Rediscover,
    /// Read every case of a set's file, for the filter.
    Summarise {
        /// Which set.
        set: usize,
        /// The file's digest; the answer carries it.
        digest: String,
        /// The file.
        file: Arc<SetFile>,
    },
    /// Re-evaluate results of cases: compare them with the cases as they are now.
    Reevaluate {
        /// The set.
        set: usize,
        /// The file's digest; the answer carries it.
        digest: String,
        /// The file.
        file: Arc<SetFile>,
        /// What is saved beside it.
        notes: Arc<Notes>,
        /// The cases, with their attempts as they ran.
        cases: Vec<CaseAttempts>,
    },
    /// Look which tools the workspace and the set's agent know; the answer is [`crate::explorer::SetMsg::ToolsSeen`].
    SeeTools(usize),
}

/// Effects on runs.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEffect {
    /// Run these cases, or score what the files contain.
    Start(Vec<CaseRef>, Against),
    /// Run these cases. The person allowed what these questions ask.
    StartTrusted(Vec<CaseRef>, Vec<TrustQuestion>, Against),
    /// Do not use the keys that were asked about, and do not ask again in this session.
    DeclineKeys(Vec<TrustQuestion>),
    /// End the run early.
    Cancel(CancelReason),
    /// Start no new attempt, or continue.
    Pause(bool),
    /// Cancel one attempt.
    CancelAttempt(AttemptKey),
}

/// Effects on results.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultEffect {
    /// Rescore outcomes away from the screen.
    Rescore {
        /// The answer carries it.
        ticket: Ticket,
        /// What is changed.
        change: WhatIf,
        /// The outcomes as they are.
        before: Arc<Outcomes>,
    },
    /// Free outcomes that are not shown any more: of many, that takes a while.
    Forget(Arc<Outcomes>),
    /// Write changed criteria to the configs of these sets.
    WriteCriteria(WhatIf, Vec<usize>),
    /// Compare large turns away from the screen.
    BuildBody(BodyKey, Arc<Compared>),
    /// Read a large attempt away from the screen, to build the lines of this key.
    ReadAttempt(BodyKey, Arc<EndedAttempt>),
    /// Save what a person says of verdicts.
    KeepVerdicts(Vec<HumanVerdict>),
}

/// Effects on files that the person edits.
#[derive(Clone, Debug, PartialEq)]
pub enum EditEffect {
    /// Make an edit; the answer is [`crate::explorer::EditMsg::Made`], or says why not.
    Make {
        /// What it does, in words.
        words: String,
        /// What is done to which file.
        jobs: Vec<FileJob>,
        /// Links may lead out of the folder.
        anywhere: bool,
    },
    /// Undo the last edit of what was opened, or make it again.
    Turn {
        /// Whether to undo.
        back: bool,
    },
}

/// Effects on the conversation with an agent. There is one at a time: its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq)]
pub enum ChatEffect {
    /// Reach the agent of a set for a conversation; what happens arrives as [`crate::explorer::Msg::Chat`].
    Open {
        /// The set.
        set: usize,
        /// Application, user and state.
        session: SessionInput,
        /// Which conversation.
        number: u64,
        /// Programs that were allowed.
        granted: Vec<TrustQuestion>,
    },
    /// Send a message to the agent.
    Say(String),
    /// End the conversation.
    Close,
}
