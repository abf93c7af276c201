//! `evaltrail export` and `evaltrail open`: a run as a file.

use super::Exit;
use super::addresses::{copy_at, not_recorded_note};
use super::find_run::find_run;
use super::output::print_note;
use super::own_files::{RunFile, exported, run_file};
use super::paths::path_word;
use super::subcommand::CliCommand;
use super::terminal::no_terminal;
use crate::explorer::{Explorer, OpenedRunFile, explore};
use anyhow::Context;
use clap::Args;
use evaltrail_core::domain::clean_line;
use evaltrail_core::formats::ColumnMap;
use evaltrail_engine::process::{PrivateFolder, remove_private_folders_on_signals};
use evaltrail_engine::report::{export_as_named, shell_word};
use evaltrail_engine::store::{file_id, unpack_run};
use evaltrail_engine::workspace::Workspace;
use std::path::Path;
use std::path::PathBuf;

/// Write a run to one file, without known secrets: for `evaltrail open` on any machine, or a report
#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    /// The run: `last`, `previous`, the beginning of its id, its name, or its folder
    #[arg(default_value = "last")]
    pub(super) run: String,
    /// A file that is named without -o, to answer with how it is named
    #[arg(hide = true)]
    pub(super) misplaced: Option<PathBuf>,
    /// The file; by default run-ID.evaltrail. A name that ends in .html, .md, .xml (JUnit), .json or .csv becomes a
    /// report of this format
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub(super) force: bool,
    /// The folder of the runs
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
}

/// Explore a run from the file that evaltrail export wrote
#[derive(Args, Debug)]
pub(super) struct OpenArgs {
    /// The file
    pub(super) file: PathBuf,
    /// Id of the case to open
    pub(super) case: Option<String>,
    /// Colour theme
    #[arg(long)]
    pub(super) theme: Option<String>,
}

impl CliCommand for ExportArgs {
    const NAME: &'static str = "export";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_at(&mut self.folder)
    }

    fn run(self) -> anyhow::Result<Exit> {
        export(self)
    }
}

impl CliCommand for OpenArgs {
    const NAME: &'static str = "open";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_at(&mut self.file)
    }

    fn run(self) -> anyhow::Result<Exit> {
        open(self)
    }
}

pub(super) fn export(args: ExportArgs) -> anyhow::Result<Exit> {
    if let Some(file) = &args.misplaced {
        anyhow::bail!(
            "{}: name the file with -o: evaltrail export {} -o {}",
            file.display(),
            shell_word(&args.run),
            path_word(file)
        );
    }
    let workspace = Workspace::open(&args.folder)?;
    let run = find_run(&workspace, &args.run)?;
    let to = args
        .output
        .unwrap_or_else(|| format!("run-{}.evaltrail", file_id(&run.state.plan.run_id)).into());
    if to.exists() && !args.force {
        anyhow::bail!(
            "{}: the file exists already; --force replaces it",
            to.display()
        );
    }
    let exported =
        export_as_named(&workspace, &run, &to).with_context(|| to.display().to_string())?;
    let run_id = clean_line(&run.state.plan.run_id);
    print_note(&match exported.report {
        Some(format) => format!(
            "the {} report of run {run_id} is in {}, without known secrets",
            format.name,
            to.display()
        ),
        None => format!(
            "run {run_id} is in {}, without known secrets; evaltrail open {} opens it anywhere",
            to.display(),
            path_word(&to)
        ),
    });
    if let Some(why) = exported.not_recorded {
        print_note(&not_recorded_note(&to, &why));
    }
    Ok(Exit::Success)
}

pub(super) fn open(args: OpenArgs) -> anyhow::Result<Exit> {
    let found = run_file(&args.file)?.unwrap_or(RunFile::Export);
    open_run(&args.file, found, args.case, args.theme)
}

/// Opens the run that a file contains or is about.
pub(super) fn open_run(
    file: &Path,
    found: RunFile,
    case: Option<String>,
    theme: Option<String>,
) -> anyhow::Result<Exit> {
    // Checked first, so that an invalid file is reported without a terminal as well.
    remove_private_folders_on_signals()?;
    let (from, temporary) = exported(file, found)?;
    let folder = PrivateFolder::create("run")?;
    // The explorer compares paths with the canonical one.
    let opened = dunce::canonicalize(folder.path())?;
    let run = unpack_run(&from, &opened).with_context(|| file.display().to_string())?;
    drop(temporary);
    if let Some(exit) = no_terminal(
        "the reports of the run, or `evaltrail runs` in the folder where it was recorded",
    ) {
        return Ok(exit);
    }
    let title = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let run = OpenedRunFile {
        run,
        case,
        newer: None,
    };
    explore(Explorer {
        opened,
        title,
        theme,
        run: Some(run),
        columns: ColumnMap::default(),
    })?;
    Ok(Exit::Success)
}
