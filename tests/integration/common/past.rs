//! Past results, as the history returns them.

use evaltrail_core::domain::{Attempt, EndedAttempt, RunBy, RunRef};
use evaltrail_engine::history::{PastResult, ResultOrigin};
use std::path::Path;
use std::sync::Arc;

/// The results of a run. Attempts of the same case are combined into one result.
pub fn past(file: &Path, run: &str, attempts: Vec<Arc<Attempt>>) -> Vec<PastResult> {
    let run = Arc::new(RunRef {
        id: run.into(),
        started: "2026-01-02T03:04:05Z".into(),
        by: RunBy::Evaltrail,
    });
    let origin = ResultOrigin::new(file, run);
    let mut results: Vec<PastResult> = Vec::new();
    for attempt in attempts {
        let attempt = Arc::new(EndedAttempt::unrecorded(attempt));
        let is_its =
            |one: &&mut PastResult| one.eval_id == attempt.eval_id && one.turn() == attempt.turn;
        match results.iter_mut().find(is_its) {
            Some(result) => result.attempts.push(attempt),
            None => results.push(PastResult {
                origin: origin.clone(),
                eval_id: attempt.eval_id.clone(),
                content: String::new(),
                attempts: vec![attempt],
                planned: None,
                found: None,
            }),
        }
    }
    results
}
