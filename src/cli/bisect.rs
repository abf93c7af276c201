//! `evaltrail bisect`: the commit from which on cases pass less often.

use super::bisect_args::BisectArgs;
use super::bisect_history::OpenedHistory;
use super::bisect_search::Search;
use super::paths::{open_targets, parse_target};
use super::subcommand::CliCommand;
use super::{Exit, trust};
use anyhow::{Context, bail};
use evaltrail_core::domain::{Gate, JudgeSpec, Query, RunOptions, counted};
use evaltrail_core::formats::ColumnMap;
use evaltrail_engine::bisect::{relocated_run, short_commit};
use evaltrail_engine::process::Runtimes;
use evaltrail_engine::runner::{
    self, PreparedRun, Request, RunIdentity, TrustAction, TrustQuestion,
};
use evaltrail_engine::store::fingerprint;
use evaltrail_engine::workspace::Workspace;
use std::time::Duration;

impl CliCommand for BisectArgs {
    const NAME: &'static str = "bisect";

    fn run(self) -> anyhow::Result<Exit> {
        bisect(&self)
    }
}

fn bisect(args: &BisectArgs) -> anyhow::Result<Exit> {
    let targets: Vec<_> = args.paths.iter().map(|path| parse_target(path)).collect();
    let (workspace, selections) = open_targets(&targets, false, &ColumnMap::default())?;
    let request = request(args, &workspace, selections)?;
    let mut prepared = runner::prepare(&workspace, &request, &RunIdentity::now())?;
    if let Some((file, why)) = prepared.problems.first() {
        bail!("{file}: {why}");
    }
    if prepared.plan.cases.is_empty() {
        bail!("no case is selected");
    }
    evaltrail_engine::process::remove_private_folders_on_hangup()?;
    let runtimes = Runtimes::start()?;
    let opened = runtimes
        .workers()
        .block_on(OpenedHistory::open(args, &workspace));
    let history = opened?;
    check_agents(&prepared, &history)?;
    if !is_permitted(args, &workspace, &mut prepared, &history)? {
        return Ok(Exit::UsageError);
    }
    let mut search = Search::open(args, &workspace, prepared, history, &runtimes)?;
    let ended = search.run(&runtimes);
    let exit = ended.and_then(|interrupted| search.conclude(&runtimes, interrupted));
    runtimes.end_within(Duration::from_secs(2));
    exit
}

/// Errors: an agent is no program of the repository, so that it is the same in every commit.
fn check_agents(prepared: &PreparedRun, history: &OpenedHistory) -> anyhow::Result<()> {
    let root = history.repository.root.as_path();
    let relocated = relocated_run(prepared, (root, root), 1, &|_| false);
    relocated.map(drop).map_err(anyhow::Error::msg)
}

fn request(
    args: &BisectArgs,
    workspace: &Workspace,
    selections: Vec<runner::Selection>,
) -> anyhow::Result<Request> {
    let configured = workspace.config.run_options();
    let judge = workspace.config.judge.clone();
    Ok(Request {
        selections,
        agent: args.agent.clone(),
        query: Query::parse(&args.filter).context("--filter")?,
        options: RunOptions {
            repeat: args.attempts,
            gate: Gate::All,
            jobs: args.jobs.unwrap_or(configured.jobs),
            ..configured
        },
        env: args.env.clone(),
        stubs: args.stubs,
        judge: judge.unwrap_or_else(JudgeSpec::standard),
        ..Request::default()
    })
}

/// Asks about what the plan would start and contact, and about running the code of other commits.
fn is_permitted(
    args: &BisectArgs,
    workspace: &Workspace,
    prepared: &mut PreparedRun,
    history: &OpenedHistory,
) -> anyhow::Result<bool> {
    let mut questions = runner::trust_questions(workspace, prepared, args.agent.as_deref());
    questions.push(history_question(history));
    trust::allow_run(workspace, prepared, &questions, args.trust)
}

/// The question about running the code of other commits.
fn history_question(history: &OpenedHistory) -> TrustQuestion {
    let (first, last) = (
        &history.commits[0].id,
        &history.commits[history.commits.len() - 1].id,
    );
    let root = history.repository.root.display().to_string();
    let command = format!(
        "the agents as they were in {} from {} to {}",
        counted(history.commits.len(), "commit"),
        short_commit(first),
        short_commit(last)
    );
    TrustQuestion {
        action: TrustAction::Start,
        fingerprint: fingerprint(&[
            b"bisect",
            root.as_bytes(),
            first.as_bytes(),
            last.as_bytes(),
        ]),
        command,
        folder: root,
        destination: None,
    }
}
