//! Runs as they are named on the command line.

use anyhow::{Context, bail};
use evaltrail_core::domain::did_you_mean;
use evaltrail_engine::history::{History, RunSummary, predecessor};
use evaltrail_engine::report::shell_word;
use evaltrail_engine::runner::{history_of, load_past_run};
use evaltrail_engine::store::{LoadedRun, RunKey, load_run};
use evaltrail_engine::workspace::Workspace;
use std::path::Path;

/// The name that the user gave a run.
pub(super) fn name_of<'a>(history: &'a History, run: &RunSummary) -> Option<&'a str> {
    history
        .labels
        .get(&run.run_id)
        .filter(|_| run.is_ours())?
        .name
        .as_deref()
}

/// Finds a run by `last`, by `previous` (the one before it), by its folder or result file, by its name, by its id, or by
/// the beginning of its id; for a result of ADK, also by the end of its id. Errors: for example that it is
/// foreign.
pub(super) fn find_run(workspace: &Workspace, named: &str) -> anyhow::Result<LoadedRun> {
    if named.is_empty() {
        bail!("the name of the run is empty");
    }
    let history = history_of(workspace);
    let summary = match dunce::canonicalize(named) {
        Ok(path) if path.join("run.json").is_file() => {
            match history.runs.iter().find(|summary| summary.path == path) {
                Some(summary) => summary,
                None => {
                    return signed(
                        load_run(&path, RunKey::find().as_ref())
                            .with_context(|| named.to_string())?,
                    );
                }
            }
        }
        Ok(path) if path.is_file() => {
            let is_it = |summary: &&RunSummary| {
                dunce::canonicalize(&summary.path).is_ok_and(|known| known == path)
            };
            let found = history.runs.iter().find(is_it);
            found.with_context(|| format!("{named} is not a run of this folder"))?
        }
        _ => run_named(&history, named)?,
    };
    let run = load_past_run(workspace, &history, summary).map_err(anyhow::Error::msg)?;
    if summary.is_evaltrail() {
        signed(run)
    } else {
        Ok(run)
    }
}

/// The id of the run with which a run is compared unless another one is named. Errors: there is none.
pub(super) fn predecessor_id(workspace: &Workspace, run_id: &str) -> anyhow::Result<String> {
    let history = history_of(workspace);
    let position = history.runs.iter().position(|run| run.run_id == run_id);
    let found = position.and_then(|at| {
        let (newer, earlier) = history.runs.split_at(at + 1);
        predecessor(newer.last()?, earlier.iter())
    });
    found
        .map(|run| run.run_id.clone())
        .with_context(|| match position {
            Some(at) if at + 1 < history.runs.len() => {
                "no earlier run here has the same turns and is signed with your key; `evaltrail runs` lists all"
            }
            _ => NO_PREVIOUS_RUN,
        })
}

/// Why there is nothing to compare with.
const NO_PREVIOUS_RUN: &str =
    "there is no run before the last one; `evaltrail run` makes another one";

fn signed(run: LoadedRun) -> anyhow::Result<LoadedRun> {
    if !run.is_signed {
        bail!(
            "run {} is foreign (it is not signed with your key), so it cannot be used here",
            run.state.plan.run_id
        );
    }
    Ok(run)
}

fn run_named<'a>(history: &'a History, named: &str) -> anyhow::Result<&'a RunSummary> {
    let usable = || history.runs.iter().filter(|run| run.is_usable());
    let has_name = |run: &RunSummary| name_of(history, run) == Some(named);
    match named {
        "last" | "previous" => {
            let last = usable()
                .next()
                .with_context(|| match history.runs.is_empty() {
                    false => "all runs here are foreign (not signed with your key)",
                    true => "nothing has been run here yet",
                })?;
            let previous = || usable().nth(1).context(NO_PREVIOUS_RUN);
            if named == "last" {
                Ok(last)
            } else {
                previous()
            }
        }
        _ if usable().any(has_name) => {
            // A name can be the beginning of an id if another machine recorded that run, and two machines can give
            // the same name.
            let mut found = usable().filter(|run| has_name(run) || run.run_id.starts_with(named));
            match (found.next(), found.next()) {
                (Some(one), None) => Ok(one),
                _ => bail!("{named:?} stands for more than one run; use the beginning of an id"),
            }
        }
        _ => {
            // One id may be the beginning of another.
            let whole: Vec<&RunSummary> = usable().filter(|run| run.run_id == named).collect();
            let found = match whole.is_empty() {
                true => usable().filter(|run| is_named(run, named)).collect(),
                false => whole,
            };
            match found.as_slice() {
                [one] => Ok(one),
                [] => Err(not_found(history, named)),
                [first, ..] if first.run_id == named => bail!(
                    "more than one result has the id {named:?}; name the file, for example {}",
                    shell_word(&first.path.display().to_string())
                ),
                _ => {
                    bail!("more than one run id begins with {named:?}; use more of its characters")
                }
            }
        }
    }
}

/// Whether the id begins with a text, or that of a result of ADK ends with it: its end is the time.
fn is_named(run: &RunSummary, named: &str) -> bool {
    let end = named.trim_start_matches('…');
    run.run_id.starts_with(named)
        || (!run.is_evaltrail() && !end.is_empty() && run.run_id.ends_with(end))
}

fn not_found(history: &History, named: &str) -> anyhow::Error {
    match history
        .runs
        .iter()
        .find(|run| run.run_id.starts_with(named))
    {
        Some(run) => anyhow::anyhow!(
            "run {} is foreign (it is not signed with your key)",
            run.run_id
        ),
        None if Path::new(named).is_dir() => {
            anyhow::anyhow!("{named} is a folder that is not a run: it has no run.json")
        }
        None => {
            let names = history
                .runs
                .iter()
                .filter(|run| run.is_usable())
                .flat_map(|run| name_of(history, run).into_iter().chain([&*run.run_id]));
            let names = names.chain(["last", "previous"]);
            anyhow::anyhow!(
                "there is no run {named:?}{}: a run is named by the beginning of its id, by its name or by its folder, and \
                 `evaltrail runs` lists them",
                did_you_mean(named, names)
            )
        }
    }
}
