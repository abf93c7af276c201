//! The latest results of a set or an agent, in one line of a list.

use evaltrail_core::domain::{Status, clean_line};
use evaltrail_core::formats::SetFile;
use evaltrail_engine::history::{CaseResult, History, RunSource};
use evaltrail_engine::workspace::SetPath;
use std::collections::HashSet;
use std::path::Path;

/// The newest result of ADK for an agent.
pub(super) fn newest_of_adk(history: &History, agent: &Path) -> Option<String> {
    let mut of_agent = history.runs.iter().filter_map(|run| match &run.source {
        RunSource::Adk {
            app_dir, set_id, ..
        } if app_dir == agent => Some((run, set_id)),
        _ => None,
    });
    let (run, set_id) = of_agent.next()?;
    let set_id = clean_line(set_id);
    Some(format!(
        "newest ADK result: {set_id} with {}/{} passed",
        run.totals.passed, run.attempts
    ))
}

/// Whether the results are from runs with different criteria, as far as the runs are known.
pub(super) fn has_mixed_criteria(history: &History, set: &SetPath, results: &[CaseResult]) -> bool {
    let runs: HashSet<&str> = results
        .iter()
        .map(|result| result.run.id.as_str())
        .collect();
    let mut summaries = history
        .runs
        .iter()
        .filter(|run| runs.contains(run.run_id.as_str()));
    let Some(first) = summaries.next() else {
        return false;
    };
    summaries.any(|run| run.has_other_criteria(first, &set.path))
}

/// The number of cases of a file that passed, with notes: cases without a result, with another status in ADK or edited since,
/// foreign runs, several runs.
pub(super) fn result_text(
    results: &[CaseResult],
    file: &SetFile,
    has_mixed_criteria: bool,
) -> String {
    if results.is_empty() {
        return "not run".into();
    }
    let passed = results
        .iter()
        .filter(|result| result.status() == Status::Passed)
        .count();
    let is_only_scored = |result: &&CaseResult| {
        result
            .attempts
            .iter()
            .all(|attempt| attempt.is_only_scored())
    };
    let scored = results.iter().filter(is_only_scored).count();
    let mut words = match scored == results.len() {
        true => format!("{scored} scored, no threshold"),
        false => format!("{passed}/{} passed", results.len()),
    };
    let mut note = |count: usize, what: &str| {
        if count > 0 {
            words.push_str(&format!(", {count} {what}"));
        }
    };
    note(file.len().saturating_sub(results.len()), "not run");
    note(
        count_other_in_adk(results, file),
        "with another status in ADK",
    );
    note(
        results.iter().filter(|result| result.is_foreign()).count(),
        "of a foreign run (not recorded by you)",
    );
    note(
        results.iter().filter(|result| result.edited).count(),
        "edited since and re-evaluated",
    );
    words + &runs_text(results, has_mixed_criteria)
}

/// Of how many runs the results are, if there are several.
fn runs_text(results: &[CaseResult], has_mixed_criteria: bool) -> String {
    let ids = results.iter().map(|result| result.run.id.as_str());
    let runs = ids.collect::<HashSet<&str>>().len();
    match (runs, has_mixed_criteria) {
        (0 | 1, _) => String::new(),
        (_, true) => format!("; from {runs} runs with different criteria"),
        (_, false) => format!("; from {runs} runs"),
    }
}

/// How many cases of a file of ADK have another status by ADK's rules.
pub(super) fn count_other_in_adk(results: &[CaseResult], file: &SetFile) -> usize {
    let is_other = |result: &&CaseResult| result.has_other_status_in_adk();
    match file.form.is_adk() {
        true => results.iter().filter(is_other).count(),
        false => 0,
    }
}
