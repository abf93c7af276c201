//! The latest results of cases, compared with the cases as they are now: re-evaluated where a case was edited after its run.

use super::latest::{CASES_AT_LEAST, PastResult};
use evaltrail_core::domain::{Attempt, Derivation, EndedAttempt, RunBy, RunRef, Status, Variant};
use evaltrail_core::formats::{Notes, SetFile};
use evaltrail_core::metrics::reevaluated_attempt;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// The latest result of a case, compared with the case as it is now.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// The position of the case in the file.
    pub index: usize,
    /// The run.
    pub run: Arc<RunRef>,
    /// The attempts; re-evaluated if the case was edited after the run.
    pub attempts: Vec<Arc<EndedAttempt>>,
    /// Whether the case was edited after the run, so that the attempts are re-evaluated.
    pub edited: bool,
}

impl CaseResult {
    /// The status of the case: that of its worst attempt.
    pub fn status(&self) -> Status {
        Status::worst(self.attempts.iter().map(|attempt| attempt.status))
            .unwrap_or(Status::NotEvaluated)
    }

    /// Whether the run is foreign, so that nothing is based on the result.
    pub fn is_foreign(&self) -> bool {
        self.run.by == RunBy::Foreign
    }

    /// Whether other samples of a judge could change the status.
    pub fn is_unsteady(&self) -> bool {
        is_unsteady(&self.attempts, self.status())
    }
}

/// The latest results of the cases of a file, by position. Results of single turns are left out. `digest` is the SHA-256 of
/// the file: its cases are the ones that were run where it was run in this version. It is empty if it is not known.
pub fn case_results(
    (file, digest): (&SetFile, &str),
    path: &Path,
    notes: &Notes,
    past: &[PastResult],
) -> Vec<CaseResult> {
    let of_file: Vec<&PastResult> = past
        .iter()
        .filter(|result| result.origin.file == *path && result.turn().is_none())
        .collect();
    let found: Vec<Option<(usize, Option<bool>)>> = of_file
        .par_iter()
        .with_min_len(CASES_AT_LEAST)
        .map(|result| result.search(file, digest))
        .collect();
    // The newest run comes last and replaces older ones.
    let mut latest: Vec<Option<(&PastResult, Option<bool>)>> = vec![None; file.len()];
    for (result, found) in of_file.into_iter().zip(found) {
        let entry = found.and_then(|(at, is_same)| Some((latest.get_mut(at)?, is_same)));
        if let Some((entry, is_same)) = entry {
            *entry = Some((result, is_same));
        }
    }
    let of = |index: usize| {
        let (result, is_same) = latest[index]?;
        let is_same = || is_same.unwrap_or_else(|| result.is_same_content(file, index));
        let again = match has_no_variants(notes, result) && is_same() {
            true => None,
            false => reevaluate(file, notes, index, &result.attempts),
        };
        let (edited, attempts) = match again {
            Some(attempts) => (true, attempts),
            None => (false, result.attempts.clone()),
        };
        Some(CaseResult {
            index,
            run: result.origin.run.clone(),
            attempts,
            edited,
        })
    };
    (0..latest.len())
        .into_par_iter()
        .with_min_len(CASES_AT_LEAST)
        .filter_map(of)
        .collect()
}

/// Whether the result needs no re-evaluation: the case is unchanged, and there neither are nor were any variants of its
/// trajectory.
pub fn is_unchanged(file: &SetFile, notes: &Notes, at: usize, result: &PastResult) -> bool {
    has_no_variants(notes, result) && result.is_same_content(file, at)
}

/// Whether there neither are nor were any variants of the trajectory of a case.
fn has_no_variants(notes: &Notes, result: &PastResult) -> bool {
    let has_variants = notes
        .for_case(&result.eval_id)
        .is_some_and(|notes| !notes.variants.is_empty());
    !has_variants
        && !result
            .attempts
            .iter()
            .any(|attempt| attempt.is_decided_by_variants())
}

/// Whether there are attempts with this status and other samples of a judge could change each of them.
pub fn is_unsteady(attempts: &[Arc<EndedAttempt>], status: Status) -> bool {
    let mut such = attempts
        .iter()
        .filter(|attempt| attempt.status == status)
        .peekable();
    such.peek().is_some() && such.all(|attempt| attempt.unsteady)
}

/// The re-evaluated attempts of a case that was edited after the run.
pub type Reevaluated = Vec<Arc<EndedAttempt>>;

/// Re-evaluates attempts against the case as it is now; `None` if nothing that affects them has changed.
pub fn reevaluate(
    file: &SetFile,
    notes: &Notes,
    at: usize,
    attempts: &[Arc<EndedAttempt>],
) -> Option<Reevaluated> {
    let case = Arc::new(file.case(at).ok()?);
    let variants: Arc<[Variant]> = notes
        .for_case(&case.eval_id)
        .map_or_else(Arc::default, |notes| notes.variants.as_slice().into());
    let again: Derivation = {
        let (case, variants) = (case.clone(), variants.clone());
        Arc::new(move |ran| {
            reevaluated_attempt(ran, &case, &variants).unwrap_or_else(|| ran.clone())
        })
    };
    let of = |ran: &Arc<EndedAttempt>| match ran.read() {
        Ok(whole) => reevaluated_attempt(&whole, &case, &variants)
            .map(|now| Arc::new(EndedAttempt::derived(ran, &now, &again))),
        Err(why) => Some(Arc::new(not_compared(ran, &why))),
    };
    let found: Vec<Option<Arc<EndedAttempt>>> = attempts.iter().map(of).collect();
    if found.iter().all(Option::is_none) {
        return None;
    }
    Some(
        found
            .into_iter()
            .zip(attempts)
            .map(|(now, ran)| now.unwrap_or_else(|| ran.clone()))
            .collect(),
    )
}

/// An attempt that cannot be re-evaluated because its record cannot be read.
fn not_compared(ran: &EndedAttempt, why: &str) -> EndedAttempt {
    let error = format!("the attempt cannot be compared with the current case: {why}");
    EndedAttempt::unrecorded(Attempt {
        status: Status::NotEvaluated,
        adk_status: ran.adk_status,
        error: Some(error),
        started: ran.started.clone(),
        latency_s: ran.latency_s,
        failed: ran.failed,
        tries: ran.tries,
        turn: ran.turn,
        ..Attempt::blank(ran.key, &ran.eval_id)
    })
}
