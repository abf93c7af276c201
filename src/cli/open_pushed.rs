//! The explorer with a run that machines upload to one address, while they work on it.

use super::Exit;
use super::addresses::{copy_runs, copy_runs_quietly};
use super::output::print_note;
use crate::explorer::{Explorer, NewerRun, OpenedRunFile, explore};
use evaltrail_core::domain::clean_line;
use evaltrail_core::formats::ColumnMap;
use evaltrail_engine::buckets::BucketAddress;
use evaltrail_engine::history::{MergedRun, merge_shards};
use evaltrail_engine::process::{PrivateFolder, remove_private_folders_on_signals};
use evaltrail_engine::runner::RunIdentity;
use evaltrail_engine::store::{RunKey, remove_run, run_path};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the run whose shards are at an address, as far as they are. What is uploaded later appears while it is open.
pub(super) fn open_pushed(address: &BucketAddress, theme: Option<String>) -> anyhow::Result<Exit> {
    remove_private_folders_on_signals()?;
    let temporary = PrivateFolder::create("run")?;
    // The explorer compares paths with the canonical one.
    let workspace = dunce::canonicalize(temporary.path())?;
    let pushed = Arc::new(Mutex::new(PushedRun::new(&workspace)));
    let run = locked(&pushed).merge(&copy_runs(address)?)?;
    let newer = locked(&pushed).is_unfinished().then(|| {
        let (pushed, address) = (pushed.clone(), address.clone());
        Box::new(move || newer(&pushed, &address).map_err(|error| super::error_chain(&error)))
            as NewerRun
    });
    let file = OpenedRunFile {
        run,
        case: None,
        newer,
    };
    explore(Explorer {
        opened: workspace,
        title: address.to_string(),
        theme,
        run: Some(file),
        columns: ColumnMap::default(),
    })?;
    // Waits for a merge that goes on, whose files would stay.
    let mut pushed = locked(&pushed);
    pushed.is_closed = true;
    pushed
        .remarks
        .iter()
        .for_each(|remark| print_note(&clean_line(remark)));
    drop(temporary);
    Ok(Exit::Success)
}

/// The run with what was uploaded since it was merged last; `None` if nothing was.
fn newer(pushed: &Mutex<PushedRun>, address: &BucketAddress) -> anyhow::Result<Option<PathBuf>> {
    if !locked(pushed).is_unfinished() {
        return Ok(None);
    }
    let copied = copy_runs_quietly(address)?;
    let mut pushed = locked(pushed);
    if pushed.is_closed || sizes_below(&copied)? == pushed.merged {
        return Ok(None);
    }
    pushed.merge(&copied).map(Some)
}

fn locked(pushed: &Mutex<PushedRun>) -> MutexGuard<'_, PushedRun> {
    pushed.lock()
}

/// A run that machines work on, merged again and again.
struct PushedRun {
    /// The folder in which the merged runs are.
    workspace: PathBuf,
    /// The sizes of the copied files that were merged last, in bytes.
    merged: BTreeMap<PathBuf, u64>,
    /// The attempts that have not ended.
    left: usize,
    /// What there is to say about the last merge.
    remarks: Vec<String>,
    /// The merged runs that were not deleted, oldest first.
    runs: Vec<PathBuf>,
    /// Whether the explorer has ended, and the folder is deleted.
    is_closed: bool,
}

impl PushedRun {
    fn new(workspace: &Path) -> PushedRun {
        PushedRun {
            workspace: workspace.to_path_buf(),
            merged: BTreeMap::new(),
            left: 0,
            remarks: Vec::new(),
            runs: Vec::new(),
            is_closed: false,
        }
    }

    fn is_unfinished(&self) -> bool {
        self.left > 0
    }

    /// Merges the copied runs in a folder, and returns the folder of the merged run.
    fn merge(&mut self, copied: &Path) -> anyhow::Result<PathBuf> {
        let sizes = sizes_below(copied)?;
        let run_id = RunIdentity::now().run_id;
        let folders = [copied.to_path_buf()];
        let MergedRun { state, remarks, .. } = merge_shards(
            &folders,
            &self.workspace,
            &run_id,
            &HashSet::new(),
            RunKey::find(),
        )?;
        let run = run_path(&self.workspace, &state.plan.run_id);
        self.left = state.plan.attempts().saturating_sub(state.totals.ended());
        (self.merged, self.remarks) = (sizes, remarks);
        self.runs.push(run.clone());
        // The explorer reads records of the one before until it shows this one.
        if self.runs.len() > 2 {
            // If this fails, it is deleted at the end.
            let _ = remove_run(&self.runs.remove(0));
        }
        Ok(run)
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
