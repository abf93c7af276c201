//! `evaltrail drafts --verify`: runs an agent with drafts of cases, and notes what it did.

use super::live_run::run_in_private;
use super::open_drafts::{OpenDrafts, draft_lines};
use super::output::{print_line, print_note};
use super::run_args::parse_stub_mode;
use super::{Exit, trust};
use anyhow::bail;
use clap::Args;
use evaltrail_core::domain::{
    DraftVerdict, EvalCase, Gate, RunOptions, RunState, StubMode, clean_line, counted,
};
use evaltrail_core::formats::{CheckedDraft, Draft};
use evaltrail_engine::process::{PrivateFolder, Runtimes};
use evaltrail_engine::report::shell_word;
use evaltrail_engine::runner::{
    self, DraftCheckRequest, DraftCheckRun, SetDrafts, checked_drafts, prepare_draft_checks,
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
    /// Pass this environment variable on to the agent's program (repeatable)
    #[arg(long, value_name = "NAME", requires = "verify", help_heading = VERIFYING)]
    pub(super) env: Vec<String>,
    /// Concurrent attempts
    #[arg(short, long, value_name = "N", requires = "verify", value_parser = clap::value_parser!(u32).range(1..), help_heading = VERIFYING)]
    pub(super) jobs: Option<u32>,
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
    let (stale, drafts): (Vec<_>, Vec<_>) =
        drafts.partition(|(_, draft, _)| SetDrafts::is_stale(draft, &open.file));
    if !stale.is_empty() {
        print_note(&format!(
            "{} left out: the source was changed or removed",
            counted(stale.len(), "draft")
        ));
    }
    let (drafts, cases): (Vec<&Draft>, Vec<EvalCase>) = drafts
        .into_iter()
        .map(|(_, draft, case)| (draft, case.clone()))
        .unzip();
    if cases.is_empty() {
        print_note("there is no such draft; nothing was run");
        return Ok(Exit::Success);
    }
    let configured = open.workspace.config.run_options();
    let check = prepare_draft_checks(&DraftCheckRequest {
        workspace: &open.workspace,
        set: (&open.set, &open.file),
        cases: &cases,
        agent: args.agent.as_deref(),
        options: RunOptions {
            repeat: args.repeat,
            gate: Gate::All,
            jobs: args.jobs.unwrap_or(configured.jobs),
            ..configured
        },
        stubs: args.stubs,
        env: args.env.clone(),
    });
    let mut check = check.map_err(anyhow::Error::msg)?;
    if check.calls_tools() && !args.live {
        if args.stubs == Some(StubMode::Live) {
            bail!(
                "--stubs=live runs the agent's own tools for calls without a stub; add --live to allow that, or use another mode"
            );
        }
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
    store(open, (&drafts, &cases), &state, interrupted)
}

/// Runs the agent. Returns the state at the end, whether the run was interrupted, and the folder where it is recorded.
fn run(check: DraftCheckRun) -> anyhow::Result<(RunState, bool, PrivateFolder)> {
    evaltrail_engine::process::remove_private_folders_on_hangup()?;
    let DraftCheckRun { prepared, folder } = check;
    let runtimes = Runtimes::start()?;
    let (state, interrupted) = run_in_private(prepared, folder.path(), &runtimes)?;
    runtimes.end_within(Duration::from_secs(2));
    Ok((state, interrupted, folder))
}

/// Stores what the agent did with the drafts, and prints it.
fn store(
    open: &OpenDrafts,
    (drafts, cases): (&[&Draft], &[EvalCase]),
    state: &RunState,
    interrupted: bool,
) -> anyhow::Result<Exit> {
    let checked = drafts.iter().zip(checked_drafts(state, cases));
    let checked: Vec<Draft> = checked
        .filter_map(|(draft, check)| Some(draft.with_check(check?)))
        .collect();
    for line in draft_lines(&checked.iter().collect::<Vec<_>>()) {
        print_line(&line);
    }
    for (id, error) in checked.iter().filter_map(error_of_draft) {
        print_note(&clean_line(&format!("{id}: {error}")));
    }
    let unchecked = cases.len() - checked.len();
    print_note(&summary(&checked, unchecked));
    if !checked.is_empty() {
        keep(open, &checked)?;
    }
    Ok(match (interrupted, unchecked) {
        (true, _) => Exit::Interrupted,
        (false, _) if !state.unavailable.is_empty() => Exit::UsageError,
        (false, 0) => Exit::Success,
        (false, _) => Exit::Failures,
    })
}

/// The id of a draft, and the error of an attempt with it.
fn error_of_draft(draft: &Draft) -> Option<(&str, &str)> {
    let error = draft.check.as_ref()?.check.error.as_deref()?;
    Some((&draft.case()?.eval_id, error))
}

/// Writes the checks to the file of drafts, which may have changed while the agent ran.
fn keep(open: &OpenDrafts, checked: &[Draft]) -> anyhow::Result<()> {
    let now = SetDrafts::read(&open.set.path).map_err(anyhow::Error::msg)?;
    let (edit, missing) = now.with_checks(checked);
    if missing > 0 {
        print_note(&format!(
            "{} changed or removed meanwhile: its check is not kept",
            counted(missing, "draft")
        ));
    }
    let what = counted(checked.len() - missing, "draft");
    open.make(&format!("verify {what}"), &[edit])?;
    if checked.iter().any(Draft::is_verified) {
        let file = shell_word(&open.set.path.display().to_string());
        print_note(&format!(
            "`evaltrail drafts {file} --accept --verified` adds the verified ones to the set"
        ));
    }
    Ok(())
}

/// The number of drafts with each verdict.
fn summary(checked: &[Draft], unchecked: usize) -> String {
    let verdicts = checked.iter().filter_map(|draft| draft.check.as_ref());
    let with = |verdict: DraftVerdict| {
        let is_it = |one: &&CheckedDraft| one.check.verdict == verdict;
        (verdicts.clone().filter(is_it).count(), verdict)
    };
    let counts = DraftVerdict::ALL.map(with);
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {}: {}", verdict.name(), verdict.describe()))
        .collect();
    if unchecked > 0 {
        parts.push(format!("{unchecked} of which not all attempts ended"));
    }
    parts.join("\n")
}
