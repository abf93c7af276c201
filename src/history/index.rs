//! The index of runs: their cases and results in numbers, so that not every run has to be read. It can be rebuilt from
//! the runs at any time, so it is stored in the cache folder.

use super::adk_results::{ended_attempt, open_result};
use super::criteria::{DecidingMetrics, criteria_id, scoring_of};
use super::outcomes::OutcomesCache;
use crate::analysis::PassRateCollector;
use crate::domain::{
    AttemptKey, AttemptSummary, Criterion, InMemory, JudgeUsage, PlannedSet, RunBy, RunPlan, RunRef, Shard,
    Totals, rfc3339, stored_path, unix_seconds,
};
use crate::formats::adk::{ResultFile, app_history, storage_history};
use crate::metrics::{Aggregate, Aggregation, criterion_of};
use crate::store::{
    LoadedRun, Places, RunKey, RunLabel, baseline_run_id, fingerprint, load_run, read_run_labels,
    run_folders, write_whole,
};
use rayon::iter::Either;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The version of the format of the index. An index with another version is rebuilt.
const FORMAT: u32 = 13;

/// A summary of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    /// The run's id, or the id of ADK's result.
    pub run_id: String,
    /// The run's folder, or the result file.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// When the run started, in RFC 3339; for ADK's results, when they were written.
    pub started: String,
    /// The version-control commit of the workspace when the run was planned, if it is known.
    pub commit: Option<String>,
    /// The origin of the run.
    pub source: RunSource,
    /// The labels of its agents; empty for ADK's results, which do not name one.
    pub agent: String,
    /// The metrics with their thresholds, as "tool_trajectory_avg_score 1"; empty for ADK's results.
    pub criteria: Vec<String>,
    /// The judge of the run, if it was not left to the criteria.
    pub judge: Option<String>,
    /// Seconds from its start to the last response of an agent; `None` without an attempt that ended, and for ADK's
    /// results.
    pub duration_s: Option<f64>,
    /// What its judges spent, if one was used.
    pub spent: Option<JudgeUsage>,
    /// The only turn that was run, from 1; all turns when `None`.
    pub turn: Option<u32>,
    /// The number of planned attempts.
    pub attempts: usize,
    /// The numbers of attempts that ended, by status.
    pub totals: Totals,
    /// Whether the run is marked as complete.
    pub ended: bool,
    /// The run's number in the order of this user's runs; 0 for all others.
    pub number: u64,
    /// The part of a larger run that this one is; `None` for a whole run.
    pub shard: Option<Shard>,
    /// The ids of the runs from which this one was merged.
    pub merged: Vec<String>,
    /// Whether a run that was merged from this one is there too: it has the same results.
    #[serde(skip)]
    pub is_in_merged: bool,
}

/// The origin of a run, and its cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunSource {
    /// evaltrail.
    Evaltrail {
        /// The files, with the numbers of their cases and their results.
        sets: Vec<SetCount>,
        /// Whether it is not signed with this user's key: it was recorded elsewhere, or added by someone else.
        is_foreign: bool,
    },
    /// ADK.
    Adk {
        /// The agent's folder.
        #[serde(with = "stored_path")]
        app_dir: PathBuf,
        /// The set's id in the result.
        set_id: String,
        /// Whether evaltrail wrote the file at the end of a run, which is not here any more.
        by_evaltrail: bool,
        /// The id of that run, if the file contains it.
        copied_run: Option<String>,
        /// The results.
        results: SetResults,
        /// A hash of the criteria that decided, with all their options.
        criteria_id: u64,
    },
}

/// The results of a set in a run, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SetResults {
    /// The numbers of attempts that ended, by status.
    pub totals: Totals,
    /// The mean over the cases of the share of their evaluated attempts that passed; `None` if none was evaluated.
    pub pass_rate: Option<f64>,
    /// The mean of each metric's scores, in the order in which the metrics first appear.
    pub metrics: Vec<MetricMean>,
    /// The metrics that decided, with their thresholds, in alphabetical order.
    pub criteria: Vec<String>,
}

/// The mean of the scores of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricMean {
    /// The criterion's metric, label included.
    pub metric: String,
    /// The mean over the cases of the means of their attempts with a score; `None` if no attempt has one.
    pub mean: Option<f64>,
    /// The number of attempts with a score.
    pub scored: usize,
}

/// A file in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetCount {
    /// The file.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// The number of its cases in the plan.
    pub cases: usize,
    /// Whether all cases of the file were run to their end; `None` if it is not known.
    pub is_whole: Option<bool>,
    /// The label of its agent.
    pub agent: String,
    /// Its metrics with their thresholds.
    pub criteria: Vec<String>,
    /// A hash of its criteria with all their options.
    pub criteria_id: u64,
    /// For each metric, a hash of how it is computed, without the threshold.
    pub scoring: BTreeMap<String, u64>,
    /// The results of its cases.
    pub results: SetResults,
}

impl RunHead {
    /// The reference to the run that its results contain.
    pub fn run_ref(&self) -> RunRef {
        let by = match &self.source {
            RunSource::Adk { .. } => RunBy::Adk,
            RunSource::Evaltrail { is_foreign: true, .. } => RunBy::Foreign,
            _ => RunBy::Evaltrail,
        };
        RunRef { id: self.run_id.clone(), started: self.started.clone(), by }
    }

    /// The id, shortened for a column: its beginning, or the end of that of a result of ADK, which begins with the names of
    /// the application and the set.
    pub fn short_id(&self) -> String {
        const SHOWN: usize = 12;
        let length = self.run_id.chars().count();
        match &self.source {
            RunSource::Adk { .. } if length > SHOWN => {
                std::iter::once('…').chain(self.run_id.chars().skip(length + 1 - SHOWN)).collect()
            }
            _ => self.run_id.chars().take(SHOWN).collect(),
        }
    }

    /// A set of the run; `None` for results of ADK.
    pub fn set(&self, path: &Path) -> Option<&SetCount> {
        match &self.source {
            RunSource::Evaltrail { sets, .. } => sets.iter().find(|set| set.path == path),
            RunSource::Adk { .. } => None,
        }
    }

    /// Whether it is a run of evaltrail that is signed with this user's key.
    pub fn is_ours(&self) -> bool {
        matches!(self.source, RunSource::Evaltrail { is_foreign: false, .. })
    }

    /// Whether it is a run of evaltrail that is not signed with this user's key.
    pub fn is_foreign(&self) -> bool {
        matches!(self.source, RunSource::Evaltrail { is_foreign: true, .. })
    }

    /// Whether other commands can use it: it is one of this user's runs, or a result of ADK.
    pub fn is_usable(&self) -> bool {
        !self.is_foreign()
    }

    /// Whether it is part of trends: it is not foreign, not part of a merged run, and of all turns.
    pub fn is_in_trends(&self) -> bool {
        !self.is_foreign() && !self.is_in_merged && self.turn.is_none()
    }

    /// Whether it is complete and no result is missing, so that it cannot be resumed.
    pub fn is_finished(&self) -> bool {
        self.ended && self.totals.ended() >= self.attempts
    }

    /// Whether it is a run of evaltrail, signed or not.
    pub fn is_evaltrail(&self) -> bool {
        matches!(self.source, RunSource::Evaltrail { .. })
    }
}

/// The runs of a workspace.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The runs, newest first; foreign ones last.
    pub runs: Vec<RunHead>,
    /// The folders and result files that cannot be read, each with the error, in words.
    pub unreadable: Vec<(PathBuf, String)>,
    /// Names and pins, by the run's id.
    pub labels: HashMap<String, RunLabel>,
    /// The id of the run that is the baseline, if there is one.
    pub baseline: Option<String>,
    /// The outcomes of the cases of each run.
    pub(super) cache: Option<OutcomesCache>,
    /// The key that signs this user's runs.
    pub(super) key: Option<RunKey>,
}

/// An entry of the index: a run, and the sizes and times of its files when it was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    stamp: Vec<(u64, u128)>,
    head: RunHead,
}

#[derive(Serialize, Deserialize)]
struct IndexFile {
    format: u32,
    /// The id of the key with which the runs were verified. With another key the index is rebuilt.
    key: String,
    entries: Vec<Entry>,
}

impl History {
    /// Finds the runs of a workspace. Runs that changed after the index was written are read again. `app_dirs` are the agents' folders, where ADK stores its results.
    pub fn open(root: &Path, app_dirs: &[PathBuf], places: Option<&Places>) -> History {
        let mut unlisted: Vec<(PathBuf, String)> = Vec::new();
        let key = places.and_then(|places| {
            let failed = |error: io::Error| {
                let why = format!("the key that signs runs: {error}; all runs count as foreign");
                unlisted.push((places.data.clone(), why));
            };
            RunKey::of(places).map_err(failed).ok()
        });
        let key_id = key.as_ref().map(RunKey::id).unwrap_or_default();
        let index = places.map(|places| index_path(places, root));
        let cache = index.as_deref().map(|index| OutcomesCache::of(index, &key_id));
        let mut known = index.as_deref().map(|index| read_index(index, &key_id)).unwrap_or_default();
        let mut listed = |found: io::Result<Vec<PathBuf>>, folder: &Path| {
            let failed = |error: io::Error| {
                unlisted.push((folder.to_path_buf(), format!("{}: {error}", folder.display())));
                Vec::new()
            };
            found.unwrap_or_else(failed)
        };
        let ours = listed(run_folders(root), &root.join(".evaltrail").join("runs"));
        let ours = ours.into_iter().map(|path| (path, None));
        let folders =
            app_dirs.iter().flat_map(|dir| [app_history(dir), storage_history(dir)].map(|of| (dir, of)));
        let adk = folders.flat_map(|(dir, folder)| {
            let files = listed(result_files(&folder), &folder);
            files.into_iter().map(|path| (path, Some(dir.as_path())))
        });
        let found: Vec<(PathBuf, Option<&Path>)> = ours.chain(adk).collect();
        let (mut entries, mut unread) = (Vec::new(), Vec::new());
        for (path, app_dir) in found {
            let stamp = stamp_of(&path, app_dir.is_some());
            match known.remove(&path).filter(|entry| entry.stamp == stamp) {
                Some(entry) => entries.push(entry),
                None => unread.push((path, app_dir, stamp)),
            }
        }
        let changed = !unread.is_empty();
        let read = |(path, app_dir, stamp): (PathBuf, Option<&Path>, _)| match read_head(
            &path,
            app_dir,
            key.as_ref(),
        ) {
            Ok(head) => Either::Left(Entry { stamp, head }),
            Err(error) => Either::Right((path, error)),
        };
        let (new, unreadable): (Vec<Entry>, Vec<(PathBuf, String)>) =
            unread.into_par_iter().partition_map(read);
        entries.extend(new);
        let unreadable = unlisted.into_iter().chain(unreadable).collect();
        if let Some(index) = index.filter(|_| changed || !known.is_empty()) {
            // The index is only a cache, so an error is ignored.
            let _ = write_index(&index, &key_id, &entries);
            if let Some(cache) = &cache {
                known.keys().for_each(|path| cache.remove(path));
            }
        }
        let mut runs: Vec<RunHead> = entries.into_iter().map(|entry| entry.head).collect();
        remove_copies(&mut runs);
        sort_newest_first(&mut runs);
        mark_merged(&mut runs);
        History {
            runs,
            unreadable,
            labels: read_run_labels(root),
            baseline: baseline_run_id(root),
            cache,
            key,
        }
    }

    /// The runs that are signed with this user's key, newest first.
    pub fn ours(&self) -> impl Iterator<Item = &RunHead> {
        self.runs.iter().filter(|head| head.is_ours())
    }
}

/// Removes the files that evaltrail wrote for ADK at the end of a run that is there too. A file without the id of its run is
/// from an older version: it was written after the run started.
fn remove_copies(runs: &mut Vec<RunHead>) {
    let started = |head: &RunHead| unix_seconds(&head.started).unwrap_or(f64::MIN);
    let own: HashMap<String, f64> = runs
        .iter()
        .filter(|head| head.is_evaltrail())
        .map(|head| (head.run_id.clone(), started(head)))
        .collect();
    runs.retain(|head| match &head.source {
        RunSource::Adk { by_evaltrail: true, copied_run: Some(run), .. } => !own.contains_key(run),
        RunSource::Adk { by_evaltrail: true, copied_run: None, .. } => {
            own.values().all(|began| *began > started(head))
        }
        _ => true,
    });
}

/// Marks the shards, and the earlier merged runs of shards, whose results are in a merged run of this user, too. The runs
/// are sorted, the newest first.
fn mark_merged(runs: &mut [RunHead]) {
    let mut merged: HashSet<String> = HashSet::new();
    for head in runs {
        let all = |ids: &[String]| !ids.is_empty() && ids.iter().all(|id| merged.contains(id));
        head.is_in_merged = (head.shard.is_some() && merged.contains(&head.run_id)) || all(&head.merged);
        if head.is_ours() {
            merged.extend(head.merged.iter().cloned());
        }
    }
}

fn sort_newest_first(runs: &mut [RunHead]) {
    runs.sort_by(|a, b| b.number.cmp(&a.number).then_with(|| time_of(b).total_cmp(&time_of(a))));
    // The user's own runs are in the order in which they were recorded. If their times contradict it, because the clock
    // was wrong, a run counts as no newer than the one that was recorded after it.
    let mut latest = f64::INFINITY;
    let mut newness: HashMap<PathBuf, f64> = HashMap::new();
    for head in runs.iter() {
        let time = match head.is_ours() {
            true => {
                latest = latest.min(time_of(head));
                latest
            }
            false => time_of(head),
        };
        newness.insert(head.path.clone(), time);
    }
    let newness = |head: &RunHead| newness.get(&head.path).copied().unwrap_or(f64::MIN);
    // The sort is stable: runs with equal times stay in this order.
    runs.sort_by(|a, b| newness(b).total_cmp(&newness(a)));
}

/// When a run started. A foreign run comes last, because it must not hide the user's own runs.
fn time_of(head: &RunHead) -> f64 {
    match head.source {
        RunSource::Evaltrail { is_foreign: true, .. } => f64::MIN,
        _ => unix_seconds(&head.started).unwrap_or(f64::MIN),
    }
}

fn index_path(places: &Places, root: &Path) -> PathBuf {
    let id = fingerprint(&[root.as_os_str().as_encoded_bytes()]);
    places.cache.join("history").join(format!("{}.json", &id[..16]))
}

fn read_index(path: &Path, key: &str) -> HashMap<PathBuf, Entry> {
    let read = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<IndexFile>(&bytes).ok());
    let entries = read
        .filter(|file| file.format == FORMAT && file.key == key)
        .map(|file| file.entries)
        .unwrap_or_default();
    entries.into_iter().map(|entry| (entry.head.path.clone(), entry)).collect()
}

fn write_index(path: &Path, key: &str, entries: &[Entry]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = IndexFile { format: FORMAT, key: key.to_string(), entries: entries.to_vec() };
    write_whole(path, &serde_json::to_vec(&file)?)
}

/// The sizes and modification times of the files from which an entry is created.
pub(super) fn stamp_of(path: &Path, is_file: bool) -> Vec<(u64, u128)> {
    let of = |path: &Path| {
        let meta = fs::metadata(path).ok()?;
        let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some((meta.len(), modified.as_nanos()))
    };
    let files = match is_file {
        true => vec![path.to_path_buf()],
        false => vec![path.join("run.json"), path.join("journal.jsonl")],
    };
    files.iter().map(|file| of(file).unwrap_or_default()).collect()
}

/// Reads the summary of a run of evaltrail, or of a result of the agent in `app_dir`.
fn read_head(path: &Path, app_dir: Option<&Path>, key: Option<&RunKey>) -> Result<RunHead, String> {
    match app_dir {
        None => load_run(path, key).map(|run| head_of_run(path, &run)).map_err(|error| error.to_string()),
        Some(app_dir) => open_result(path).map(|file| head_of_result(path, app_dir, &Arc::new(file))),
    }
}

/// Collects the results of a set.
#[derive(Default)]
struct CollectedResults {
    totals: Totals,
    pass_rate: PassRateCollector,
    metrics: Aggregation,
    criteria: DecidingMetrics,
}

impl CollectedResults {
    fn add(&mut self, attempt: &AttemptSummary) {
        self.totals.add(attempt.status);
        self.pass_rate.add(attempt.key, attempt.status);
        self.metrics.add(attempt);
        self.criteria.add(attempt);
    }

    fn finish(self) -> SetResults {
        let mean = |of: Aggregate| MetricMean { metric: of.metric, mean: of.mean, scored: of.valid };
        let metrics = self.metrics.finish().into_iter().map(mean).collect();
        SetResults {
            totals: self.totals,
            pass_rate: self.pass_rate.finish(),
            metrics,
            criteria: self.criteria.finish(),
        }
    }
}

fn head_of_run(path: &Path, run: &LoadedRun) -> RunHead {
    let (state, plan) = (&run.state, &run.state.plan);
    let mut by_set: Vec<CollectedResults> = plan.sets.iter().map(|_| Default::default()).collect();
    let mut end: Option<f64> = None;
    for attempt in state.finished.iter() {
        by_set[plan.cases.set(attempt.key.case)].add(&attempt);
        let ended = unix_seconds(&attempt.started).map(|started| started + attempt.latency_s.unwrap_or(0.0));
        end = end.into_iter().chain(ended).reduce(f64::max);
    }
    let mut cases = vec![0; plan.sets.len()];
    plan.cases.iter().for_each(|case| cases[case.set] += 1);
    let sets = plan.sets.iter().zip(cases).zip(by_set);
    // A filter may leave no case of a set.
    let sets = sets.filter(|((_, cases), _)| *cases > 0);
    let sets = sets.map(|((set, cases), results)| counted(set, cases, results.finish(), plan)).collect();
    RunHead {
        run_id: plan.run_id.clone(),
        path: path.to_path_buf(),
        started: plan.started.clone(),
        commit: plan.commit.clone(),
        source: RunSource::Evaltrail { sets, is_foreign: !run.is_signed },
        agent: plan.agent_label(),
        criteria: criteria_of(plan),
        judge: plan.judge.label(),
        duration_s: end.zip(unix_seconds(&plan.started)).map(|(end, start)| (end - start).max(0.0)),
        spent: state.spent(),
        turn: plan.options.turn,
        attempts: plan.attempts(),
        totals: state.totals,
        ended: run.ended,
        number: run.number,
        shard: plan.options.shard,
        merged: plan.options.merged.clone(),
        is_in_merged: false,
    }
}

/// A set of a run with its results.
fn counted(set: &PlannedSet, cases: usize, results: SetResults, plan: &RunPlan) -> SetCount {
    let is_complete = results.totals.ended() >= cases * plan.options.repeat as usize;
    SetCount {
        path: set.path.clone(),
        cases,
        is_whole: set.file_cases.map(|in_file| cases >= in_file && is_complete),
        agent: set.agent_label(),
        criteria: criteria_words(&set.criteria),
        criteria_id: criteria_id(&set.criteria),
        scoring: scoring_of(&set.criteria),
        results,
    }
}

/// The metrics of a run with their thresholds, each once.
fn criteria_of(plan: &RunPlan) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for words in plan.sets.iter().flat_map(|set| criteria_words(&set.criteria)) {
        if !found.contains(&words) {
            found.push(words);
        }
    }
    found
}

/// Metrics with their thresholds, as "tool_trajectory_avg_score 1".
fn criteria_words(criteria: &[Criterion]) -> Vec<String> {
    let words = |criterion: &Criterion| {
        let threshold = criterion.threshold.map(|threshold| format!(" {threshold}")).unwrap_or_default();
        format!("{}{threshold}", criterion.metric)
    };
    criteria.iter().map(words).collect()
}

/// The results of ADK in a folder; none if the folder does not exist.
fn result_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries?,
    };
    let paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    let is_result = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".evalset_result.json"))
    };
    Ok(paths.into_iter().filter(is_result).collect())
}

/// The attempts of a result.
pub(super) fn attempts_of_result(file: &Arc<ResultFile>) -> Vec<AttemptSummary> {
    let key = |at: usize| AttemptKey { case: at, attempt: file.entries[at].attempt };
    let attempt = |at: usize| ended_attempt(file, at, key(at), None, InMemory::Summary);
    (0..file.entries.len()).map(|at| attempt(at).summary().clone()).collect()
}

/// A hash of the criteria of a result's metrics with thresholds.
fn criteria_of_result(file: &ResultFile) -> u64 {
    let mut found: BTreeMap<String, Criterion> = BTreeMap::new();
    for attempt in (0..file.entries.len()).filter_map(|at| file.attempt(at).ok()) {
        for metric in attempt.metrics.iter().filter(|metric| metric.threshold.is_some()) {
            found.entry(metric.metric.clone()).or_insert_with(|| criterion_of(metric));
        }
    }
    criteria_id(&found.into_values().collect::<Vec<_>>())
}

fn head_of_result(path: &Path, app_dir: &Path, file: &Arc<ResultFile>) -> RunHead {
    let mut totals = Totals::default();
    let mut results = CollectedResults::default();
    for attempt in &attempts_of_result(file) {
        totals.add(attempt.status);
        results.add(attempt);
    }
    RunHead {
        run_id: file.id.clone(),
        path: path.to_path_buf(),
        started: rfc3339(file.created),
        commit: None,
        source: RunSource::Adk {
            app_dir: app_dir.to_path_buf(),
            set_id: file.set_id.clone(),
            by_evaltrail: file.by_evaltrail(),
            copied_run: file.copied_run(),
            results: results.finish(),
            criteria_id: criteria_of_result(file),
        },
        agent: String::new(),
        criteria: Vec::new(),
        judge: None,
        duration_s: None,
        spent: None,
        turn: None,
        attempts: file.entries.len(),
        totals,
        ended: true,
        number: 0,
        shard: None,
        merged: Vec::new(),
        is_in_merged: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(run_id: &str, started: &str, number: u64, source: RunSource) -> RunHead {
        RunHead {
            run_id: run_id.into(),
            path: run_id.into(),
            started: started.into(),
            commit: None,
            source,
            agent: String::new(),
            criteria: Vec::new(),
            judge: None,
            duration_s: None,
            spent: None,
            turn: None,
            attempts: 1,
            totals: Totals::default(),
            ended: true,
            number,
            shard: None,
            merged: Vec::new(),
            is_in_merged: false,
        }
    }

    /// The clock was wrong: at 2036 in the second run, and at 2001 in the last.
    #[test]
    fn the_order_of_runs_is_that_of_their_recording() {
        let ours = || RunSource::Evaltrail { sets: Vec::new(), is_foreign: false };
        let adk = || RunSource::Adk {
            app_dir: "a".into(),
            set_id: "s".into(),
            by_evaltrail: false,
            copied_run: None,
            results: SetResults::default(),
            criteria_id: 0,
        };
        let foreign = RunSource::Evaltrail { sets: Vec::new(), is_foreign: true };
        let mut runs = vec![
            head("first", "2026-01-01T00:00:00Z", 1, ours()),
            head("adk before", "2025-12-31T00:00:00Z", 0, adk()),
            head("second", "2036-01-01T00:00:00Z", 2, ours()),
            head("planted", "2040-01-01T00:00:00Z", 0, foreign),
            head("third", "2026-01-03T00:00:00Z", 3, ours()),
            head("adk after", "2026-01-04T00:00:00Z", 0, adk()),
        ];
        sort_newest_first(&mut runs);
        let order: Vec<&str> = runs.iter().map(|head| head.run_id.as_str()).collect();
        assert_eq!(order, ["adk after", "third", "second", "first", "adk before", "planted"]);
        runs.push(head("last", "2001-01-01T00:00:00Z", 4, ours()));
        sort_newest_first(&mut runs);
        let of_ours: Vec<&str> =
            runs.iter().filter(|head| head.is_ours()).map(|head| head.run_id.as_str()).collect();
        assert_eq!(of_ours, ["last", "third", "second", "first"]);
    }

    /// The results that evaltrail writes for ADK at the end of a run.
    #[test]
    fn copies_for_adk_are_not_listed() {
        let ours = || RunSource::Evaltrail { sets: Vec::new(), is_foreign: false };
        let copy = |copied_run: Option<&str>| RunSource::Adk {
            app_dir: "a".into(),
            set_id: "s".into(),
            by_evaltrail: true,
            copied_run: copied_run.map(str::to_string),
            results: SetResults::default(),
            criteria_id: 0,
        };
        let mut runs = vec![
            head("run", "2026-01-02T00:00:00Z", 1, ours()),
            head("copy", "2026-01-02T00:00:01Z", 0, copy(Some("run"))),
            head("copy of another", "2026-01-02T00:00:02Z", 0, copy(Some("removed"))),
            head("later, without the id", "2026-01-02T00:00:03Z", 0, copy(None)),
            head("earlier, without the id", "2026-01-01T00:00:00Z", 0, copy(None)),
        ];
        remove_copies(&mut runs);
        let left: Vec<&str> = runs.iter().map(|head| head.run_id.as_str()).collect();
        assert_eq!(left, ["run", "copy of another", "earlier, without the id"]);
    }
}
