//! `evaltrail drafts --verify`: runs an agent with drafts of cases, and notes what it did.

use super::interrupts::Interrupts;
use super::open_drafts::{OpenDrafts, draft_lines};
use super::output::{print_line, print_note, print_progress};
use super::run_args::parse_stub_mode;
use super::{Exit, trust};
use anyhow::bail;
use clap::Args;
use evaltrail_core::domain::{
    CancelReason, DraftVerdict, EvalCase, RunEvent, RunOptions, RunState, StubMode, clean_line,
    counted,
};
use evaltrail_core::formats::{CheckedDraft, Draft};
use evaltrail_engine::process::{PrivateFolder, Runtimes};
use evaltrail_engine::runner::{
    self, DraftCheckRequest, DraftCheckRun, Run, checked_drafts, prepare_draft_checks,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// How drafts are verified.
#[derive(Args, Debug)]
pub(super) struct VerifyArgs {
    /// Run an agent with the drafts, and note what it did
    #[arg(long, conflicts_with_all = ["accept", "drop", "json", "dry_run"], help_heading = VERIFYING)]
    pub(super) verify: bool,
    /// The agent, by name or address [default: that of the set]
    #[arg(long, value_name = "AGENT", requires = "verify", help_heading = VERIFYING)]
    pub(super) agent: Option<String>,
    /// Attempts of each draft
    #[arg(long, value_name = "N", requires = "verify", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100), help_heading = VERIFYING)]
    pub(super) repeat: u32,
    /// Answer tools from the stubs of the set, and calls without one with: fail (default), error, live or nearest
    #[arg(long, value_name = "UNMATCHED", num_args = 0..=1, default_missing_value = "fail", require_equals = true,
          value_parser = parse_stub_mode, requires = "verify", help_heading = VERIFYING)]
    pub(super) stubs: Option<StubMode>,
    /// Let the agent's own tools run, with all that they change
    #[arg(long, requires = "verify", help_heading = VERIFYING)]
    pub(super) live: bool,
    /// Allow what the files of the folder name, such as the agent's program, without asking
    #[arg(long, requires = "verify", help_heading = VERIFYING)]
    pub(super) trust: bool,
}

const VERIFYING: &str = "Verifying";

/// Runs the agent with the chosen drafts, and stores what it did beside the set.
pub(super) fn verify(
    args: &VerifyArgs,
    open: &OpenDrafts,
    chosen: &BTreeSet<usize>,
) -> anyhow::Result<Exit> {
    let drafts = open.drafts.cases().filter(|(at, ..)| chosen.contains(at));
    let (positions, cases): (Vec<usize>, Vec<EvalCase>) =
        drafts.map(|(at, _, case)| (at, case.clone())).unzip();
    if cases.is_empty() {
        print_note("there is no such draft; nothing was run");
        return Ok(Exit::Success);
    }
    let check = prepare_draft_checks(&DraftCheckRequest {
        workspace: &open.workspace,
        set: (&open.set, &open.file),
        cases: &cases,
        agent: args.agent.as_deref(),
        options: RunOptions {
            repeat: args.repeat,
            ..open.workspace.config.run_options()
        },
        stubs: args.stubs,
        env: Vec::new(),
    });
    let mut check = check.map_err(anyhow::Error::msg)?;
    if check.calls_tools() && !args.live {
        bail!(
            "the agent's own tools would run, with all that they change, {} times; --live allows that, --stubs answers from the recorded answers of the set (`evaltrail run --record-tools` records them)",
            cases.len() * args.repeat as usize
        );
    }
    let questions =
        runner::trust_questions(&open.workspace, &check.prepared, args.agent.as_deref());
    if !trust::allowed(&questions, args.trust)? {
        return Ok(Exit::UsageError);
    }
    check.prepared.grant.destinations = runner::allowed_destinations(&questions);
    // Attempts are read from the folder until it is dropped.
    let (state, interrupted, _folder) = run(check)?;
    store(open, (&positions, &cases), &state, interrupted)
}

/// Runs the agent. Returns the state at the end, whether the run was interrupted, and the folder where it is recorded.
fn run(check: DraftCheckRun) -> anyhow::Result<(RunState, bool, PrivateFolder)> {
    evaltrail_engine::process::remove_private_folders_on_hangup()?;
    let DraftCheckRun { prepared, folder } = check;
    let runtimes = Runtimes::start()?;
    let run = {
        let _entered = runtimes.workers().enter();
        runner::start(prepared, None, folder.path())
    };
    let (state, interrupted) = runtimes.run(to_completion(run))?;
    runtimes.end_within(Duration::from_secs(2));
    Ok((state, interrupted, folder))
}

async fn to_completion(run: Run) -> anyhow::Result<(RunState, bool)> {
    let Run {
        mut state,
        mut events,
        handle,
    } = run;
    let all = state.plan.attempts();
    let mut interrupts = Interrupts::listen()?;
    let mut interrupted = false;
    loop {
        let progress = |ended: usize| {
            print_progress(
                &format!("{ended} of {}", counted(all, "attempt")),
                ended == all,
            );
        };
        tokio::select! {
            _ = interrupts.next() => {
                interrupted = true;
                handle.cancel(CancelReason::Finish);
            }
            event = events.recv() => {
                let Some(event) = event else { break };
                match &event {
                    RunEvent::Warning(warning) => print_note(&format!("warning: {}", clean_line(warning))),
                    RunEvent::AgentUnavailable(agent) => print_note(&clean_line(&agent.text())),
                    _ => {}
                }
                state.apply(event);
                progress(state.totals.ended());
            }
        }
    }
    print_progress("", true);
    Ok((state, interrupted))
}

/// Stores what the agent did with the drafts, and prints it.
fn store(
    open: &OpenDrafts,
    (positions, cases): (&[usize], &[EvalCase]),
    state: &RunState,
    interrupted: bool,
) -> anyhow::Result<Exit> {
    let checked = positions.iter().zip(checked_drafts(state, cases));
    let checks: Vec<(usize, CheckedDraft)> = checked
        .filter_map(|(at, check)| Some((*at, check?)))
        .collect();
    let drafts: Vec<Draft> = checks
        .iter()
        .map(|(at, check)| open.drafts.drafts[*at].with_check(check.clone()))
        .collect();
    for line in draft_lines(&drafts.iter().collect::<Vec<_>>()) {
        print_line(&line);
    }
    let unchecked = cases.len() - checks.len();
    print_note(&summary(&checks, unchecked));
    if !checks.is_empty() {
        let what = counted(checks.len(), "draft");
        open.make(
            &format!("verify {what}"),
            &[open.drafts.with_checks(&checks)],
        )?;
    }
    Ok(match (interrupted, unchecked) {
        (true, _) => Exit::Interrupted,
        (false, 0) => Exit::Success,
        (false, _) => Exit::Failures,
    })
}

/// The number of drafts with each verdict.
fn summary(checks: &[(usize, CheckedDraft)], unchecked: usize) -> String {
    let with = |verdict: DraftVerdict| {
        let is_it = |(_, one): &&(usize, CheckedDraft)| one.check.verdict == verdict;
        (checks.iter().filter(is_it).count(), verdict)
    };
    let counts = DraftVerdict::ALL.map(with);
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {}: {}", verdict.name(), verdict.describe()))
        .collect();
    if unchecked > 0 {
        parts.push(format!("{unchecked} without an attempt that ended"));
    }
    parts.join("\n")
}
