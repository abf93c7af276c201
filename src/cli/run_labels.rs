//! `evaltrail runs pin`, `unpin`, `name` and `delete`.

use super::Exit;
use super::addresses::copy_at;
use super::find_run::find_run;
use super::output::print_note;
use anyhow::bail;
use clap::{Args, Subcommand};
use evaltrail_core::domain::clean_line;
use evaltrail_engine::runner::{history_of, name_run, pin_run, unpin_run};
use evaltrail_engine::store::{LoadedRun, remove_run};
use evaltrail_engine::workspace::Workspace;
use std::path::PathBuf;

#[derive(Subcommand, Debug)]
pub(super) enum RunsAction {
    /// Keep a run when old ones are removed, and make it the baseline that later runs are compared with
    Pin(OneRunArgs),
    /// Unpin a run: later runs are no longer compared with it, and it may be removed as an old one
    Unpin(OneRunArgs),
    /// Name a run; without NAME, remove its name
    Name {
        #[command(flatten)]
        run: OneRunArgs,
        /// The name
        name: Option<String>,
    },
    /// Delete a run
    Delete(OneRunArgs),
}

#[derive(Args, Debug)]
pub(super) struct OneRunArgs {
    /// The run: `last`, `previous`, the beginning of its id, its name, or its folder
    pub(super) run: String,
    /// The folder of the runs
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
}

pub(super) fn change(action: RunsAction) -> anyhow::Result<Exit> {
    match action {
        RunsAction::Pin(args) => pin(&args)?,
        RunsAction::Unpin(args) => {
            let (workspace, run) = found(&args)?;
            print_note(&unpin_run(&workspace, &run.state.plan.run_id)?);
        }
        RunsAction::Name { run: args, name } => {
            let name = name
                .map(|name| name.trim().to_string())
                .filter(|name| !name.is_empty());
            let (workspace, run) = found(&args)?;
            name_run(&workspace, &run.state.plan.run_id, name.as_deref())
                .map_err(anyhow::Error::msg)?;
            let id = id_of(&run);
            match name {
                Some(name) => print_note(&format!("run {id} is named {}", clean_line(&name))),
                None => print_note(&format!("run {id} has no name")),
            }
        }
        RunsAction::Delete(args) => {
            let (workspace, run) = found(&args)?;
            let label = history_of(&workspace).labels.remove(&run.state.plan.run_id);
            if label.is_some_and(|label| label.pinned) {
                bail!(
                    "run {} is pinned; evaltrail runs unpin {0} first",
                    id_of(&run)
                );
            }
            if !remove_run(&run.path)? {
                bail!(
                    "run {} is being written by another evaltrail process",
                    id_of(&run)
                );
            }
            print_note(&format!("run {} was deleted", id_of(&run)));
        }
    }
    Ok(Exit::Success)
}

fn pin(args: &OneRunArgs) -> anyhow::Result<()> {
    let (workspace, run) = found(args)?;
    print_note(&pin_run(&workspace, &run.state)?);
    Ok(())
}

fn found(args: &OneRunArgs) -> anyhow::Result<(Workspace, LoadedRun)> {
    let mut folder = args.folder.clone();
    copy_at(&mut folder)?;
    let workspace = Workspace::open(&folder)?;
    let run = find_run(&workspace, &args.run)?;
    if !run.is_signed {
        bail!(
            "{} is a result of ADK; only runs of evaltrail can be named, pinned and deleted",
            id_of(&run)
        );
    }
    Ok((workspace, run))
}

fn id_of(run: &LoadedRun) -> String {
    clean_line(&run.state.plan.run_id).into_owned()
}
