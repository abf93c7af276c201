//! Scores that are stored in data sets. They are shown until the cases are scored by evaltrail.

use super::latest::{PastResult, ResultOrigin};
use evaltrail_core::domain::{
    Attempt, AttemptKey, EndedAttempt, RunBy, RunRef, adk_status, case_status,
};
use evaltrail_core::formats::SetFile;
use std::path::Path;
use std::sync::Arc;

/// The scores that a file contains. Files that are too large to be loaded have none.
pub fn recorded_results(path: &Path, file: &SetFile) -> Vec<PastResult> {
    let has_scores = |at: usize| file.case(at).is_ok_and(|case| !case.recorded.is_empty());
    if file.form.is_adk() || !file.is_in_memory() || file.is_empty() || !has_scores(0) {
        return Vec::new();
    }
    let run = Arc::new(RunRef {
        id: "in the file".into(),
        started: String::new(),
        by: RunBy::File,
    });
    let origin = ResultOrigin::new(path, run);
    let of = |index: usize| {
        let case = file.case(index).ok()?;
        let saved = case.saved.clone().unwrap_or_default();
        let attempt = Attempt {
            expected: case.turns().into(),
            status: case_status(&case.recorded),
            adk_status: adk_status(&case.recorded),
            metrics: case.recorded,
            actual: saved.turns.into(),
            latency_s: saved.latency_s,
            failed: saved.failed,
            ..Attempt::blank(
                AttemptKey {
                    case: index,
                    attempt: 1,
                },
                &case.eval_id,
            )
        };
        Some(PastResult {
            origin: origin.clone(),
            eval_id: case.eval_id,
            content: file.content_hash(index),
            attempts: vec![Arc::new(EndedAttempt::unrecorded(attempt))],
            planned: None,
            found: None,
        })
    };
    (0..file.len()).filter_map(of).collect()
}
