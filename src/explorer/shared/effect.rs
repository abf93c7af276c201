//! Effects: requests for side effects, as data.

use crate::explorer::shared::case_field::CaseField;
use crate::explorer::shared::case_lines::{BodyKey, Compared};
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::outcomes::{CaseAttempts, Outcomes};
use crate::explorer::shared::run_target::RunTarget;
use crate::explorer::shared::ticket::Ticket;
use evaltrail_core::domain::{
    AttemptKey, CancelReason, Decision, DecisionKind, EndedAttempt, EvalCase, HumanVerdict,
    SessionInput,
};
use evaltrail_core::formats::{Notes, SetFile};
use evaltrail_core::metrics::WhatIf;
use evaltrail_engine::history::RunSummary;
use evaltrail_engine::runner::TrustQuestion;
use evaltrail_engine::store::{FileEdit, Reversal};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Files of eval sets that were read, with the SHA-256 of each, by path.
pub type ReadFiles = HashMap<PathBuf, (Arc<SetFile>, String)>;

/// What a text that is open in `$EDITOR` belongs to.
#[derive(Clone, Debug, PartialEq)]
pub enum EditorOf {
    /// A field of the case that is being edited.
    Field(CaseField),
    /// The whole case.
    Case,
    /// The criteria of a set: the file, and its text if the file exists.
    Criteria(PathBuf, Option<Arc<str>>),
}

/// A request from `update` for a side effect. `terminal` executes it; the reply arrives as a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Concerns the terminal, the clipboard or `$EDITOR`.
    Terminal(TerminalEffect),
    /// Concerns files of eval sets.
    Sets(SetEffect),
    /// Concerns runs.
    Run(RunEffect),
    /// Concerns results.
    Results(ResultEffect),
    /// Concerns past runs.
    History(HistoryEffect),
    /// Concerns edits of files.
    Edits(EditEffect),
    /// Concerns the conversation with an agent.
    Chat(ChatEffect),
    /// Concerns another screen or a dialog: `app` carries it out before anything else.
    Request(ScreenRequest),
}

impl Effect {
    /// Updates cases whose positions changed. Returns false if none of its cases exists any more.
    pub(crate) fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        if let Effect::Request(ScreenRequest::ScoreAgain { recorded, .. }) = self {
            recorded.follow(new);
        }
        match self {
            Effect::Request(
                ScreenRequest::DecideGroup { cases, .. }
                | ScreenRequest::RunCases(cases)
                | ScreenRequest::ScoreAgain { cases, .. },
            ) => {
                *cases = cases.iter().filter_map(|case| new(*case)).collect();
                !cases.is_empty()
            }
            _ => true,
        }
    }
}

impl From<ScreenRequest> for Effect {
    fn from(request: ScreenRequest) -> Effect {
        Effect::Request(request)
    }
}

/// What a screen or a dialog requests from another one, or from the whole explorer.
#[derive(Clone, Debug, PartialEq)]
pub enum ScreenRequest {
    /// Run a command.
    Command(&'static CommandName),
    /// Open the help or, if a dialog is open, close it.
    ToggleHelp,
    /// Open the palette of commands.
    OpenPalette,
    /// Run these cases against their agents, or score their saved responses.
    RunCases(Vec<CaseRef>),
    /// Score recorded responses again with the changed criteria.
    ScoreAgain {
        /// The cases.
        cases: Vec<CaseRef>,
        /// Their recorded responses.
        recorded: RunTarget,
        /// The number of cases whose results are older than their criteria and that are not among them.
        left: usize,
    },
    /// Edit a case that is not in its file yet.
    EditNewCase(CaseRef, Box<EvalCase>),
    /// Close the case editor, although changes are lost.
    CloseEditor,
    /// Close the conversation with the agent.
    LeaveChat,
    /// Start another conversation with the same agent, in this session.
    RestartChat(Box<SessionInput>),
    /// Show the past runs.
    ShowRuns,
    /// Delete the run in this folder.
    RemoveRun(PathBuf),
    /// Show the triage queue again, at its case.
    ContinueTriage,
    /// Store a decision about the cases of a group.
    DecideGroup {
        /// The decision.
        kind: DecisionKind,
        /// The cases.
        cases: Vec<CaseRef>,
        /// Why.
        note: String,
        /// The last day of a quarantine; else empty.
        until: String,
    },
    /// Add this change of criteria to the triage.
    ChangeCriteria(WhatIf),
    /// Carry out the decisions of the triage.
    FinishTriage,
}

/// Effects that need the terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum TerminalEffect {
    /// Copy a text to the clipboard.
    Copy(String),
    /// Open a file in `$EDITOR`.
    OpenEditor {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Open a text in `$EDITOR`. The reply is [`crate::explorer::shared::message::EditMsg::TextEdited`].
    EditText {
        /// The text.
        text: String,
        /// Prefix of the name of the temporary file.
        name: String,
        /// Extension of the temporary file, for syntax highlighting.
        ending: &'static str,
        /// What the text belongs to.
        of: EditorOf,
    },
    /// Open the criteria of a set in `$EDITOR`. The reply is [`crate::explorer::shared::message::EditMsg::TextEdited`].
    EditCriteria(usize),
    /// Turn mouse capture on or off.
    CaptureMouse(bool),
    /// Suspend the process and return to the shell.
    Suspend,
    /// Save which set and case are open, and quit.
    Quit,
    /// Quit, and open the sample workspace instead.
    OpenSample,
}

/// Effects on files of sets.
#[derive(Clone, Debug, PartialEq)]
pub enum SetEffect {
    /// Open a set's file.
    Load {
        /// Which set.
        set: usize,
        /// Identifies the request; repeated in the reply.
        ticket: Ticket,
    },
    /// Search the workspace for eval sets again. The reply is [`crate::explorer::shared::message::SetMsg::Found`].
    Rediscover,
    /// Read every case of a set's file, for the filter.
    Summarise {
        /// Which set.
        set: usize,
        /// The file's digest; repeated in the reply.
        digest: String,
        /// The file.
        file: Arc<SetFile>,
    },
    /// Re-evaluate results of cases: compare them with the cases as they are now.
    Reevaluate {
        /// The set.
        set: usize,
        /// The file's digest; repeated in the reply.
        digest: String,
        /// The file.
        file: Arc<SetFile>,
        /// Notes that are stored next to the file.
        notes: Arc<Notes>,
        /// The cases, with their attempts as they ran.
        cases: Vec<CaseAttempts>,
    },
    /// Collect the tools that the workspace and the set's agent use or declare. The reply is
    /// [`crate::explorer::shared::message::SetMsg::ToolsCollected`].
    CollectTools(usize),
    /// List the agents of the workspace with what each says about itself. The reply is
    /// [`crate::explorer::shared::message::SetMsg::AgentsListed`].
    ListAgents,
    /// Read what a run of these sets would use. The reply is [`crate::explorer::shared::message::SetMsg::Configured`].
    ReadConfigured(Ticket, Vec<(usize, Arc<SetFile>)>),
    /// Look for the answers that calls of a case lacked in past runs. The reply is
    /// [`crate::explorer::shared::message::SetMsg::AnswersFound`].
    FindAnswers(CaseRef, Arc<EndedAttempt>),
    /// Read the drafts of a set. The reply is [`crate::explorer::shared::message::SetMsg::DraftsFound`].
    FindDrafts {
        /// The set.
        set: usize,
        /// Its file.
        file: Arc<SetFile>,
        /// Whether drafts are derived if there are none.
        derives: bool,
    },
}

/// Effects on runs.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEffect {
    /// Run these cases.
    Start(Vec<CaseRef>, RunTarget),
    /// Run these cases. The user gave the permissions that these questions request.
    StartTrusted(Vec<CaseRef>, Vec<TrustQuestion>, RunTarget),
    /// Do not use the keys that these questions name, and do not ask about them again in this session.
    DeclineKeys(Vec<TrustQuestion>),
    /// Find the cases that changed since their latest results. The reply is [`crate::explorer::shared::message::RunMsg::ChangedFound`]
    /// with the same ticket.
    FindChanged(Ticket),
    /// Cancel the run.
    Cancel(CancelReason),
    /// Pause the run (no new attempt is started), or continue it.
    Pause(bool),
    /// Cancel one attempt.
    CancelAttempt(AttemptKey),
}

/// Effects on results.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultEffect {
    /// Rescore outcomes in the background.
    Rescore {
        /// Identifies the request; repeated in the reply.
        ticket: Ticket,
        /// The change of criteria.
        change: WhatIf,
        /// The outcomes without the change.
        before: Arc<Outcomes>,
    },
    /// Find the smallest change of criteria for each of these groups with which all of its attempts pass. The reply is
    /// [`crate::explorer::shared::message::ResultMsg::GroupsRelaxed`] with the same ticket.
    RelaxGroups(Ticket, Vec<Vec<Arc<EndedAttempt>>>),
    /// Read what the cases of these files cover. The reply is [`crate::explorer::shared::message::ResultMsg::CoverageRead`].
    ReadCoverage(Ticket, Vec<PathBuf>),
    /// Drop outcomes that are no longer shown, in the background: freeing many of them takes noticeable time.
    Forget(Arc<Outcomes>),
    /// Compute how these changed criteria would change the configs of these sets. The reply is
    /// [`crate::explorer::shared::message::ResultMsg::CriteriaPlanned`].
    PlanCriteria(WhatIf, Vec<usize>),
    /// Compare the last run with the baseline. The reply is [`crate::explorer::shared::message::ResultMsg::BaselineCompared`].
    CompareBaseline(Ticket),
    /// Read the outcomes of every case over the past runs. The reply is [`crate::explorer::shared::message::ResultMsg::Trends`].
    ReadTrends(Ticket),
    /// Read the decisions on failures. The reply is [`crate::explorer::shared::message::ResultMsg::Decisions`].
    ReadDecisions(Ticket),
    /// Read the verdicts given by people. The reply is [`crate::explorer::shared::message::ResultMsg::Verdicts`].
    ReadVerdicts(Ticket),
    /// Save decisions on failures.
    SaveDecisions(Vec<Decision>),
    /// Build the comparison of large turns in the background.
    BuildBody(BodyKey, Arc<Compared>),
    /// Read a large attempt in the background, to build the lines for this key.
    ReadAttempt(BodyKey, Arc<EndedAttempt>),
    /// Read the latest results of all cases from the past runs again.
    ReadAgain(Ticket, ReadFiles),
    /// Save verdicts given by the user.
    SaveVerdicts(Vec<HumanVerdict>),
}

/// Effects on past runs.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryEffect {
    /// List the runs. The ticket is repeated in the reply.
    List(Ticket),
    /// Read a run with its cases as they were.
    Open(Box<RunSummary>),
    /// Read the run in a folder with its cases, and open the case with this id.
    OpenFolder(PathBuf, Option<String>),
    /// Write a run to a file.
    Export(Box<RunSummary>, PathBuf),
    /// Compare the first run with the second.
    Compare(Box<RunSummary>, Box<RunSummary>),
    /// Give the run with this id a name or none.
    Name(String, Option<String>),
    /// Unpin the run with this id.
    Unpin(String),
    /// Pin a run, so that it is not removed with old runs, and write it as the baseline.
    Pin(Box<RunSummary>),
    /// Delete the run in this folder.
    Remove(PathBuf),
}

/// Effects on files that the user edits.
#[derive(Clone, Debug, PartialEq)]
pub enum EditEffect {
    /// Apply an edit. The reply is [`crate::explorer::shared::message::EditMsg::Made`] or [`crate::explorer::shared::message::EditMsg::Failed`].
    Make {
        /// Description of the edit.
        words: String,
        /// The changes to each file.
        jobs: Vec<FileEdit>,
        /// Whether links may point outside the workspace.
        anywhere: bool,
    },
    /// Read the conversations of a session, a recording or a trace. The reply is
    /// [`crate::explorer::shared::message::EditMsg::Conversations`].
    ReadConversations {
        /// Address of the session, or path of a file relative to the opened folder.
        source: String,
        /// The set that the case is added to.
        target: CaptureTarget,
    },
    /// Undo or redo the last edit in the workspace. The reply is [`crate::explorer::shared::message::EditMsg::UnexpectedEdit`]
    /// if the edit is not of the shown set, or was made before the program started, and is not confirmed.
    UndoOrRedo {
        /// Which of both.
        reversal: Reversal,
        /// The file of the shown set.
        shown: Option<PathBuf>,
        /// The edit that the user confirmed, by its id in the log.
        confirmed: Option<u64>,
    },
}

/// The set that a captured case is added to.
#[derive(Clone, Debug, PartialEq)]
pub enum CaptureTarget {
    /// A set, by index.
    Set(usize),
    /// A new set in the folder that was opened.
    NewSet,
}

/// Effects on the conversation with an agent. The size of the variants does not matter, since only one value exists
/// at a time.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq)]
pub enum ChatEffect {
    /// Connect to the agent of a set for a conversation. Replies arrive as [`crate::explorer::shared::message::Msg::Chat`].
    Open {
        /// The set.
        set: usize,
        /// Application, user and state of the session.
        session: SessionInput,
        /// Number of the conversation; repeated in the replies.
        number: u64,
        /// Permissions that the user gave.
        granted: Vec<TrustQuestion>,
    },
    /// Send a message to the agent.
    Send(String),
    /// End the conversation.
    Close,
}
