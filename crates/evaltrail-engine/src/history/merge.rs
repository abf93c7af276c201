//! Merges the runs of the shards of one run. The merged run has the plan of all shards; attempts that no shard has are
//! missing in it, so that it is unfinished and can be resumed.

use super::merge_choice::{retain_newest_job, retain_unmerged};
use super::merge_error::MergeError;
use super::merge_remarks::{damages, remarks_on};
use super::merged_run::MergeSource;
use super::same_run::same_run;
use super::shard_attempts::attempts_of;
use super::shard_runs::{ShardRun, full_plan, shards_below};
use crate::store::RunKey;
use evaltrail_core::domain::{RunOptions, RunPlan, RunState};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run that was merged.
#[derive(Debug)]
pub struct MergedRun {
    /// Its plan and its attempts.
    pub state: RunState,
    /// What the user should know about the shards: which are missing, there twice, damaged or left out.
    pub remarks: Vec<String>,
    /// The files that no shard could use, and why.
    pub problems: Vec<(String, String)>,
    /// The number of runs that could not be read.
    pub unreadable: usize,
}

/// Merges the runs of shards at or below `paths` to a run of `workspace`, with this id. `merged_before` are the runs of
/// shards that are in a complete merged run: they are left out if there are others, unless `paths` names them.
pub fn merge_shards(
    paths: &[PathBuf],
    workspace: &Path,
    run_id: &str,
    merged_before: &HashSet<String>,
    key: Option<RunKey>,
) -> Result<MergedRun, MergeError> {
    let (mut shards, mut remarks) = shards_below(paths, key.as_ref())?;
    let unreadable = remarks.len();
    remarks.extend(retain_unmerged(&mut shards, paths, merged_before));
    remarks.extend(retain_newest_job(&mut shards));
    same_run(&shards)?;
    let whole = full_plan(&shards[0], workspace)?;
    let source = MergeSource {
        shards: &shards,
        attempts: attempts_of(&shards, &whole.plan)?,
        plan: Arc::new(merged_plan(&shards, whole.plan, run_id)),
    };
    let state = source.write(workspace, key)?;
    remarks.extend(remarks_on(&shards, &state));
    Ok(MergedRun {
        state,
        remarks,
        problems: whole.problems,
        unreadable,
    })
}

/// Merges the runs of one shard below a folder to a run of `workspace`, with this id: several machines may have executed the
/// shard one after the other. `part` is the plan of the shard.
pub fn merge_one_shard(
    folder: &Path,
    workspace: &Path,
    run_id: &str,
    part: &RunPlan,
    key: Option<RunKey>,
) -> Result<MergedRun, MergeError> {
    let (mut shards, mut remarks) = shards_below(&[folder.to_path_buf()], key.as_ref())?;
    let unreadable = remarks.len();
    shards.retain(|shard| Some(shard.shard) == part.options.shard);
    let Some(first) = shards.first() else {
        return Err(MergeError::Shards(format!(
            "{}: the shard has no run there",
            folder.display()
        )));
    };
    let whole = full_plan(first, workspace)?;
    same_run(&shards)?;
    let plan = RunPlan {
        cases: part.cases.clone(),
        ..whole.plan
    };
    let attempts = attempts_of(&shards, &plan)?;
    let mut plan = merged_plan(&shards, plan, run_id);
    plan.options.shard = part.options.shard;
    let source = MergeSource {
        shards: &shards,
        plan: Arc::new(plan),
        attempts,
    };
    let state = source.write(workspace, key)?;
    remarks.extend(shards.iter().flat_map(damages));
    Ok(MergedRun {
        state,
        remarks,
        problems: whole.problems,
        unreadable,
    })
}

/// The plan of the merged run. Options that do not affect results are those of the earliest shard.
fn merged_plan(shards: &[ShardRun], whole: RunPlan, run_id: &str) -> RunPlan {
    let first = &shards[0].run.state.plan;
    let mut merged: Vec<String> = shards.iter().map(|shard| shard.id().to_string()).collect();
    merged.sort();
    merged.dedup();
    let RunOptions {
        repeat, turn, gate, ..
    } = whole.options;
    let options = RunOptions {
        repeat,
        turn,
        gate,
        shard: None,
        job: None,
        rate: None,
        merged,
        resumed: Vec::new(),
        ..first.options.clone()
    };
    RunPlan {
        run_id: run_id.to_string(),
        started: first.started.clone(),
        options,
        ..whole
    }
}
