//! What can go wrong with a judge, and what may be tried again.

use std::time::Duration;

/// A judge that did not answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct JudgeError {
    /// What kind of failure.
    pub fault: Fault,
    /// The cause, in a sentence.
    pub message: String,
    /// How long the server asks to wait before another try.
    pub retry_after: Option<Duration>,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It could not be reached, is overloaded, or limits how often it is asked.
    Unavailable,
    /// The key is not accepted.
    Refused,
    /// It has no such model.
    UnknownModel,
    /// What may be used is used up; waiting a little does not help.
    Quota,
    /// It took too long.
    Timeout,
    /// It does not take the request in this form.
    Rejected,
    /// It answered something that is no answer, or stopped in the middle.
    Protocol,
    /// It answered without words: blocked, cut, empty.
    NoAnswer,
    /// It cannot be asked as things are configured.
    Setup,
    /// So much was spent that nothing more may be.
    Limit,
}

impl JudgeError {
    /// An error of a kind.
    pub fn new(fault: Fault, message: impl Into<String>) -> JudgeError {
        JudgeError { fault, message: message.into(), retry_after: None }
    }

    /// Whether trying again can help. A time-out is not tried again: the answer may have been paid for, and
    /// ADK does not either.
    pub fn may_retry(&self) -> bool {
        self.fault == Fault::Unavailable
    }
}
