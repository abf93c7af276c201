//! Merges the runs of the shards of one run. The merged run has the plan of all shards; attempts that no shard has are
//! missing in it, so that it is unfinished and can be resumed.

use super::resume::{decisive_differences, same_cases};
use crate::store::{
    AllShardsPlan, JournalError, JournalLines, LoadedRun, RunFolder, RunKey, fingerprint,
    full_plan_of, load_run, parse_full_plan, remove_run, shard_folders,
};
use evaltrail_core::domain::{
    AttemptKey, EndedAttempt, JudgeUsage, RunEvent, RunOptions, RunPlan, RunState, Shard, ShardBy,
    unix_seconds,
};
use rayon::iter::Either;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
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
pub(super) struct ShardRun {
    pub(super) run: LoadedRun,
    pub(super) shard: Shard,
    /// When it started, in seconds since 1970.
    started: f64,
    /// SHA-256 of the text of the plan of all shards.
    pub(super) whole: String,
}

impl ShardRun {
    fn id(&self) -> &str {
        &self.run.state.plan.run_id
    }

    /// The number of attempts of all shards.
    pub(super) fn planned_attempts(&self) -> Result<usize, MergeError> {
        Ok(full_plan(self, Path::new(""))?.plan.attempts())
    }
}

/// The number of attempts that are in memory at the same time while they are copied.
const AT_ONCE: usize = 2048;

/// Merges the runs of shards at or below `paths` to a run of `workspace`, with this id. `merged_before` are the runs of
/// shards that are in a complete merged run: they are left out if there are others, unless `paths` names them.
pub fn merge_shards(
    paths: &[PathBuf],
    (workspace, run_id): (&Path, &str),
    merged_before: &HashSet<String>,
    key: Option<RunKey>,
) -> Result<MergedRun, MergeError> {
    let (mut shards, mut remarks) = shards_below(paths, key.as_ref())?;
    let unreadable = remarks.len();
    let is_named = |shard: &ShardRun| paths.contains(&shard.run.path);
    let is_new = |shard: &ShardRun| is_named(shard) || !merged_before.contains(shard.id());
    if shards.iter().any(is_new) {
        let before = shards.len();
        shards.retain(is_new);
        let how = "to merge one of them again, name its folder";
        match before - shards.len() {
            0 => {}
            1 => remarks.push(format!(
                "1 run of a shard is left out: it is merged already; {how}"
            )),
            left => remarks.push(format!(
                "{left} runs of shards are left out: they are merged already; {how}"
            )),
        }
    }
    remarks.extend(retain_newest_job(&mut shards));
    same_run(&shards)?;
    let whole = full_plan(&shards[0], workspace)?;
    let attempts = attempts_of(&shards, &whole.plan)?;
    let plan = Arc::new(merged_plan(&shards, whole.plan, run_id));
    let state = written(&shards, &plan, &attempts, workspace, key)?;
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
    (workspace, run_id): (&Path, &str),
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
    let state = written(&shards, &Arc::new(plan), &attempts, workspace, key)?;
    remarks.extend(shards.iter().flat_map(damages));
    Ok(MergedRun {
        state,
        remarks,
        problems: whole.problems,
        unreadable,
    })
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
fn full_plan(shard: &ShardRun, workspace: &Path) -> Result<AllShardsPlan, MergeError> {
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

/// Leaves out shards of other jobs of a scheduler than the newest one. Returns what to say about it.
fn retain_newest_job(shards: &mut Vec<ShardRun>) -> Option<String> {
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

/// Checks that all runs are shards of one run. Errors: the message says what differs.
fn same_run(shards: &[ShardRun]) -> Result<(), MergeError> {
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
    let place: HashMap<(usize, usize), usize> = whole
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
            let at = place
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
        ..first.options.clone()
    };
    RunPlan {
        run_id: run_id.to_string(),
        started: first.started.clone(),
        options,
        ..whole
    }
}

/// Writes the merged run, and returns its state. Nothing stays if that fails.
fn written(
    shards: &[ShardRun],
    plan: &Arc<RunPlan>,
    attempts: &BTreeMap<AttemptKey, FoundAttempt>,
    workspace: &Path,
    key: Option<RunKey>,
) -> Result<RunState, MergeError> {
    // An interrupted merge must not count as one that contains the shards.
    let mut begun = (**plan).clone();
    begun.options.merged = Vec::new();
    let folder = RunFolder::create(workspace, &begun, key.clone())?;
    let path = folder.path().to_path_buf();
    copied(shards, plan, attempts, (folder, key)).inspect_err(|_| {
        // The error says why there is no merged run.
        let _ = remove_run(&path);
    })
}

/// Copies the attempts to the folder of the merged run.
fn copied(
    shards: &[ShardRun],
    plan: &Arc<RunPlan>,
    attempts: &BTreeMap<AttemptKey, FoundAttempt>,
    (mut folder, key): (RunFolder, Option<RunKey>),
) -> Result<RunState, MergeError> {
    let open = |shard: &ShardRun| JournalLines::open(&shard.run, key.as_ref());
    let journals = shards.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut state = RunState::new(plan.clone());
    let (records, mut summaries) = (folder.records(), folder.begin_summaries(&state));
    let attempts: Vec<(&AttemptKey, &FoundAttempt)> = attempts.iter().collect();
    for some in attempts.chunks(AT_ONCE) {
        let line = |(key, found): &(&AttemptKey, &FoundAttempt)| {
            let place = found.attempt.recorded_at().ok_or("it has no record")?;
            let line = journals[found.shard].line(place)?;
            Ok((line, **key))
        };
        let lines = some
            .par_iter()
            .map(line)
            .collect::<Result<Vec<_>, String>>();
        let places = folder.append_lines(&lines.map_err(MergeError::Shards)?)?;
        for ((key, found), at) in some.iter().zip(places) {
            let ended = Arc::new(found.attempt.moved(**key, at, &records));
            // Without the summaries, the journal is read.
            summaries =
                summaries.and_then(|mut writer| writer.add(ended.clone()).ok().map(|()| writer));
            state.apply(RunEvent::Finished(ended));
        }
    }
    let of_cancelled = shards
        .iter()
        .map(|shard| shard.run.state.spent_on_cancelled)
        .fold(JudgeUsage::default(), JudgeUsage::and);
    if of_cancelled != JudgeUsage::default() {
        folder.append_spent_on_cancelled(of_cancelled)?;
        state.apply(RunEvent::SpentOnCancelled(of_cancelled));
    }
    folder.write_plan(plan)?;
    if state.count_outstanding() == 0 {
        folder.end()?;
        if let Some(summaries) = summaries {
            let _ = folder.end_summaries(summaries);
        }
    }
    // Not synced to disk, which takes longer than all else: after a power failure, the shards can be merged again.
    state.apply(RunEvent::Ended {
        duration_s: duration(&state),
    });
    Ok(state)
}

/// Seconds from the start of the first attempt to the last response of an agent.
fn duration(state: &RunState) -> f64 {
    let times = |attempt: Arc<EndedAttempt>| {
        let started = unix_seconds(&attempt.started)?;
        Some((started, started + attempt.latency_s.unwrap_or(0.0)))
    };
    let both = |(a, b): (f64, f64), (c, d): (f64, f64)| (a.min(c), b.max(d));
    state
        .finished
        .iter()
        .filter_map(times)
        .reduce(both)
        .map_or(0.0, |(start, end)| end - start)
}

fn remarks_on(shards: &[ShardRun], state: &RunState) -> Vec<String> {
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
        .filter(|case| state.tally(*case).ended < state.plan.options.repeat as usize)
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
fn damages(shard: &ShardRun) -> Vec<String> {
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
