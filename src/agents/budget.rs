//! How much memory an agent may make us use.

use super::{AgentError, ErrorKind};
use crate::formats::adk::Event;
use crate::formats::json::{SyntaxError, parse_within};
use serde_json::Value;

/// What the value of a single answer may take, in bytes.
const ANSWER: usize = 64 << 20;

/// What the events of one turn may take in memory, counted after parsing.
#[derive(Debug)]
pub struct TurnBudget {
    most: usize,
    left: usize,
}

impl TurnBudget {
    /// So many bytes.
    pub fn new(bytes: usize) -> TurnBudget {
        TurnBudget { most: bytes, left: bytes }
    }

    /// Bytes of text that can still become something.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Reads a value within what is left, and says what it takes.
    pub(super) fn parse(&self, text: &str) -> Result<(Value, usize), SyntaxError> {
        parse_within(text, self.left)
    }

    /// Counts what is kept of the turn.
    pub(super) fn keep(&mut self, bytes: usize) -> Result<(), AgentError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.exceeded()),
        }
    }

    pub(super) fn exceeded(&self) -> AgentError {
        let why = format!(
            "what the agent sent in one turn takes more than {} MB of memory; [run] turn_memory_mb in evaltrail.toml \
             allows more",
            self.most >> 20
        );
        AgentError::new(ErrorKind::Protocol, why)
    }
}

/// Bytes that an event takes beside its values.
pub(super) const EVENT: usize = size_of::<Event>();

/// Reads a server's answer that is no event of a turn.
pub(super) fn parse_answer(text: &str) -> Result<Value, SyntaxError> {
    parse_within(text, ANSWER).map(|(value, _)| value)
}
