//! The request to the runner, as the arguments of `evaltrail run` and `evaltrail score` say.

use super::args::{CaseArgs, RunArgs};
use super::find_run::find_run;
use super::output::print_note;
use super::paths::{open_targets, targets};
use super::select::{only_changed, only_failed, only_failed_in};
use anyhow::Context;
use evaltrail_core::domain::{Gate, JudgeSpec, Query, RunOptions, Shard, ShardBy};
use evaltrail_core::formats::adk::read_initial_session;
use evaltrail_engine::config::{ShardChoice, job_of_environment, shard_of_environment};
use evaltrail_engine::runner::{Request, Selection};
use evaltrail_engine::workspace::{Workspace, named_path, read_text};
use std::sync::Arc;

/// The workspace of the arguments and the selected cases. With `saved`, their saved responses are scored.
pub(super) fn opened(cases: &CaseArgs, saved: bool) -> anyhow::Result<(Workspace, Vec<Selection>)> {
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

/// The part of the request that `run` and `score` have in common.
pub(super) fn request(
    cases: &CaseArgs,
    workspace: &Workspace,
    selections: Vec<Selection>,
) -> anyhow::Result<Request> {
    if let Some(config) = cases.config.as_deref().filter(|config| !config.is_file()) {
        // ADK would silently use its defaults here.
        let named = format!("--config {}", config.display());
        named_path(config).context(named.clone())?;
        anyhow::bail!("{named}: it is no file");
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
    let until = args.repeat.and_then(|repeat| repeat.until).map(Gate::Until);
    let given = until.or(args.gate);
    let repeat = Gate::attempts(
        (workspace.config.repeat, config.gate),
        (args.repeat.and_then(|repeat| repeat.attempts), given),
    );
    RunOptions {
        jobs: args.cases.jobs.unwrap_or(config.jobs),
        repeat,
        gate: given.unwrap_or(config.gate),
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

/// The options of the part of a run that this machine executes, or of the whole run. A part that the environment tells is
/// printed, because a job that splits its files itself would lose cases.
pub(super) fn of_shard(cases: &CaseArgs, options: RunOptions) -> anyhow::Result<RunOptions> {
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
    // A folder of runs is that of one run, which a new job may continue.
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
