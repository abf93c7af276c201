//! What the run screen knows.

use crate::domain::{AttemptKey, RunState, Status};
use std::collections::BTreeMap;

/// The cursor of the run screen, and the order of its list.
#[derive(Debug, Default)]
pub struct RunScreen {
    /// When the run began, in seconds on the explorer's clock.
    pub began: f64,
    /// An attempt in flight, or a finished one: its row.
    pub cursor: usize,
    /// Whether the cursor is among the finished attempts.
    pub in_finished: bool,
    /// After the run ended: the positions of its finished attempts, those that did not pass first. Empty while it is
    /// live, when the newest is first.
    pub order: Vec<usize>,
    /// Which of the cases that were to be run are not in it, and why.
    pub left_out: Option<String>,
    /// When each attempt in flight began, in seconds on the explorer's clock.
    pub since: BTreeMap<AttemptKey, f64>,
}

impl RunScreen {
    /// The position of the attempt in a row of the list, given how many are finished.
    pub fn position(&self, row: usize, finished: usize) -> Option<usize> {
        match self.order.is_empty() {
            true => finished.checked_sub(row + 1),
            false => self.order.get(row).copied(),
        }
    }

    /// For how many seconds an attempt has been in flight.
    pub fn elapsed(&self, key: AttemptKey, now: f64) -> f64 {
        self.since.get(&key).map_or(0.0, |since| (now - since).max(0.0))
    }

    /// Orders the list of an ended run: what did not pass first, in the order in which it was planned.
    pub fn order_ended(&mut self, run: &RunState) {
        let rank = |at: &usize| {
            let attempt = &run.finished[*at];
            let rank = match attempt.status {
                Status::Failed => 0,
                Status::Errored => 1,
                Status::NotEvaluated => 2,
                Status::Passed | Status::Informational => 3,
            };
            (rank, attempt.key.case, attempt.key.attempt)
        };
        self.order = (0..run.finished.len()).collect();
        self.order.sort_by_key(rank);
    }
}
