//! The exit code of a run: what counts as a failure, and what is tolerated.

use super::Exit;
use super::args::{CaseArgs, FailOn};
use super::compare::no_baseline;
use super::output::tell;
use crate::domain::RunState;
use crate::store::{Baseline, read_baseline};
use crate::workspace::Workspace;

/// The attempts that did not pass, without those of quarantined cases.
pub(super) fn counted_failures(state: &RunState) -> usize {
    (state.totals.ended() - state.totals.passed).saturating_sub(state.quarantined().ended())
}

/// The failures with which a run is successful.
pub(super) struct Tolerated {
    /// The maximum number of attempts that did not pass.
    pub(super) failures: Option<usize>,
    /// The number of cases that broke since the baseline, if only those count.
    pub(super) broke: Option<usize>,
}

/// The baseline to compare the run with. Errors: it is needed and not there, or cannot be read.
pub(super) fn baseline(
    cases: &CaseArgs,
    turn: Option<u32>,
    workspace: &Workspace,
) -> anyhow::Result<Option<Baseline>> {
    if turn.is_some() {
        if cases.fail_on.is_some() {
            anyhow::bail!("--fail-on broke: a run of one turn cannot be compared with the baseline");
        }
        return Ok(None);
    }
    let found = read_baseline(&workspace.root);
    match (found, cases.fail_on) {
        (Ok(None), Some(FailOn::Broke)) => {
            anyhow::bail!("--fail-on broke: {}", no_baseline())
        }
        (Err(error), None) => {
            tell(&format!("not compared with the baseline: {error}"));
            Ok(None)
        }
        (found, _) => Ok(found?),
    }
}

pub(super) fn exit_of(state: &RunState, tolerated: &Tolerated, interrupted: bool, bad_input: bool) -> Exit {
    let failed = match tolerated.broke {
        Some(broke) => broke > 0,
        None => counted_failures(state) > tolerated.failures.unwrap_or(0),
    };
    if interrupted {
        Exit::Interrupted
    } else if failed || state.count_outstanding() > 0 {
        Exit::Failures
    } else if bad_input {
        Exit::UsageError
    } else {
        Exit::Success
    }
}
