//! The folders of runs in a workspace.

use super::evaltrail_folder::EvaltrailFolder;
use super::journal_error::{JournalError, at};
use super::lock::try_lock;
use super::plan_file::PLAN;
use crate::process::open_file_limit_error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the folder of runs in `.evaltrail`.
pub(super) const RUNS: &str = "runs";
/// The file that is locked while the run is written. Locking the journal would keep others from reading it on Windows.
pub(super) const LOCK: &str = "lock";

/// The folders of a workspace's runs, in no particular order. Links are skipped, and the files are not read. Errors: the
/// folder of the runs exists, but cannot be read.
pub fn run_folders(workspace: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = all_run_folders(workspace)?;
    folders.retain(|folder| folder.join(PLAN).exists());
    Ok(folders)
}

/// Like [`run_folders`], with those in which no plan is written yet.
pub fn all_run_folders(workspace: &Path) -> io::Result<Vec<PathBuf>> {
    let runs = match EvaltrailFolder::in_workspace(workspace).and_then(|ours| ours.folder(RUNS)) {
        Ok(runs) => runs,
        Err(error) if is_unreadable(&error) => return Err(error),
        // A link, or a file in its place, is no folder of runs.
        Err(_) => return Ok(Vec::new()),
    };
    let mut folders = Vec::new();
    for entry in fs::read_dir(runs.path())? {
        let entry = entry?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

/// Whether an error is about a folder that exists.
fn is_unreadable(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied || open_file_limit_error(error).is_some()
}

/// The folder of a run of a workspace.
pub fn run_path(workspace: &Path, run_id: &str) -> PathBuf {
    workspace.join(".evaltrail").join(RUNS).join(run_id)
}

/// The size of the files of a run, in bytes. What cannot be read counts as empty.
pub fn run_size(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok());
    files
        .filter(|file| file.is_file())
        .map(|file| file.len())
        .sum()
}

/// Removes the folder of a run. Returns `false` if another process is writing the run.
pub fn remove_run(path: &Path) -> Result<bool, JournalError> {
    let folder = EvaltrailFolder::of_run(path).map_err(at(path))?;
    let lock = folder.append(LOCK);
    if lock.as_ref().is_ok_and(|lock| !try_lock(lock)) {
        return Ok(false);
    }
    // Some file systems do not delete a folder with a file that is open.
    drop(lock);
    fs::remove_dir_all(path).map_err(at(path))?;
    Ok(true)
}
