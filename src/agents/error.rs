//! What can go wrong with an agent, and what may be tried again.

use std::time::Duration;

/// An agent that did not do what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AgentError {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// The cause, in a sentence.
    pub message: String,
    /// How long the server asks to wait before another try.
    pub retry_after: Option<Duration>,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// It could not be reached, or said that it is busy: nothing has happened yet.
    Unavailable,
    /// It took too long.
    Timeout,
    /// It answered something that is no answer, or stopped in the middle.
    Protocol,
    /// It sent more than a turn may take.
    Flood,
    /// The agent itself failed.
    Agent,
    /// It cannot be used as it is configured.
    Setup,
}

impl AgentError {
    /// An error of a kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        AgentError { kind, message: message.into(), retry_after: None }
    }

    /// Whether trying again can help and repeats nothing: agents have side effects, so only a
    /// failure before anything happened is tried again.
    pub fn may_retry(&self) -> bool {
        self.kind == ErrorKind::Unavailable
    }
}
