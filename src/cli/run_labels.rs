//! `evaltrail runs pin`, `unpin`, `name` and `delete`.

use super::Exit;
use super::addresses::copy_at;
use super::args::{OneRunArgs, RunsAction};
use super::find_run::find_run;
use super::output::tell;
use crate::domain::clean_line;
use crate::runner::{history_of, label_run, pin_run, unpin_run};
use crate::store::{LoadedRun, RunLabel, remove_run, run_name_error};
use crate::workspace::Workspace;
use anyhow::bail;

pub(super) fn change(action: RunsAction) -> anyhow::Result<Exit> {
    match action {
        RunsAction::Pin(args) => pin(&args)?,
        RunsAction::Unpin(args) => {
            let (workspace, run) = found(&args)?;
            tell(&unpin_run(&workspace, &run.state.plan.run_id)?);
        }
        RunsAction::Name { run: args, name } => {
            let name = name.filter(|name| !name.trim().is_empty());
            if let Some(why) = name.as_deref().and_then(run_name_error) {
                bail!("{why}");
            }
            let (workspace, run) = found(&args)?;
            let labels = history_of(&workspace).labels;
            let is_other = |label: &RunLabel| label.run != run.state.plan.run_id && label.name == name;
            if name.is_some() && labels.values().any(is_other) {
                bail!("another run has this name");
            }
            label_run(&workspace, &run.state.plan.run_id, |label| label.name = name.clone())?;
            let id = id_of(&run);
            match name {
                Some(name) => tell(&format!("run {id} is named {}", clean_line(&name))),
                None => tell(&format!("run {id} has no name")),
            }
        }
        RunsAction::Delete(args) => {
            let (workspace, run) = found(&args)?;
            let label = history_of(&workspace).labels.remove(&run.state.plan.run_id);
            if label.is_some_and(|label| label.pinned) {
                bail!("run {} is pinned; evaltrail runs unpin {0} first", id_of(&run));
            }
            if !remove_run(&run.path)? {
                bail!("run {} is being written by another evaltrail process", id_of(&run));
            }
            tell(&format!("run {} was deleted", id_of(&run)));
        }
    }
    Ok(Exit::Success)
}

fn pin(args: &OneRunArgs) -> anyhow::Result<()> {
    let (workspace, run) = found(args)?;
    tell(&pin_run(&workspace, &run.state)?);
    Ok(())
}

fn found(args: &OneRunArgs) -> anyhow::Result<(Workspace, LoadedRun)> {
    let mut folder = args.folder.clone();
    copy_at(&mut folder)?;
    let workspace = Workspace::open(&folder)?;
    let run = find_run(&workspace, &args.run)?;
    Ok((workspace, run))
}

fn id_of(run: &LoadedRun) -> String {
    clean_line(&run.state.plan.run_id).into_owned()
}
