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
    /// Whether the cursor is in the pane of finished cases; otherwise in that of attempts in flight.
    pub in_finished: bool,
    /// The cases of which an attempt ended, as positions in the plan: that of the newest attempt last while the run is live,
    /// those that did not pass first after its end.
    cases: Vec<u32>,
    /// Whether `cases` are in the order of a run that ended.
    pub is_ordered: bool,
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
    /// The state of the screen of a run that begins or is continued.
    pub fn new(run: &RunState, now: f64) -> RunScreenState {
        let mut screen = RunScreenState {
            began: now,
            ..RunScreenState::default()
        };
        let ended = (0..run.finished.len()).filter_map(|at| run.finished.key(at));
        ended.for_each(|key| screen.add_ended(key.case));
        screen
    }

    /// Adds a case of which an attempt ended, or moves it before the others.
    pub fn add_ended(&mut self, case: usize) {
        let case = case as u32;
        if let Some(at) = self.cases.iter().rposition(|known| *known == case) {
            self.cases.remove(at);
        }
        self.cases.push(case);
        self.is_ordered = false;
    }

    /// The number of cases of which an attempt ended.
    pub fn count(&self) -> usize {
        self.cases.len()
    }

    /// The case in a row of the finished cases, as position in the plan.
    pub fn case(&self, row: usize) -> Option<usize> {
        let at = match self.is_ordered {
            true => row,
            false => self.cases.len().checked_sub(row + 1)?,
        };
        self.cases.get(at).map(|case| *case as usize)
    }

    /// How long an attempt has been in flight, in seconds.
    pub fn elapsed(&self, key: AttemptKey, now: f64) -> f64 {
        self.since
            .get(&key)
            .map_or(0.0, |since| (now - since).max(0.0))
    }

    /// Orders the list of a run that ended: cases that did not pass first, otherwise in the order of the plan. Counts the
    /// cases that pass the gate.
    pub fn order_ended(&mut self, run: &RunState) {
        let rank = |case: &u32| {
            let rank = match run.worst_status(*case as usize) {
                Some(Status::Failed) => 0,
                Some(Status::Errored) => 1,
                Some(Status::NotEvaluated) => 2,
                Some(Status::Passed | Status::Informational) | None => 3,
            };
            (rank, *case)
        };
        self.cases.sort_by_cached_key(rank);
        self.is_ordered = true;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_of_newest_attempt_is_in_first_row() {
        let mut screen = RunScreenState::default();
        for case in [4, 7, 4, 9, 7] {
            screen.add_ended(case);
        }
        let rows: Vec<_> = (0..4).map(|row| screen.case(row)).collect();
        assert_eq!(rows, [Some(7), Some(9), Some(4), None]);
        assert_eq!(screen.count(), 3);
    }
}
