//! How much memory an agent may make us use.

use super::{AgentError, ErrorKind};
use crate::formats::adk::Event;
use crate::formats::json::{SyntaxError, Unreadable, parse_within};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the value of a single answer may take, in bytes.
const ANSWER: usize = 64 << 20;

/// What the unusually large turns of a run may take, in bytes: they are kept until the run ends.
const RUN: usize = 2 << 30;

/// What a turn may take without being counted for the run.
const USUAL_TURN: usize = 1 << 20;

/// Memory taken by the unusually large turns of a run, in bytes.
#[derive(Debug, Default)]
pub struct RunMemory {
    taken: AtomicUsize,
}

/// What the events of one turn may take in memory, counted after parsing.
#[derive(Debug)]
pub struct TurnBudget {
    most: usize,
    left: usize,
    run: Arc<RunMemory>,
}

impl TurnBudget {
    /// So many bytes, of what the run has left.
    pub fn new(bytes: usize, run: &Arc<RunMemory>) -> TurnBudget {
        TurnBudget { most: bytes, left: bytes, run: run.clone() }
    }

    /// Bytes of text that can still become something.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Parses a value within what is left, and returns the memory it takes. `no_json` gives the message for text that is
    /// not JSON.
    pub(super) fn parse(
        &self,
        text: &str,
        no_json: impl FnOnce(SyntaxError) -> String,
    ) -> Result<(Value, usize), AgentError> {
        parse_within(text, self.left).map_err(|error| match error {
            Unreadable::TooLarge => self.exceeded(),
            Unreadable::Syntax(error) => AgentError::new(ErrorKind::Protocol, no_json(error)),
        })
    }

    /// Counts what is kept of the turn.
    pub(super) fn keep(&mut self, bytes: usize) -> Result<(), AgentError> {
        let before = self.counted();
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => {
                self.run.taken.fetch_sub(before, Ordering::Relaxed);
                return Err(self.exceeded());
            }
        }
        let more = self.counted() - before;
        let taken = self.run.taken.fetch_add(more, Ordering::Relaxed) + more;
        if taken <= RUN {
            return Ok(());
        }
        // A turn that is broken off is not kept.
        self.run.taken.fetch_sub(self.counted(), Ordering::Relaxed);
        let why = format!(
            "what agents sent in this run takes more than {} MB of memory; run fewer cases",
            RUN >> 20
        );
        Err(AgentError::new(ErrorKind::Flood, why))
    }

    /// What counts for the run: usual turns do not.
    fn counted(&self) -> usize {
        (self.most - self.left).saturating_sub(USUAL_TURN)
    }

    pub(super) fn exceeded(&self) -> AgentError {
        let why = format!(
            "what the agent sent in one turn takes more than {} MB of memory; [run] turn_memory_mb in evaltrail.toml \
             allows more",
            self.most >> 20
        );
        AgentError::new(ErrorKind::Flood, why)
    }
}

/// Bytes that an event takes beside its values.
pub(super) const EVENT: usize = size_of::<Event>();

/// Reads a server's answer that is no event of a turn.
pub(super) fn parse_answer(text: &str) -> Result<Value, Unreadable> {
    parse_within(text, ANSWER).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_off_is_not_counted_for_the_run() {
        let run = Arc::new(RunMemory::default());
        let taken = || run.taken.load(Ordering::Relaxed);
        let mut turn = TurnBudget::new(USUAL_TURN + 100, &run);
        turn.keep(USUAL_TURN).unwrap();
        assert_eq!(taken(), 0, "a usual turn does not count");
        turn.keep(60).unwrap();
        assert_eq!((turn.left(), taken()), (40, 60));
        assert_eq!(turn.keep(41).unwrap_err().kind, ErrorKind::Flood);
        assert_eq!(taken(), 0);
        run.taken.store(RUN - 10, Ordering::Relaxed);
        let mut last = TurnBudget::new(USUAL_TURN + 100, &run);
        last.keep(USUAL_TURN + 10).unwrap();
        assert!(last.keep(1).unwrap_err().message.contains("in this run"));
        assert_eq!(taken(), RUN - 10);
    }
}
