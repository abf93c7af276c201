//! Records what tools answered in a run in the files of stubs beside its sets.

use super::redaction::Redaction;
use crate::domain::{RunState, Status};
use crate::formats::json::TextChange;
use crate::store::{FileAction, FileJob};
use crate::stubs::{NewStubs, StubFile};
use crate::workspace::{Workspace, read_text, stubs_path};
use std::sync::Arc;

/// What is added to the file of stubs of one set.
#[derive(Debug)]
pub struct ToolRecording {
    /// The edit; `None` if there is nothing to add.
    pub job: Option<FileJob>,
    /// What happened, in words.
    pub words: String,
}

/// Plans the recording of the answers of a finished run, set by set. Of each case, the first attempt that did not end with
/// an error counts. Errors: the file, and why it cannot be read.
pub fn record_tools(state: &RunState, workspace: &Workspace) -> Result<Vec<ToolRecording>, String> {
    let redaction = Redaction::of(workspace, &state.plan).of_secrets();
    (0..state.plan.sets.len()).map(|set| record_set(state, set, &redaction)).collect()
}

fn record_set(state: &RunState, set: usize, redaction: &Redaction) -> Result<ToolRecording, String> {
    let path = stubs_path(&state.plan.sets[set].path);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |why: String| format!("{}: {why}", path.display());
    let text = match path.is_file() {
        true => Some(read_text(&path).map_err(|error| failed(error.to_string()))?),
        false => None,
    };
    let file =
        StubFile::parse(text.as_deref().unwrap_or_default()).map_err(|error| failed(error.to_string()))?;
    let file = Arc::new(file);
    let mut new = NewStubs::default();
    for case in (0..state.plan.cases.len()).filter(|case| state.plan.cases.set(*case) == set) {
        let mut attempts =
            state.attempts_of(case).into_iter().filter(|attempt| attempt.status != Status::Errored);
        if let Some(attempt) = attempts.next() {
            let attempt = attempt.read().map_err(|why| failed(why.to_string()))?;
            new.add(&file, &attempt, |value| redaction.redact(value));
        }
    }
    let words = words(&new, &name);
    let job = (!new.lines.is_empty()).then(|| FileJob { action: added(text, &new.text()), path });
    Ok(ToolRecording { job, words })
}

fn added(text: Option<String>, lines: &str) -> FileAction {
    match text {
        None => FileAction::Create(lines.to_string()),
        Some(text) => {
            let feed = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let change = TextChange::one(text.len(), "", &format!("{feed}{lines}"));
            FileAction::Change(text.into(), change)
        }
    }
}

fn words(new: &NewStubs, name: &str) -> String {
    let added = match new.lines.len() {
        0 => format!("no answer of a tool is new for {name}"),
        1 => format!("1 answer of a tool recorded in {name}"),
        count => format!("{count} answers of tools recorded in {name}"),
    };
    let known = (new.known > 0).then(|| format!("{} already in it", new.known));
    let differing =
        (new.differing > 0).then(|| format!("{} differ from what it says, which stays", new.differing));
    [Some(added), known, differing].into_iter().flatten().collect::<Vec<_>>().join("; ")
}
