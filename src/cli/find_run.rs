//! Runs as they are named on the command line.

use crate::history::{History, RunHead};
use crate::runner::history_of;
use crate::store::{LoadedRun, RunKey, load_run};
use crate::workspace::Workspace;
use anyhow::{Context, bail};
use std::path::Path;

/// The name that the user gave a run.
pub(super) fn name_of<'a>(history: &'a History, head: &RunHead) -> Option<&'a str> {
    history.labels.get(&head.run_id).filter(|_| head.is_ours())?.name.as_deref()
}

/// Finds a run by `last`, by `previous` (the one before it), by its folder, by its name, or by the beginning of its id.
/// Errors: for example that it is foreign.
pub(super) fn find_run(workspace: &Workspace, named: &str) -> anyhow::Result<LoadedRun> {
    if named.is_empty() {
        bail!("the name of the run is empty");
    }
    let folder = Path::new(named);
    let history = history_of(workspace);
    let path = match named {
        _ if folder.join("run.json").is_file() => dunce::canonicalize(folder)?,
        "last" | "previous" => {
            let last = history.ours().next().with_context(|| {
                match history.runs.iter().any(RunHead::is_foreign) {
                    true => "all runs here are foreign (not signed with your key)",
                    false => "nothing has been run here yet",
                }
            })?;
            let previous = || history.ours().nth(1).context("there is no run before the last one");
            if named == "last" { last.path.clone() } else { previous()?.path.clone() }
        }
        _ if history.ours().any(|head| name_of(&history, head) == Some(named)) => {
            // An id may begin with a name since another machine recorded it, or two machines named runs.
            let mut found = history
                .ours()
                .filter(|head| name_of(&history, head) == Some(named) || head.run_id.starts_with(named));
            match (found.next(), found.next()) {
                (Some(one), None) => one.path.clone(),
                _ => bail!("{named:?} stands for more than one run; use the beginning of an id"),
            }
        }
        _ => {
            let mut found = history.ours().filter(|head| head.run_id.starts_with(named));
            let first = found.next().with_context(|| {
                let mut others = history.runs.iter().filter(|head| head.run_id.starts_with(named));
                match others.next() {
                    Some(head) if head.is_foreign() => {
                        format!("run {} is foreign (it is not signed with your key)", head.run_id)
                    }
                    Some(head) => format!("{} is a result of ADK, which cannot be used here", head.run_id),
                    None => format!("no run id begins with {named:?}"),
                }
            })?;
            if found.next().is_some() {
                bail!("more than one run id begins with {named:?}; use more of its characters");
            }
            first.path.clone()
        }
    };
    let run = load_run(&path, RunKey::find().as_ref()).with_context(|| path.display().to_string())?;
    if !run.is_signed {
        bail!(
            "run {} is foreign (it is not signed with your key), so it cannot be used here",
            run.state.plan.run_id
        );
    }
    Ok(run)
}
