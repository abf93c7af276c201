//! Errors of agents, and which of them may be retried.

use std::time::Duration;

/// A request to an agent failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AgentError {
    /// The kind of failure.
    pub kind: ErrorKind,
    /// The cause, in a sentence.
    pub message: String,
    /// The delay before a retry that the server requested.
    pub retry_after: Option<Duration>,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The agent could not be reached, or reported that it is busy. It has not done anything yet.
    Unavailable,
    /// Nothing accepts connections at the agent's address.
    Unreachable,
    /// The agent did not respond in time.
    Timeout,
    /// The response was malformed or incomplete.
    Protocol,
    /// The agent sent more than the memory limit allows.
    Flood,
    /// The agent reported an error.
    Agent,
    /// The agent cannot be used with its configuration.
    Setup,
}

impl AgentError {
    /// Creates an error.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        AgentError {
            kind,
            message: message.into(),
            retry_after: None,
        }
    }

    /// Whether the request may be retried. Agents have side effects, so only failures before the agent did anything are
    /// retried.
    pub fn may_retry(&self) -> bool {
        matches!(self.kind, ErrorKind::Unavailable | ErrorKind::Unreachable)
    }
}
