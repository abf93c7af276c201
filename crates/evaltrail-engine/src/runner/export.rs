//! What of a run is for other people, without secrets: the file that can be opened elsewhere, and reports.

use super::redaction::Redaction;
use crate::store::{LoadedRun, export_run};
use crate::workspace::Workspace;
use evaltrail_core::domain::{
    Attempt, Derivation, EndedAttempt, FinishedAttempts, RunPlan, RunState, Status,
    UnavailableAgent,
};
use std::path::Path;
use std::sync::Arc;

/// Writes a run to a file. Values of environment variables and of `.env` files whose names say that they are secret or
/// that agents and judges are given, and texts that look like credentials, are replaced; so are the paths of the
/// workspace and of the home folder.
pub fn export(workspace: &Workspace, run: &LoadedRun, to: &Path) -> std::io::Result<()> {
    let known = Redaction::for_run(workspace, Some(&run.state.plan));
    export_run(run, &workspace.root, to, |line| known.redact(line))
}

/// A run for reports that other people may read: what [`export`] replaces is replaced in its plan and its attempts. Its
/// paths cannot be opened. Errors: an attempt cannot be read, or something other than a text of the plan is a secret.
pub fn redacted(workspace: &Workspace, state: &RunState) -> std::io::Result<RunState> {
    let known = Arc::new(Redaction::for_run(workspace, Some(&state.plan)));
    let again: Derivation = {
        let known = known.clone();
        Arc::new(move |attempt| redacted_attempt(&known, attempt))
    };
    let mut finished = FinishedAttempts::default();
    for ended in state.finished.iter() {
        let attempt = again(&*ended.read_to_write()?);
        finished.push(Arc::new(EndedAttempt::derived(&ended, &attempt, &again)));
    }
    let twice = || std::io::Error::other("an attempt is there twice");
    let plan = Arc::new(redacted_plan(&known, &state.plan)?);
    let mut shown = RunState::of_finished(plan, finished).ok_or_else(twice)?;
    shown.cancelled = state.cancelled.clone();
    shown.cancelling = state.cancelling;
    shown.warnings = state
        .warnings
        .iter()
        .map(|warning| known.redacted(warning))
        .collect();
    // Errors name programs and addresses.
    let unavailable = state.unavailable.iter().map(|one| UnavailableAgent {
        agent: known.redacted(&one.agent),
        error: known.redacted(&one.error),
        ..one.clone()
    });
    shown.unavailable = unavailable.collect();
    shown.ended = state.ended;
    Ok(shown)
}

/// A text about a run for other people, in which the same is replaced as in [`redacted`].
pub fn redacted_text(workspace: &Workspace, plan: &RunPlan, text: &str) -> String {
    Redaction::for_run(workspace, Some(plan)).redacted(text)
}

fn redacted_plan(known: &Redaction, plan: &RunPlan) -> std::io::Result<RunPlan> {
    let mut value = serde_json::to_value(plan)?;
    known.redact(&mut value);
    serde_json::from_value(value).map_err(|error| {
        std::io::Error::other(format!("the plan cannot be shown without secrets: {error}"))
    })
}

fn redacted_attempt(known: &Redaction, attempt: &Attempt) -> Attempt {
    let redacted = serde_json::to_value(attempt).and_then(|mut value| {
        known.redact(&mut value);
        serde_json::from_value(value)
    });
    redacted.unwrap_or_else(|error| Attempt {
        status: Status::Errored,
        error: Some(format!(
            "the attempt cannot be shown without secrets: {error}"
        )),
        ..Attempt::blank(attempt.key, &known.redacted(&attempt.eval_id))
    })
}
