//! Messages to `update`.

use crate::explorer::shared::active_what_if::Rescored;
use crate::explorer::shared::agent_line::AgentLine;
use crate::explorer::shared::case_lines::{BodyKey, CaseLines};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::compared_pair::ComparedPair;
use crate::explorer::shared::configured_run::ConfiguredRun;
use crate::explorer::shared::effect::{CaptureTarget, EditorOf};
use crate::explorer::shared::found_drafts::FoundDrafts;
use crate::explorer::shared::key::Key;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::outcomes::Outcomes;
use crate::explorer::shared::run_target::RunTarget;
use crate::explorer::shared::set_view::CaseSummary;
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::shared::tools::KnownTools;
use crate::explorer::shared::watching::CasesToRunAgain;
use evaltrail_core::analysis::Addition;
use evaltrail_core::domain::{Attempt, Decision, EndedAttempt, HumanVerdict, RunEvent, RunState};
use evaltrail_core::formats::{Notes, SetFile};
use evaltrail_core::metrics::WhatIf;
use evaltrail_engine::history::{CaseTrends, History, PastResults, PastRun, RunSummary};
use evaltrail_engine::runner::{ChatEvent, CoveredWorkspace, RecordedConversation, TrustQuestion};
use evaltrail_engine::store::{FileEdit, Reversal, ReversibleEdit};
use evaltrail_engine::workspace::SetPath;
use jiff::Timestamp;
use std::path::PathBuf;
use std::sync::Arc;

/// A message to `update`.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// A command was started without a key, for example from the palette.
    Command(&'static CommandName),
    /// A click, or a turn of the wheel.
    Mouse(Mouse),
    /// The terminal was resized: width and height, in cells.
    Resize(u16, u16),
    /// The current time, in seconds since the explorer opened.
    Tick(f64),
    /// Concerns files of eval sets.
    Sets(SetMsg),
    /// Concerns results.
    Results(ResultMsg),
    /// Concerns past runs.
    History(HistoryMsg),
    /// Concerns the current run.
    Run(RunMsg),
    /// Concerns edits of files.
    Edits(EditMsg),
    /// Concerns a conversation with an agent, given by its number.
    Chat(u64, ChatMsg),
    /// A notice to show.
    Notice(String),
    /// An error to show.
    Failed(String),
}

/// Messages about files of eval sets.
#[derive(Clone, Debug)]
pub enum SetMsg {
    /// The reply to [`crate::explorer::shared::effect::SetEffect::Load`].
    Loaded(SetLoaded),
    /// The reply to [`crate::explorer::shared::effect::SetEffect::Summarise`].
    Summarised {
        /// Which set.
        set: usize,
        /// The file's digest.
        digest: String,
        /// Summaries of the cases, in the order of the file.
        summaries: Arc<Vec<CaseSummary>>,
    },
    /// The reply to [`crate::explorer::shared::effect::SetEffect::Reevaluate`]. Cases whose content did not change are left out.
    Reevaluated {
        /// The set.
        set: usize,
        /// The file's digest.
        digest: String,
        /// The requested cases, with the revisions of their outcomes.
        requested: Vec<(CaseRef, u64)>,
        /// The re-evaluated attempts.
        results: Vec<(CaseRef, Vec<Arc<EndedAttempt>>)>,
    },
    /// Files changed on disk.
    FilesChanged,
    /// The eval sets that exist now.
    Found(Vec<SetPath>),
    /// The tools that the workspace and the agent of this set use or declare.
    ToolsCollected(usize, KnownTools),
    /// The reply to [`crate::explorer::shared::effect::SetEffect::ReadConfigured`].
    Configured(Ticket, Box<ConfiguredRun>),
    /// The agents of the workspace, each with its name, how it is reached, and its state with its tools.
    AgentsListed(Vec<AgentLine>),
    /// The reply to [`crate::explorer::shared::effect::SetEffect::FindAnswers`]: the change of the file of stubs in words, or why there is
    /// none.
    AnswersFound(Result<(String, FileEdit), String>),
    /// The reply to [`crate::explorer::shared::effect::SetEffect::FindDrafts`]: the drafts of this set, or why they cannot be read.
    DraftsFound(usize, Result<FoundDrafts, String>),
}

/// Messages about results.
#[derive(Clone, Debug)]
pub enum ResultMsg {
    /// Past results were loaded.
    History {
        /// Identifies the request.
        ticket: Ticket,
        /// Results, oldest run first.
        results: PastResults,
    },
    /// Another program recorded or removed results in the workspace, or this one did.
    RecordsChanged,
    /// Verdicts given by people, oldest first.
    Verdicts(Ticket, Vec<HumanVerdict>),
    /// The current decisions on failures.
    Decisions(Ticket, Vec<Decision>),
    /// The outcomes of every case over the past runs.
    Trends(Ticket, Arc<CaseTrends>),
    /// How the last run compares with the baseline; `None` without a baseline or a run.
    BaselineCompared(Ticket, Option<String>),
    /// The reply to [`crate::explorer::shared::effect::ResultEffect::PlanCriteria`]: the change of criteria, and the
    /// changes of files, or why they cannot be made.
    CriteriaPlanned(WhatIf, Result<Vec<FileEdit>, String>),
    /// The reply to [`crate::explorer::shared::effect::ResultEffect::Rescore`]: the ticket of the request, and the rescored outcomes.
    Rescored(Ticket, Box<Rescored>),
    /// The reply to [`crate::explorer::shared::effect::ResultEffect::RelaxGroups`]: for each group the change, if there is one.
    GroupsRelaxed(Ticket, Vec<Option<WhatIf>>),
    /// The reply to [`crate::explorer::shared::effect::ResultEffect::ReadCoverage`], with the ticket of the request.
    CoverageRead(Ticket, Arc<CoveredWorkspace>),
    /// The reply to [`crate::explorer::shared::effect::ResultEffect::BuildBody`].
    BodyBuilt(BodyKey, Arc<CaseLines>),
    /// The reply to [`crate::explorer::shared::effect::ResultEffect::ReadAttempt`]: the attempt, or why it cannot be read.
    AttemptRead(BodyKey, Result<Arc<Attempt>, String>),
}

/// Messages about past runs.
#[derive(Clone, Debug)]
pub enum HistoryMsg {
    /// The runs of the folder.
    Listed {
        /// Identifies the request.
        ticket: Ticket,
        /// The runs.
        history: Arc<History>,
    },
    /// A run was read.
    Opened {
        /// The run with its cases.
        past: Box<PastRun>,
        /// The name that a person gave it.
        name: Option<String>,
        /// Id of the case to open.
        case: Option<String>,
    },
    /// The opened run was read again, with newer results.
    Renewed {
        /// The run with its cases.
        past: Box<PastRun>,
        /// Its results.
        outcomes: Box<Outcomes>,
    },
    /// Two runs were compared.
    Compared(Arc<ComparedPair>),
    /// A run got a name, or has none any more.
    Named,
    /// A run was pinned, or is pinned no longer; with what was done.
    Pinned(String),
    /// The run with this id was deleted.
    Removed(String),
    /// A run could not be written.
    NotExported {
        /// The run.
        run: Box<RunSummary>,
        /// The file, as typed.
        to: PathBuf,
        /// Why not.
        why: String,
    },
}

/// Messages about edits.
#[derive(Clone, Debug)]
pub enum EditMsg {
    /// An edit was applied, undone or redone.
    Made(EditDone),
    /// The text after the user edited it in `$EDITOR`.
    TextEdited(EditorOf, String),
    /// The edit that would be undone or redone is one that the user may not expect.
    UnexpectedEdit(Reversal, ReversibleEdit),
    /// An edit failed.
    Failed(EditFailure),
    /// A source of conversations was read.
    Conversations {
        /// The source, as typed.
        source: String,
        /// The set that the case is added to.
        target: CaptureTarget,
        /// The conversations, or an error message.
        found: Result<Vec<RecordedConversation>, String>,
        /// Those that add coverage, best first.
        additions: Vec<Addition>,
    },
}

/// The result of loading a set's file.
#[derive(Clone, Debug)]
pub struct SetLoaded {
    /// Which set.
    pub set: usize,
    /// Identifies the request.
    pub ticket: Ticket,
    /// The file, or why it cannot be read.
    pub result: Result<OpenedSet, String>,
}

/// An opened file.
#[derive(Clone, Debug)]
pub struct OpenedSet {
    /// Its cases.
    pub file: Arc<SetFile>,
    /// SHA-256 of its bytes.
    pub digest: String,
    /// Name of the agent, or the reason why there is none.
    pub agent: Result<String, String>,
    /// Notes that are stored next to the file, or why they cannot be read.
    pub notes: Result<Notes, String>,
    /// The text of the file of stubs beside it.
    pub stubs: Option<Arc<str>>,
    /// A hash of the criteria that a run would use now, if they are known.
    pub criteria: Option<u64>,
}

/// Messages about a conversation with an agent.
#[derive(Clone, Debug)]
pub enum ChatMsg {
    /// The conversation needs permission for these.
    AskTrust(Vec<TrustQuestion>),
    /// The conversation cannot start, and why.
    Refused(String),
    /// Progress of the conversation.
    Event(ChatEvent),
}

/// An edit that was applied, undone or redone.
#[derive(Clone, Debug, Default)]
pub struct EditDone {
    /// Description of the edit.
    pub words: String,
    /// Additional information for the user.
    pub note: Option<String>,
    /// The changed files with their new texts; `None` for a deleted file.
    pub written: Vec<(PathBuf, Option<Arc<str>>)>,
    /// Whether the edit is applied and can be undone; if false, it was undone and can be redone.
    pub stands: bool,
    /// When the files were written; `None` if it is not known.
    pub at: Option<Timestamp>,
}

/// Why an edit failed.
#[derive(Clone, Debug)]
pub enum EditFailure {
    /// The file was changed on disk and now has this text.
    Changed(PathBuf, Arc<str>),
    /// The file is a link to this file outside the workspace.
    Outside(PathBuf),
    /// Another error.
    Other(String),
}

/// Messages about the current run.
#[derive(Clone, Debug)]
pub enum RunMsg {
    /// The run started.
    Started(Box<RunState>),
    /// Events of the run.
    Events(Vec<RunEvent>),
    /// The run cannot start, and why.
    Refused(String),
    /// Some of the requested cases are not part of the run: which, and why.
    LeftOut(String),
    /// The reply to [`crate::explorer::shared::effect::RunEffect::FindChanged`].
    ChangedFound(Ticket, Box<CasesToRunAgain>),
    /// The run needs permission for these.
    AskTrust(Vec<CaseRef>, Vec<TrustQuestion>, RunTarget),
}

/// A mouse event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mouse {
    /// Column of the cell, from 0.
    pub x: u16,
    /// Row of the cell, from 0.
    pub y: u16,
    /// The kind of event.
    pub kind: MouseKind,
}

/// Kinds of mouse events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseKind {
    /// The left button was pressed.
    Click,
    /// The wheel was turned up.
    ScrollUp,
    /// The wheel was turned down.
    ScrollDown,
}

impl MouseKind {
    /// Whether a button was pressed.
    pub fn is_click(self) -> bool {
        self == MouseKind::Click
    }

    /// The scroll direction; `None` for a click.
    pub fn wheel(self) -> Option<Motion> {
        match self {
            MouseKind::Click => None,
            MouseKind::ScrollUp => Some(Motion::Up),
            MouseKind::ScrollDown => Some(Motion::Down),
        }
    }
}
