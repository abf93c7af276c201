//! The explorer with a run that machines upload to one place, while they work on it.

use super::Exit;
use super::addresses::{copy_runs, copy_runs_quietly};
use super::output::tell;
use crate::buckets::BucketAddress;
use crate::domain::clean_line;
use crate::explorer::{Explorer, OpenedRunFile, explore};
use crate::history::{MergedRun, merge_shards};
use crate::runner::Stamp;
use crate::store::{RunKey, remove_run, run_path};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Opens the run whose shards are at an address, as far as they are. What is uploaded later appears while it is open.
pub(super) fn open_pushed(address: &BucketAddress, theme: Option<String>) -> anyhow::Result<Exit> {
    let temporary = tempfile::Builder::new().prefix("evaltrail-run-").tempdir()?;
    let mut pushed = PushedRun::new(address, temporary.path());
    let (run, remarks) = pushed.merge(&copy_runs(address)?)?;
    let newer = pushed.is_unfinished().then(|| Box::new(move || pushed.newer()) as _);
    let file = OpenedRunFile { run, case: None, newer };
    let opened = temporary.path().to_path_buf();
    explore(Explorer { opened, title: address.to_string(), theme, run: Some(file) })?;
    remarks.iter().for_each(|remark| tell(&clean_line(remark)));
    Ok(Exit::Success)
}

/// A run at an address, merged again and again.
struct PushedRun {
    address: BucketAddress,
    /// The folder in which the merged runs are.
    workspace: PathBuf,
    /// The sizes of the copied files that were merged last, in bytes.
    merged: BTreeMap<PathBuf, u64>,
    /// The attempts that have not ended.
    left: usize,
    /// The merged runs that were not deleted, oldest first.
    runs: Vec<PathBuf>,
}

impl PushedRun {
    fn new(address: &BucketAddress, workspace: &Path) -> PushedRun {
        let workspace = workspace.to_path_buf();
        PushedRun { address: address.clone(), workspace, merged: BTreeMap::new(), left: 0, runs: Vec::new() }
    }

    fn is_unfinished(&self) -> bool {
        self.left > 0
    }

    /// Merges the copied runs in a folder. Returns the folder of the merged run, and what there is to say about it.
    fn merge(&mut self, copied: &Path) -> anyhow::Result<(PathBuf, Vec<String>)> {
        let sizes = sizes_below(copied)?;
        let place = (self.workspace.as_path(), &*Stamp::now().run_id);
        let folders = [copied.to_path_buf()];
        let MergedRun { state, remarks, .. } =
            merge_shards(&folders, place, &HashSet::new(), RunKey::find())?;
        let run = run_path(&self.workspace, &state.plan.run_id);
        self.left = state.plan.attempts().saturating_sub(state.totals.ended());
        self.merged = sizes;
        self.runs.push(run.clone());
        // The one before may still be read.
        if self.runs.len() > 2 {
            // It is temporary, so that it may stay as well.
            let _ = remove_run(&self.runs.remove(0));
        }
        Ok((run, remarks))
    }

    /// The run with what was uploaded since it was merged last; `None` if nothing was.
    fn newer(&mut self) -> Result<Option<PathBuf>, String> {
        if !self.is_unfinished() {
            return Ok(None);
        }
        let told = |error: anyhow::Error| super::error_chain(&error);
        let copied = copy_runs_quietly(&self.address).map_err(told)?;
        if sizes_below(&copied).map_err(|error| error.to_string())? == self.merged {
            return Ok(None);
        }
        self.merge(&copied).map(|(run, _)| Some(run)).map_err(told)
    }
}

/// The sizes of the files in the folders of a folder, in bytes.
fn sizes_below(folder: &Path) -> std::io::Result<BTreeMap<PathBuf, u64>> {
    let mut sizes = BTreeMap::new();
    for run in std::fs::read_dir(folder)? {
        let run = run?.path();
        if run.is_dir() {
            for file in std::fs::read_dir(run)? {
                let file = file?;
                sizes.insert(file.path(), file.metadata()?.len());
            }
        }
    }
    Ok(sizes)
}
