//! The error of an agent that cannot be used with its configuration.

use crate::agents::{AgentError, ErrorKind};

/// Creates the error. `why` is a sentence.
pub(in crate::agents) fn setup(why: impl Into<String>) -> AgentError {
    AgentError::new(ErrorKind::Setup, why)
}
