//! The latest result of each case.

use crate::domain::{EndedAttempt, RunBy, RunRef, Status, Totals};
use crate::explorer::CaseRef;
use crate::history::is_unsteady;
use std::collections::HashMap;
use std::sync::Arc;

/// The attempts of a case as they ran, with the revision of the outcome they were taken from.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseAttempts {
    /// Which case.
    pub case: CaseRef,
    /// [`CaseOutcome::revision`].
    pub revision: u64,
    /// By number.
    pub attempts: Vec<Arc<EndedAttempt>>,
}

/// The newest outcome of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseOutcome {
    /// The run it is from.
    pub run: Arc<RunRef>,
    /// Its attempts, by number.
    pub attempts: Vec<Arc<EndedAttempt>>,
    /// The original attempts, when the case was edited since and `attempts` are the re-evaluated ones.
    ran: Option<Vec<Arc<EndedAttempt>>>,
    /// The status a person should look at first.
    pub worst: Status,
    /// Whether that status hangs on which samples a judge happened to give.
    pub unsteady: bool,
    /// Goes up when attempts are added: what was computed from fewer attempts, or from those of another run, is
    /// known by it.
    pub revision: u64,
    /// Goes up with every other result of the attempts, re-evaluated and what-if ones among them: what was drawn from
    /// an older one is known by it.
    pub shown: u64,
}

/// The newest outcomes of all cases, with the counts of each set kept up to date.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes {
    cases: HashMap<CaseRef, CaseOutcome>,
    totals: HashMap<usize, Totals>,
    /// How many cases of each set have their outcome from which run.
    runs: HashMap<usize, HashMap<Arc<RunRef>, usize>>,
    /// The newest attempt of a single turn of a case, where one was run since the case was.
    alone: HashMap<CaseRef, Arc<EndedAttempt>>,
    /// Goes up with every change.
    pub version: u64,
}

impl CaseOutcome {
    fn of(run: &Arc<RunRef>, attempts: Vec<Arc<EndedAttempt>>) -> CaseOutcome {
        let worst = worst(&attempts);
        let unsteady = is_unsteady(&attempts, worst);
        CaseOutcome { run: run.clone(), attempts, ran: None, worst, unsteady, revision: 0, shown: 0 }
    }

    /// The attempt a person should look at first: the first one with the worst status.
    pub fn worst_attempt(&self) -> Option<&Arc<EndedAttempt>> {
        self.attempts.get(self.worst_position())
    }

    /// Its position among the attempts, from 0.
    pub fn worst_position(&self) -> usize {
        self.attempts.iter().position(|attempt| attempt.status == self.worst).unwrap_or(0)
    }

    /// Whether the case was edited since it was run.
    pub fn is_edited(&self) -> bool {
        self.ran.is_some()
    }

    /// Whether it is of a run that was recorded elsewhere, so that nothing is decided by it.
    pub fn is_foreign(&self) -> bool {
        self.run.by == RunBy::Foreign
    }

    /// Whether the case is to be run again: it did not pass in a run of this person's.
    pub fn is_failing(&self) -> bool {
        self.worst != Status::Passed && !self.is_foreign()
    }

    /// The attempts as they ran, whatever became of the case since.
    pub fn as_they_ran(&self) -> &[Arc<EndedAttempt>] {
        self.ran.as_ref().unwrap_or(&self.attempts)
    }
}

impl Outcomes {
    /// Takes one attempt in. The first of another run replaces what was there; one that is there already changes
    /// nothing.
    pub fn add(&mut self, case: CaseRef, run: &Arc<RunRef>, attempt: Arc<EndedAttempt>) {
        self.version += 1;
        if attempt.turn.is_some() {
            // A turn is not the case: the result of the case stays.
            self.alone.insert(case, attempt);
            return;
        }
        self.alone.remove(&case);
        let before = self.cases.get(&case).map(|outcome| outcome.worst);
        let outcome = self.cases.entry(case).or_insert_with(|| CaseOutcome::of(run, Vec::new()));
        let runs = self.runs.entry(case.set).or_default();
        if outcome.run != *run {
            remove_run(runs, &outcome.run);
            *outcome = CaseOutcome::of(run, Vec::new());
        }
        if outcome.attempts.is_empty() {
            *runs.entry(run.clone()).or_default() += 1;
        }
        let at = outcome.attempts.partition_point(|known| known.key.attempt < attempt.key.attempt);
        if outcome.attempts.get(at).is_some_and(|known| known.key.attempt == attempt.key.attempt) {
            return;
        }
        if let Some(ran) = &mut outcome.ran {
            ran.push(attempt.clone());
        }
        outcome.attempts.insert(at, attempt);
        outcome.worst = worst(&outcome.attempts);
        outcome.unsteady = is_unsteady(&outcome.attempts, outcome.worst);
        outcome.revision = self.version;
        outcome.shown = self.version;
        let after = outcome.worst;
        let totals = self.totals.entry(case.set).or_default();
        if let Some(before) = before {
            totals.remove(before);
        }
        totals.add(after);
    }

    /// The attempt of this turn of a case alone (from 0), if that was the last thing run of it.
    pub fn alone(&self, case: CaseRef, turn: usize) -> Option<&Arc<EndedAttempt>> {
        self.alone.get(&case).filter(|attempt| attempt.turn == Some(turn as u32 + 1))
    }

    /// The turn of a case (from 0) of which an attempt alone is the last thing run.
    pub fn turn_alone(&self, case: CaseRef) -> Option<usize> {
        self.alone.get(&case)?.turn.map(|turn| turn as usize - 1)
    }

    /// The outcome of a case.
    pub fn get(&self, case: CaseRef) -> Option<&CaseOutcome> {
        self.cases.get(&case)
    }

    /// All cases that have an outcome, in no order.
    pub fn cases(&self) -> impl Iterator<Item = (CaseRef, &CaseOutcome)> {
        self.cases.iter().map(|(case, outcome)| (*case, outcome))
    }

    /// How many attempts there are.
    pub fn attempts(&self) -> usize {
        self.cases.values().map(|outcome| outcome.attempts.len()).sum()
    }

    /// How many bytes it takes to read all of every attempt.
    pub fn bytes_to_read(&self) -> u64 {
        let attempts = self.cases.values().flat_map(|outcome| &outcome.attempts);
        attempts.map(|attempt| attempt.bytes_to_read()).sum()
    }

    /// The same with other attempts in the places of these.
    pub fn map(&self, mut other: impl FnMut(&Arc<EndedAttempt>) -> Arc<EndedAttempt>) -> Outcomes {
        let alone = self.alone.iter().map(|(case, attempt)| (*case, other(attempt))).collect();
        let runs = self.runs.clone();
        let mut mapped = Outcomes { version: self.version + 1, alone, runs, ..Outcomes::default() };
        for (case, outcome) in &self.cases {
            let attempts: Vec<Arc<EndedAttempt>> = outcome.attempts.iter().map(&mut other).collect();
            let (ran, revision) = (outcome.ran.clone(), outcome.revision);
            let shown = mapped.version;
            let shown = CaseOutcome { ran, revision, shown, ..CaseOutcome::of(&outcome.run, attempts) };
            mapped.totals.entry(case.set).or_default().add(shown.worst);
            mapped.cases.insert(*case, shown);
        }
        mapped
    }

    /// The status of a case, by its worst attempt.
    pub fn worst(&self, case: CaseRef) -> Option<Status> {
        self.get(case).map(|outcome| outcome.worst)
    }

    /// The counts of a set.
    pub fn totals(&self, set: usize) -> Totals {
        self.totals.get(&set).copied().unwrap_or_default()
    }

    /// The runs that the outcomes of a set are from, in no order.
    pub fn runs(&self, set: usize) -> impl Iterator<Item = &Arc<RunRef>> {
        self.runs.get(&set).into_iter().flat_map(HashMap::keys)
    }

    /// Shows a case's attempts as they would have come out of the case as it is now, or as they ran.
    pub fn reevaluate(&mut self, case: CaseRef, results: Option<Vec<Arc<EndedAttempt>>>) {
        self.alone.remove(&case);
        let Some(before) = self.cases.get(&case) else { return };
        self.version += 1;
        let ran = before.as_they_ran().to_vec();
        let after = match results {
            Some(attempts) => CaseOutcome { ran: Some(ran), ..CaseOutcome::of(&before.run, attempts) },
            None => CaseOutcome::of(&before.run, ran),
        };
        let after = CaseOutcome { revision: before.revision, shown: self.version, ..after };
        let totals = self.totals.entry(case.set).or_default();
        totals.remove(before.worst);
        totals.add(after.worst);
        self.cases.insert(case, after);
    }

    /// Takes cases along that moved within their files; results of cases that are gone are dropped.
    pub fn follow(&mut self, new: impl Fn(CaseRef) -> Option<CaseRef>) {
        self.version += 1;
        let cases = std::mem::take(&mut self.cases).into_iter();
        self.cases = cases.filter_map(|(case, outcome)| Some((new(case)?, outcome))).collect();
        // Edited cases are re-evaluated anew; a turn alone is run again.
        self.alone.clear();
        self.totals.clear();
        self.runs.clear();
        for (case, outcome) in &self.cases {
            self.totals.entry(case.set).or_default().add(outcome.worst);
            let runs = self.runs.entry(case.set).or_default();
            *runs.entry(outcome.run.clone()).or_default() += 1;
        }
    }
}

fn remove_run(runs: &mut HashMap<Arc<RunRef>, usize>, run: &Arc<RunRef>) {
    if let Some(count) = runs.get_mut(run) {
        *count -= 1;
        if *count == 0 {
            runs.remove(run);
        }
    }
}

fn worst(attempts: &[Arc<EndedAttempt>]) -> Status {
    Status::worst(attempts.iter().map(|attempt| attempt.status)).unwrap_or(Status::Passed)
}
