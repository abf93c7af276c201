//! The latest result of every case, with its run, as it was stored.

use super::adk_results::{CasesOfSet, ended_attempt, open_result};
use super::find_case::find_case;
use super::index::History;
use super::run_summary::{RunSource, RunSummary};
use crate::store::{RunKey, load_run_with};
use evaltrail_core::domain::{AttemptKey, EndedAttempt, InMemory, PlannedSet, RunBy, RunRef};
use evaltrail_core::formats::SetFile;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum total size of the journals and result files that are read, in bytes.
const MAX_READ: u64 = 512 << 20;
/// The results of fewer cases are not worth another thread.
pub(super) const CASES_AT_LEAST: usize = 512;

/// A file of cases, with the data that is needed to find its results.
#[derive(Clone, Debug)]
pub struct HistorySet<'a> {
    /// The file.
    pub path: PathBuf,
    /// The folder of its agent, if it is in the workspace.
    pub app_dir: Option<PathBuf>,
    /// The ids under which ADK may have stored its results: the file's own id and its name.
    pub ids: Vec<String>,
    /// The cases.
    pub file: &'a SetFile,
}

/// What the results of the cases of one file in one run have in common.
#[derive(Debug, PartialEq)]
pub struct ResultOrigin {
    /// The file of the cases.
    pub file: PathBuf,
    /// The run.
    pub run: Arc<RunRef>,
    /// SHA-256 of the version of the file that was run; empty if it is not known.
    pub digest: String,
}

impl ResultOrigin {
    /// An origin with an unknown version of the file.
    pub fn new(file: &Path, run: Arc<RunRef>) -> Arc<ResultOrigin> {
        Arc::new(ResultOrigin {
            file: file.to_path_buf(),
            run,
            digest: String::new(),
        })
    }
}

/// The newest result of a case, as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct PastResult {
    /// File and run. There may be a million results: those of the same file and run share it.
    pub origin: Arc<ResultOrigin>,
    /// The case's id.
    pub eval_id: String,
    /// The case's content hash when it was run; empty if it is not known.
    pub content: String,
    /// The attempts of the run that ended, by number.
    pub attempts: Vec<Arc<EndedAttempt>>,
    /// The position of the case in the version of its file that was run, if that is known.
    pub planned: Option<usize>,
    /// Where the case was found, if it was searched for.
    pub found: Option<FoundCase>,
}

/// A case in a version of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundCase {
    /// The version.
    pub file: Arc<SetFile>,
    /// The position of the case.
    pub index: usize,
    /// Whether the content is the same as when the case was run.
    pub is_same: bool,
}

/// Where a case is in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct CaseLocation {
    pub(super) index: usize,
    /// Whether its content is the same as when it was run. If not, it is not known.
    pub(super) is_unchanged: bool,
}

impl PastResult {
    /// Searches for the case, so that it does not have to be done where nobody may wait for it. `is_version` tells whether the
    /// file [is the version that was run](PastResult::is_of_version).
    pub fn find_in(&mut self, file: &Arc<SetFile>, is_version: bool) {
        let found = self.search(file, is_version);
        self.found = found.map(|location| FoundCase {
            file: file.clone(),
            index: location.index,
            is_same: location.is_unchanged || self.is_content_of(file, location.index),
        });
    }

    /// Whether a file is the version that was run, so that all cases of the run are where they were, unchanged. `digest` is the
    /// SHA-256 of the file. Mapped columns and the initial session are part of the content of each case of a file, but not of
    /// the file: they are compared by the content of this case.
    pub fn is_of_version(&self, file: &SetFile, digest: &str) -> bool {
        !digest.is_empty()
            && self.origin.digest == digest
            && self
                .planned_in(file)
                .is_some_and(|at| self.is_content_of(file, at))
    }

    /// The position at which the case was planned, if the file has a case with its id there.
    fn planned_in(&self, file: &SetFile) -> Option<usize> {
        self.planned
            .filter(|at| *at < file.len() && file.eval_id(*at) == *self.eval_id)
    }

    /// Where the case is in a file.
    pub(super) fn search(&self, file: &SetFile, is_version: bool) -> Option<CaseLocation> {
        let planned = self.planned_in(file).filter(|_| is_version);
        let is_unchanged = planned.is_some();
        let index = planned.or_else(|| find_case(file, &self.eval_id, &self.content))?;
        Some(CaseLocation {
            index,
            is_unchanged,
        })
    }

    /// Whether the case at this position has the content that was run.
    fn is_content_of(&self, file: &SetFile, at: usize) -> bool {
        !self.content.is_empty() && file.content_hash(at) == self.content
    }

    /// The position of the case in a version of its file.
    pub fn position_in(&self, file: &Arc<SetFile>) -> Option<usize> {
        match &self.found {
            Some(found) if Arc::ptr_eq(&found.file, file) => Some(found.index),
            _ => find_case(file, &self.eval_id, &self.content),
        }
    }

    /// Whether the content of the case at this position is the same as when it was run.
    pub(super) fn is_same_content(&self, file: &SetFile, at: usize) -> bool {
        match &self.found {
            Some(found) if std::ptr::eq(&*found.file, file) && found.index == at => found.is_same,
            _ => self.is_content_of(file, at),
        }
    }

    /// The only turn that was run, from 1. Such a result is not a result of the whole case.
    pub fn turn(&self) -> Option<u32> {
        self.attempts.first().and_then(|attempt| attempt.turn)
    }
}

/// The newest results of cases.
#[derive(Clone, Debug, Default)]
pub struct PastResults {
    /// The results, the oldest run first.
    pub results: Vec<PastResult>,
    /// Why results are missing: each run or result file that cannot be read, with the error. Older results may be shown
    /// instead.
    pub unreadable: Vec<String>,
}

impl From<Vec<PastResult>> for PastResults {
    fn from(results: Vec<PastResult>) -> PastResults {
        PastResults {
            results,
            unreadable: Vec::new(),
        }
    }
}

impl History {
    /// The newest results of the cases of these files. Each case has one result for each content
    /// that was run, because cases with equal ids are distinguished by content, and one for each single turn that was
    /// run.
    pub fn latest(&self, sets: &[HistorySet], in_memory: InMemory) -> PastResults {
        let mut found = FoundResults::search(self, sets);
        let mut unreadable: Vec<String> = self
            .unreadable
            .iter()
            .map(|(_, error)| error.clone())
            .collect();
        let mut budget = MAX_READ;
        for run in &self.runs {
            if found.is_complete_for(run, sets) {
                continue;
            }
            let size = size_of(run);
            // The newest run is read whatever its size: when that is done, it has summaries.
            if size > budget && (budget < MAX_READ || run.is_foreign()) {
                // Older results must not be shown as the latest. A foreign run can be skipped: it hides no others.
                if run.is_foreign() {
                    continue;
                }
                break;
            }
            budget = budget.saturating_sub(size);
            let read = results_of(run, sets, self.key.as_ref(), in_memory);
            unreadable.extend(read.unreadable);
            found.add_all(read.results);
        }
        found.results.reverse();
        PastResults {
            results: found.results,
            unreadable,
        }
    }
}

/// The number of bytes to read for the results of a run: the size of its summaries if there are any, else of its journal.
fn size_of(run: &RunSummary) -> u64 {
    let size = |file: PathBuf| std::fs::metadata(file).map(|meta| meta.len()).ok();
    match run.is_evaltrail() {
        true => size(run.path.join("summaries")).or_else(|| size(run.path.join("journal.jsonl"))),
        false => size(run.path.clone()),
    }
    .unwrap_or(0)
}

/// The results that were found so far, the newest first.
#[derive(Default)]
struct FoundResults {
    results: Vec<PastResult>,
    /// Hashes of file, id, content and turn of these results.
    known: FxHashSet<u128>,
    /// For each file with any run, the cases without a result.
    open: HashMap<PathBuf, OpenCases>,
}

/// The number of cases of a file without a result, by the hash of their id. Hashes are used because there may be millions
/// of cases.
type OpenCases = FxHashMap<u64, usize>;

impl FoundResults {
    fn search(history: &History, sets: &[HistorySet]) -> FoundResults {
        let mut about: HashSet<&Path> = HashSet::new();
        for run in &history.runs {
            match &run.source {
                RunSource::Evaltrail { sets, .. } => {
                    about.extend(sets.iter().map(|counted| counted.path.as_path()));
                }
                RunSource::Adk {
                    app_dir, set_id, ..
                } => {
                    about.extend(
                        matching(sets, app_dir, set_id)
                            .iter()
                            .map(|set| set.path.as_path()),
                    );
                }
            }
        }
        let mut found = FoundResults::default();
        for set in sets.iter().filter(|set| about.contains(set.path.as_path())) {
            let of_id = |at: usize| hash_of(&set.file.eval_id(at));
            let ids: Vec<u64> = (0..set.file.len())
                .into_par_iter()
                .with_min_len(CASES_AT_LEAST)
                .map(of_id)
                .collect();
            let open = found.open.entry(set.path.clone()).or_default();
            open.reserve(ids.len());
            ids.into_iter()
                .for_each(|id| *open.entry(id).or_default() += 1);
        }
        found
    }

    /// Adds the results of a run.
    fn add_all(&mut self, results: Vec<PastResult>) {
        let hashes = |result: &PastResult| (hash_of_result(result), hash_of(&result.eval_id));
        let hashes: Vec<(u128, u64)> = results
            .par_iter()
            .with_min_len(CASES_AT_LEAST)
            .map(hashes)
            .collect();
        self.results.reserve(results.len());
        self.known.reserve(results.len());
        let mut results = results.into_iter().zip(hashes).peekable();
        while let Some((first, _)) = results.peek() {
            let origin = first.origin.clone();
            let is_of_file = |next: &(PastResult, _)| Arc::ptr_eq(&next.0.origin, &origin);
            let of_file = std::iter::from_fn(|| results.next_if(is_of_file));
            let mut open = self.open.get_mut(&origin.file);
            for (result, (hash, id)) in of_file {
                if self.known.insert(hash) {
                    if let (None, Some(open)) = (result.turn(), &mut open) {
                        close(open, id);
                    }
                    self.results.push(result);
                }
            }
        }
    }

    /// Whether this run and older ones cannot add results for the files of this run.
    fn is_complete_for(&self, run: &RunSummary, sets: &[HistorySet]) -> bool {
        // A file that is not among the sets is no longer in this workspace.
        let complete = |path: &Path| self.open.get(path).is_none_or(FxHashMap::is_empty);
        match &run.source {
            RunSource::Evaltrail { sets, .. } => sets.iter().all(|counted| complete(&counted.path)),
            RunSource::Adk {
                app_dir, set_id, ..
            } => matching(sets, app_dir, set_id)
                .iter()
                .all(|set| complete(&set.path)),
        }
    }
}

/// Notes that a case with this hash of its id has a result.
fn close(open: &mut OpenCases, id: u64) {
    if let Some(left) = open.get_mut(&id) {
        *left -= 1;
        if *left == 0 {
            open.remove(&id);
        }
    }
}

/// A hash of file, id, content and turn.
fn hash_of_result(result: &PastResult) -> u128 {
    let file = result.origin.file.as_os_str().as_encoded_bytes();
    let turn = u64::from(result.turn().unwrap_or(0));
    // The hash of each part is the seed of the next one, so that it matters where a part ends.
    [file, result.eval_id.as_bytes(), result.content.as_bytes()]
        .iter()
        .fold(u128::from(turn), |hash, part| {
            xxhash_rust::xxh3::xxh3_128_with_seed(part, hash as u64)
        })
}

fn hash_of(eval_id: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(eval_id.as_bytes())
}

/// The sets to which a result of ADK can belong: those with that agent and that id. A file's own id has precedence over
/// its name.
pub(super) fn matching<'a>(
    sets: &'a [HistorySet<'a>],
    app_dir: &Path,
    set_id: &str,
) -> Vec<&'a HistorySet<'a>> {
    let of_agent = || {
        sets.iter()
            .filter(|set| set.app_dir.as_deref() == Some(app_dir))
    };
    // The older formats use a path as the id.
    let name = set_id.rsplit(['/', '\\']).next().unwrap_or(set_id);
    let by_rank = |rank: usize| -> Vec<&'a HistorySet<'a>> {
        let is_it = |set: &&HistorySet| {
            set.ids
                .get(rank)
                .is_some_and(|id| id == set_id || id == name)
        };
        of_agent().filter(is_it).collect()
    };
    let by_id = by_rank(0);
    if by_id.is_empty() { by_rank(1) } else { by_id }
}

fn results_of(
    run: &RunSummary,
    sets: &[HistorySet],
    key: Option<&RunKey>,
    in_memory: InMemory,
) -> PastResults {
    let read = match &run.source {
        RunSource::Evaltrail { .. } => of_run(run, sets, key, in_memory),
        RunSource::Adk {
            app_dir, set_id, ..
        } => match matching(sets, app_dir, set_id).first() {
            Some(set) => of_adk(run, set, in_memory),
            None => Ok(Vec::new()),
        },
    };
    let failed = |error| PastResults {
        results: Vec::new(),
        unreadable: vec![error],
    };
    // A run that was removed since it was listed has no results.
    match read {
        Ok(results) => results.into(),
        Err(error) if run.path.exists() => failed(error),
        Err(_) => PastResults::default(),
    }
}

fn of_run(
    summary: &RunSummary,
    sets: &[HistorySet],
    key: Option<&RunKey>,
    in_memory: InMemory,
) -> Result<Vec<PastResult>, String> {
    let run = load_run_with(&summary.path, key, in_memory)
        .map_err(|error| format!("{}: {error}", summary.path.display()))?;
    let (state, plan) = (&run.state, &run.state.plan);
    // The index may be outdated.
    let by = if run.is_signed {
        RunBy::Evaltrail
    } else {
        RunBy::Foreign
    };
    let reference = Arc::new(RunRef {
        by,
        ..summary.run_ref()
    });
    let known: HashSet<&Path> = sets.iter().map(|set| set.path.as_path()).collect();
    let origin = |set: &PlannedSet| {
        let (file, run, digest) = (set.path.clone(), reference.clone(), set.digest.clone());
        known
            .contains(file.as_path())
            .then(|| Arc::new(ResultOrigin { file, run, digest }))
    };
    let origins: Vec<Option<Arc<ResultOrigin>>> = plan.sets.iter().map(origin).collect();
    let of_case = |case: usize| {
        let origin = origins[plan.cases.set_of(case)].as_ref()?;
        let attempts = state.attempts_of(case);
        (!attempts.is_empty()).then(|| PastResult {
            origin: origin.clone(),
            eval_id: plan.cases.eval_id(case).to_string(),
            content: plan.cases.content_hash(case).to_string(),
            attempts,
            planned: Some(plan.cases.index_in_file(case)),
            found: None,
        })
    };
    Ok((0..plan.cases.len())
        .into_par_iter()
        .with_min_len(CASES_AT_LEAST)
        .filter_map(of_case)
        .collect())
}

/// Errors: the file cannot be read.
fn of_adk(
    run: &RunSummary,
    set: &HistorySet,
    in_memory: InMemory,
) -> Result<Vec<PastResult>, String> {
    let file = open_result(&run.path).map(Arc::new)?;
    let origin = ResultOrigin::new(&set.path, Arc::new(run.run_ref()));
    let mut cases = CasesOfSet::new(Some(set.file));
    let mut found: Vec<PastResult> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    for (at, entry) in file.entries.iter().enumerate() {
        let eval_id = entry.eval_id.clone();
        let case = cases.get(&eval_id).map(|(_, case)| case);
        let position = *positions.entry(eval_id.clone()).or_insert_with(|| {
            let (origin, content, attempts) = (origin.clone(), String::new(), Vec::new());
            found.push(PastResult {
                origin,
                eval_id,
                content,
                attempts,
                planned: None,
                found: None,
            });
            found.len() - 1
        });
        let key = AttemptKey {
            case: at,
            attempt: entry.attempt,
        };
        found[position]
            .attempts
            .push(Arc::new(ended_attempt(&file, at, key, case, in_memory)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::formats::{ColumnMap, FileHints};

    const ROWS: &str = "{\"id\": \"a\", \"prompt\": \"p\", \"response\": \"r\", \"reference\": \"x\", \"other\": \"y\"}\n";

    fn rows(columns: &str) -> SetFile {
        let columns = ColumnMap::parse(columns).unwrap();
        let read_as = FileHints {
            columns,
            ..FileHints::default()
        };
        SetFile::open_as(Arc::from(ROWS), "rows", &read_as).unwrap()
    }

    fn result(file: &SetFile, eval_id: &str, planned: usize) -> PastResult {
        let run = RunRef {
            id: "r".into(),
            started: String::new(),
            by: RunBy::Foreign,
        };
        let origin = ResultOrigin {
            file: "rows.jsonl".into(),
            run: Arc::new(run),
            digest: "d".into(),
        };
        PastResult {
            origin: Arc::new(origin),
            eval_id: eval_id.into(),
            content: file.content_hash(0),
            attempts: Vec::new(),
            planned: Some(planned),
            found: None,
        }
    }

    #[test]
    fn version_is_that_of_file_and_columns() {
        let file = rows("");
        let known = result(&file, "a", 0);
        assert!(known.is_of_version(&file, "d"));
        let location = known.search(&file, true).unwrap();
        assert_eq!((location.index, location.is_unchanged), (0, true));
        assert!(!known.is_of_version(&file, "e"), "other bytes");
        assert!(!known.is_of_version(&file, ""), "of an unknown digest");
        let other = rows("reference=other");
        assert!(
            !known.is_of_version(&other, "d"),
            "another column is the reference"
        );
        let location = known.search(&other, false).unwrap();
        assert_eq!((location.index, location.is_unchanged), (0, false));
    }

    /// A plan can claim any position, and a position after the last case has the id that nothing has.
    #[test]
    fn position_outside_the_file_is_not_used() {
        let file = rows("");
        let claimed = result(&file, "", u32::MAX as usize);
        assert!(!claimed.is_of_version(&file, "d"));
        assert!(claimed.search(&file, true).is_none());
    }
}
