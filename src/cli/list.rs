//! `evaltrail list`: what is in a folder.

use super::Exit;
use super::args::{ColorWhen, ListArgs};
use super::output::{paint, say};
use crate::domain::{RunState, Status, clean_line};
use crate::formats::adk::ResultFile;
use crate::report::Paint;
use crate::store::{adk_results, load_run, our_runs};
use crate::workspace::{SetPath, Workspace, open_set, read_text};
use std::sync::Arc;

pub(super) fn list(args: ListArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.path)?;
    let paint = paint(ColorWhen::Auto);
    let runs: Vec<RunState> = our_runs(&workspace.root)
        .into_iter()
        .take(20)
        .filter_map(|entry| Some(load_run(&entry.path).ok()?.state))
        .collect();
    let mut exit = Exit::Fine;
    for agent in &workspace.agents {
        if !say(&format!("{}  {}", paint.bold(&clean_line(&agent.name)), paint.faint("ADK agent"))) {
            return Ok(exit);
        }
        for line in adk_lines(&agent.path) {
            say(&format!("  {}", paint.faint(&line)));
        }
    }
    for (name, spec) in &workspace.config.agents {
        say(&format!("{}  {}", paint.bold(&clean_line(name)), paint.faint(&clean_line(&spec.label()))));
    }
    for set in &workspace.sets {
        if !list_set(set, &runs, args.cases, paint) {
            exit = Exit::Wrong;
        }
    }
    if workspace.sets.is_empty() {
        say(
            "no eval sets here; evaltrail looks for *.evalset.json, *.test.json and data sets (.jsonl, .csv, .json)",
        );
    }
    Ok(exit)
}

fn adk_lines(app_dir: &std::path::Path) -> Vec<String> {
    let newest = adk_results(app_dir).into_iter().next();
    let Some(newest) = newest else { return Vec::new() };
    let text = read_text(&newest.path).ok();
    let Some(file) = text.and_then(|text| ResultFile::open(Arc::from(text)).ok()) else { return Vec::new() };
    let passed = file.entries.iter().filter(|entry| entry.status == Some(Status::Passed)).count();
    vec![format!(
        "newest ADK result: {} with {passed}/{} passed",
        clean_line(&file.set_id),
        file.entries.len()
    )]
}

fn list_set(set: &SetPath, runs: &[RunState], cases: bool, paint: Paint) -> bool {
    let open = match open_set(set) {
        Ok(open) => open,
        Err(error) => {
            say(&format!(
                "  {}  {}",
                clean_line(&set.shown),
                paint.status(Status::Errored, &error.to_string())
            ));
            return false;
        }
    };
    let last = runs.iter().find_map(|run| last_result(run, set));
    let result = match &last {
        None => "not run".to_string(),
        Some(statuses) => {
            let passed = statuses.iter().filter(|(_, status)| *status == Status::Passed).count();
            format!("{passed}/{} passed", statuses.len())
        }
    };
    let count = open.file.len();
    let cases_word = if count == 1 { "case" } else { "cases" };
    say(&format!("  {}  {count} {cases_word}  {}", clean_line(&set.shown), paint.faint(&result)));
    if cases {
        for (at, eval_id) in open.file.eval_ids().enumerate() {
            let status = last.iter().flatten().find(|(index, _)| *index == at).map(|(_, status)| *status);
            let glyph = status.map_or(" ".into(), |status| paint.status(status, status.glyph()));
            say(&format!("    {glyph} {}", clean_line(&eval_id)));
        }
    }
    true
}

/// Position in the file and status of each case that the run holds of this file.
fn last_result(run: &RunState, set: &SetPath) -> Option<Vec<(usize, Status)>> {
    let at = run.plan.sets.iter().position(|planned| planned.path == set.path)?;
    let statuses: Vec<(usize, Status)> = (0..run.plan.cases.len())
        .filter(|&case| run.plan.cases[case].set == at)
        .filter_map(|case| Some((run.plan.cases[case].index, run.tally(case).worst?)))
        .collect();
    (!statuses.is_empty()).then_some(statuses)
}
