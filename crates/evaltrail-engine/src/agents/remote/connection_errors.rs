//! Errors of connections: a server that cannot be reached, does not answer in time, or ends a response too early.

use super::endpoint::Remote;
use crate::agents::{AgentError, ErrorKind};
use crate::net::http::{cause, chain, check_listening, root_cause};
use crate::process::open_file_limit_error;
use std::time::Duration;

/// The end of an error about a server that cannot be reached.
const IS_IT_RUNNING: &str = "is the server running?";

impl Remote {
    /// Checks that something listens at the address, where no proxy is between: most protocols would say so only in the
    /// first turn of each attempt.
    pub(in crate::agents) async fn check_reachable(&self) -> Result<(), AgentError> {
        check_listening(self.base()).await.map_err(|why| {
            self.error(
                ErrorKind::Unreachable,
                format!("cannot reach {}: {why}; {IS_IT_RUNNING}", self.shown()),
            )
        })
    }

    /// The error of a server that did not answer within a limit.
    pub(in crate::agents) fn silent(&self, limit: Duration) -> AgentError {
        let why = format!(
            "{} did not answer within {} s",
            self.shown(),
            limit.as_secs_f64()
        );
        AgentError::new(ErrorKind::Timeout, why)
    }

    /// The error of a request that failed, or of a response that was cut off.
    pub(in crate::agents) fn broken(&self, error: reqwest::Error) -> AgentError {
        let why = chain(cause(&error));
        if let Some(words) = open_file_limit_error(&error) {
            return self.error(ErrorKind::Unavailable, words);
        }
        if error.is_connect() && !error.is_timeout() {
            let why = root_cause(&error);
            return self.error(
                ErrorKind::Unreachable,
                format!("cannot reach {}: {why}; {IS_IT_RUNNING}", self.shown()),
            );
        }
        if error.is_timeout() {
            return AgentError::new(
                ErrorKind::Timeout,
                format!("{} did not answer in time", self.shown()),
            );
        }
        self.error(
            ErrorKind::Protocol,
            format!("the response was cut off: {why}"),
        )
    }
}

/// The error of an agent that sent nothing for a time.
pub(in crate::agents) fn silence(idle: Duration) -> AgentError {
    let why = format!(
        "the agent sent nothing for {} s during the turn",
        idle.as_secs_f64()
    );
    AgentError::new(ErrorKind::Timeout, why)
}
