//! The conversations of the sources that `evaltrail capture` reads.

use super::find_run::find_run;
use evaltrail_core::domain::{EndedAttempt, RunState, Status};
use evaltrail_core::formats::SetFile;
use evaltrail_engine::history::find_case;
use evaltrail_engine::runner::{RecordedConversation, recorded_conversations};
use evaltrail_engine::workspace::{Workspace, open_set};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// All conversations of a source. Of several attempts of a case, those that passed are first.
pub(super) fn conversations(
    source: &str,
    workspace: &Workspace,
) -> anyhow::Result<Vec<RecordedConversation>> {
    let Some(run) = source.strip_prefix("run:") else {
        return read_source(source);
    };
    let run = find_run(workspace, run)?;
    let mut attempts: Vec<Arc<EndedAttempt>> = run.state.finished.iter().collect();
    attempts.sort_by_key(|attempt| attempt.status != Status::Passed);
    let mut files = HashMap::new();
    attempts
        .iter()
        .map(|attempt| of_attempt(workspace, &run.state, attempt, &mut files))
        .collect()
}

pub(super) fn read_source(source: &str) -> anyhow::Result<Vec<RecordedConversation>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime
        .block_on(recorded_conversations(source, Path::new("")))
        .map_err(anyhow::Error::msg)
}

/// What an agent did in an attempt. `files` contains the sets that are open already, by their positions in the plan.
pub(super) fn of_attempt(
    workspace: &Workspace,
    run: &RunState,
    attempt: &EndedAttempt,
    files: &mut HashMap<usize, Option<SetFile>>,
) -> anyhow::Result<RecordedConversation> {
    let error = attempt.error.as_ref();
    let whole = attempt.read().map_err(anyhow::Error::msg)?;
    let plan = &run.plan;
    let set = plan.cases.get(attempt.key.case).map(|case| case.set);
    let file = set.and_then(|set| {
        let open = || open_set(&workspace.set_path(&plan.sets[set].path)).ok();
        let file = files
            .entry(set)
            .or_insert_with(|| open().map(|open| open.file));
        file.as_ref()
    });
    let case = file.and_then(|file| {
        let content = plan.cases.content_hash(attempt.key.case);
        file.case(find_case(file, &attempt.eval_id, content)?).ok()
    });
    Ok(RecordedConversation {
        id: attempt.eval_id.clone(),
        agent: set.map(|set| plan.sets[set].agent_name.clone()),
        turns: whole.actual.to_vec(),
        input: case.and_then(|case| case.session_input),
        // A run records the state at the end of a conversation only.
        states: Vec::new(),
        notes: Vec::new(),
        problem: error.map(|error| format!("the agent did not finish: {error}")),
    })
}
