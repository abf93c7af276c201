//! The exit code of a run: what counts as a failure, and what is tolerated.

use super::Exit;
use super::args::{CaseArgs, FailOn, RunFailOn};
use super::output::print_note;
use clap::ValueEnum;
use evaltrail_core::domain::{Gate, RunState, counted};
use evaltrail_engine::store::{BASELINE_FILE, Baseline, read_baseline};
use evaltrail_engine::workspace::Workspace;

/// The attempts that did not pass, without those of quarantined cases.
pub(super) fn counted_failures(state: &RunState) -> usize {
    (state.totals.ended() - state.totals.passed).saturating_sub(state.quarantined().ended())
}

/// What fails a run, without quarantined cases: the attempts that did not pass, or with another gate than all attempts the
/// cases that do not pass it.
pub(super) fn failures_by_gate(state: &RunState) -> usize {
    match state.plan.options.gate {
        Gate::All => counted_failures(state),
        Gate::Mean | Gate::Rate(_) | Gate::Until(_) => state.gate_counts().failed,
    }
}

/// The failures that are allowed in a successful run.
pub(super) struct AllowedFailures {
    /// The maximum number of attempts that did not pass, or of cases if another gate than all attempts decides.
    pub(super) failures: Option<usize>,
    /// Whether something changed since the baseline that `--fail-on` names, if only that counts.
    pub(super) changed: Option<bool>,
}

/// The baseline to compare the run with. Errors: it is needed and not there, or cannot be read.
pub(super) fn baseline(
    cases: &CaseArgs,
    turn: Option<u32>,
    workspace: &Workspace,
) -> anyhow::Result<Option<Baseline>> {
    let is_needed = needs_baseline(&cases.fail_on);
    if turn.is_some() {
        if is_needed {
            anyhow::bail!("--fail-on: a run of one turn cannot be compared with the baseline");
        }
        return Ok(None);
    }
    let found = read_baseline(&workspace.root);
    match (found, is_needed) {
        (Ok(None), true) => {
            anyhow::bail!("--fail-on: {}", no_baseline())
        }
        (Err(error), false) => {
            print_note(&format!("not compared with the baseline: {error}"));
            Ok(None)
        }
        (found, _) => Ok(found?),
    }
}

/// Whether some of what `--fail-on` names is a difference to the baseline.
fn needs_baseline(fail_on: &[RunFailOn]) -> bool {
    fail_on.iter().any(|what| what.difference().is_some())
}

/// The message for a workspace without a baseline.
pub(super) fn no_baseline() -> String {
    format!(
        "there is no {BASELINE_FILE} here; `evaltrail runs pin last` makes the last run the baseline"
    )
}

/// What changed since the earlier run that `--fail-on` names, each in words; nothing if the run is successful. `broke` and
/// `removed` are numbers of cases; `fell`: the rate of all cases fell significantly.
pub(super) fn counted_changes(
    fail_on: &[FailOn],
    broke: usize,
    fell: bool,
    removed: usize,
) -> Vec<String> {
    let name = |what: FailOn| {
        what.to_possible_value()
            .map(|value| value.get_name().to_string())
    };
    let found = [
        (
            FailOn::Broke,
            broke > 0,
            format!("{} broke", counted(broke, "case")),
        ),
        (FailOn::Broke, fell, "the pass rate fell".to_string()),
        (
            FailOn::Removed,
            removed > 0,
            format!("{} removed", counted(removed, "case")),
        ),
    ];
    let counts = found
        .into_iter()
        .filter(|(what, has_changed, _)| *has_changed && fail_on.contains(what));
    counts
        .filter_map(|(what, _, words)| Some(format!("--fail-on {}: {words}", name(what)?)))
        .collect()
}

/// Those of the metrics of `--metric` that attempts were scored with, and that have a value in no case. None in a shard: the cases
/// of others may have values.
pub(super) fn metrics_without_value<'a>(state: &RunState, named: &'a [String]) -> Vec<&'a str> {
    if state.plan.options.shard.is_some() {
        return Vec::new();
    }
    let has_result = |name: &str, with_score: bool| {
        state.finished.iter().any(|attempt| {
            let mut metrics = attempt.metrics.iter();
            metrics.any(|one| one.metric == name && (!with_score || one.score.is_some()))
        })
    };
    let names = named.iter().map(String::as_str);
    names
        .filter(|name| has_result(name, false) && !has_result(name, true))
        .collect()
}

pub(super) fn exit_of(
    state: &RunState,
    tolerated: &AllowedFailures,
    interrupted: bool,
    bad_input: bool,
) -> Exit {
    let failed = match tolerated.changed {
        Some(changed) => changed,
        None => failures_by_gate(state) > tolerated.failures.unwrap_or(0),
    };
    if interrupted {
        Exit::Interrupted
    } else if !state.unavailable.is_empty() {
        Exit::UsageError
    } else if failed || state.count_outstanding() > 0 {
        Exit::Failures
    } else if bad_input {
        Exit::UsageError
    } else {
        Exit::Success
    }
}
