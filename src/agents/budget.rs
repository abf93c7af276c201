//! How much memory an agent may make us use.

use super::{AgentError, ErrorKind};
use crate::formats::adk::Event;
use crate::formats::json::{SyntaxError, Unreadable, parse_within};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What the value of a single answer may take, in bytes.
const ANSWER: usize = 64 << 20;

/// What the unusually large turns of a run may take together while they are in memory, in bytes.
const RUN: usize = 2 << 30;

/// What a turn may take without being counted for the run.
const USUAL_TURN: usize = 1 << 20;

/// Memory taken by the unusually large turns of a run, in bytes.
#[derive(Debug, Default)]
pub struct RunMemory {
    taken: AtomicUsize,
}

/// What one attempt takes of a run's memory. It is given back with this, unless the attempt stays in memory.
#[derive(Debug, Default)]
pub struct AttemptMemory {
    run: Arc<RunMemory>,
    taken: AtomicUsize,
    stays: AtomicBool,
}

impl AttemptMemory {
    /// An attempt that has taken nothing yet.
    pub fn of(run: &Arc<RunMemory>) -> Arc<AttemptMemory> {
        Arc::new(AttemptMemory {
            run: run.clone(),
            taken: AtomicUsize::new(0),
            stays: AtomicBool::new(false),
        })
    }

    /// The attempt is not recorded, so that it stays in memory.
    pub fn stays(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Takes more; what the run has taken then.
    fn take(&self, bytes: usize) -> usize {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        self.run.taken.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
        self.run.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for AttemptMemory {
    fn drop(&mut self) {
        if !self.stays.load(Ordering::Relaxed) {
            self.give_back(self.taken.load(Ordering::Relaxed));
        }
    }
}

/// What the events of one turn may take in memory, counted after parsing.
#[derive(Debug)]
pub struct TurnBudget {
    most: usize,
    left: usize,
    attempt: Arc<AttemptMemory>,
}

impl TurnBudget {
    /// So many bytes, of what the run has left.
    pub fn new(bytes: usize, attempt: &Arc<AttemptMemory>) -> TurnBudget {
        TurnBudget { most: bytes, left: bytes, attempt: attempt.clone() }
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
                self.attempt.give_back(before);
                return Err(self.exceeded());
            }
        }
        let more = self.counted() - before;
        if self.attempt.take(more) <= RUN {
            return Ok(());
        }
        // A turn that is broken off is not kept.
        self.attempt.give_back(self.counted());
        let why = format!(
            "what agents sent in this run takes more than {} MB of memory at once; run fewer cases at once",
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
        let attempt = AttemptMemory::of(&run);
        let taken = || run.taken.load(Ordering::Relaxed);
        let mut turn = TurnBudget::new(USUAL_TURN + 100, &attempt);
        turn.keep(USUAL_TURN).unwrap();
        assert_eq!(taken(), 0, "a usual turn does not count");
        turn.keep(60).unwrap();
        assert_eq!((turn.left(), taken()), (40, 60));
        assert_eq!(turn.keep(41).unwrap_err().kind, ErrorKind::Flood);
        assert_eq!(taken(), 0);
        run.taken.store(RUN - 10, Ordering::Relaxed);
        let mut last = TurnBudget::new(USUAL_TURN + 100, &attempt);
        last.keep(USUAL_TURN + 10).unwrap();
        assert!(last.keep(1).unwrap_err().message.contains("in this run"));
        assert_eq!(taken(), RUN - 10);
    }

    #[test]
    fn what_an_attempt_took_is_given_back_unless_it_stays() {
        let run = Arc::new(RunMemory::default());
        for (stays, left) in [(false, 0), (true, 40)] {
            let attempt = AttemptMemory::of(&run);
            TurnBudget::new(2 * USUAL_TURN, &attempt).keep(USUAL_TURN + 40).unwrap();
            assert_eq!(run.taken.load(Ordering::Relaxed), 40);
            if stays {
                attempt.stays();
            }
            drop(attempt);
            assert_eq!(run.taken.load(Ordering::Relaxed), left);
        }
    }
}
