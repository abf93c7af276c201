//! State of the run screen.

use crate::explorer::shared::case_ref::CaseRef;
use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::{AttemptKey, RunState, Status};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The run screen. The model keeps its state, [`RunScreenState`], while another screen is shown.
#[derive(Clone, Copy, Debug)]
pub struct RunScreen;

/// State of the run screen.
#[derive(Debug, Default)]
pub struct RunScreenState {
    /// When the run started, in seconds since the explorer opened.
    pub began: f64,
    /// When the first attempt started since then, in seconds since the explorer opened.
    pub first_started: Option<f64>,
    /// The number of attempts that had ended before, in a run that is continued.
    pub ended_before: usize,
    /// Row of the cursor in its pane.
    pub cursor: usize,
    /// Whether the cursor is in the pane of finished cases; otherwise in that of attempts in flight.
    pub in_finished: bool,
    /// The cases of which an attempt ended and did not pass, as positions in the plan, the first row last: that of the newest
    /// attempt while the run is live.
    failing: Vec<u32>,
    /// The cases of which attempts ended, and all of them passed, in the same order. Their rows are below the others.
    passing: Vec<u32>,
    /// Whether the cases are in the order of a run that ended.
    pub is_ordered: bool,
    /// How many cases pass the gate of the run, after its end.
    pub passed_gate: Option<usize>,
    /// Which of the requested cases are not part of the run, and why.
    pub left_out: Option<String>,
    /// When each attempt in flight started, in seconds since the explorer opened.
    pub since: BTreeMap<AttemptKey, f64>,
    /// The cases whose results in this run replaced those of an earlier one with several attempts: how many of these passed,
    /// and their number.
    pub replaced: BTreeMap<CaseRef, (PassCount, usize)>,
}

impl RunScreenState {
    /// The state of the screen of a run that begins or is continued.
    pub fn new(run: &RunState, now: f64) -> RunScreenState {
        let mut screen = RunScreenState {
            began: now,
            ended_before: run.totals.ended(),
            ..RunScreenState::default()
        };
        let ended = (0..run.finished.len()).filter_map(|at| run.finished.key(at));
        ended.for_each(|key| screen.add_ended(run, key.case));
        screen
    }

    /// Adds a case of which an attempt ended, or moves it before the others.
    pub fn add_ended(&mut self, run: &RunState, case: usize) {
        let number = case as u32;
        if run.statuses_of(case).len() > 1 {
            self.remove(number);
        }
        match run.worst_status(case) {
            Some(Status::Passed | Status::Informational) => self.passing.push(number),
            _ => self.failing.push(number),
        }
        self.is_ordered = false;
    }

    /// Removes a case. The attempts of a case end at about the same time, so it is searched from the newest rows on.
    fn remove(&mut self, case: u32) {
        let longest = self.failing.len().max(self.passing.len());
        for distance in 1..=longest {
            for cases in [&mut self.failing, &mut self.passing] {
                let at = cases.len().checked_sub(distance);
                if let Some(at) = at.filter(|at| cases[*at] == case) {
                    cases.remove(at);
                    return;
                }
            }
        }
    }

    /// The number of cases of which an attempt ended.
    pub fn count(&self) -> usize {
        self.failing.len() + self.passing.len()
    }

    /// The case in a row of the finished cases, as position in the plan.
    pub fn case(&self, row: usize) -> Option<usize> {
        let rows = self.failing.iter().rev().chain(self.passing.iter().rev());
        let mut rows = rows.skip(row);
        rows.next().map(|case| *case as usize)
    }

    /// Attempts that ended in each second since the first one started; `None` before two have ended. The time in which agents
    /// are connected does not count.
    pub fn attempts_per_second(&self, ended: usize, now: f64) -> Option<f64> {
        let seconds = now - self.first_started?;
        let ended = ended.checked_sub(self.ended_before)?;
        (ended >= 2 && seconds > 0.0).then(|| ended as f64 / seconds)
    }

    /// How long an attempt has been in flight, in seconds.
    pub fn elapsed(&self, key: AttemptKey, now: f64) -> f64 {
        self.since
            .get(&key)
            .map_or(0.0, |since| (now - since).max(0.0))
    }

    /// Orders the list of a run that ended: failed cases first, then errored ones, otherwise in the order of the plan. Counts
    /// the cases that pass the gate.
    pub fn order_ended(&mut self, run: &RunState) {
        let rank = |case: &u32| {
            let rank = match run.worst_status(*case as usize) {
                Some(Status::Failed) => 0,
                Some(Status::Errored) => 1,
                _ => 2,
            };
            Reverse((rank, *case))
        };
        self.failing.sort_by_cached_key(rank);
        self.passing.sort_by_key(|case| Reverse(*case));
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
    use evaltrail_core::domain::{
        Attempt, EndedAttempt, JudgeSpec, PlannedCase, PlannedCases, RunEvent, RunOptions, RunPlan,
    };
    use std::sync::Arc;

    fn repeated_run(cases: usize) -> RunState {
        let case = |index| PlannedCase {
            set: 0,
            index,
            eval_id: index.to_string().into(),
            content: "".into(),
            quarantine: None,
        };
        RunState::new(Arc::new(RunPlan {
            commit: None,
            judge: JudgeSpec::standard(),
            run_id: "r".into(),
            started: String::new(),
            sets: vec![],
            cases: PlannedCases::new((0..cases).map(case)).unwrap(),
            options: RunOptions {
                repeat: 2,
                ..RunOptions::default()
            },
        }))
    }

    #[test]
    fn pace_counts_from_the_first_attempt() {
        let screen = RunScreenState {
            began: 10.0,
            first_started: Some(40.0),
            ended_before: 100,
            ..RunScreenState::default()
        };
        assert_eq!(screen.attempts_per_second(101, 45.0), None);
        assert_eq!(screen.attempts_per_second(120, 50.0), Some(2.0));
        let connecting = RunScreenState {
            first_started: None,
            ..screen
        };
        assert_eq!(connecting.attempts_per_second(120, 50.0), None);
    }

    #[test]
    fn failing_cases_are_first_then_newest() {
        let (mut run, mut screen) = (repeated_run(5), RunScreenState::default());
        let mut rows = |case: usize, attempt: u32, status| {
            let key = AttemptKey { case, attempt };
            let ended = Attempt {
                status,
                ..Attempt::blank(key, "x")
            };
            run.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
                ended,
            ))));
            screen.add_ended(&run, case);
            let rows: Vec<usize> = (0..screen.count())
                .filter_map(|row| screen.case(row))
                .collect();
            rows
        };
        rows(1, 1, Status::Passed);
        rows(4, 1, Status::Failed);
        assert_eq!(rows(2, 1, Status::Passed), [4, 2, 1]);
        assert_eq!(rows(1, 2, Status::Errored), [1, 4, 2]);
        assert_eq!(rows(4, 2, Status::Passed), [4, 1, 2]);
        assert_eq!(rows(0, 1, Status::Passed), [4, 1, 0, 2]);
        screen.order_ended(&run);
        let ended: Vec<_> = (0..5).map(|row| screen.case(row)).collect();
        assert_eq!(ended, [Some(4), Some(1), Some(0), Some(2), None]);
    }
}
