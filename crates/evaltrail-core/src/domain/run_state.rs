//! The state of a run, computed from its events. Live, resumed and loaded runs share this code.

use super::{
    AttemptKey, CancelReason, EndedAttempt, FinishedAttempts, Gate, JudgeUsage, Progress,
    RateVerdict, RunEvent, RunPlan, Status, Transcript, UnavailableAgent, VerdictCounts,
    rate_verdict,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of a run so far.
#[derive(Clone, Debug)]
pub struct RunState {
    /// The plan of the run.
    pub plan: Arc<RunPlan>,
    /// What is waited for before the first attempt, by the name of the agent that is being connected.
    pub connecting: BTreeMap<String, String>,
    /// Agents that could not be connected.
    pub unavailable: Vec<UnavailableAgent>,
    /// Attempts in flight, by key.
    pub in_flight: BTreeMap<AttemptKey, InFlight>,
    /// Attempts that ended, in that order.
    pub finished: FinishedAttempts,
    /// For each case of the plan, the position of its first attempt in `finished`, or [`NONE`].
    first: Vec<u32>,
    /// The positions of the other attempts of a case.
    others: BTreeMap<usize, Vec<u32>>,
    /// By case, what its attempts show about the demanded pass rate; empty for a run whose cases are not run until that is known.
    verdicts: Vec<RateVerdict>,
    /// Attempts that were cancelled before they ended, in that order. A resume runs them again.
    pub cancelled: Vec<AttemptKey>,
    /// What judges spent on attempts that were cancelled.
    pub spent_on_cancelled: JudgeUsage,
    /// Counts over all attempts.
    pub totals: Totals,
    /// Whether the run is paused: no new attempts start.
    pub paused: bool,
    /// Set as soon as the run is being cancelled.
    pub cancelling: Option<CancelReason>,
    /// Problems that are not part of a case.
    pub warnings: Vec<String>,
    /// Duration in seconds, once the run has ended.
    pub ended: Option<f64>,
}

/// The position of the attempt of a case that has none.
const NONE: u32 = u32::MAX;

/// An attempt in flight.
#[derive(Clone, Debug, PartialEq)]
pub struct InFlight {
    /// Its slot, from 0.
    pub slot: usize,
    /// The current turn, from 1, and the number of turns; (0, 0) before the first.
    pub turn: (usize, usize),
    /// The steps so far.
    pub transcript: Transcript,
}

impl InFlight {
    /// The latest step.
    pub fn doing(&self) -> &Progress {
        self.transcript.last().unwrap_or(&Progress::Connecting)
    }
}

/// Counts by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Totals {
    /// How many passed.
    pub passed: usize,
    /// How many failed.
    pub failed: usize,
    /// How many errored.
    pub errored: usize,
    /// How many were not evaluated.
    pub not_evaluated: usize,
}

/// The attempts of one case, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseTally {
    /// Attempts that passed.
    pub passed: usize,
    /// Attempts that ended.
    pub ended: usize,
    /// Attempts that ended and were evaluated.
    pub evaluated: usize,
    /// The worst status among them.
    pub worst: Option<Status>,
}

/// The planned cases, counted by the gate of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateCounts {
    /// All of them. Those that are in none of the other counts have no attempt that ended.
    pub planned: usize,
    /// Those that pass the gate.
    pub passed: usize,
    /// Those with an attempt that ended that do not pass the gate, without quarantined ones. They fail the run.
    pub failed: usize,
    /// Quarantined cases that do not pass the gate.
    pub quarantined: usize,
}

impl Totals {
    /// How many ended.
    pub fn ended(&self) -> usize {
        self.passed + self.failed + self.errored + self.not_evaluated
    }

    /// How many were evaluated: the denominator of a pass rate.
    pub fn evaluated(&self) -> usize {
        self.passed + self.failed + self.errored
    }

    /// The counts with their statuses, in display order.
    pub fn each(&self) -> [(usize, Status); 4] {
        [
            (self.passed, Status::Passed),
            (self.failed, Status::Failed),
            (self.errored, Status::Errored),
            (self.not_evaluated, Status::NotEvaluated),
        ]
    }

    /// The sums of both counts.
    pub fn and(self, other: Totals) -> Totals {
        Totals {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            errored: self.errored + other.errored,
            not_evaluated: self.not_evaluated + other.not_evaluated,
        }
    }

    /// The counts without those of a part.
    pub fn without(self, part: Totals) -> Totals {
        Totals {
            passed: self.passed.saturating_sub(part.passed),
            failed: self.failed.saturating_sub(part.failed),
            errored: self.errored.saturating_sub(part.errored),
            not_evaluated: self.not_evaluated.saturating_sub(part.not_evaluated),
        }
    }

    /// Decrements the count of a status.
    pub fn remove(&mut self, status: Status) {
        let count = match status {
            Status::Passed => &mut self.passed,
            Status::Failed => &mut self.failed,
            Status::Errored => &mut self.errored,
            Status::NotEvaluated | Status::Informational => &mut self.not_evaluated,
        };
        *count = count.saturating_sub(1);
    }

    /// Increments the count of a status.
    pub fn add(&mut self, status: Status) {
        match status {
            Status::Passed => self.passed += 1,
            Status::Failed => self.failed += 1,
            Status::Errored => self.errored += 1,
            Status::NotEvaluated | Status::Informational => self.not_evaluated += 1,
        }
    }
}

impl RunState {
    /// The state of a run before its first event.
    pub fn new(plan: Arc<RunPlan>) -> Self {
        RunState {
            first: vec![NONE; plan.cases.len()],
            others: BTreeMap::new(),
            verdicts: match plan.options.gate {
                Gate::Until(_) => vec![RateVerdict::Undecided; plan.cases.len()],
                _ => Vec::new(),
            },
            plan,
            connecting: BTreeMap::new(),
            unavailable: Vec::new(),
            in_flight: BTreeMap::new(),
            finished: FinishedAttempts::default(),
            cancelled: Vec::new(),
            totals: Totals::default(),
            paused: false,
            spent_on_cancelled: JudgeUsage::default(),
            cancelling: None,
            warnings: Vec::new(),
            ended: None,
        }
    }

    /// The state of a run in which these attempts ended. `None` if one does not belong to a case of the plan, or is there
    /// twice.
    pub fn of_finished(plan: Arc<RunPlan>, finished: FinishedAttempts) -> Option<RunState> {
        let mut state = RunState::new(plan);
        for (position, (key, status)) in finished.statuses().enumerate() {
            let is_known = |at: usize| finished.key(at) == Some(key);
            if key.case >= state.first.len() || state.positions_of(key.case).any(is_known) {
                return None;
            }
            state.add(key, status, position as u32);
        }
        state.finished = finished;
        (0..state.verdicts.len()).for_each(|case| state.note_verdict(case));
        Some(state)
    }

    /// What the judges spent, also on attempts that were cancelled; `None` if none was requested.
    pub fn spent(&self) -> Option<JudgeUsage> {
        let of_cancelled =
            Some(self.spent_on_cancelled).filter(|spent| *spent != JudgeUsage::default());
        self.finished
            .iter()
            .filter_map(|attempt| attempt.spent)
            .chain(of_cancelled)
            .reduce(JudgeUsage::and)
    }

    /// Applies one event. Invalid events (an unknown case) are ignored.
    pub fn apply(&mut self, event: RunEvent) {
        match event {
            RunEvent::Connecting { agent, status } => {
                self.connecting.insert(agent, status);
            }
            RunEvent::Connected { agent } => {
                self.connecting.remove(&agent);
            }
            RunEvent::AgentUnavailable(agent) => {
                self.connecting.remove(&agent.agent);
                self.unavailable.push(agent);
            }
            RunEvent::Started { key, slot } => {
                self.cancelled.retain(|other| *other != key);
                let transcript = Transcript::default();
                self.in_flight.insert(
                    key,
                    InFlight {
                        slot,
                        turn: (0, 0),
                        transcript,
                    },
                );
            }
            RunEvent::Progress { key, progress } => self.progress(key, progress),
            RunEvent::Finished(attempt) => self.finish(attempt),
            RunEvent::Dropped(key) => {
                self.in_flight.remove(&key);
                self.cancelled.push(key);
            }
            RunEvent::SpentOnCancelled(spent) => {
                self.spent_on_cancelled = self.spent_on_cancelled.and(spent);
            }
            RunEvent::Paused(paused) => self.paused = paused,
            RunEvent::Cancelling(reason) => self.cancelling = self.cancelling.max(Some(reason)),
            RunEvent::Warning(text) => self.warnings.push(text),
            RunEvent::Ended { duration_s } => {
                self.connecting.clear();
                self.in_flight.clear();
                self.ended = Some(duration_s);
            }
        }
    }

    fn progress(&mut self, key: AttemptKey, progress: Progress) {
        if let Some(lane) = self.in_flight.get_mut(&key) {
            if let Progress::Turn { turn, of, .. } = progress {
                lane.turn = (turn, of);
            }
            lane.transcript.push(progress);
        }
    }

    fn finish(&mut self, attempt: Arc<EndedAttempt>) {
        self.in_flight.remove(&attempt.key);
        let known = |at: usize| self.finished.key(at) == Some(attempt.key);
        if attempt.key.case >= self.first.len() || self.positions_of(attempt.key.case).any(known) {
            return;
        }
        let case = attempt.key.case;
        self.add(attempt.key, attempt.status, self.finished.len() as u32);
        self.finished.push(attempt);
        self.note_verdict(case);
    }

    /// Counts an attempt that is at a position in `finished`.
    fn add(&mut self, key: AttemptKey, status: Status, position: u32) {
        match &mut self.first[key.case] {
            first if *first == NONE => *first = position,
            _ => self.others.entry(key.case).or_default().push(position),
        }
        self.totals.add(status);
    }

    /// Notes what the attempts of a case show about the demanded pass rate. Called for each attempt that ended, so that it need not be
    /// computed for each frame.
    fn note_verdict(&mut self, case: usize) {
        let Gate::Until(rate) = self.plan.options.gate else {
            return;
        };
        let verdict = rate_verdict(rate, self.statuses_of(case));
        if let Some(known) = self.verdicts.get_mut(case) {
            *known = verdict;
        }
    }

    /// The positions of the attempts of a case in `finished`.
    fn positions_of(&self, case: usize) -> impl Iterator<Item = usize> {
        let first = self.first.get(case).filter(|first| **first != NONE);
        let others = first
            .and_then(|_| self.others.get(&case))
            .into_iter()
            .flatten();
        first.into_iter().chain(others).map(|at| *at as usize)
    }

    /// The attempts of a case that ended, by attempt number.
    pub fn attempts_of(&self, case: usize) -> Vec<Arc<EndedAttempt>> {
        let mut attempts: Vec<_> = self
            .positions_of(case)
            .filter_map(|at| self.finished.get(at))
            .collect();
        attempts.sort_by_key(|attempt| attempt.key.attempt);
        attempts
    }

    /// The statuses of the attempts of a case that ended, each with the number of the attempt, in ascending order. The
    /// summaries of the attempts are not read.
    pub fn statuses_of(&self, case: usize) -> Vec<(u32, Status)> {
        let entry = |at| Some((self.finished.key(at)?.attempt, self.finished.status(at)?));
        let mut statuses: Vec<_> = self.positions_of(case).filter_map(entry).collect();
        statuses.sort_by_key(|(number, _)| *number);
        statuses
    }

    /// The worst status of the attempts of a case that ended; `None` without any.
    pub fn worst_status(&self, case: usize) -> Option<Status> {
        Status::worst(
            self.positions_of(case)
                .filter_map(|at| self.finished.status(at)),
        )
    }

    /// The attempt that represents a case, as [`worst_attempt`](super::worst_attempt), among those that ended.
    pub fn worst_attempt(&self, case: usize) -> Option<Arc<EndedAttempt>> {
        let statuses = self.statuses_of(case);
        let worst = Status::worst(statuses.iter().map(|(_, status)| *status))?;
        let (attempt, _) = statuses.iter().find(|(_, status)| *status == worst)?;
        self.attempt(AttemptKey {
            case,
            attempt: *attempt,
        })
    }

    /// Whether an attempt of a case ended.
    pub fn has_ended(&self, case: usize) -> bool {
        self.first.get(case).is_some_and(|first| *first != NONE)
    }

    /// One attempt, if it ended.
    pub fn attempt(&self, key: AttemptKey) -> Option<Arc<EndedAttempt>> {
        self.finished.get(self.position(key)?)
    }

    fn position(&self, key: AttemptKey) -> Option<usize> {
        self.positions_of(key.case)
            .find(|&at| self.finished.key(at) == Some(key))
    }

    /// The attempts of quarantined cases that did not pass. They are among `totals`, and do not fail the run.
    pub fn quarantined(&self) -> Totals {
        self.not_passed(|case| self.plan.cases.quarantine(case).is_some())
    }

    /// The attempts that did not pass and do not fail the run: those of quarantined cases, and those of cases that pass the
    /// gate.
    pub fn not_counted(&self) -> Totals {
        self.not_passed(|case| self.plan.cases.quarantine(case).is_some() || self.passes_gate(case))
    }

    /// The attempts that did not pass, of the cases of which this is true. It is decided once for each case.
    fn not_passed(&self, is_of: impl Fn(usize) -> bool) -> Totals {
        let mut totals = Totals::default();
        for case in 0..self.plan.cases.len() {
            let statuses = || {
                self.positions_of(case)
                    .filter_map(|at| self.finished.status(at))
            };
            let not_passed = || statuses().filter(|status| *status != Status::Passed);
            if not_passed().next().is_some() && is_of(case) {
                not_passed().for_each(|status| totals.add(status));
            }
        }
        totals
    }

    /// Whether a case passes the gate of the run. Attempts that are missing did not pass.
    pub fn passes_gate(&self, case: usize) -> bool {
        let (gate, planned) = (self.plan.options.gate, self.plan.options.repeat as usize);
        if gate == Gate::All {
            let tally = self.tally(case);
            return tally.ended >= planned.max(1) && tally.passed == tally.ended;
        }
        if let Some(verdict) = self.rate_verdict(case) {
            return verdict == RateVerdict::Passes;
        }
        let attempts = self.attempts_of(case);
        gate.passes(attempts.iter().map(|attempt| attempt.summary()), planned)
    }

    /// Counts the planned cases by the gate.
    pub fn gate_counts(&self) -> GateCounts {
        let mut counts = GateCounts {
            planned: self.plan.cases.len(),
            ..GateCounts::default()
        };
        for case in 0..counts.planned {
            match (self.passes_gate(case), self.plan.cases.quarantine(case)) {
                (true, _) => counts.passed += 1,
                (false, Some(_)) => counts.quarantined += 1,
                (false, None) => counts.failed += usize::from(self.has_ended(case)),
            }
        }
        counts
    }

    /// Counts the attempts of a case.
    pub fn tally(&self, case: usize) -> CaseTally {
        let mut tally = CaseTally::default();
        for status in self
            .positions_of(case)
            .filter_map(|at| self.finished.status(at))
        {
            tally.ended += 1;
            tally.evaluated += usize::from(status.is_evaluated());
            tally.passed += usize::from(status == Status::Passed);
            tally.worst = Status::worst(tally.worst.into_iter().chain([status]));
        }
        tally
    }

    /// Counts cases rather than attempts: a case has the status of its worst attempt.
    pub fn case_totals(&self) -> Totals {
        let mut totals = Totals::default();
        for status in (0..self.plan.cases.len()).filter_map(|case| self.tally(case).worst) {
            totals.add(status);
        }
        totals
    }

    /// The attempts that have not ended, in the plan's order: a resume runs these. Of cases that are run until their pass rate is
    /// known, those that are decided have none, and the first attempts of all others come first.
    pub fn outstanding(&self) -> Vec<AttemptKey> {
        let repeat = self.plan.options.repeat;
        let cases = (0..self.plan.cases.len()).filter(|case| !self.is_decided(*case));
        let mut keys: Vec<AttemptKey> = cases
            .flat_map(|case| (1..=repeat).map(move |attempt| AttemptKey { case, attempt }))
            .filter(|key| self.position(*key).is_none())
            .collect();
        if matches!(self.plan.options.gate, Gate::Until(_)) {
            keys.sort_by_key(|key| (key.attempt, key.case));
        }
        keys
    }

    /// The number of attempts that have not ended. Cases that are run until their pass rate is known need no more when they are
    /// decided.
    pub fn count_outstanding(&self) -> usize {
        if !matches!(self.plan.options.gate, Gate::Until(_)) {
            return self.plan.attempts() - self.finished.len().min(self.plan.attempts());
        }
        let repeat = self.plan.options.repeat as usize;
        let cases = (0..self.plan.cases.len()).filter(|case| !self.is_decided(*case));
        let left = cases.map(|case| repeat.saturating_sub(self.tally(case).ended));
        left.sum()
    }

    /// The number of attempts that ended, and of those that have not: all that are needed.
    pub fn needed_attempts(&self) -> usize {
        match self.plan.options.gate {
            Gate::Until(_) => self.finished.len() + self.count_outstanding(),
            _ => self.plan.attempts(),
        }
    }

    /// The numbers of cases by what their attempts show about the demanded pass rate, if they are run until that is known.
    pub fn verdict_counts(&self) -> VerdictCounts {
        let count = |wanted| self.verdicts.iter().filter(|one| **one == wanted).count();
        VerdictCounts {
            pass: count(RateVerdict::Passes),
            fail: count(RateVerdict::Fails),
            undecided: count(RateVerdict::Undecided),
        }
    }

    /// Whether it is known that the pass rate of a case is above or below the demanded one, if it is run until then.
    pub fn is_decided(&self, case: usize) -> bool {
        let verdict = self.rate_verdict(case);
        verdict.is_some_and(|verdict| verdict != RateVerdict::Undecided)
    }

    /// What the attempts of a case show about the demanded pass rate; `None` if it is not run until that is known.
    pub fn rate_verdict(&self, case: usize) -> Option<RateVerdict> {
        self.verdicts.get(case).copied()
    }

    /// Whether an attempt of a case that is needed has not ended.
    pub fn lacks_attempts(&self, case: usize) -> bool {
        !self.is_decided(case) && self.tally(case).ended < self.plan.options.repeat as usize
    }

    /// Whether events may still follow.
    pub fn is_live(&self) -> bool {
        self.ended.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Attempt, PlannedCase, PlannedCases, RunOptions};

    fn plan(cases: usize, repeat: u32) -> Arc<RunPlan> {
        let case = |index| PlannedCase {
            set: 0,
            index,
            eval_id: index.to_string().into(),
            content: "".into(),
            quarantine: None,
        };
        Arc::new(RunPlan {
            commit: None,
            judge: crate::domain::JudgeSpec::standard(),
            run_id: "r".into(),
            started: String::new(),
            sets: vec![],
            cases: PlannedCases::new((0..cases).map(case)).unwrap(),
            options: RunOptions {
                repeat,
                ..RunOptions::default()
            },
        })
    }

    fn ended(case: usize, attempt: u32, status: Status) -> RunEvent {
        let blank = Attempt::blank(AttemptKey { case, attempt }, "x");
        RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(Attempt {
            status,
            ..blank
        })))
    }

    #[test]
    fn the_gate_counts_all_planned_cases() {
        let mut plan = Arc::unwrap_or_clone(plan(4, 2));
        let case = |case: PlannedCase| match case.index {
            3 => PlannedCase {
                quarantine: Some(Default::default()),
                ..case.into_owned()
            },
            _ => case.into_owned(),
        };
        plan.cases = PlannedCases::new(plan.cases.iter().map(case)).unwrap();
        let mut state = RunState::new(Arc::new(plan));
        for (case, second) in [
            (0, Status::Passed),
            (1, Status::Failed),
            (3, Status::Failed),
        ] {
            state.apply(ended(case, 1, Status::Passed));
            state.apply(ended(case, 2, second));
        }
        let counts = GateCounts {
            planned: 4,
            passed: 1,
            failed: 1,
            quarantined: 1,
        };
        assert_eq!(state.gate_counts(), counts);
        assert_eq!(
            (state.not_counted().failed, state.quarantined().failed),
            (1, 1)
        );
    }

    #[test]
    fn worst_attempt_represents_a_case() {
        let mut state = RunState::new(plan(2, 3));
        for (attempt, status) in [
            (3, Status::Failed),
            (1, Status::Passed),
            (2, Status::Failed),
        ] {
            state.apply(ended(0, attempt, status));
        }
        let statuses = [
            (1, Status::Passed),
            (2, Status::Failed),
            (3, Status::Failed),
        ];
        assert_eq!(state.statuses_of(0), statuses);
        assert_eq!(state.worst_status(0), Some(Status::Failed));
        assert_eq!(state.worst_attempt(0).unwrap().key.attempt, 2);
        assert!(state.worst_status(1).is_none() && state.worst_attempt(1).is_none());
    }

    #[test]
    fn missing_attempts_are_those_not_ended() {
        let mut state = RunState::new(plan(2, 2));
        state.apply(RunEvent::Started {
            key: AttemptKey {
                case: 0,
                attempt: 1,
            },
            slot: 0,
        });
        state.apply(ended(0, 1, Status::Passed));
        state.apply(ended(1, 2, Status::Failed));
        assert!(state.in_flight.is_empty());
        let owed: Vec<_> = state
            .outstanding()
            .iter()
            .map(|key| (key.case, key.attempt))
            .collect();
        assert_eq!(owed, [(0, 2), (1, 1)]);
    }

    #[test]
    fn decided_cases_need_no_more_attempts() {
        let mut plan = Arc::unwrap_or_clone(plan(2, 5));
        plan.options.gate = Gate::Until(0.8);
        let mut state = RunState::new(Arc::new(plan));
        assert_eq!(
            (state.needed_attempts(), state.outstanding().len()),
            (10, 10)
        );
        // The first attempts of both cases come first.
        let cases: Vec<usize> = state
            .outstanding()
            .iter()
            .take(4)
            .map(|key| key.case)
            .collect();
        assert_eq!(cases, [0, 1, 0, 1]);
        for attempt in 1..=3 {
            state.apply(ended(0, attempt, Status::Failed));
        }
        state.apply(ended(1, 2, Status::Passed));
        assert!(state.lacks_attempts(1) && !state.lacks_attempts(0));
        assert_eq!(state.rate_verdict(0), Some(RateVerdict::Fails));
        let left: Vec<(usize, u32)> = state
            .outstanding()
            .iter()
            .map(|key| (key.case, key.attempt))
            .collect();
        assert_eq!(left, [(1, 1), (1, 3), (1, 4), (1, 5)]);
        assert_eq!((state.count_outstanding(), state.needed_attempts()), (4, 8));
        let counts = VerdictCounts {
            pass: 0,
            fail: 1,
            undecided: 1,
        };
        assert_eq!(state.verdict_counts(), counts);
        assert!(!state.passes_gate(0) && !state.passes_gate(1));
    }

    #[test]
    fn attempt_counts_once_and_tally_has_worst() {
        let mut state = RunState::new(plan(1, 3));
        state.apply(ended(0, 2, Status::Passed));
        state.apply(ended(0, 2, Status::Failed));
        state.apply(ended(0, 1, Status::NotEvaluated));
        state.apply(ended(9, 1, Status::Failed));
        assert_eq!(
            (
                state.totals.passed,
                state.totals.failed,
                state.totals.ended()
            ),
            (1, 0, 2)
        );
        let tally = state.tally(0);
        assert_eq!(
            (tally.passed, tally.ended, tally.worst),
            (1, 2, Some(Status::NotEvaluated))
        );
        assert_eq!(
            (tally.evaluated, state.totals.evaluated()),
            (1, 1),
            "not evaluated is no failure"
        );
        let order: Vec<u32> = state
            .attempts_of(0)
            .iter()
            .map(|attempt| attempt.key.attempt)
            .collect();
        assert_eq!(order, [1, 2]);
    }

    #[test]
    fn spent_includes_cancelled_attempts() {
        let mut state = RunState::new(plan(2, 1));
        assert_eq!(state.spent(), None);
        let spent = |asked| JudgeUsage {
            asked,
            cost: Some(0.5),
            ..JudgeUsage::default()
        };
        let attempt = Attempt {
            user_spent: Some(spent(1)),
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "x",
            )
        };
        state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
            attempt,
        ))));
        state.apply(RunEvent::SpentOnCancelled(spent(2)));
        assert_eq!(
            state.spent(),
            Some(JudgeUsage {
                asked: 3,
                cost: Some(1.0),
                ..JudgeUsage::default()
            })
        );
    }

    #[test]
    fn a_cancellation_only_gets_more_severe() {
        let mut state = RunState::new(plan(1, 1));
        state.apply(RunEvent::Cancelling(CancelReason::Stop));
        state.apply(RunEvent::Cancelling(CancelReason::Finish));
        assert_eq!(state.cancelling, Some(CancelReason::Stop));
    }
}
