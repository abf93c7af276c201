//! Limits on the memory that an agent's events may take.

use super::{AgentError, ErrorKind};
use evaltrail_core::formats::adk::Event;
use evaltrail_core::formats::json::{ParseFailure, SyntaxError, parse_within};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The maximum memory of the parsed value of one response, in bytes.
const ANSWER: usize = 64 << 20;

/// The maximum memory of all unusually large turns of a run that are in memory at the same time, in bytes.
const RUN: usize = 2 << 30;

/// The memory of a turn that does not count towards the limit of the run, in bytes.
const USUAL_TURN: usize = 1 << 20;

/// Memory taken by the unusually large turns of a run, in bytes.
#[derive(Debug, Default)]
pub struct RunMemory {
    taken: AtomicUsize,
}

/// The share of one attempt in a run's memory. It is released when this is dropped, unless the attempt stays in memory.
#[derive(Debug, Default)]
pub struct AttemptMemory {
    run: Arc<RunMemory>,
    taken: AtomicUsize,
    stays: AtomicBool,
}

impl AttemptMemory {
    /// An attempt that uses no memory yet.
    pub fn new(run: &Arc<RunMemory>) -> Arc<AttemptMemory> {
        Arc::new(AttemptMemory {
            run: run.clone(),
            taken: AtomicUsize::new(0),
            stays: AtomicBool::new(false),
        })
    }

    /// Marks the attempt as one that stays in memory because it was not recorded.
    pub fn stays(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Adds `bytes`, and returns the total of the run.
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

/// The memory that the events of one turn may take, counted after parsing.
#[derive(Debug)]
pub struct TurnBudget {
    most: usize,
    left: usize,
    attempt: Arc<AttemptMemory>,
}

impl TurnBudget {
    /// A limit of `bytes` for one turn. Large turns also count towards the limit of the run.
    pub fn new(bytes: usize, attempt: &Arc<AttemptMemory>) -> TurnBudget {
        TurnBudget {
            most: bytes,
            left: bytes,
            attempt: attempt.clone(),
        }
    }

    /// Takes all that is left, for what reads a part of the turn and returns the rest.
    pub(super) fn take_rest(&mut self) -> TurnBudget {
        let left = std::mem::take(&mut self.left);
        TurnBudget {
            most: self.most,
            left,
            attempt: self.attempt.clone(),
        }
    }

    /// The bytes that are left. Text that is longer cannot be parsed within the limit.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Parses a value within the bytes that are left, and returns the memory that it takes. `no_json` creates the
    /// message for text that is not JSON.
    pub(super) fn parse(
        &self,
        text: &str,
        no_json: impl FnOnce(SyntaxError) -> String,
    ) -> Result<(Value, usize), AgentError> {
        parse_within(text, self.left).map_err(|error| match error {
            ParseFailure::TooLarge => self.exceeded(),
            ParseFailure::Syntax(error) => AgentError::new(ErrorKind::Protocol, no_json(error)),
        })
    }

    /// Counts `bytes` that are stored for the turn. Errors: the limit of the turn or of the run is exceeded.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), AgentError> {
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
        // A turn that is cut off is not stored.
        self.attempt.give_back(self.counted());
        let why = format!(
            "the agents' events in this run take more than {} MB of memory; run fewer cases at once",
            RUN >> 20
        );
        Err(AgentError::new(ErrorKind::Flood, why))
    }

    /// The bytes that count towards the limit of the run: those above the usual size of a turn.
    fn counted(&self) -> usize {
        (self.most - self.left).saturating_sub(USUAL_TURN)
    }

    pub(super) fn exceeded(&self) -> AgentError {
        let why = format!(
            "the agent's events of one turn take more than {} MB of memory; [run] turn_memory_mb in evaltrail.toml \
             raises the limit",
            self.most >> 20
        );
        AgentError::new(ErrorKind::Flood, why)
    }
}

/// The bytes that an event takes in addition to its values. The list of events doubles its capacity when it is full, and
/// while its events are moved, the old one takes memory, too.
pub(super) const EVENT: usize = 2 * size_of::<Event>();

/// Parses a response body that is not an event of a turn.
pub(super) fn parse_answer(text: &str) -> Result<Value, ParseFailure> {
    parse_within(text, ANSWER).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turn_over_limit_releases_run_memory() {
        let run = Arc::new(RunMemory::default());
        let attempt = AttemptMemory::new(&run);
        let taken = || run.taken.load(Ordering::Relaxed);
        let mut turn = TurnBudget::new(USUAL_TURN + 100, &attempt);
        turn.charge(USUAL_TURN).unwrap();
        assert_eq!(taken(), 0, "a usual turn does not count");
        turn.charge(60).unwrap();
        assert_eq!((turn.left(), taken()), (40, 60));
        assert_eq!(turn.charge(41).unwrap_err().kind, ErrorKind::Flood);
        assert_eq!(taken(), 0);
        run.taken.store(RUN - 10, Ordering::Relaxed);
        let mut last = TurnBudget::new(USUAL_TURN + 100, &attempt);
        last.charge(USUAL_TURN + 10).unwrap();
        assert!(last.charge(1).unwrap_err().message.contains("in this run"));
        assert_eq!(taken(), RUN - 10);
    }

    #[test]
    fn attempt_memory_is_freed_unless_retained() {
        let run = Arc::new(RunMemory::default());
        for (stays, left) in [(false, 0), (true, 40)] {
            let attempt = AttemptMemory::new(&run);
            TurnBudget::new(2 * USUAL_TURN, &attempt)
                .charge(USUAL_TURN + 40)
                .unwrap();
            assert_eq!(run.taken.load(Ordering::Relaxed), 40);
            if stays {
                attempt.stays();
            }
            drop(attempt);
            assert_eq!(run.taken.load(Ordering::Relaxed), left);
        }
    }
}
