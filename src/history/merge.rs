//! Merges the runs of the shards of one run. The merged run has the plan of all shards; attempts that no shard has are
//! missing in it, so that it is unfinished and can be resumed.

use super::resume::{decisive_differences, same_cases};
use crate::domain::{AttemptKey, EndedAttempt, RunEvent, RunOptions, RunPlan, RunState, Shard, unix_seconds};
use crate::store::{
    JournalError, JournalLines, LoadedRun, RunFolder, RunKey, fingerprint, load_run, parse_whole_plan,
    shard_folders, whole_plan_of,
};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run that was merged.
#[derive(Debug)]
pub struct MergedRun {
    /// Its plan and its attempts.
    pub state: RunState,
    /// What the user should know about the shards: which are missing, there twice, damaged or unfinished.
    pub remarks: Vec<String>,
}

/// Why shards cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There are none, or they are not of one run. Contains the message.
    #[error("{0}")]
    Shards(String),
    /// A folder cannot be read.
    #[error("{path}: {source}", path = .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A run cannot be read, or the merged run cannot be written.
    #[error(transparent)]
    Run(#[from] JournalError),
}

/// The run of a shard.
struct ShardRun {
    run: LoadedRun,
    shard: Shard,
    /// SHA-256 of the text of the plan of all shards.
    whole: String,
}

/// The number of attempts that are in memory at the same time while they are copied.
const AT_ONCE: usize = 2048;

/// Merges the runs of shards at or below `paths` to a run of `workspace`, with this id.
pub fn merge_shards(
    paths: &[PathBuf],
    workspace: &Path,
    run_id: &str,
    key: Option<RunKey>,
) -> Result<MergedRun, MergeError> {
    let shards = shards_below(paths, key.as_ref())?;
    same_run(&shards)?;
    let text = whole_plan_of(&shards[0].run.path)?;
    let whole = parse_whole_plan(&text, workspace)
        .map_err(|source| MergeError::Folder { path: shards[0].run.path.clone(), source })?;
    let attempts = attempts_of(&shards, &whole)?;
    let plan = Arc::new(merged_plan(&shards, whole, run_id));
    let state = written(&shards, &plan, &attempts, workspace, key)?;
    let remarks = remarks(&shards, &state);
    Ok(MergedRun { state, remarks })
}

/// The runs of shards, the earliest first.
fn shards_below(paths: &[PathBuf], key: Option<&RunKey>) -> Result<Vec<ShardRun>, MergeError> {
    let mut folders = Vec::new();
    for path in paths {
        let found =
            shard_folders(path).map_err(|source| MergeError::Folder { path: path.clone(), source })?;
        folders.extend(found);
    }
    folders.dedup();
    if folders.is_empty() {
        return Err(MergeError::Shards(
            "no run of a shard is there; `evaltrail run … --shard 1/4` writes one to .evaltrail/runs".into(),
        ));
    }
    let read = |folder: PathBuf| -> Result<ShardRun, MergeError> {
        let whole = fingerprint(&[&whole_plan_of(&folder)?]);
        let run = load_run(&folder, key)?;
        let shard = run.state.plan.options.shard.ok_or_else(|| {
            MergeError::Shards(format!("{}: the run does not say which shard it is", folder.display()))
        })?;
        Ok(ShardRun { run, shard, whole })
    };
    let mut shards = folders.into_par_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let started = |shard: &ShardRun| unix_seconds(&shard.run.state.plan.started).unwrap_or(0.0);
    shards.sort_by(|a, b| started(a).total_cmp(&started(b)));
    // The same run may have been copied to two folders.
    let mut known = std::collections::HashSet::new();
    shards.retain(|shard| known.insert((shard.run.state.plan.run_id.clone(), shard.shard.number)));
    Ok(shards)
}

/// Checks that all runs are shards of one run. Errors: the message says what differs.
fn same_run(shards: &[ShardRun]) -> Result<(), MergeError> {
    let first = &shards[0];
    for other in &shards[1..] {
        let named = |why: &str| {
            let (first, other) = (first.run.path.display(), other.run.path.display());
            MergeError::Shards(format!("{first} and {other} are not shards of one run: {why}"))
        };
        let (one, two) = (first.shard, other.shard);
        if (one.of, one.by) != (two.of, two.by) {
            return Err(named(&format!("{} and {}", one.words(), two.words())));
        }
        if first.whole != other.whole {
            let plan = |shard: &ShardRun| {
                let text = whole_plan_of(&shard.run.path)?;
                parse_whole_plan(&text, Path::new(""))
                    .map_err(|source| MergeError::Folder { path: shard.run.path.clone(), source })
            };
            return Err(named(&differences(&plan(first)?, &plan(other)?)));
        }
    }
    Ok(())
}

/// What differs between two plans, in words.
fn differences(one: &RunPlan, two: &RunPlan) -> String {
    let mut found = decisive_differences(one, two);
    if one.commit != two.commit {
        let commit = |plan: &RunPlan| plan.commit.clone().unwrap_or_else(|| "none".into());
        found.push(format!("commit: {} and {}", commit(one), commit(two)));
    }
    found.extend(same_cases(one, two).err().map(|why| format!("cases: {why}")));
    match found.is_empty() {
        true => "their plans differ".into(),
        false => found.join("; "),
    }
}

/// An attempt, and the position of its shard.
struct FoundAttempt {
    shard: usize,
    attempt: Arc<EndedAttempt>,
}

/// The attempts of all shards, by their keys in the plan of all shards. Of two results of the same attempt, the later run
/// has the right one.
fn attempts_of(
    shards: &[ShardRun],
    whole: &RunPlan,
) -> Result<BTreeMap<AttemptKey, FoundAttempt>, MergeError> {
    let place: HashMap<(usize, usize), usize> =
        whole.cases.iter().enumerate().map(|(at, case)| ((case.set, case.index), at)).collect();
    let mut attempts = BTreeMap::new();
    for (shard, ShardRun { run, .. }) in shards.iter().enumerate() {
        let cases = &run.state.plan.cases;
        for attempt in run.state.finished.iter() {
            let AttemptKey { case, attempt: number } = attempt.key;
            let at = place.get(&(cases.set(case), cases.index(case))).copied();
            let is_same = |at: &usize| {
                whole.cases.eval_id(*at) == cases.eval_id(case)
                    && whole.cases.content(*at) == cases.content(case)
            };
            let at = at.filter(is_same).ok_or_else(|| {
                let id = cases.eval_id(case);
                MergeError::Shards(format!(
                    "{}: case {id:?} is not in the plan of all shards",
                    run.path.display()
                ))
            })?;
            attempts.insert(AttemptKey { case: at, attempt: number }, FoundAttempt { shard, attempt });
        }
    }
    Ok(attempts)
}

/// The plan of the merged run. Options that do not affect results are those of the earliest shard.
fn merged_plan(shards: &[ShardRun], whole: RunPlan, run_id: &str) -> RunPlan {
    let first = &shards[0].run.state.plan;
    let merged = shards.iter().map(|shard| shard.run.state.plan.run_id.clone()).collect();
    RunPlan {
        run_id: run_id.to_string(),
        started: first.started.clone(),
        options: RunOptions { shard: None, rate: None, merged, ..first.options.clone() },
        ..whole
    }
}

/// Writes the merged run, and returns its state.
fn written(
    shards: &[ShardRun],
    plan: &Arc<RunPlan>,
    attempts: &BTreeMap<AttemptKey, FoundAttempt>,
    workspace: &Path,
    key: Option<RunKey>,
) -> Result<RunState, MergeError> {
    let open = |shard: &ShardRun| JournalLines::open(&shard.run, key.as_ref());
    let journals = shards.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut folder = RunFolder::create(workspace, plan, key)?;
    let mut state = RunState::new(plan.clone());
    let (records, mut summaries) = (folder.records(), folder.begin_summaries(&state));
    let attempts: Vec<(&AttemptKey, &FoundAttempt)> = attempts.iter().collect();
    for some in attempts.chunks(AT_ONCE) {
        let line = |(key, found): &(&AttemptKey, &FoundAttempt)| {
            let place = found.attempt.recorded_at().ok_or("it has no record")?;
            let line = journals[found.shard].line(place)?;
            Ok((line, **key))
        };
        let lines = some.par_iter().map(line).collect::<Result<Vec<_>, String>>();
        let places = folder.append_lines(&lines.map_err(MergeError::Shards)?)?;
        for ((key, found), at) in some.iter().zip(places) {
            let ended = Arc::new(found.attempt.moved(**key, at, &records));
            // Without the summaries, the journal is read.
            summaries = summaries.and_then(|mut writer| writer.add(ended.clone()).ok().map(|()| writer));
            state.apply(RunEvent::Finished(ended));
        }
    }
    if state.outstanding().is_empty() {
        folder.end()?;
        if let Some(summaries) = summaries {
            let _ = folder.end_summaries(summaries);
        }
    }
    // Not synced to disk, which takes longer than all else: after a power failure, the shards can be merged again.
    state.apply(RunEvent::Ended { duration_s: duration(&state) });
    Ok(state)
}

/// Seconds from the start of the first shard to the last response of an agent.
fn duration(state: &RunState) -> f64 {
    let end = |attempt: Arc<EndedAttempt>| {
        unix_seconds(&attempt.started).map(|started| started + attempt.latency_s)
    };
    let last = state.finished.iter().filter_map(end).reduce(f64::max);
    last.zip(unix_seconds(&state.plan.started)).map_or(0.0, |(end, start)| (end - start).max(0.0))
}

fn remarks(shards: &[ShardRun], state: &RunState) -> Vec<String> {
    let of = shards[0].shard.of;
    let mut by_number: BTreeMap<u32, Vec<&ShardRun>> = BTreeMap::new();
    for shard in shards {
        by_number.entry(shard.shard.number).or_default().push(shard);
    }
    let (done, cases) = (state.case_totals().ended(), state.plan.cases.len());
    let mut found = vec![format!("merged {} of {of} shards: {done} of {cases} cases", by_number.len())];
    let missing: Vec<String> =
        (1..=of).filter(|number| !by_number.contains_key(number)).map(|number| number.to_string()).collect();
    if !missing.is_empty() {
        let named = if missing.len() == 1 { "shard" } else { "shards" };
        found.push(format!("{named} {} of {of} not found", listed(&missing)));
    }
    for (number, runs) in &by_number {
        if runs.len() > 1 {
            let ids: Vec<&str> = runs.iter().map(|shard| shard.run.state.plan.run_id.as_str()).collect();
            let why = "of two results of the same attempt, the later run's is taken";
            found.push(format!("shard {number} was run {} times, as {}: {why}", runs.len(), ids.join(", ")));
        }
        for shard in runs {
            let (run, id) = (&shard.run, &shard.run.state.plan.run_id);
            if run.damaged > 0 {
                found.push(format!(
                    "shard {number} (run {id}): {} damaged lines in its journal are ignored",
                    run.damaged
                ));
            }
            if run.torn > 0 {
                found.push(format!(
                    "shard {number} (run {id}): the last line of its journal is incomplete, and is ignored"
                ));
            }
            if !run.is_signed {
                found.push(format!("shard {number} (run {id}) was not recorded by you"));
            }
        }
    }
    let not_run: Vec<String> = (0..state.plan.cases.len())
        .filter(|case| state.tally(*case).ended < state.plan.options.repeat as usize)
        .map(|case| state.plan.cases.eval_id(case).to_string())
        .collect();
    if !not_run.is_empty() {
        found.push(format!("not run, or not all their attempts: {}", listed(&not_run)));
    }
    found
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
