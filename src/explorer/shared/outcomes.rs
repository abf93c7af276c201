//! The latest result of each case.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_table::CaseTable;
use evaltrail_core::analysis::PassCount;
use evaltrail_core::domain::{EndedAttempt, RunBy, RunRef, Status, Totals};
use evaltrail_engine::history::is_unsteady;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The number of neighbouring attempts from which on [`Outcomes::with_replaced_attempts`] divides its work.
const MAPPED_TOGETHER: usize = 256;

/// The original attempts of a case, with the revision of the outcome that they are from.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseAttempts {
    /// Which case.
    pub case: CaseRef,
    /// [`CaseOutcome::revision`].
    pub revision: u64,
    /// Ordered by number.
    pub attempts: Vec<Arc<EndedAttempt>>,
}

/// The latest outcome of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseOutcome {
    /// The run that the attempts belong to.
    pub run: Arc<RunRef>,
    /// The attempts of the case, ordered by number.
    pub attempts: Vec<Arc<EndedAttempt>>,
    /// The original attempts, when the case was edited since and `attempts` are the re-evaluated ones.
    ran: Option<Vec<Arc<EndedAttempt>>>,
    /// The worst status among the attempts.
    pub worst: Status,
    /// Whether that status is unsteady: it could change if a judge sample had voted differently.
    pub unsteady: bool,
    /// Whether some attempts passed and others did not.
    pub is_flaky: bool,
    /// Increases when attempts are added. Used to detect values computed from fewer attempts or from another run.
    pub revision: u64,
    /// Increases whenever results change, also by re-evaluation and what-ifs. Used to detect lines built from older
    /// results.
    pub shown: u64,
}

/// The latest outcomes of all cases, with counts for each set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes {
    cases: CaseTable<CaseOutcome>,
    /// [`CaseOutcome::worst`] of each case, in a table of its own because it is read of all listed cases for each frame.
    statuses: CaseTable<Status>,
    totals: FxHashMap<usize, Totals>,
    /// For each set, the flaky cases by their worst status.
    flaky: FxHashMap<usize, Totals>,
    /// For each set, the runs of its outcomes, each with the number of cases.
    runs: FxHashMap<usize, FxHashMap<Arc<RunRef>, usize>>,
    /// The latest attempt of a single turn of a case, if it is newer than the last run of the whole case.
    alone: FxHashMap<CaseRef, Arc<EndedAttempt>>,
    /// Increases with every change.
    pub version: u64,
}

impl CaseOutcome {
    fn from_attempts(run: &Arc<RunRef>, attempts: Vec<Arc<EndedAttempt>>) -> CaseOutcome {
        let worst = worst(&attempts);
        let unsteady = is_unsteady(&attempts, worst);
        let is_flaky = PassCount::count(&attempts).is_flaky();
        CaseOutcome {
            run: run.clone(),
            attempts,
            ran: None,
            worst,
            unsteady,
            is_flaky,
            revision: 0,
            shown: 0,
        }
    }

    /// The attempt that represents the case ([`evaltrail_core::domain::worst_attempt`]).
    pub fn worst_attempt(&self) -> Option<&Arc<EndedAttempt>> {
        self.attempts.get(self.worst_position())
    }

    /// Position of the first attempt with the worst status, from 0.
    pub fn worst_position(&self) -> usize {
        self.attempts
            .iter()
            .position(|attempt| attempt.status == self.worst)
            .unwrap_or(0)
    }

    /// Whether the case was edited since it was run.
    pub fn is_edited(&self) -> bool {
        self.ran.is_some()
    }

    /// Whether the outcome is from a foreign run ([`RunBy::Foreign`]). Such an outcome does not decide anything.
    pub fn is_foreign(&self) -> bool {
        self.run.by == RunBy::Foreign
    }

    /// Whether the case did not pass and should be run again. False for foreign runs.
    pub fn is_failing(&self) -> bool {
        self.worst != Status::Passed && !self.is_foreign()
    }

    /// The original attempts, even if the case was edited since.
    pub fn as_they_ran(&self) -> &[Arc<EndedAttempt>] {
        self.ran.as_ref().unwrap_or(&self.attempts)
    }
}

/// Whether two outcomes are of the same attempts, although they were read at different times.
fn has_same_attempts(a: &CaseOutcome, b: &CaseOutcome) -> bool {
    let is_same = |(a, b): (&Arc<EndedAttempt>, &Arc<EndedAttempt>)| {
        let compared =
            |one: &EndedAttempt| (one.key.attempt, one.status, one.latency_s.map(f64::to_bits));
        compared(a) == compared(b)
    };
    a.attempts.len() == b.attempts.len() && a.attempts.iter().zip(&b.attempts).all(is_same)
}

impl Outcomes {
    /// Adds an attempt. The first attempt of another run replaces the outcome. An attempt that is already present is
    /// ignored.
    pub fn add(&mut self, case: CaseRef, run: &Arc<RunRef>, attempt: Arc<EndedAttempt>) {
        self.version += 1;
        if attempt.turn.is_some() {
            // An attempt of a single turn does not replace the result of the case.
            self.alone.insert(case, attempt);
            return;
        }
        self.add_recorded(case, run, attempt);
    }

    /// Adds the attempts of a case, ordered by number, like [`Outcomes::add`].
    pub fn add_all(&mut self, case: CaseRef, run: &Arc<RunRef>, attempts: Vec<Arc<EndedAttempt>>) {
        let is_whole = attempts.iter().all(|attempt| attempt.turn.is_none());
        let is_ordered = attempts.is_sorted_by(|a, b| a.key.attempt < b.key.attempt);
        let is_new = self.cases.get(case).is_none();
        if is_new && is_whole && is_ordered && !attempts.is_empty() {
            self.version += 1;
            self.alone.remove(&case);
            let outcome = CaseOutcome {
                revision: self.version,
                shown: self.version,
                ..CaseOutcome::from_attempts(run, attempts)
            };
            self.insert(case, outcome);
        } else {
            attempts
                .into_iter()
                .for_each(|attempt| self.add(case, run, attempt));
        }
    }

    /// Adds an attempt like [`Outcomes::add`], but an attempt of a single turn is the result of the case, too.
    pub fn add_recorded(&mut self, case: CaseRef, run: &Arc<RunRef>, attempt: Arc<EndedAttempt>) {
        self.version += 1;
        self.alone.remove(&case);
        let known = self.remove(case).filter(|known| known.run == *run);
        let known = known.unwrap_or_else(|| CaseOutcome::from_attempts(run, Vec::new()));
        let (mut attempts, mut ran) = (known.attempts, known.ran);
        let at = attempts.partition_point(|known| known.key.attempt < attempt.key.attempt);
        let is_known = |known: &Arc<EndedAttempt>| known.key.attempt == attempt.key.attempt;
        let (revision, shown) = match attempts.get(at).is_some_and(is_known) {
            true => (known.revision, known.shown),
            false => {
                if let Some(ran) = &mut ran {
                    ran.push(attempt.clone());
                }
                attempts.insert(at, attempt);
                (self.version, self.version)
            }
        };
        let outcome = CaseOutcome {
            ran,
            revision,
            shown,
            ..CaseOutcome::from_attempts(run, attempts)
        };
        self.insert(case, outcome);
    }

    /// Sets the outcome of a case.
    fn insert(&mut self, case: CaseRef, outcome: CaseOutcome) {
        self.remove(case);
        count(&mut self.totals, &mut self.flaky, case.set, &outcome);
        let runs = self.runs.entry(case.set).or_default();
        match runs.get_mut(&outcome.run) {
            Some(cases) => *cases += 1,
            None => drop(runs.insert(outcome.run.clone(), 1)),
        }
        self.statuses.insert(case, outcome.worst);
        self.cases.insert(case, outcome);
    }

    /// Removes the outcome of a case.
    fn remove(&mut self, case: CaseRef) -> Option<CaseOutcome> {
        let outcome = self.cases.remove(case)?;
        self.statuses.remove(case);
        uncount(&mut self.totals, &mut self.flaky, case.set, &outcome);
        if let Some(runs) = self.runs.get_mut(&case.set) {
            remove_run(runs, &outcome.run);
        }
        Some(outcome)
    }

    /// Keeps the revisions of the cases whose attempts are those of older outcomes; the others get revisions that those do
    /// not have.
    pub fn keep_revisions(&mut self, older: &Outcomes) {
        for (case, outcome) in self.cases.iter_mut() {
            match older
                .cases
                .get(case)
                .filter(|known| has_same_attempts(known, outcome))
            {
                Some(known) => (outcome.revision, outcome.shown) = (known.revision, known.shown),
                None => {
                    outcome.revision += older.version;
                    outcome.shown += older.version;
                }
            }
        }
        self.version += older.version;
    }

    /// Removes the outcomes of a run. Returns whether there were any.
    pub fn forget(&mut self, run_id: &str) -> bool {
        let of_run: Vec<CaseRef> = self
            .cases()
            .filter(|(_, outcome)| outcome.run.id == run_id)
            .map(|(case, _)| case)
            .collect();
        for case in &of_run {
            self.remove(*case);
        }
        if !of_run.is_empty() {
            self.version += 1;
            // Attempts of single turns are not counted by run.
            self.alone.clear();
        }
        !of_run.is_empty()
    }

    /// The latest attempt of only this turn (from 0), if nothing else of the case was run since.
    pub fn single_turn_attempt(&self, case: CaseRef, turn: usize) -> Option<&Arc<EndedAttempt>> {
        self.alone
            .get(&case)
            .filter(|attempt| attempt.turn == Some(turn as u32 + 1))
    }

    /// The turn (from 0) that was run alone, if nothing else of the case was run since.
    pub fn single_turn(&self, case: CaseRef) -> Option<usize> {
        self.alone.get(&case)?.turn.map(|turn| turn as usize - 1)
    }

    /// The outcome of a case.
    pub fn get(&self, case: CaseRef) -> Option<&CaseOutcome> {
        self.cases.get(case)
    }

    /// Whether no case has an outcome.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Whether the outcome of a case is failing ([`CaseOutcome::is_failing`]). Fast enough to be asked about a million cases
    /// for a frame.
    pub fn is_failing(&self, case: CaseRef) -> bool {
        self.worst(case)
            .is_some_and(|worst| worst != Status::Passed)
            && self.get(case).is_some_and(CaseOutcome::is_failing)
    }

    /// All cases that have an outcome, in their order.
    pub fn cases(&self) -> impl Iterator<Item = (CaseRef, &CaseOutcome)> {
        self.cases.iter()
    }

    /// Number of attempts of all cases.
    pub fn attempts(&self) -> usize {
        self.cases
            .values()
            .map(|outcome| outcome.attempts.len())
            .sum()
    }

    /// Number of bytes to read when all attempts are read in full.
    pub fn bytes_to_read(&self) -> u64 {
        let attempts = self.cases.values().flat_map(|outcome| &outcome.attempts);
        attempts.map(|attempt| attempt.bytes_to_read()).sum()
    }

    /// Gives all outcomes versions that those shown before do not have.
    pub fn replace_shown(&mut self, before: &Outcomes) {
        self.version = self.version.max(before.version) + 1;
        self.cases
            .iter_mut()
            .for_each(|(_, outcome)| outcome.shown = self.version);
    }

    /// Returns outcomes in which every attempt is replaced by the result of `other`, on all processors. `state` is created
    /// for each group of neighbouring attempts.
    pub fn with_replaced_attempts<S>(
        &self,
        state: impl Fn() -> S + Send + Sync,
        other: impl Fn(&mut S, &Arc<EndedAttempt>) -> Arc<EndedAttempt> + Send + Sync,
    ) -> Outcomes {
        let of_cases = self.cases.values().flat_map(|outcome| &outcome.attempts);
        let attempts: Vec<&Arc<EndedAttempt>> = self.alone.values().chain(of_cases).collect();
        let replaced: Vec<Arc<EndedAttempt>> = attempts
            .into_par_iter()
            .with_min_len(MAPPED_TOGETHER)
            .map_init(state, other)
            .collect();
        // In the order of `attempts`.
        let mut replaced = replaced.into_iter();
        let alone = self.alone.keys().copied().zip(replaced.by_ref()).collect();
        let mut mapped = Outcomes {
            version: self.version + 1,
            alone,
            ..Outcomes::default()
        };
        for (case, outcome) in self.cases() {
            let attempts = replaced.by_ref().take(outcome.attempts.len()).collect();
            let (ran, revision) = (outcome.ran.clone(), outcome.revision);
            let shown = mapped.version;
            let shown = CaseOutcome {
                ran,
                revision,
                shown,
                ..CaseOutcome::from_attempts(&outcome.run, attempts)
            };
            mapped.insert(case, shown);
        }
        mapped
    }

    /// The worst status among the attempts of a case.
    pub fn worst(&self, case: CaseRef) -> Option<Status> {
        self.statuses.get(case).copied()
    }

    /// The counts of a set's cases by status.
    pub fn totals(&self, set: usize) -> Totals {
        self.totals.get(&set).copied().unwrap_or_default()
    }

    /// The flaky cases of a set, by their worst status. They are among [`Outcomes::totals`].
    pub fn flaky(&self, set: usize) -> Totals {
        self.flaky.get(&set).copied().unwrap_or_default()
    }

    /// The runs that the outcomes of a set are from, in arbitrary order, each with the number of cases.
    pub fn runs(&self, set: usize) -> impl Iterator<Item = (&Arc<RunRef>, usize)> {
        self.runs
            .get(&set)
            .into_iter()
            .flatten()
            .map(|(run, cases)| (run, *cases))
    }

    /// Replaces a case's attempts by re-evaluated ones; `None` restores the original ones.
    pub fn reevaluate(&mut self, case: CaseRef, results: Option<Vec<Arc<EndedAttempt>>>) {
        self.alone.remove(&case);
        let Some(before) = self.remove(case) else {
            return;
        };
        self.version += 1;
        let ran = before.as_they_ran().to_vec();
        let after = match results {
            Some(attempts) => CaseOutcome {
                ran: Some(ran),
                ..CaseOutcome::from_attempts(&before.run, attempts)
            },
            None => CaseOutcome::from_attempts(&before.run, ran),
        };
        let after = CaseOutcome {
            revision: before.revision,
            shown: self.version,
            ..after
        };
        self.insert(case, after);
    }

    /// Updates the positions of cases that moved within their files. Outcomes of cases that no longer exist are
    /// dropped.
    pub fn follow(&mut self, new: impl Fn(CaseRef) -> Option<CaseRef>) {
        let version = self.version + 1;
        // Attempts of single turns are not re-evaluated, so they are dropped.
        let before = std::mem::take(self);
        self.version = version;
        for (case, outcome) in before.cases.into_cases() {
            if let Some(case) = new(case) {
                self.insert(case, outcome);
            }
        }
    }
}

/// Counts an outcome.
fn count(
    totals: &mut FxHashMap<usize, Totals>,
    flaky: &mut FxHashMap<usize, Totals>,
    set: usize,
    outcome: &CaseOutcome,
) {
    totals.entry(set).or_default().add(outcome.worst);
    if outcome.is_flaky {
        flaky.entry(set).or_default().add(outcome.worst);
    }
}

/// Reverts [`count`].
fn uncount(
    totals: &mut FxHashMap<usize, Totals>,
    flaky: &mut FxHashMap<usize, Totals>,
    set: usize,
    outcome: &CaseOutcome,
) {
    totals.entry(set).or_default().remove(outcome.worst);
    if outcome.is_flaky {
        flaky.entry(set).or_default().remove(outcome.worst);
    }
}

fn remove_run(runs: &mut FxHashMap<Arc<RunRef>, usize>, run: &Arc<RunRef>) {
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
