//! Runs of shards that machines uploaded to one address: what earlier ones already did, and how far each shard is.

use super::shard_runs::{ShardRun, shards_below};
use crate::store::{RunKey, fingerprint};
use evaltrail_core::domain::{Shard, ShardBy, Status, Totals};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How far a shard is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShardProgress {
    /// The id of its newest run.
    pub run_id: String,
    /// The number of its attempts in the plan.
    pub attempts: usize,
    /// The attempts that ended.
    pub totals: Totals,
    /// Whether its newest run is complete; of a queue, whether all attempts ended.
    pub is_complete: bool,
    /// The number of its runs.
    pub runs: usize,
}

/// The shards of a run in a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct PushedShards {
    /// One of the shards.
    pub shard: Shard,
    /// SHA-256 of the text of the plan of all shards.
    pub whole: String,
    /// The number of attempts of all shards.
    pub attempts: usize,
    /// The shards that have a run, by number.
    pub progress: BTreeMap<u32, ShardProgress>,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// The cases of a shard that earlier runs did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DoneCases {
    /// The cases of which all attempts ended, by set and index.
    pub cases: BTreeSet<(usize, usize)>,
    /// The number of their attempts that did not pass, without those of quarantined cases.
    pub failed: usize,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// The cases of a shard of which runs in a folder have all attempts. `whole` is the text of the plan of all shards.
pub fn done_by_earlier_runs(folder: &Path, whole: &[u8], shard: Shard) -> DoneCases {
    let whole = fingerprint(&[whole]);
    let (shards, problems) = match shards_below(&[folder.to_path_buf()], RunKey::find().as_ref()) {
        Ok(found) => found,
        Err(error) => {
            return DoneCases {
                problems: vec![error.to_string()],
                ..DoneCases::default()
            };
        }
    };
    // Whether each attempt counts as a failure. Of two results, that of the later run counts.
    let mut attempts: BTreeMap<(usize, usize), BTreeMap<u32, bool>> = BTreeMap::new();
    let mut repeat = 1;
    for one in shards
        .iter()
        .filter(|one| one.whole == whole && one.shard == shard)
    {
        let plan = &one.run.state.plan;
        repeat = plan.options.repeat;
        for attempt in one.run.state.finished.iter() {
            let case = attempt.key.case;
            let is_failure =
                attempt.status != Status::Passed && plan.cases.quarantine(case).is_none();
            let position = (plan.cases.set_of(case), plan.cases.index_in_file(case));
            attempts
                .entry(position)
                .or_default()
                .insert(attempt.key.attempt, is_failure);
        }
    }
    attempts.retain(|_, attempts| attempts.len() >= repeat as usize);
    let failed = attempts
        .values()
        .flat_map(BTreeMap::values)
        .filter(|is_failure| **is_failure)
        .count();
    DoneCases {
        cases: attempts.into_keys().collect(),
        failed,
        problems,
    }
}

/// How far the shards in a folder are. Of several plans, the one of the newest run counts. Errors: the message says that
/// there are none, or that they cannot be read.
pub fn pushed_shards(folder: &Path) -> Result<PushedShards, String> {
    let (shards, problems) = shards_below(&[folder.to_path_buf()], RunKey::find().as_ref())
        .map_err(|error| error.to_string())?;
    let newest = shards.last().ok_or("no run of a shard is there")?;
    let mut found = PushedShards {
        shard: newest.shard,
        whole: newest.whole.clone(),
        attempts: newest
            .planned_attempts()
            .map_err(|error| error.to_string())?,
        progress: BTreeMap::new(),
        problems,
    };
    let of_newest = |one: &&ShardRun| one.whole == found.whole && one.shard.of == found.shard.of;
    let mut ended: BTreeMap<(u32, usize, usize, u32), Status> = BTreeMap::new();
    for one in shards.iter().filter(of_newest) {
        let (plan, number) = (&one.run.state.plan, one.shard.number);
        for attempt in one.run.state.finished.iter() {
            let case = attempt.key.case;
            let key = (
                number,
                plan.cases.set_of(case),
                plan.cases.index_in_file(case),
                attempt.key.attempt,
            );
            ended.insert(key, attempt.status);
        }
        let known = found.progress.entry(number).or_default();
        known.run_id = plan.run_id.clone();
        // A run that continues a shard has only the cases that were left.
        known.attempts = known.attempts.max(plan.attempts());
        known.is_complete = one.run.ended;
        known.runs += 1;
    }
    for ((number, ..), status) in ended {
        if let Some(known) = found.progress.get_mut(&number) {
            known.totals.add(status);
        }
    }
    if found.shard.by == ShardBy::Queue {
        let all = found.attempts;
        found
            .progress
            .values_mut()
            .for_each(|queue| queue.is_complete = queue.totals.ended() >= all);
    }
    Ok(found)
}
