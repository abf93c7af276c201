//! State of the run screen.

use crate::explorer::shared::case_ref::CaseRef;
use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::{AttemptKey, RunState, Status};
use std::collections::BTreeMap;

/// The run screen. The model keeps its state, [`RunScreenState`], while another screen is shown.
#[derive(Clone, Copy, Debug)]
pub struct RunScreen;

/// State of the run screen.
#[derive(Debug, Default)]
pub struct RunScreenState {
    /// When the run started, in seconds since the explorer opened.
    pub began: f64,
    /// Row of the cursor in its pane.
    pub cursor: usize,
    /// Whether the cursor is in the pane of finished attempts; otherwise in that of attempts in flight.
    pub in_finished: bool,
    /// Order of the finished attempts after the run ended, as positions: those that did not pass come first. Empty
    /// while the run is live; then the newest attempt comes first.
    pub order: Vec<usize>,
    /// How many cases pass the gate of the run, after its end.
    pub passed_gate: Option<usize>,
    /// Which of the requested cases are not part of the run, and why.
    pub left_out: Option<String>,
    /// When each attempt in flight started, in seconds since the explorer opened.
    pub since: BTreeMap<AttemptKey, f64>,
    /// The cases whose results in this run replaced those of an earlier one with several attempts, with how many of these
    /// passed.
    pub replaced: BTreeMap<CaseRef, PassCount>,
}

impl RunScreenState {
    /// Position in `RunState::finished` of the attempt in a row, given the number of finished attempts.
    pub fn position(&self, row: usize, finished: usize) -> Option<usize> {
        match self.order.is_empty() {
            true => finished.checked_sub(row + 1),
            false => self.order.get(row).copied(),
        }
    }

    /// How long an attempt has been in flight, in seconds.
    pub fn elapsed(&self, key: AttemptKey, now: f64) -> f64 {
        self.since
            .get(&key)
            .map_or(0.0, |since| (now - since).max(0.0))
    }

    /// Orders the list of a run that ended: attempts that did not pass first, otherwise in the order of the plan. Counts the
    /// cases that pass the gate.
    pub fn order_ended(&mut self, run: &RunState) {
        let rank = |at: &usize| {
            let rank = match run.finished.status(*at) {
                Some(Status::Failed) => 0,
                Some(Status::Errored) => 1,
                Some(Status::NotEvaluated) => 2,
                Some(Status::Passed | Status::Informational) | None => 3,
            };
            (rank, run.finished.key(*at))
        };
        self.order = (0..run.finished.len()).collect();
        self.order.sort_by_key(rank);
        self.passed_gate = Some(run.gate_counts().passed);
    }
}

/// State of the screen of an attempt in flight. The transcript is part of [`evaltrail_core::domain::RunState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveScreen {
    /// The attempt.
    pub key: AttemptKey,
    /// First visible line. `None`: scrolls to the newest lines as they arrive.
    pub first: Option<usize>,
}
