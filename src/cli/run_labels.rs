//! `evaltrail runs pin`, `unpin`, `name` and `delete`.

use super::Exit;
use super::args::{OneRunArgs, RunsAction};
use super::find_run::find_run;
use super::output::tell;
use crate::domain::clean_line;
use crate::runner::{label_run, pin_run};
use crate::store::{LoadedRun, RUN_NAME_AT_MOST, remove_run};
use crate::workspace::Workspace;
use anyhow::bail;

pub(super) fn change(action: RunsAction) -> anyhow::Result<Exit> {
    match action {
        RunsAction::Pin(args) => pin(&args)?,
        RunsAction::Unpin(args) => {
            let (workspace, run) = found(&args)?;
            label_run(&workspace, &run.state.plan.run_id, |label| label.pinned = false)?;
            tell(&format!("run {} is kept no longer than others", id_of(&run)));
        }
        RunsAction::Name { run: args, name } => {
            let name = name.filter(|name| !name.trim().is_empty());
            if name.as_ref().is_some_and(|name| name.chars().count() > RUN_NAME_AT_MOST) {
                bail!("a name has at most {RUN_NAME_AT_MOST} characters");
            }
            let (workspace, run) = found(&args)?;
            label_run(&workspace, &run.state.plan.run_id, |label| label.name = name.clone())?;
            let id = id_of(&run);
            match name {
                Some(name) => tell(&format!("run {id} is named {}", clean_line(&name))),
                None => tell(&format!("run {id} has no name")),
            }
        }
        RunsAction::Delete(args) => {
            let (_, run) = found(&args)?;
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
    let workspace = Workspace::open(&args.folder)?;
    let run = find_run(&workspace, &args.run)?;
    Ok((workspace, run))
}

fn id_of(run: &LoadedRun) -> String {
    clean_line(&run.state.plan.run_id).into_owned()
}
