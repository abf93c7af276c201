//! The latest results of cases, compared with the cases as they are now: re-evaluated where a case was edited after its run.

use super::latest::{CASES_AT_LEAST, CaseLocation, PastResult};
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

    /// Whether the status is another one by ADK's rules. An attempt that errored is failed there, which says the same.
    pub fn has_other_status_in_adk(&self) -> bool {
        self.attempts.iter().any(|attempt| {
            let statuses = (attempt.status, attempt.adk_status);
            statuses.0 != statuses.1 && statuses != (Status::Errored, Status::Failed)
        })
    }

    /// Whether other samples of a judge could change the status.
    pub fn is_unsteady(&self) -> bool {
        is_unsteady(&self.attempts, self.status())
    }
}

/// The latest results of the cases of a file, by position. Results of single turns are left out. `digest` is the SHA-256 of
/// the file if it is known: where the file is the version that was run, its cases are not compared with those that were run.
pub fn case_results(
    (file, digest): (&SetFile, Option<&str>),
    path: &Path,
    notes: &Notes,
    past: &[PastResult],
) -> Vec<CaseResult> {
    // The newest run comes last and replaces older ones.
    let mut latest: Vec<Option<(&PastResult, CaseLocation)>> = vec![None; file.len()];
    for results in past.chunk_by(|a, b| Arc::ptr_eq(&a.origin, &b.origin)) {
        if results[0].origin.file != *path {
            continue;
        }
        let is_version = digest.is_some_and(|digest| results[0].is_of_version(file, digest));
        let found: Vec<Option<CaseLocation>> = results
            .par_iter()
            .with_min_len(CASES_AT_LEAST)
            .map(|result| result.search(file, is_version))
            .collect();
        let found = results.iter().zip(found);
        for (result, location) in found.filter(|(result, _)| result.turn().is_none()) {
            if let Some(location) = location {
                latest[location.index] = Some((result, location));
            }
        }
    }
    let of = |(result, location): (&PastResult, CaseLocation)| {
        let is_same = || location.is_unchanged || result.is_same_content(file, location.index);
        let again = match has_no_variants(notes, result) && is_same() {
            true => None,
            false => reevaluate(file, notes, location.index, &result.attempts),
        };
        let (edited, attempts) = match again {
            Some(attempts) => (true, attempts),
            None => (false, result.attempts.clone()),
        };
        CaseResult {
            index: location.index,
            run: result.origin.run.clone(),
            attempts,
            edited,
        }
    };
    latest
        .into_par_iter()
        .with_min_len(CASES_AT_LEAST)
        .filter_map(|found| found.map(of))
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

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::AttemptKey;

    #[test]
    fn other_status_in_adk_is_not_that_of_errors() {
        let result_with = |status, adk_status| {
            let key = AttemptKey {
                case: 0,
                attempt: 1,
            };
            let attempt = Attempt {
                status,
                adk_status,
                ..Attempt::blank(key, "a")
            };
            CaseResult {
                index: 0,
                run: Arc::new(RunRef {
                    id: "r".into(),
                    started: String::new(),
                    by: RunBy::Adk,
                }),
                attempts: vec![Arc::new(EndedAttempt::unrecorded(attempt))],
                edited: false,
            }
        };
        for (status, in_adk, is_other) in [
            (Status::Failed, Status::Passed, true),
            (Status::NotEvaluated, Status::Passed, true),
            (Status::Passed, Status::Passed, false),
            (Status::Errored, Status::Failed, false),
        ] {
            let result = result_with(status, in_adk);
            assert_eq!(result.has_other_status_in_adk(), is_other, "{status:?}");
        }
    }
}
