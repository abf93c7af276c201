//! Files that evaltrail wrote, opened by name.

use super::find_run::find_run;
use anyhow::{Context, bail};
use evaltrail_core::domain::clean_line;
use evaltrail_core::formats::{EvaltrailFile, FILE_START, TAIL, is_packed, own_file};
use evaltrail_engine::process::PrivateFolder;
use evaltrail_engine::runner;
use evaltrail_engine::store::{read_start, read_tail};
use evaltrail_engine::workspace::{Workspace, root_of};
use std::path::{Path, PathBuf};

/// A file of a run that can be opened.
pub(super) enum RunFile {
    /// A run in one file.
    Export,
    /// A report or a journal of a run that is stored in a workspace: the run's name or folder for [`find_run`].
    Stored(Box<Workspace>, String),
}

/// The run that a file contains or is about; `None` if evaltrail did not write the file. Errors: it wrote the file, but no run can
/// be opened by it; the message names the command that can use the file.
pub(super) fn run_file(path: &Path) -> anyhow::Result<Option<RunFile>> {
    if !path.is_file() {
        return Ok(None);
    }
    let start = read_start(path, FILE_START).with_context(|| path.display().to_string())?;
    let shown = path.display();
    match own_file(&start, || read_tail(path, TAIL).unwrap_or_default()) {
        // Opening the file reports what is wrong.
        None if is_packed(&start) => Ok(Some(RunFile::Export)),
        None => Ok(None),
        Some(EvaltrailFile::Export) => Ok(Some(RunFile::Export)),
        Some(EvaltrailFile::Report(Some(run_id))) => stored_run(path, &run_id).map(Some),
        Some(EvaltrailFile::Journal) => {
            let folder = std::path::absolute(path)?
                .parent()
                .map(Path::to_path_buf)
                .unwrap_or_default();
            stored_run(path, &folder.display().to_string()).map(Some)
        }
        Some(EvaltrailFile::Report(None) | EvaltrailFile::Table) => bail!(
            "{shown} is a report of evaltrail that does not name its run: `evaltrail runs` lists the runs, and `evaltrail` opens them with H"
        ),
        Some(EvaltrailFile::Recording) => {
            bail!(
                "{shown} is a recording of agents: `evaltrail run SET --agent replay:{shown}` replays it"
            )
        }
        Some(EvaltrailFile::Drafts) => {
            bail!("{shown} has drafts of cases: `evaltrail drafts SET` shows those of a set")
        }
        Some(EvaltrailFile::AdkResult) => bail!(
            "{shown} is a result of ADK: `evaltrail` opens it with H in the folder that contains the agent"
        ),
    }
}

/// The run in the workspace of the file, or in that of the current folder.
fn stored_run(path: &Path, named: &str) -> anyhow::Result<RunFile> {
    let folder = std::path::absolute(path)?
        .parent()
        .map(Path::to_path_buf)
        .unwrap_or_default();
    // The folder of a run is in `.evaltrail/runs` of its workspace.
    let above = folder
        .ancestors()
        .find(|one| one.join(".evaltrail").is_dir())
        .map(Path::to_path_buf);
    let folders = [
        above.unwrap_or_else(|| root_of(&folder)),
        std::env::current_dir()?,
    ];
    let mut failed = None;
    for folder in folders {
        let workspace = Workspace::open(&folder)?;
        match find_run(&workspace, named) {
            Ok(_) => return Ok(RunFile::Stored(Box::new(workspace), named.to_string())),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let why = failed
        .map(|error| format!(": {error:#}"))
        .unwrap_or_default();
    bail!(
        "{} is of run {}, which is not stored here{}; where it is stored, `evaltrail export` writes it to a file that opens anywhere",
        path.display(),
        clean_line(named),
        clean_line(&why)
    )
}

/// The file of an exported run: `path` itself, or of a stored run one in a folder that is temporary.
pub(super) fn exported(
    path: &Path,
    found: RunFile,
) -> anyhow::Result<(PathBuf, Option<PrivateFolder>)> {
    match found {
        RunFile::Export => Ok((path.to_path_buf(), None)),
        RunFile::Stored(workspace, named) => {
            let run = find_run(&workspace, &named)?;
            let folder = PrivateFolder::create("file")?;
            let to = folder.path().join("run.evaltrail");
            runner::export(&workspace, &run, &to).with_context(|| to.display().to_string())?;
            Ok((to, Some(folder)))
        }
    }
}
