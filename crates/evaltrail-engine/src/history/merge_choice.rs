//! Chooses the runs of shards that are merged, where there are runs of several jobs, or of shards that were merged before.

use super::shard_runs::ShardRun;
use std::collections::HashSet;
use std::path::PathBuf;

/// Leaves out the runs in `merged_before` if there are others, except those that `paths` names. Returns what to say about
/// it.
pub(super) fn retain_unmerged(
    shards: &mut Vec<ShardRun>,
    paths: &[PathBuf],
    merged_before: &HashSet<String>,
) -> Option<String> {
    let is_named = |shard: &ShardRun| paths.contains(&shard.run.path);
    let is_new = |shard: &ShardRun| is_named(shard) || !merged_before.contains(shard.id());
    if !shards.iter().any(is_new) {
        return None;
    }
    let before = shards.len();
    shards.retain(is_new);
    let how = "to merge one of them again, name its folder";
    match before - shards.len() {
        0 => None,
        1 => Some(format!(
            "1 run of a shard is left out: it is merged already; {how}"
        )),
        left => Some(format!(
            "{left} runs of shards are left out: they are merged already; {how}"
        )),
    }
}

/// Leaves out shards of other jobs of a scheduler than the newest one. Returns what to say about it.
pub(super) fn retain_newest_job(shards: &mut Vec<ShardRun>) -> Option<String> {
    let job = shards.last()?.run.state.plan.options.job.clone();
    let before = shards.len();
    shards.retain(|shard| shard.run.state.plan.options.job == job);
    let named = job.unwrap_or_else(|| "no job of a scheduler".into());
    match before - shards.len() {
        0 => None,
        1 => Some(format!(
            "1 run of a shard is left out: it is of another job than the newest one ({named})"
        )),
        left => Some(format!(
            "{left} runs of shards are left out: they are of other jobs than the newest one ({named})"
        )),
    }
}
