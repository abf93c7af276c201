//! `evaltrail run` and `evaltrail score`.

use super::addresses::{can_write_output, fill_result};
use super::args::{CaseArgs, ReportTo, RunArgs, ScoreArgs};
use super::exit_code::{AllowedFailures, baseline, exit_of, failures_by_gate, is_counted_change};
use super::find_run::find_run;
use super::live_run::run_to_completion;
use super::malformed::print_malformed;
use super::output::{json_output, print_line, print_note};
use super::paths::{open_targets, place_of, targets};
use super::push::{ShardClaim, claim_shard, join_queue, merged_runs};
use super::rerun::rerun_command;
use super::select::{only_changed, only_failed, only_failed_in};
use super::uploader::{PeerRuns, Uploader};
use super::write::make_asking;
use super::{Exit, github, trust};
use anyhow::Context;
use evaltrail_core::domain::{
    Gate, JudgeSpec, Query, RunOptions, RunState, Shard, ShardBy, clean_line, counted,
};
use evaltrail_core::formats::adk::read_initial_session;
use evaltrail_core::formats::recording::recording_line;
use evaltrail_engine::config::{ShardChoice, job_of_environment, shard_of_environment};
use evaltrail_engine::history::{Resume, ResumedRun, unfinished};
use evaltrail_engine::process::Runtimes;
use evaltrail_engine::report::{EarlierRuns, run_summary, write_json_report};
use evaltrail_engine::runner::{self, BaselineChange, PreparedRun, Request, Selection};
use evaltrail_engine::workspace::{Workspace, read_text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(super) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let (workspace, selections) = opened(&args.cases, false)?;
    run_selected(args, &workspace, selections)
}

/// Runs the selected cases.
pub(super) fn run_selected(
    args: &RunArgs,
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
    if args.fail_fast.is_some() && request.options.gate != Gate::All {
        anyhow::bail!(
            "--fail-fast counts attempts that did not pass: it cannot be used with --gate {}",
            request.options.gate.name()
        );
    }
    let how = RunMode {
        run: Some(args),
        resume: args.resume,
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

/// The options of the part of a run that this machine executes, or of the whole run. A part that the environment tells is
/// printed, because a job that splits its files itself would lose cases.
fn of_shard(cases: &CaseArgs, options: RunOptions) -> anyhow::Result<RunOptions> {
    let variable = |name: &str| std::env::var(name).ok();
    let shard = match cases.shard {
        None if cases.queue.is_some() => Shard {
            number: 1,
            of: 1,
            by: ShardBy::Queue,
        },
        None if cases.push.is_some() => Shard {
            number: 1,
            of: 1,
            by: ShardBy::Slice,
        },
        None => return Ok(options),
        Some(ShardChoice::Given(shard)) => shard,
        Some(ShardChoice::Auto(by)) => {
            let (shard, from) = shard_of_environment(by, variable).map_err(anyhow::Error::msg)?;
            print_note(&format!(
                "--shard auto: {}/{}, {from}",
                shard.number, shard.of
            ));
            shard
        }
    };
    // A place of runs is that of one run, which a new job may continue.
    let job = if cases.push.is_some() || cases.queue.is_some() {
        None
    } else {
        job_of_environment(variable)
    };
    Ok(RunOptions {
        shard: Some(shard),
        job,
        ..options
    })
}

/// The options that only `run` has.
#[derive(Default)]
struct RunMode<'a> {
    /// The arguments of `run`.
    run: Option<&'a RunArgs>,
    resume: bool,
    record: Option<PathBuf>,
    record_tools: bool,
    agent: Option<String>,
    /// No attempts are started after this number of attempts did not pass.
    fail_fast: Option<usize>,
}

fn opened(cases: &CaseArgs, saved: bool) -> anyhow::Result<(Workspace, Vec<Selection>)> {
    let (workspace, mut selections) = open_targets(&targets(cases)?, saved, &cases.columns)?;
    give_session(cases, &mut selections)?;
    let selections = match (cases.failed.as_deref(), cases.changed) {
        (Some(""), _) => only_failed(&workspace, selections)?,
        (Some(run), _) => only_failed_in(&find_run(&workspace, run)?.state, selections),
        (None, true) => only_changed(&workspace, selections),
        (None, false) => selections,
    };
    Ok((workspace, selections))
}

/// Gives the cases that name no session the one of `--initial-session`.
pub(super) fn give_session(cases: &CaseArgs, selections: &mut [Selection]) -> anyhow::Result<()> {
    let Some(path) = &cases.initial_session else {
        return Ok(());
    };
    let named = || format!("--initial-session {}", path.display());
    let text = read_text(path).with_context(named)?;
    let session = read_initial_session(&text)
        .with_context(named)?
        .map(Arc::new);
    selections
        .iter_mut()
        .for_each(|selection| selection.set.session = session.clone());
    Ok(())
}

fn request(
    cases: &CaseArgs,
    workspace: &Workspace,
    selections: Vec<Selection>,
) -> anyhow::Result<Request> {
    if let Some(config) = cases.config.as_deref().filter(|config| !config.is_file()) {
        // ADK would silently use its defaults here.
        anyhow::bail!("--config {}: there is no such file", config.display());
    }
    Ok(Request {
        selections,
        config: cases.config.clone(),
        metrics: cases.metric.clone(),
        judge: judge(cases, workspace),
        query: Query::parse(&cases.filter).context("--filter")?,
        ..Request::default()
    })
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
        .then(|| resumed(workspace, &prepared))
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
    evaltrail_engine::process::remove_private_folders_on_hangup()?;
    let runtimes = Runtimes::start()?;
    let run = {
        let _entered = runtimes.workers().enter();
        runner::start(prepared, resumed, &workspace.root)
    };
    let (mut state, interrupted) = runtimes.run(run_to_completion(
        cases,
        run,
        (how.fail_fast, uploader.as_deref_mut()),
    ))?;
    runtimes.end_within(Duration::from_secs(2));
    // That of the part that this machine ran: a merged run is not stored here.
    let rerun = rerun_command(cases, how.run, &state.plan.run_id);
    let unavailable = state.unavailable.clone();
    let merged = uploader
        .map(|uploader| uploaded(*uploader, cases, (&state, interrupted), &workspace.root))
        .transpose()
        .inspect_err(super::print_error);
    let all_uploaded = merged.is_ok();
    state = merged.ok().flatten().flatten().unwrap_or(state);
    state.unavailable = unavailable;
    let rule = cases.rule.rule(workspace.config.comparison);
    let change = baseline
        .as_ref()
        .map(|baseline| runner::compared_with(baseline, &state, &rule, &workspace.root));
    let all_written = write_results(
        cases,
        how.record.as_deref(),
        (&state, workspace),
        change.as_ref(),
        &rerun,
    )?;
    if how.record_tools {
        record_answers(&state, workspace)?;
    }
    // By the results as they are: what is replaced in texts is no change of a case.
    let exit = conclude(cases, (&state, workspace), change, (interrupted, bad_input));
    match exit {
        Exit::Success | Exit::Failures if !all_written || !all_uploaded => Ok(Exit::UsageError),
        exit => Ok(exit),
    }
}

/// Prints the results and writes the reports, without secrets if that is requested. Returns whether all were written.
fn write_results(
    cases: &CaseArgs,
    record: Option<&Path>,
    (state, workspace): (&RunState, &Workspace),
    change: Option<&BaselineChange>,
    rerun: &str,
) -> anyhow::Result<bool> {
    let redacted = match cases
        .redact
        .then(|| runner::redacted(workspace, state))
        .transpose()
    {
        Ok(redacted) => redacted,
        Err(error) => {
            super::print_error(&anyhow::anyhow!("--redact: {error}; no report was written"));
            let summary = run_summary(state, cases.style(), &place_of(&workspace.root), rerun);
            print_line(&runner::redacted_text(workspace, &state.plan, &summary));
            return Ok(false);
        }
    };
    let shown = redacted.as_ref().unwrap_or(state);
    let compared = change.map(|change| match redacted {
        None => change.words.clone(),
        Some(_) => runner::redacted_text(workspace, &state.plan, &change.words),
    });
    // What is replaced in a run stands in its earlier runs as well, so that a redacted report has none of them.
    let has_trends = redacted.is_none()
        && cases
            .report
            .iter()
            .any(|to| to.format.write_with_earlier_runs.is_some());
    let trends = has_trends.then(|| runner::trends_of_run(workspace, &state.plan));
    let earlier = EarlierRuns {
        trends: trends.as_ref(),
        baseline: compared.as_deref(),
    };
    let all_written = finish(cases, record, (shown, &workspace.root), earlier, rerun)?;
    if cases.github {
        github::write(shown, &state.plan, &workspace.root, cases.json);
    }
    Ok(all_written)
}

/// Prints how a run compares with the baseline, removes old runs, and returns the exit code.
fn conclude(
    cases: &CaseArgs,
    (state, workspace): (&RunState, &Workspace),
    change: Option<BaselineChange>,
    (interrupted, bad_input): (bool, bool),
) -> Exit {
    if let Some(change) = change.as_ref().filter(|_| !cases.json) {
        print_line(&change.words);
    }
    // Removed only after the reports were written, because they are read from the journal, which may be removed.
    if let Some(words) = runner::remove_old(workspace) {
        print_note(&words);
    }
    let tolerated = AllowedFailures {
        failures: cases.max_failures,
        changed: change.filter(|_| !cases.fail_on.is_empty()).map(|change| {
            is_counted_change(&cases.fail_on, (change.broke, change.fell), change.removed)
        }),
    };
    if let Some(allowed) = cases.max_failures {
        let failed = failures_by_gate(state);
        let what = match state.plan.options.gate {
            Gate::All => "attempt",
            Gate::Mean | Gate::Rate(_) => "case",
        };
        print_note(&format!(
            "{} did not pass, {allowed} allowed by --max-failures",
            counted(failed, what)
        ));
    }
    exit_of(state, &tolerated, interrupted, bad_input)
}

/// Asks about what the run would start and contact, and about keys. Returns whether it may run.
fn is_permitted(
    cases: &CaseArgs,
    agent: Option<&str>,
    workspace: &Workspace,
    prepared: &mut PreparedRun,
) -> anyhow::Result<bool> {
    let questions = runner::trust_questions(workspace, prepared, agent);
    if !trust::allowed(&questions, cases.trust)? {
        return Ok(false);
    }
    prepared.grant.destinations = runner::allowed_destinations(&questions);
    if let Some(offer) = runner::offered_keys(workspace, prepared) {
        prepared.grant.keys = trust::allowed_keys(offer, cases.trust)?;
    }
    Ok(true)
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
    (state, interrupted): (&RunState, bool),
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

/// The judge. Flags override the configuration.
fn judge(cases: &CaseArgs, workspace: &Workspace) -> JudgeSpec {
    let configured = workspace
        .config
        .judge
        .clone()
        .unwrap_or_else(JudgeSpec::standard);
    JudgeSpec {
        cache: configured.cache && !cases.no_cache,
        ..configured.with_choice(cases.judge.clone(), cases.samples)
    }
}

/// The options of the run. Flags override the configuration.
pub(super) fn options(args: &RunArgs, workspace: &Workspace) -> RunOptions {
    let config = workspace.config.run_options();
    RunOptions {
        jobs: args.cases.jobs.unwrap_or(config.jobs),
        repeat: args.repeat.unwrap_or(config.repeat),
        gate: args.gate.unwrap_or(config.gate),
        timeout_ms: args
            .timeout
            .map_or(config.timeout_ms, |time| time.as_millis() as u64),
        retries: args.retries.unwrap_or(config.retries),
        rate: args.rate.or(config.rate),
        turn_memory_mb: config.turn_memory_mb,
        turn: args.turn,
        ..config
    }
}

/// The unfinished run to resume, if there is one. Errors: it cannot be resumed with this request.
fn resumed(workspace: &Workspace, prepared: &PreparedRun) -> Result<Option<ResumedRun>, Exit> {
    match unfinished(&runner::history_of(workspace), &prepared.plan) {
        Resume::None(near) => {
            near.into_iter()
                .for_each(|why| print_note(&clean_line(&why)));
            print_note("there is no unfinished run of this selection; starting a new run");
            Ok(None)
        }
        Resume::Differs(run_id, differences) => {
            print_note(&format!(
                "run {run_id} is unfinished, but was started with different settings:"
            ));
            differences
                .iter()
                .for_each(|difference| print_note(&format!("  {}", clean_line(difference))));
            print_note("use the same settings to resume it, or omit --resume to start a new run");
            Err(Exit::UsageError)
        }
        Resume::Taken(run_id) => {
            print_note(&format!(
                "run {run_id} is being written by another evaltrail process; wait for it to end"
            ));
            Err(Exit::UsageError)
        }
        Resume::Run(run, differences) => {
            let (ended, all) = (run.state.totals.ended(), run.state.plan.attempts());
            print_note(&format!(
                "resuming run {}: {ended} of {all} done",
                run.state.plan.run_id
            ));
            differences
                .iter()
                .for_each(|difference| print_note(&format!("  {}", clean_line(difference))));
            match run.damaged {
                0 => {}
                1 => print_note("1 line of its journal is damaged; its attempt is run again"),
                lines => print_note(&format!(
                    "{lines} lines of its journal are damaged; their attempts are run again"
                )),
            }
            Ok(Some(*run))
        }
    }
}

/// Checks before the run whether the files of reports can be written, so that no work is lost. Existing files are not
/// changed before the reports are written.
fn check_report_files(args: &CaseArgs, record: Option<&Path>) -> anyhow::Result<()> {
    let reports = args.report.iter().map(|to| ("--report", to.file.as_path()));
    for (flag, file) in reports.chain(record.map(|file| ("--record", file))) {
        can_write_output(file).with_context(|| format!("{flag} {}", file.display()))?;
    }
    Ok(())
}

/// Writes the reports, the recording and the summary, independently of each other. Returns `false` if a file could not
/// be written. `rerun` is the command that runs the failures again.
fn finish(
    args: &CaseArgs,
    record: Option<&Path>,
    (state, root): (&RunState, &Path),
    earlier: EarlierRuns<'_>,
    rerun: &str,
) -> anyhow::Result<bool> {
    let mut failed = write_reports(&args.report, state, earlier);
    if let Some(file) = record {
        let attempts = (0..state.plan.cases.len()).flat_map(|case| state.attempts_of(case));
        let write = |out: &mut dyn std::io::Write| {
            attempts.into_iter().try_for_each(|attempt| {
                writeln!(out, "{}", recording_line(&*attempt.read_to_write()?))
            })
        };
        let written = fill_result(file, write);
        failed.extend(
            written
                .with_context(|| format!("--record {}", file.display()))
                .err(),
        );
    }
    if args.json {
        let mut out = json_output();
        let written = write_json_report(state, &mut out).and_then(|()| out.end());
        failed.extend(written.or_else(without_reader).context("--json").err());
    } else if !state.unavailable.is_empty() && state.totals.ended() == 0 {
        // The errors of the agents are all that is to be said.
    } else {
        print_line(&run_summary(state, args.style(), &place_of(root), rerun));
    }
    failed.iter().for_each(super::print_error);
    Ok(failed.is_empty())
}

/// Records what tools answered beside the sets.
fn record_answers(state: &RunState, workspace: &Workspace) -> anyhow::Result<()> {
    let recordings = runner::record_tools(state, workspace).map_err(anyhow::Error::msg)?;
    let jobs: Vec<_> = recordings
        .iter()
        .filter_map(|recording| recording.job.clone())
        .collect();
    if !jobs.is_empty() {
        let done = make_asking(&workspace.root, "record the answers of tools", &jobs)?;
        done.note.iter().for_each(|note| print_note(note));
    }
    recordings
        .iter()
        .for_each(|recording| print_note(&recording.words));
    Ok(())
}

/// Ignores the error if standard output was closed or is full: it does not count as a failure of the run.
pub(super) fn without_reader(error: std::io::Error) -> std::io::Result<()> {
    use std::io::ErrorKind::{BrokenPipe, StorageFull};
    if matches!(error.kind(), BrokenPipe | StorageFull) {
        Ok(())
    } else {
        Err(error)
    }
}

/// Writes the requested reports, and returns the errors.
pub(super) fn write_reports(
    reports: &[ReportTo],
    state: &RunState,
    earlier: EarlierRuns<'_>,
) -> Vec<anyhow::Error> {
    let write = |ReportTo { format, file }: &ReportTo| {
        let written = fill_result(file, |out| format.write_named(state, earlier, file, out));
        written.with_context(|| format!("--report {}", file.display()))
    };
    reports.iter().filter_map(|to| write(to).err()).collect()
}
