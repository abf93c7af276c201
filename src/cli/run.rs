//! `evaltrail run` and `evaltrail score`: a run from its preparation to the exit code.

use super::args::{CaseArgs, FailOn, RunArgs, RunFailOn, ScoreArgs};
use super::exit_code::{
    AllowedFailures, baseline, counted_changes, exit_of, failures_by_gate, metrics_without_value,
};
use super::find_run::find_run;
use super::live_run::{RunOutput, run_to_completion};
use super::malformed::print_malformed;
use super::output::{print_line, print_note};
use super::paths::workspace_argument;
use super::push::{ShardClaim, claim_shard, join_queue, merged_runs};
use super::rerun::{case_paths, rerun_command, resume_command};
use super::run_request::{of_shard, opened, options, request};
use super::run_results::{Earlier, check_report_files, record_answers, write_results};
use super::select::only_planned_in;
use super::uploader::{PeerRuns, Uploader};
use super::{Exit, trust};
use evaltrail_core::domain::{Gate, RunOptions, RunState, clean_line, counted};
use evaltrail_engine::history::{Resume, ResumedRun, unfinished};
use evaltrail_engine::process::Runtimes;
use evaltrail_engine::report::{CauseStates, NextCommands, new_cause_texts, resume_of_plan};
use evaltrail_engine::runner::{self, BaselineChange, PreparedRun, Request, Selection};
use evaltrail_engine::workspace::Workspace;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let (workspace, mut selections) = opened(&args.cases, false)?;
    let mut resume = args.resume.clone();
    if let Some(named) = resume.as_mut().filter(|named| !named.is_empty()) {
        let run = find_run(&workspace, named)?.state;
        selections = only_planned_in(&run.plan, selections);
        named.clone_from(&run.plan.run_id);
    }
    run_selected(args, resume, &workspace, selections)
}

/// Runs the selected cases, or continues a run of them: the newest one if `resume` is empty, else the one with this id.
pub(super) fn run_selected(
    args: &RunArgs,
    resume: Option<String>,
    workspace: &Workspace,
    selections: Vec<Selection>,
) -> anyhow::Result<Exit> {
    let cases = &args.cases;
    let request = Request {
        agent: args.agent.clone(),
        options: of_shard(cases, options(args, workspace))?,
        env: args.env.clone(),
        stubs: args.stubs,
        faults: args.tool_fault.clone(),
        ..request(cases, workspace, selections)?
    };
    check_repeats(args, request.options.gate)?;
    if args.fail_fast.is_some() && request.options.gate != Gate::All {
        anyhow::bail!(
            "--fail-fast counts attempts that did not pass: it cannot be used with --gate {}",
            request.options.gate.name()
        );
    }
    let how = RunMode {
        run: Some(args),
        resume,
        record: args.record.clone(),
        record_tools: args.record_tools,
        agent: args.agent.clone(),
        fail_fast: args.fail_fast.map(|count| count as usize),
    };
    execute_run(cases, how, workspace, request)
}

/// `evaltrail score`: like `run`, with saved responses instead of an agent.
pub(super) fn score(args: ScoreArgs) -> anyhow::Result<Exit> {
    let cases = &args.cases;
    let (workspace, selections) = opened(cases, true)?;
    let defaults = RunOptions {
        rate: None,
        repeat: 1,
        gate: workspace.config.run_options().gate.without_repeats(),
        ..workspace.config.run_options()
    };
    let jobs = cases.jobs.unwrap_or(defaults.jobs);
    let options = of_shard(cases, RunOptions { jobs, ..defaults })?;
    let request = Request {
        saved: true,
        options,
        ..request(cases, &workspace, selections)?
    };
    execute_run(cases, RunMode::default(), &workspace, request)
}

/// The options that only `run` has.
#[derive(Default)]
struct RunMode<'a> {
    /// The arguments of `run`.
    run: Option<&'a RunArgs>,
    /// The id of the run to resume; empty for the newest one of the cases.
    resume: Option<String>,
    record: Option<PathBuf>,
    record_tools: bool,
    agent: Option<String>,
    /// No attempts are started after this number of attempts did not pass.
    fail_fast: Option<usize>,
}

/// Prints why files cannot be used, each reason once.
fn print_problems(problems: &[(String, String)]) {
    let mut files_by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, why) in problems {
        files_by_reason.entry(why).or_default().push(file);
    }
    for (why, files) in files_by_reason {
        let others = match files.len() {
            1 => String::new(),
            count => format!(" and {}", counted(count - 1, "other file")),
        };
        print_note(&format!("error: {}{others}: {why}", files[0]));
    }
}

/// Plans the run, prints what cannot be part of it, and asks for permissions. Returns the exit if there is nothing to run.
fn permitted_run(
    cases: &CaseArgs,
    how: &RunMode,
    workspace: &Workspace,
    request: &Request,
) -> anyhow::Result<Result<PreparedRun, Exit>> {
    if request
        .selections
        .iter()
        .all(|selection| selection.cases.as_ref().is_some_and(Vec::is_empty))
    {
        print_note(match cases.changed {
            true => "no selected case changed since its latest result: there is nothing to run",
            false => "the latest result of every selected case is a pass: there is nothing to run",
        });
        return Ok(Err(Exit::Success));
    }
    let mut prepared = runner::prepare(workspace, request, &runner::RunIdentity::now())?;
    if !prepared.malformed.is_empty() {
        print_malformed(&prepared.malformed);
        return Ok(Err(Exit::UsageError));
    }
    print_problems(&prepared.problems);
    prepared
        .remarks
        .iter()
        .for_each(|remark| print_note(remark));
    // A shard may have no cases: that it ran tells the merged run that none is missing.
    let is_empty = prepared.plan.cases.is_empty() && prepared.whole.is_none();
    if is_empty || !is_permitted(cases, how.agent.as_deref(), workspace, &mut prepared)? {
        return Ok(Err(Exit::UsageError));
    }
    Ok(Ok(prepared))
}

fn execute_run(
    cases: &CaseArgs,
    how: RunMode,
    workspace: &Workspace,
    request: Request,
) -> anyhow::Result<Exit> {
    let mut prepared = match permitted_run(cases, &how, workspace, &request)? {
        Ok(prepared) => prepared,
        Err(exit) => return Ok(exit),
    };
    check_report_files(cases, how.record.as_deref())?;
    let baseline = baseline(cases, prepared.plan.options.turn, workspace)?;
    let resumed = match how
        .resume
        .as_deref()
        .map(|named| resumed(cases, workspace, &prepared, named))
        .transpose()
    {
        Ok(resumed) => resumed.flatten(),
        Err(exit) => return Ok(exit),
    };
    let mut uploader = match shared(cases, &mut prepared, &workspace.root)? {
        ShardClaim::Run(uploader) => Some(uploader),
        ShardClaim::Alone => None,
        ShardClaim::Nothing(exit) => return Ok(exit),
    };
    let bad_input = !prepared.problems.is_empty();
    let (mut state, interrupted) = run_prepared(
        cases,
        prepared,
        resumed,
        how.fail_fast,
        uploader.as_deref_mut(),
        &workspace.root,
    )?;
    // That of the part that this machine ran: a merged run is not stored here.
    let (run_id, unavailable) = (state.plan.run_id.clone(), state.unavailable.clone());
    let merged = uploader
        .map(|uploader| uploaded(*uploader, cases, &state, interrupted, &workspace.root))
        .transpose()
        .inspect_err(super::print_error);
    let all_uploaded = merged.is_ok();
    state = merged.ok().flatten().flatten().unwrap_or(state);
    state.unavailable = unavailable;
    let rule = cases.rule.rule(workspace.config.comparison);
    let change = baseline
        .as_ref()
        .map(|baseline| runner::compared_with(baseline, &state, &rule, &workspace.root));
    let causes = runner::case_trends_up_to(workspace, &state);
    let earlier = Earlier {
        change: change.as_ref(),
        causes: causes.as_ref().and_then(CauseStates::new),
    };
    let new_causes = new_cause_texts(causes.as_ref(), &state);
    let all_written = write_ended(cases, &how, (&state, workspace), earlier, &run_id)?;
    if how.record_tools {
        record_answers(&state, workspace)?;
    }
    // By the results as they are: what is replaced in texts is no change of a case.
    let exit = conclude(
        cases,
        (&state, workspace),
        change,
        &new_causes,
        interrupted,
        bad_input,
    );
    match exit {
        Exit::Success | Exit::Failures if !all_written || !all_uploaded => Ok(Exit::UsageError),
        exit => Ok(exit),
    }
}

/// Writes the results of a run, with the commands that usually follow the run `run_id`. Returns whether all were written.
fn write_ended(
    cases: &CaseArgs,
    how: &RunMode,
    ended: (&RunState, &Workspace),
    earlier: Earlier<'_>,
    run_id: &str,
) -> anyhow::Result<bool> {
    let rerun = rerun_command(cases, how.run, run_id);
    let resume = how.run.and_then(|args| resume_command(args, run_id));
    let next = NextCommands {
        workspace: &workspace_argument(&ended.1.root),
        rerun: &rerun,
        resume: resume.as_deref(),
    };
    write_results(cases, how.record.as_deref(), ended, earlier, next)
}

/// Runs what was prepared. Returns the state at the end, and whether the run was interrupted.
fn run_prepared(
    cases: &CaseArgs,
    prepared: PreparedRun,
    resumed: Option<ResumedRun>,
    fail_fast: Option<usize>,
    uploader: Option<&mut Uploader>,
    root: &Path,
) -> anyhow::Result<(RunState, bool)> {
    evaltrail_engine::process::remove_private_folders_on_hangup()?;
    let runtimes = Runtimes::start()?;
    let run = {
        let _entered = runtimes.workers().enter();
        runner::start(prepared, resumed, root)
    };
    let output = RunOutput {
        color: cases.color,
        verbosity: cases.verbosity(),
        has_lines: !cases.json,
        can_resume: true,
    };
    let ended = runtimes.run(run_to_completion(output, run, fail_fast, uploader))?;
    runtimes.end_within(Duration::from_secs(2));
    Ok(ended)
}

/// What changed that `--fail-on` names, in words. `new_causes` are those of [`new_cause_texts`].
fn changes_that_fail(
    fail_on: &[RunFailOn],
    change: Option<&BaselineChange>,
    new_causes: &[String],
) -> Vec<String> {
    let differences: Vec<FailOn> = fail_on.iter().filter_map(|one| one.difference()).collect();
    let since_baseline = change
        .map(|change| counted_changes(&differences, change.broke, change.fell, change.removed));
    let is_named = fail_on.contains(&RunFailOn::NewCause);
    let causes = new_causes.iter().filter(|_| is_named);
    let causes =
        causes.map(|words| clean_line(&format!("--fail-on new-cause: {words}")).into_owned());
    since_baseline.into_iter().flatten().chain(causes).collect()
}

/// Errors: `--repeat until=…` together with an option that it excludes.
fn check_repeats(args: &RunArgs, gate: Gate) -> anyhow::Result<()> {
    let until = args.repeat.and_then(|repeat| repeat.until);
    if until.is_some() && args.gate.is_some_and(|given| given != gate) {
        anyhow::bail!("--repeat until=… decides when a case passes: it cannot be used with --gate");
    }
    let is_divided = args.cases.push.is_some() || args.cases.queue.is_some();
    if matches!(gate, Gate::Until(_)) && is_divided {
        anyhow::bail!(
            "{}: not with --push and --queue; --shard K/N divides the cases",
            gate.name()
        );
    }
    Ok(())
}

/// Prints how a run compares with the baseline, removes old runs, and returns the exit code.
fn conclude(
    cases: &CaseArgs,
    (state, workspace): (&RunState, &Workspace),
    change: Option<BaselineChange>,
    new_causes: &[String],
    interrupted: bool,
    bad_input: bool,
) -> Exit {
    if let Some(change) = change.as_ref().filter(|_| !cases.json) {
        print_line(&change.words);
    }
    // Removed only after the reports were written, because they are read from the journal, which may be removed.
    if let Some(words) = runner::remove_old(workspace) {
        print_note(&words);
    }
    let changes = changes_that_fail(&cases.fail_on, change.as_ref(), new_causes);
    changes.iter().for_each(|words| print_note(words));
    let tolerated = AllowedFailures {
        failures: cases.max_failures,
        changed: (!cases.fail_on.is_empty()).then_some(!changes.is_empty()),
    };
    if let Some(allowed) = cases.max_failures {
        let failed = failures_by_gate(state);
        let what = match state.plan.options.gate {
            Gate::All => "attempt",
            Gate::Mean | Gate::Rate(_) | Gate::Until(_) => "case",
        };
        print_note(&format!(
            "{} did not pass, {allowed} allowed by --max-failures",
            counted(failed, what)
        ));
    }
    let exit = exit_of(state, &tolerated, interrupted, bad_input);
    let without_value = metrics_without_value(state, &cases.metric);
    for name in &without_value {
        print_note(&format!(
            "--metric {}: no case has a value, so the run is not successful",
            clean_line(name)
        ));
    }
    match exit {
        Exit::Success if !without_value.is_empty() => Exit::Failures,
        exit => exit,
    }
}

/// Asks about what the run would start and contact, and about keys. Returns whether it may run.
fn is_permitted(
    cases: &CaseArgs,
    agent: Option<&str>,
    workspace: &Workspace,
    prepared: &mut PreparedRun,
) -> anyhow::Result<bool> {
    let questions = runner::trust_questions(workspace, prepared, agent);
    trust::allow_run(workspace, prepared, &questions, cases.trust)
}

/// What this machine does of a run that it shares with others.
fn shared(cases: &CaseArgs, prepared: &mut PreparedRun, root: &Path) -> anyhow::Result<ShardClaim> {
    match (&cases.push, &cases.queue) {
        (Some(to), _) => claim_shard(cases, to, prepared, root),
        (None, Some(to)) => Ok(ShardClaim::Run(Box::new(join_queue(
            cases, to, prepared, root,
        )?))),
        (None, None) => Ok(ShardClaim::Alone),
    }
}

/// Uploads the rest of a run. Returns the run with the results of other machines that belong to it, if there are any.
fn uploaded(
    uploader: Uploader,
    cases: &CaseArgs,
    state: &RunState,
    interrupted: bool,
    root: &Path,
) -> anyhow::Result<Option<RunState>> {
    let is_complete = state.count_outstanding() == 0;
    let others = uploader.finish(is_complete.then_some(state.plan.attempts()))?;
    if interrupted {
        return Ok(None);
    }
    let is_queue = matches!(others, PeerRuns::OfQueue);
    let Some(to) = cases.push.as_ref().or(cases.queue.as_ref()) else {
        return Ok(None);
    };
    let merged = merged_runs(to, others, root)?;
    if let Some(merged) = merged.as_ref().filter(|_| is_queue) {
        let (own, all, left) = (
            state.totals.ended(),
            merged.plan.attempts(),
            merged.count_outstanding(),
        );
        let words = match left {
            0 => "the queue is empty".to_string(),
            left if !state.unavailable.is_empty() => {
                format!(
                    "{left} of {all} attempts have no result; a machine whose agent can be used runs them"
                )
            }
            left => {
                format!("{left} of {all} attempts have no result; use another address to run them")
            }
        };
        print_note(&format!(
            "{words}; this machine ran {own} of {all} attempts"
        ));
    }
    Ok(merged)
}

/// The unfinished run to resume, if there is one: the one with the id `named`, or the newest one if that is empty. Errors: it
/// cannot be resumed with this request.
fn resumed(
    cases: &CaseArgs,
    workspace: &Workspace,
    prepared: &PreparedRun,
    named: &str,
) -> Result<Option<ResumedRun>, Exit> {
    let named = Some(named).filter(|named| !named.is_empty());
    match unfinished(&runner::history_of(workspace), &prepared.plan, named) {
        Resume::None(near) => {
            near.into_iter()
                .for_each(|why| print_note(&clean_line(&why)));
            if let Some(run_id) = named {
                print_note(&format!(
                    "error: run {run_id} has nothing to resume: it is finished, or its cases are not those of this selection"
                ));
                return Err(Exit::UsageError);
            }
            print_note("there is no unfinished run of this selection; starting a new run");
            Ok(None)
        }
        Resume::Differs(stored, differences) => {
            print_note(&format!(
                "run {} is unfinished, but was started with different settings:",
                stored.run_id
            ));
            differences
                .iter()
                .for_each(|difference| print_note(&format!("  {}", clean_line(difference))));
            print_note(&format!(
                "resume:  {}",
                resume_of_plan(&stored, &case_paths(cases))
            ));
            print_note("or omit --resume to start a new run");
            Err(Exit::UsageError)
        }
        Resume::Taken(run_id) => {
            print_note(&format!(
                "run {run_id} is being written by another evaltrail process; wait for it to end"
            ));
            Err(Exit::UsageError)
        }
        Resume::Run(run, differences) => {
            let (ended, all) = (run.state.totals.ended(), run.state.needed_attempts());
            print_note(&format!(
                "resuming run {}: {ended} of {all} done",
                run.state.plan.run_id
            ));
            differences
                .iter()
                .for_each(|difference| print_note(&format!("  {}", clean_line(difference))));
            match run.damaged {
                0 => {}
                1 => print_note("1 attempt of its journal cannot be read and is run again"),
                attempts => print_note(&format!(
                    "{attempts} attempts of its journal cannot be read and are run again"
                )),
            }
            Ok(Some(*run))
        }
    }
}
