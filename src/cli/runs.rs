//! `evaltrail runs`: lists the runs of a folder, or the shards of a run in an object store.

use super::addresses::copy_at;
use super::args::ColorWhen;
use super::find_run::name_of;
use super::output::{paint, print_json, print_line, print_note};
use super::run_labels::RunsAction;
use super::shard_status::{pushed_at, show_shard_status};
use super::subcommand::CliCommand;
use super::{Exit, run_labels};
use clap::Args;
use evaltrail_core::domain::counted;
use evaltrail_core::domain::{Status, clean_line};
use evaltrail_engine::history::{History, RunSource, RunSummary, SetResults};
use evaltrail_engine::report::{Paint, started_text};
use evaltrail_engine::runner::history_of;
use evaltrail_engine::workspace::{SetPath, Workspace};
use serde_json::{Value, json};
use std::path::Path;
use std::path::PathBuf;

/// List the runs of a folder, or name, pin or delete one
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct RunsArgs {
    #[command(subcommand)]
    pub(super) action: Option<RunsAction>,
    /// Folder, or the address of --push, whose shards are listed
    #[arg(default_value = ".")]
    pub(super) folder: PathBuf,
    /// List only the newest N
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<usize>,
    /// Keep listing the shards at an address until all are complete
    #[arg(long, conflicts_with = "json")]
    pub(super) watch: bool,
    /// Print the list as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl CliCommand for RunsArgs {
    const NAME: &'static str = "runs";

    fn run(self) -> anyhow::Result<Exit> {
        runs(self)
    }
}

pub(crate) fn runs(args: RunsArgs) -> anyhow::Result<Exit> {
    if let Some(action) = args.action {
        return run_labels::change(action);
    }
    let mut args = args;
    if let Some(address) = pushed_at(&args.folder)? {
        return show_shard_status(&address, args.json, args.watch);
    }
    copy_at(&mut args.folder)?;
    if args.watch {
        anyhow::bail!(
            "--watch: {} has no runs of shards that machines push there",
            args.folder.display()
        );
    }
    let workspace = Workspace::open(&args.folder)?;
    let history = history_of(&workspace);
    let shown = || history.runs.iter().take(args.limit.unwrap_or(usize::MAX));
    if args.json {
        let runs: Vec<Value> = shown()
            .map(|run| run_json(&history, run, &workspace.root))
            .collect();
        let unreadable = history.unreadable.iter();
        let unreadable: Vec<Value> = unreadable
            .map(|(path, error)| json!({"path": path.display().to_string(), "error": clean_line(error)}))
            .collect();
        print_json(&serde_json::to_string_pretty(
            &json!({"evaltrail": env!("CARGO_PKG_VERSION"), "runs": runs, "unreadable": unreadable}),
        )?);
        return Ok(Exit::Success);
    }
    for (_, error) in &history.unreadable {
        print_note(&format!("a run cannot be read: {}", clean_line(error)));
    }
    let paint = paint(ColorWhen::Auto);
    if history.runs.is_empty() {
        if history.unreadable.is_empty() {
            print_line("no runs here yet; evaltrail run . starts one");
        }
        return Ok(Exit::Success);
    }
    // An id is shown in full, so that it can be copied.
    let width = shown()
        .map(|run| clean_line(&run.run_id).chars().count())
        .max()
        .unwrap_or(0)
        .max(14);
    print_line(&paint.faint(&format!(
        "{:<width$} {:<16} {:>8} {:>7} {:>7} {:>13} {:>7}  {}",
        "run", "started (UTC)", "passed", "failed", "errored", "not evaluated", "seconds", "what"
    )));
    for run in shown() {
        if !print_line(&run_line(&history, run, &workspace.root, width, paint)) {
            break;
        }
    }
    Ok(Exit::Success)
}

fn run_line(
    history: &History,
    run: &RunSummary,
    root: &Path,
    width: usize,
    paint: Paint,
) -> String {
    let totals = &run.totals;
    let id = clean_line(&run.run_id);
    let started = started_text(&run.started);
    let passed = format!("{}/{}", totals.passed, run.attempts);
    let count = |status: Status, count: usize, width: usize| match count {
        0 => format!("{:>width$}", "·"),
        _ => paint.status(status, &format!("{count:>width$}")),
    };
    let seconds = run
        .duration_s
        .map_or("·".into(), |seconds| format!("{seconds:.1}"));
    format!(
        "{id:<width$} {started:<16} {passed:>8} {} {} {} {seconds:>7}  {}",
        count(Status::Failed, totals.failed, 7),
        count(Status::Errored, totals.errored, 7),
        count(Status::NotEvaluated, totals.not_evaluated, 13),
        clean_line(&description(history, run, root))
    )
}

/// The maximum number of sets of a run whose names are listed.
const MAX_NAMED_SETS: usize = 2;

/// The sets and the agent, and what is special about the run.
fn description(history: &History, run: &RunSummary, root: &Path) -> String {
    let sets = sets_of(run, root);
    let mut words = vec![match sets.len() {
        0..=MAX_NAMED_SETS => sets.join(", "),
        count => counted(count, "set"),
    }];
    if let Some(name) = name_of(history, run) {
        words.insert(0, format!("“{name}”"));
    }
    if history.baseline.as_deref() == Some(run.run_id.as_str()) {
        words.insert(0, "baseline".into());
    } else if is_pinned(history, run) {
        words.insert(0, "pinned".into());
    }
    if !run.agent.is_empty() {
        words.push(run.agent.clone());
    }
    if let Some(shard) = run.shard {
        words.push(shard.describe());
    }
    if !run.merged.is_empty() {
        words.push(format!("merged from {}", counted(run.merged.len(), "run")));
    }
    if let Some(turn) = run.turn {
        words.push(format!("turn {turn} alone"));
    }
    if let Some(spent) = run.spent {
        words.push(format!("judges: {}", spent.describe()));
    }
    match &run.source {
        RunSource::Adk {
            by_evaltrail: false,
            ..
        } => words.push("by ADK".into()),
        RunSource::Adk {
            by_evaltrail: true, ..
        } => words.push("written for ADK by evaltrail".into()),
        RunSource::Evaltrail {
            is_foreign: true, ..
        } => words.push("foreign: not recorded by you".into()),
        RunSource::Evaltrail { .. } if !run.is_finished() => words.push("unfinished".into()),
        RunSource::Evaltrail { .. } => {}
    }
    words.join(" · ")
}

/// The files of a run relative to the folder; for ADK's results the id of the set.
fn sets_of(run: &RunSummary, root: &Path) -> Vec<String> {
    match &run.source {
        RunSource::Evaltrail { sets, .. } => sets
            .iter()
            .map(|set| SetPath::of_file(&set.path, root).shown)
            .collect(),
        RunSource::Adk { set_id, .. } => vec![set_id.clone()],
    }
}

fn is_pinned(history: &History, run: &RunSummary) -> bool {
    run.is_ours()
        && history
            .labels
            .get(&run.run_id)
            .is_some_and(|label| label.pinned)
}

fn run_json(history: &History, run: &RunSummary, root: &Path) -> Value {
    let (by, foreign) = match &run.source {
        RunSource::Adk {
            by_evaltrail: false,
            ..
        } => ("adk", false),
        RunSource::Adk {
            by_evaltrail: true, ..
        } => ("evaltrail_for_adk", false),
        RunSource::Evaltrail { is_foreign, .. } => ("evaltrail", *is_foreign),
    };
    json!({
        "run_id": run.run_id,
        "name": name_of(history, run),
        "pinned": is_pinned(history, run),
        "baseline": history.baseline.as_deref() == Some(run.run_id.as_str()),
        "started": run.started,
        "by": by,
        "foreign": foreign,
        // The end of a foreign run is not believed.
        "finished": (!foreign).then_some(run.is_finished()),
        "turn": run.turn,
        "shard": run.shard,
        "merged": run.merged,
        "commit": run.commit,
        "agent": if run.agent.is_empty() { Value::Null } else { run.agent.clone().into() },
        "sets": sets_of(run, root),
        "criteria": run.criteria,
        "judge": run.judge,
        "attempts": run.attempts,
        "passed": run.totals.passed,
        "failed": run.totals.failed,
        "errored": run.totals.errored,
        "not_evaluated": run.totals.not_evaluated,
        "duration_s": run.duration_s,
        "judges": run.spent,
        "by_set": results_json(run, root),
        "path": run.path.display().to_string(),
    })
}

/// The results of each set: the counts of attempts by status, and the mean of each metric.
fn results_json(run: &RunSummary, root: &Path) -> Vec<Value> {
    let results: Vec<&SetResults> = match &run.source {
        RunSource::Evaltrail { sets, .. } => sets.iter().map(|set| &set.results).collect(),
        RunSource::Adk { results, .. } => vec![results],
    };
    let names = sets_of(run, root);
    names
        .iter()
        .zip(results)
        .map(|(set, results)| {
            json!({
                "set": set,
                "totals": results.totals,
                "pass_rate": results.pass_rate,
                "metrics": results.metrics,
            })
        })
        .collect()
}
