//! Failures of a judge, and which of them may be retried.

use std::time::Duration;

/// A failed request to a judge.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct JudgeError {
    /// The kind of failure.
    pub fault: JudgeErrorKind,
    /// The cause, in a sentence.
    pub message: String,
    /// The delay that the server requests before a retry.
    pub retry_after: Option<Duration>,
    /// Whether the request may be charged: it was sent, and the server did not respond with an error.
    pub may_be_charged: bool,
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeErrorKind {
    /// It could not be reached, is overloaded, or limits the rate of requests.
    Unavailable,
    /// The key is not accepted.
    Refused,
    /// It has no such model.
    UnknownModel,
    /// The quota is used up; a short wait does not help.
    Quota,
    /// It took too long.
    Timeout,
    /// It does not accept the request in this form.
    Rejected,
    /// The response is malformed or incomplete.
    Protocol,
    /// The response has no text: blocked, cut off or empty.
    NoAnswer,
    /// No request can be sent with this configuration.
    Setup,
    /// The spending limit is reached.
    Limit,
}

impl JudgeError {
    /// An error of this kind, without a delay, of a request that costs nothing: it was not sent, or the server
    /// responded with an error.
    pub fn new(fault: JudgeErrorKind, message: impl Into<String>) -> JudgeError {
        JudgeError {
            fault,
            message: message.into(),
            retry_after: None,
            may_be_charged: false,
        }
    }

    /// An error of this kind of a request that may be charged: its response is missing or not usable.
    pub(super) fn after_sending(fault: JudgeErrorKind, message: impl Into<String>) -> JudgeError {
        JudgeError {
            may_be_charged: true,
            ..JudgeError::new(fault, message)
        }
    }

    /// Whether a retry can help. A time-out is not retried: the response may have been charged, and ADK does not
    /// retry it, either.
    pub fn may_retry(&self) -> bool {
        self.fault == JudgeErrorKind::Unavailable
    }
}
