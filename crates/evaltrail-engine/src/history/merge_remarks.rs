//! What the user should know about the shards of a merged run.

use super::shard_runs::ShardRun;
use evaltrail_core::domain::{RunState, Shard, ShardBy};
use std::collections::BTreeMap;

/// Which shards and cases are missing or there twice, and which runs are damaged or foreign.
pub(super) fn remarks_on(shards: &[ShardRun], state: &RunState) -> Vec<String> {
    let Shard { of, by, .. } = shards[0].shard;
    let mut by_number: BTreeMap<u32, Vec<&ShardRun>> = BTreeMap::new();
    for shard in shards {
        by_number.entry(shard.shard.number).or_default().push(shard);
    }
    let (done, cases) = (state.case_totals().ended(), state.plan.cases.len());
    let merged = match by {
        ShardBy::Queue => format!("the runs of {} machines", shards.len()),
        _ => format!("{} of {of} shards", by_number.len()),
    };
    let mut found = vec![format!("merged {merged}: {done} of {cases} cases")];
    let missing = (1..=of).filter(|number| !by_number.contains_key(number));
    let missing: Vec<String> = missing.map(|number| number.to_string()).collect();
    if !missing.is_empty() {
        let named = if missing.len() == 1 {
            "shard"
        } else {
            "shards"
        };
        found.push(format!("{named} {} of {of} not found", listed(&missing)));
    }
    for (number, runs) in &by_number {
        let mut ids: Vec<&str> = runs.iter().map(|shard| shard.id()).collect();
        ids.dedup();
        if ids.len() > 1 && by != ShardBy::Queue {
            let why = "of two results of the same attempt, the later run's is taken";
            found.push(format!(
                "shard {number} was run {} times, as {}: {why}",
                ids.len(),
                ids.join(", ")
            ));
        }
        found.extend(runs.iter().flat_map(|shard| damages(shard)));
    }
    let foreign = shards.iter().filter(|shard| !shard.run.is_signed).count();
    if foreign > 0 {
        found.push(format!(
            "{foreign} of {} runs were not recorded by you",
            shards.len()
        ));
    }
    let not_run: Vec<String> = (0..state.plan.cases.len())
        .filter(|case| state.lacks_attempts(*case))
        .map(|case| state.plan.cases.eval_id(case).to_string())
        .collect();
    if !not_run.is_empty() {
        found.push(format!(
            "not run, or not all their attempts: {}",
            listed(&not_run)
        ));
    }
    found
}

/// The lines of a shard's journal that are ignored.
pub(super) fn damages(shard: &ShardRun) -> Vec<String> {
    let ShardRun {
        run,
        shard: Shard { number, .. },
        ..
    } = shard;
    let named = format!("shard {number} (run {})", shard.id());
    let kind = if run.is_signed {
        "damaged"
    } else {
        "damaged, or too long for a run of another machine,"
    };
    let damaged = match run.damaged {
        0 => None,
        1 => Some(format!(
            "{named}: 1 attempt of its journal is {kind} and is ignored"
        )),
        attempts => Some(format!(
            "{named}: {attempts} attempts of its journal are {kind} and are ignored"
        )),
    };
    let torn = (run.torn > 0)
        .then(|| format!("{named}: the last line of its journal is incomplete, and is ignored"));
    damaged.into_iter().chain(torn).collect()
}

/// Names, of which only the first ones are shown.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
