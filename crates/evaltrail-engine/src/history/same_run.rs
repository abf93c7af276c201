//! Whether runs are shards of one run, and what differs if they are not.

use super::merge_error::MergeError;
use super::resume::{decisive_differences, same_cases};
use super::shard_runs::{ShardRun, full_plan};
use crate::store::AllShardsPlan;
use std::path::Path;

/// Checks that all runs are shards of one run. Errors: the message says what differs.
pub(super) fn same_run(shards: &[ShardRun]) -> Result<(), MergeError> {
    let first = &shards[0];
    for other in &shards[1..] {
        let named = |why: &str| {
            let (first, other) = (first.run.path.display(), other.run.path.display());
            MergeError::Shards(format!(
                "{first} and {other} are not shards of one run: {why}. Name the folders of one run, or delete the others \
                 (evaltrail runs delete)"
            ))
        };
        let (one, two) = (first.shard, other.shard);
        if (one.of, one.by) != (two.of, two.by) {
            return Err(named(&format!("{} and {}", one.describe(), two.describe())));
        }
        if first.whole != other.whole {
            let (one, two) = (
                full_plan(first, Path::new(""))?,
                full_plan(other, Path::new(""))?,
            );
            return Err(named(&differences(&one, &two)));
        }
    }
    Ok(())
}

/// What differs between two plans, in words.
fn differences(one: &AllShardsPlan, two: &AllShardsPlan) -> String {
    let mut found = decisive_differences(&one.plan, &two.plan);
    if one.plan.commit != two.plan.commit {
        let commit =
            |whole: &AllShardsPlan| whole.plan.commit.clone().unwrap_or_else(|| "none".into());
        found.push(format!("commit: {} and {}", commit(one), commit(two)));
    }
    if one.plan.options.gate != two.plan.options.gate {
        let gate = |whole: &AllShardsPlan| whole.plan.options.gate.name();
        found.push(format!("gate: {} and {}", gate(one), gate(two)));
    }
    found.extend(
        same_cases(&one.plan, &two.plan)
            .err()
            .map(|why| format!("cases: {why}")),
    );
    if one.problems != two.problems {
        found.push("files that one of them could not use".into());
    }
    if found.is_empty() && one.split != two.split {
        found.push("the cases are split by the times of different earlier results".into());
    }
    match found.is_empty() {
        true => "their plans differ".into(),
        false => found.join("; "),
    }
}
