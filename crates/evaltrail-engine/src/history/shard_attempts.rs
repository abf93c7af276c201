//! The attempts of the runs of shards, by their keys in the plan of all shards.

use super::merge_error::MergeError;
use super::shard_runs::ShardRun;
use evaltrail_core::domain::{AttemptKey, EndedAttempt, RunPlan};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// An attempt, and the position of its shard.
pub(super) struct FoundAttempt {
    pub(super) shard: usize,
    pub(super) attempt: Arc<EndedAttempt>,
}

/// The attempts of all shards, by their keys in the plan of all shards. Of two results of the same attempt, the later run
/// has the right one.
pub(super) fn attempts_of(
    shards: &[ShardRun],
    whole: &RunPlan,
) -> Result<BTreeMap<AttemptKey, FoundAttempt>, MergeError> {
    let cases_of_whole: HashMap<(usize, usize), usize> = whole
        .cases
        .iter()
        .enumerate()
        .map(|(at, case)| ((case.set, case.index), at))
        .collect();
    let mut attempts = BTreeMap::new();
    for (shard, ShardRun { run, .. }) in shards.iter().enumerate() {
        let cases = &run.state.plan.cases;
        for attempt in run.state.finished.iter() {
            let AttemptKey {
                case,
                attempt: number,
            } = attempt.key;
            if number > whole.options.repeat {
                let path = run.path.display();
                return Err(MergeError::Shards(format!(
                    "{path}: it repeats cases more often than its plan says"
                )));
            }
            let at = cases_of_whole
                .get(&(cases.set_of(case), cases.index_in_file(case)))
                .copied();
            let is_same = |at: &usize| {
                whole.cases.eval_id(*at) == cases.eval_id(case)
                    && whole.cases.content_hash(*at) == cases.content_hash(case)
            };
            let at = at.filter(is_same).ok_or_else(|| {
                let id = cases.eval_id(case);
                MergeError::Shards(format!(
                    "{}: case {id:?} is not in the plan of all shards",
                    run.path.display()
                ))
            })?;
            attempts.insert(
                AttemptKey {
                    case: at,
                    attempt: number,
                },
                FoundAttempt { shard, attempt },
            );
        }
    }
    Ok(attempts)
}
