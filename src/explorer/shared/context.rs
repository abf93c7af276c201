//! Where commands are available.

/// Where a command is available: on a screen, or in a kind of dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Context {
    Browse,
    Case,
    Run,
    /// The screen of an attempt in flight.
    Live,
    /// The list of past runs.
    Runs,
    /// The sets over the past runs.
    Trends,
    /// The cases of two runs.
    Comparison,
    /// One case of two runs.
    ComparedCase,
    /// The triage queue.
    Queue,
    Edit,
    Chat,
    /// A read-only dialog.
    Reading,
    /// A yes-or-no question.
    Confirm,
    /// The trust dialog: what may be started, connected to or used.
    Trust,
    /// A proposed change of files.
    Proposal,
}

impl Context {
    /// Name of the screen; `None` for a dialog.
    pub fn screen(self) -> Option<&'static str> {
        match self {
            Context::Browse => Some("list"),
            Context::Case => Some("case"),
            Context::Run => Some("run"),
            Context::Live => Some("attempt"),
            Context::Runs => Some("runs"),
            Context::Trends => Some("trends"),
            Context::Comparison => Some("comparison"),
            Context::ComparedCase => Some("compared case"),
            Context::Queue => Some("triage"),
            Context::Edit => Some("edit"),
            Context::Chat => Some("chat"),
            Context::Reading | Context::Confirm | Context::Trust | Context::Proposal => None,
        }
    }
}
