//! Records what tools answered in a run in the files of stubs beside its sets.

use super::past::history_of;
use super::redaction::Redaction;
use crate::store::{FileAction, FileEdit};
use crate::stubs::{NewStubs, StubFile, stub_line, tool_answer_to};
use crate::workspace::{Workspace, read_text, stubs_path};
use evaltrail_core::diff::calls_equal;
use evaltrail_core::domain::{MissingAnswer, RunPlan, RunState, Status, ToolCall};
use evaltrail_core::formats::json::TextChange;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// What is added to the file of stubs of one set.
#[derive(Debug)]
pub struct ToolRecording {
    /// The edit; `None` if there is nothing to add.
    pub job: Option<FileEdit>,
    /// What happened, in words.
    pub words: String,
}

/// Plans the recording of the answers of a finished run, set by set. Of each case, the first attempt that did not end with
/// an error counts, else the first one. Errors: the file, and why it cannot be read.
pub fn record_tools(state: &RunState, workspace: &Workspace) -> Result<Vec<ToolRecording>, String> {
    let redaction = Redaction::for_run(workspace, Some(&state.plan)).of_secrets();
    (0..state.plan.sets.len())
        .map(|set| record_set(state, set, &redaction))
        .collect()
}

fn record_set(
    state: &RunState,
    set: usize,
    redaction: &Redaction,
) -> Result<ToolRecording, String> {
    let path = stubs_path(&state.plan.sets[set].path);
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let failed = |why: String| format!("{}: {why}", path.display());
    let text = existing_text(&path)?;
    let file = StubFile::parse(text.as_deref().unwrap_or_default())
        .map_err(|error| failed(error.to_string()))?;
    let file = Arc::new(file);
    let mut new = NewStubs::default();
    for case in (0..state.plan.cases.len()).filter(|case| state.plan.cases.set_of(*case) == set) {
        let attempts = state.attempts_of(case);
        let complete = attempts
            .iter()
            .find(|attempt| attempt.status != Status::Errored);
        if let Some(attempt) = complete.or(attempts.first()) {
            let attempt = attempt.read().map_err(|why| failed(why.to_string()))?;
            new.add(&file, &attempt, |value| redaction.redact(value));
        }
    }
    let words = summary(&new, &name);
    let job = (!new.lines.is_empty()).then(|| FileEdit {
        action: added(text, &new.text()),
        path,
    });
    Ok(ToolRecording { job, words })
}

/// The maximum number of past runs in which answers are looked for.
const RUNS_SEARCHED: usize = 30;

/// Plans to add the answers that calls of a case lacked, as tools gave them in past runs of the set, the newest first: to
/// the same case, else to another. Errors: no run has an answer, or the file of stubs cannot be read.
pub fn add_missing_answers(
    workspace: &Workspace,
    set: &Path,
    eval_id: &str,
    missing: &[MissingAnswer],
) -> Result<ToolRecording, String> {
    let mut calls: Vec<&ToolCall> = Vec::new();
    for one in missing {
        if !calls.iter().any(|call| calls_equal(call, &one.call, false)) {
            calls.push(&one.call);
        }
    }
    let mut found: Vec<Option<Value>> = vec![None; calls.len()];
    // The plan of the newest run says which variables are secret.
    let mut plan: Option<Arc<RunPlan>> = None;
    let history = history_of(workspace);
    for summary in history
        .ours()
        .filter(|summary| summary.set(set).is_some())
        .take(RUNS_SEARCHED)
    {
        let Ok(state) = history.load(summary, &[]).map(|run| run.state) else {
            continue;
        };
        plan.get_or_insert_with(|| state.plan.clone());
        for (call, answer) in calls
            .iter()
            .zip(&mut found)
            .filter(|(_, answer)| answer.is_none())
        {
            *answer = answer_in(&state, set, eval_id, call);
        }
    }
    let redaction = Redaction::for_run(workspace, plan.as_deref()).of_secrets();
    let line_of = |call: &ToolCall, mut response: Value| {
        redaction.redact(&mut response);
        stub_line(call, &response, eval_id, None, |value| {
            redaction.redact(value)
        })
    };
    let lines: Vec<Value> = calls
        .iter()
        .zip(found)
        .filter_map(|(call, answer)| Some(line_of(call, answer?)))
        .collect();
    if lines.is_empty() {
        let call = calls
            .first()
            .map(|call| call.name.clone())
            .unwrap_or_default();
        return Err(format!(
            "no run has an answer of {call} to this call; run the case once with --stubs=live"
        ));
    }
    let path = stubs_path(set);
    let text = existing_text(&path)?;
    let words = format!(
        "add {} of {} missing answers of tools for {eval_id}",
        lines.len(),
        calls.len()
    );
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(ToolRecording {
        job: Some(FileEdit {
            action: added(text, &lines),
            path,
        }),
        words,
    })
}

/// What a tool answered to a call in a run: in the same case, else in another of the set.
fn answer_in(state: &RunState, set: &Path, eval_id: &str, call: &ToolCall) -> Option<Value> {
    let plan = &state.plan;
    let mut cases: Vec<usize> = (0..plan.cases.len())
        .filter(|case| plan.set_of(*case).path == set)
        .collect();
    cases.sort_by_key(|case| plan.cases.eval_id(*case) != eval_id);
    let attempts = cases.into_iter().flat_map(|case| state.attempts_of(case));
    attempts
        .filter_map(|attempt| attempt.read().ok())
        .find_map(|attempt| tool_answer_to(&attempt, call))
}

fn existing_text(path: &Path) -> Result<Option<String>, String> {
    match path.is_file() {
        true => read_text(path)
            .map(Some)
            .map_err(|error| format!("{}: {error}", path.display())),
        false => Ok(None),
    }
}

fn added(text: Option<String>, lines: &str) -> FileAction {
    match text {
        None => FileAction::Create(lines.to_string()),
        Some(text) => {
            let feed = if text.is_empty() || text.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            let change = TextChange::one(text.len(), "", &format!("{feed}{lines}"));
            FileAction::Change(text.into(), change)
        }
    }
}

fn summary(new: &NewStubs, name: &str) -> String {
    let added = match new.lines.len() {
        0 => format!("no answer of a tool is new for {name}"),
        1 => format!("1 answer of a tool recorded in {name}"),
        count => format!("{count} answers of tools recorded in {name}"),
    };
    let known = (new.known > 0).then(|| format!("{} already in it", new.known));
    let differing = (new.differing > 0).then(|| match new.differing {
        1 => "1 differs from its line, which stays".to_string(),
        count => format!("{count} differ from their lines, which stay"),
    });
    let left_out = (new.left_out > 0).then(|| {
        format!(
            "{} attempts left out, because stubs for other calls or requested failures stood in for tools",
            new.left_out
        )
    });
    let unanswered = (new.unanswered > 0).then(|| match new.unanswered {
        1 => "1 call got no answer: write a line with \"error\" for a tool that fails".to_string(),
        count => format!(
            "{count} calls got no answer: write a line with \"error\" for a tool that fails"
        ),
    });
    [Some(added), known, differing, left_out, unanswered]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}
