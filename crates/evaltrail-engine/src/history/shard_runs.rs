//! The runs of shards in folders.

use super::merge_error::MergeError;
use crate::store::{
    AllShardsPlan, LoadedRun, RunKey, fingerprint, full_plan_of, load_run, parse_full_plan,
    shard_folders,
};
use evaltrail_core::domain::{Shard, unix_seconds};
use rayon::iter::Either;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// The run of a shard.
pub(super) struct ShardRun {
    pub(super) run: LoadedRun,
    pub(super) shard: Shard,
    /// When it started, in seconds since 1970.
    started: f64,
    /// SHA-256 of the text of the plan of all shards.
    pub(super) whole: String,
}

impl ShardRun {
    /// The id of the run.
    pub(super) fn id(&self) -> &str {
        &self.run.state.plan.run_id
    }

    /// The number of attempts of all shards.
    pub(super) fn planned_attempts(&self) -> Result<usize, MergeError> {
        Ok(full_plan(self, Path::new(""))?.plan.attempts())
    }
}

/// The runs of shards, the earliest first. Also returns what could not be read.
pub(super) fn shards_below(
    paths: &[PathBuf],
    key: Option<&RunKey>,
) -> Result<(Vec<ShardRun>, Vec<String>), MergeError> {
    let mut folders = Vec::new();
    for path in paths {
        let found = shard_folders(path).map_err(|source| MergeError::Folder {
            path: path.clone(),
            source,
        })?;
        folders.extend(found);
    }
    folders.sort();
    folders.dedup();
    let read =
        |folder: PathBuf| shard_at(&folder, key).map_err(|error| format!("not merged: {error}"));
    let (unreadable, mut shards): (Vec<String>, Vec<ShardRun>) = folders
        .into_par_iter()
        .map(read)
        .partition_map(Either::from);
    if shards.is_empty() {
        let none = "no run of a shard is there; `evaltrail run … --shard 1/4` writes one to .evaltrail/runs";
        return Err(MergeError::Shards(
            unreadable.into_iter().next().unwrap_or_else(|| none.into()),
        ));
    }
    shards.sort_by(|a, b| a.started.total_cmp(&b.started));
    Ok((shards, unreadable))
}

fn shard_at(folder: &Path, key: Option<&RunKey>) -> Result<ShardRun, MergeError> {
    let whole = fingerprint(&[&full_plan_text(folder)?]);
    let run = load_run(folder, key)?;
    let plan = &run.state.plan;
    let refused = |why: &str| MergeError::Shards(format!("{}: {why}", folder.display()));
    let shard = plan.options.shard.filter(|shard| shard.is_valid());
    let shard = shard.ok_or_else(|| refused("the run does not say which shard it is"))?;
    let started = unix_seconds(&plan.started)
        .ok_or_else(|| refused("the run does not say when it started"))?;
    if !plan.run_id.chars().all(|one| one.is_ascii_alphanumeric()) {
        return Err(refused("the id of the run is not one of evaltrail's"));
    }
    Ok(ShardRun {
        shard,
        started,
        whole,
        run,
    })
}

/// The plan of all shards, as a shard stores it.
pub(super) fn full_plan(shard: &ShardRun, workspace: &Path) -> Result<AllShardsPlan, MergeError> {
    let path = &shard.run.path;
    let text = full_plan_text(path)?;
    parse_full_plan(&text, workspace).map_err(|source| MergeError::Folder {
        path: path.clone(),
        source,
    })
}

fn full_plan_text(run: &Path) -> Result<Vec<u8>, MergeError> {
    full_plan_of(run).map_err(|source| MergeError::Folder {
        path: run.to_path_buf(),
        source,
    })
}
