//! The cases that `--failed` and `--changed` select.

use super::output::print_note;
use evaltrail_core::domain::{CaseKey, InMemory, PlannedCase, RunPlan, RunState, Status};
use evaltrail_core::formats::SetFile;
use evaltrail_engine::history::{CaseResult, PastResults, case_results};
use evaltrail_engine::runner::{self, Selection};
use evaltrail_engine::workspace::{OpenSet, SetPath, Workspace, open_set, read_notes};

/// The files of the selections, and the past results of their cases. A file that cannot be opened is reported when the
/// run is prepared.
fn opened_with_results(
    workspace: &Workspace,
    selections: &[Selection],
) -> (Vec<Option<OpenSet>>, PastResults) {
    let opened: Vec<Option<OpenSet>> = selections
        .iter()
        .map(|selection| open_set(&selection.set).ok())
        .collect();
    let files: Vec<(&SetPath, &SetFile)> = selections
        .iter()
        .zip(&opened)
        .filter_map(|(selection, open)| Some((&selection.set, &open.as_ref()?.file)))
        .collect();
    let past = runner::past_results(workspace, &files, InMemory::Summary);
    (opened, past)
}

/// Selects the cases whose latest result, compared with the case as it is now, is not a pass. If no case of a file was
/// run yet, all of its cases are selected. Errors: results cannot be read, so that it is not known whether it was.
pub(super) fn only_failed(
    workspace: &Workspace,
    selections: Vec<Selection>,
) -> anyhow::Result<Vec<Selection>> {
    let (opened, past) = opened_with_results(workspace, &selections);
    past.unreadable
        .iter()
        .for_each(|error| print_note(&runner::unreadable_text(error)));
    let narrowed = selections
        .into_iter()
        .zip(&opened)
        .map(|(selection, open)| {
            let Some(open) = open else {
                return Ok(selection);
            };
            let notes = read_notes(&selection.set.path).unwrap_or_default();
            let results = case_results(
                (&open.file, Some(&open.digest)),
                &selection.set.path,
                &notes,
                &past.results,
            );
            let results: Vec<CaseResult> = results
                .into_iter()
                .filter(|result| !result.is_foreign())
                .collect();
            let shown = &selection.set.shown;
            match (results.is_empty(), past.unreadable.is_empty()) {
                (true, false) => anyhow::bail!("--failed: {shown} has no results that can be read"),
                (true, true) => {
                    print_note(&format!(
                        "{shown} has not been run yet: all of its cases are selected"
                    ));
                    return Ok(selection);
                }
                (false, _) => {}
            }
            let failed = results
                .iter()
                .filter(|result| result.status() != Status::Passed);
            let key = |result: &CaseResult| CaseKey {
                eval_id: open.file.eval_id(result.index).into_owned(),
                content: open.file.content_hash(result.index),
            };
            Ok(Selection {
                cases: Some(failed.map(key).collect()),
                ..selection
            })
        });
    narrowed.collect()
}

/// Selects the cases that did not pass in a run by its gate. An attempt that is missing does not count.
pub(super) fn only_failed_in(run: &RunState, selections: Vec<Selection>) -> Vec<Selection> {
    let has_failed = |case: &usize| {
        let attempts = run.attempts_of(*case);
        let passes = || {
            let summaries = attempts.iter().map(|attempt| attempt.summary());
            run.plan.options.gate.passes(summaries, attempts.len())
        };
        !attempts.is_empty() && !passes()
    };
    let narrowed = selections.into_iter().map(|selection| {
        let is_of_set = |case: &usize| run.plan.set_of(*case).path == selection.set.path;
        let failed = (0..run.plan.cases.len())
            .filter(is_of_set)
            .filter(has_failed);
        let key = |case: usize| CaseKey {
            eval_id: run.plan.cases.eval_id(case).to_string(),
            content: run.plan.cases.content_hash(case).to_string(),
        };
        Selection {
            cases: Some(failed.map(key).collect()),
            ..selection
        }
    });
    narrowed.collect()
}

/// Selects the cases of a run.
pub(super) fn only_planned_in(plan: &RunPlan, selections: Vec<Selection>) -> Vec<Selection> {
    let narrowed = selections.into_iter().filter_map(|selection| {
        let set = plan
            .sets
            .iter()
            .position(|set| set.path == selection.set.path)?;
        let of_set = plan.cases.iter().filter(|case| case.set == set);
        let key = |case: PlannedCase<'_>| CaseKey {
            eval_id: case.eval_id.into_owned(),
            content: case.content.into_owned(),
        };
        Some(Selection {
            cases: Some(of_set.map(key).collect()),
            ..selection
        })
    });
    narrowed.collect()
}

/// Selects the cases without a result, those that were edited after it, and all of a set whose criteria or agent changed
/// after it.
pub(super) fn only_changed(workspace: &Workspace, selections: Vec<Selection>) -> Vec<Selection> {
    let found = runner::changed_cases(workspace, &selections);
    found
        .unreadable
        .iter()
        .for_each(|error| print_note(&runner::unreadable_text(error)));
    let narrowed = selections
        .into_iter()
        .zip(found.of_selections)
        .map(|(selection, changed)| match changed {
            None => selection,
            Some(cases) => {
                let keys = cases.into_iter().map(|case| case.key).collect();
                Selection {
                    cases: Some(keys),
                    ..selection
                }
            }
        });
    narrowed.collect()
}
