//! The latest result of every case: which run it is from, and whether the case was edited since.

use super::index::{History, RunHead, RunSource, open_result};
use crate::domain::{
    Attempt, AttemptRecords, Derivation, EndedAttempt, InMemory, RunBy, RunRef, Status, Variant,
};
use crate::formats::{Notes, SetFile};
use crate::metrics::{is_decided_by_variants, reevaluated_attempt};
use crate::store::{RunKey, load_run_with};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Of more bytes of journals and results the rest is not read.
const READ_AT_MOST: u64 = 512 << 20;

/// A file of cases, as far as results are matched to it.
#[derive(Clone, Debug)]
pub struct HistorySet<'a> {
    /// The file.
    pub path: PathBuf,
    /// The folder of the agent that runs it, where there is one here.
    pub app_dir: Option<PathBuf>,
    /// The ids under which ADK may have stored its results: the file's own id and its name.
    pub ids: Vec<String>,
    /// Its cases.
    pub file: &'a SetFile,
}

/// The newest result of a case, as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct PastResult {
    /// The file of the case.
    pub file: PathBuf,
    /// The case's id.
    pub eval_id: String,
    /// Its content hash when it was run; empty when that is not known.
    pub content: String,
    /// The run.
    pub run: Arc<RunRef>,
    /// The attempts that ended, by number; of one run.
    pub attempts: Vec<Arc<EndedAttempt>>,
}

impl PastResult {
    /// The only turn that was run, from 1. Such a result says nothing of the case as a whole.
    pub fn turn(&self) -> Option<u32> {
        self.attempts.first().and_then(|attempt| attempt.turn)
    }
}

impl History {
    /// The newest results of the cases of these files, the oldest run first. For each case there is one for each
    /// content that was run (of equal ids in a file, the content tells which case is meant), and those of single
    /// turns beside it.
    pub fn latest(&self, sets: &[HistorySet], in_memory: InMemory) -> Vec<PastResult> {
        let mut found = Found::of(self, sets);
        let mut budget = READ_AT_MOST;
        for head in &self.runs {
            if found.is_complete_for(head, sets) {
                continue;
            }
            let size = size_of(head);
            if size > budget {
                // Older results are not shown as the latest; but what came with the folder hides nothing.
                if head.is_foreign() {
                    continue;
                }
                break;
            }
            budget -= size;
            for result in results_of(head, sets, self.key.as_ref(), in_memory) {
                found.add(result);
            }
        }
        found.results.reverse();
        found.results
    }
}

fn size_of(head: &RunHead) -> u64 {
    let file = if head.is_of_our_form() { head.path.join("journal.jsonl") } else { head.path.clone() };
    std::fs::metadata(file).map_or(0, |meta| meta.len())
}

/// What was found so far, the newest first.
#[derive(Default)]
struct Found {
    results: Vec<PastResult>,
    /// File, id, content and turn of what was found.
    known: HashSet<(PathBuf, String, String, Option<u32>)>,
    /// The cases without a result of each file that some run is about: how many are left of each id, which stands here
    /// as its hash, for there may be millions.
    open: HashMap<PathBuf, HashMap<u64, usize>>,
}

impl Found {
    fn of(history: &History, sets: &[HistorySet]) -> Found {
        let mut about: HashSet<&Path> = HashSet::new();
        for head in &history.runs {
            match &head.source {
                RunSource::Evaltrail { sets, .. } => {
                    about.extend(sets.iter().map(|counted| counted.path.as_path()));
                }
                RunSource::Adk { app_dir, set_id, .. } => {
                    about.extend(matching(sets, app_dir, set_id).iter().map(|set| set.path.as_path()));
                }
            }
        }
        let mut found = Found::default();
        for set in sets.iter().filter(|set| about.contains(set.path.as_path())) {
            let open = found.open.entry(set.path.clone()).or_default();
            set.file.eval_ids().for_each(|id| *open.entry(hash_of(&id)).or_default() += 1);
        }
        found
    }

    fn add(&mut self, result: PastResult) {
        let turn = result.turn();
        let key = (result.file.clone(), result.eval_id.clone(), result.content.clone(), turn);
        if !self.known.insert(key) {
            return;
        }
        if let (None, Some(open)) = (turn, self.open.get_mut(&result.file))
            && let Some(left) = open.get_mut(&hash_of(&result.eval_id))
        {
            *left -= 1;
            if *left == 0 {
                open.remove(&hash_of(&result.eval_id));
            }
        }
        self.results.push(result);
    }

    /// Whether this run and older ones can add nothing to the files that it is about.
    fn is_complete_for(&self, head: &RunHead, sets: &[HistorySet]) -> bool {
        // A file that is not among the sets is not of this workspace any more.
        let complete = |path: &Path| self.open.get(path).is_none_or(HashMap::is_empty);
        match &head.source {
            RunSource::Evaltrail { sets, .. } => sets.iter().all(|counted| complete(&counted.path)),
            RunSource::Adk { app_dir, set_id, .. } => {
                matching(sets, app_dir, set_id).iter().all(|set| complete(&set.path))
            }
        }
    }
}

fn hash_of(eval_id: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(eval_id.as_bytes())
}

/// The sets that a result of ADK can be about: run by that agent, and of that id. A file's own id goes before its
/// name.
fn matching<'a>(sets: &'a [HistorySet<'a>], app_dir: &Path, set_id: &str) -> Vec<&'a HistorySet<'a>> {
    let of_agent = || sets.iter().filter(|set| set.app_dir.as_deref() == Some(app_dir));
    // The older forms have a path for an id.
    let name = set_id.rsplit(['/', '\\']).next().unwrap_or(set_id);
    let by_rank = |rank: usize| -> Vec<&'a HistorySet<'a>> {
        let is_it = |set: &&HistorySet| set.ids.get(rank).is_some_and(|id| id == set_id || id == name);
        of_agent().filter(is_it).collect()
    };
    let by_id = by_rank(0);
    if by_id.is_empty() { by_rank(1) } else { by_id }
}

fn results_of(
    head: &RunHead,
    sets: &[HistorySet],
    key: Option<&RunKey>,
    in_memory: InMemory,
) -> Vec<PastResult> {
    match &head.source {
        RunSource::Evaltrail { .. } => of_run(head, sets, key, in_memory),
        RunSource::Adk { app_dir, set_id, .. } => {
            let Some(set) = matching(sets, app_dir, set_id).first().copied() else { return Vec::new() };
            of_adk(head, set, in_memory)
        }
    }
}

fn of_run(head: &RunHead, sets: &[HistorySet], key: Option<&RunKey>, in_memory: InMemory) -> Vec<PastResult> {
    let Ok(run) = load_run_with(&head.path, key, in_memory) else { return Vec::new() };
    let (state, plan) = (&run.state, &run.state.plan);
    // The index may be older than what lies there now.
    let by = if run.is_signed { RunBy::Evaltrail } else { RunBy::Foreign };
    let reference = Arc::new(RunRef { by, ..head.run_ref() });
    let known: HashSet<&Path> = sets.iter().map(|set| set.path.as_path()).collect();
    let of_case = |(at, planned): (usize, &crate::domain::PlannedCase)| {
        let file = &plan.sets[planned.set].path;
        let attempts: Vec<Arc<EndedAttempt>> = state.attempts_of(at).into_iter().cloned().collect();
        (known.contains(file.as_path()) && !attempts.is_empty()).then(|| PastResult {
            file: file.clone(),
            eval_id: planned.eval_id.clone(),
            content: planned.content.clone(),
            run: reference.clone(),
            attempts,
        })
    };
    plan.cases.iter().enumerate().filter_map(of_case).collect()
}

fn of_adk(head: &RunHead, set: &HistorySet, in_memory: InMemory) -> Vec<PastResult> {
    let Some(file) = open_result(&head.path).map(Arc::new) else { return Vec::new() };
    let records: Arc<dyn AttemptRecords> = file.clone();
    let reference = Arc::new(head.run_ref());
    let mut found: Vec<PastResult> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for at in 0..file.entries.len() {
        let Ok(attempt) = file.attempt(at) else { continue };
        let eval_id = file.entries[at].eval_id.clone();
        let place = *places.entry(eval_id.clone()).or_insert_with(|| {
            let (path, run) = (set.path.clone(), reference.clone());
            found.push(PastResult { file: path, eval_id, content: String::new(), run, attempts: Vec::new() });
            found.len() - 1
        });
        let ended = EndedAttempt::recorded(attempt, file.recorded_at(at), &records, in_memory);
        found[place].attempts.push(Arc::new(ended));
    }
    found
}

/// Which case of a file a stored case is: by id; of equal ids, the one with the content. Nothing when there is
/// none, or when it cannot be told.
pub fn place(file: &SetFile, eval_id: &str, content: &str) -> Option<usize> {
    match file.positions_of(eval_id) {
        [one] => Some(*one),
        several => {
            several.iter().copied().find(|at| !content.is_empty() && file.content_hash(*at) == content)
        }
    }
}

/// The latest result of a case of a file as it is now.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// Position in the file.
    pub index: usize,
    /// The run.
    pub run: Arc<RunRef>,
    /// The attempts; where the case was edited since, re-evaluated.
    pub attempts: Vec<Arc<EndedAttempt>>,
    /// Whether the case was edited since, so that the attempts are re-evaluated.
    pub edited: bool,
}

impl CaseResult {
    /// The status of the case: that of its worst attempt.
    pub fn status(&self) -> Status {
        Status::worst(self.attempts.iter().map(|attempt| attempt.status)).unwrap_or(Status::NotEvaluated)
    }

    /// Whether it is of a run that was recorded elsewhere, so that nothing is decided by it.
    pub fn is_foreign(&self) -> bool {
        self.run.by == RunBy::Foreign
    }

    /// Whether that status hangs on which samples a judge happened to give.
    pub fn is_unsteady(&self) -> bool {
        is_unsteady(&self.attempts, self.status())
    }
}

/// The latest results of the cases of a file, by position. Results of single turns are left out.
pub fn case_results(file: &SetFile, path: &Path, notes: &Notes, past: &[PastResult]) -> Vec<CaseResult> {
    let mut latest: HashMap<usize, &PastResult> = HashMap::new();
    // The newest run comes last, and stays.
    for result in past.iter().filter(|result| result.file == path && result.turn().is_none()) {
        if let Some(at) = place(file, &result.eval_id, &result.content) {
            latest.insert(at, result);
        }
    }
    let of = |(index, result): (usize, &PastResult)| {
        let again = match says_the_same(file, notes, index, result) {
            true => None,
            false => reevaluate(file, notes, index, &result.attempts),
        };
        let (edited, attempts) = match again {
            Some(attempts) => (true, attempts),
            None => (false, result.attempts.clone()),
        };
        CaseResult { index, run: result.run.clone(), attempts, edited }
    };
    let mut results: Vec<CaseResult> = latest.into_iter().map(of).collect();
    results.sort_by_key(|result| result.index);
    results
}

/// Whether the case is the one that was run, and no variants of its trajectory are or were allowed: then there is
/// nothing to re-evaluate.
pub fn says_the_same(file: &SetFile, notes: &Notes, at: usize, result: &PastResult) -> bool {
    let has_variants = notes.of(&result.eval_id).is_some_and(|notes| !notes.variants.is_empty());
    !has_variants
        && !result.attempts.iter().any(|attempt| is_decided_by_variants(attempt))
        && !result.content.is_empty()
        && file.content_hash(at) == result.content
}

/// Whether each attempt that has the status could come out either way.
pub fn is_unsteady(attempts: &[Arc<EndedAttempt>], status: Status) -> bool {
    let mut such = attempts.iter().filter(|attempt| attempt.status == status).peekable();
    such.peek().is_some() && such.all(|attempt| attempt.unsteady)
}

/// Attempts of a case that was edited since, as they would have come out.
pub type Reevaluated = Vec<Arc<EndedAttempt>>;

/// The attempts as they would have come out of the case as it is now; nothing when the case says the same.
pub fn reevaluate(
    file: &SetFile,
    notes: &Notes,
    at: usize,
    attempts: &[Arc<EndedAttempt>],
) -> Option<Reevaluated> {
    let case = Arc::new(file.case(at).ok()?);
    let variants: Arc<[Variant]> =
        notes.of(&case.eval_id).map_or_else(Arc::default, |notes| notes.variants.as_slice().into());
    let again: Derivation = {
        let (case, variants) = (case.clone(), variants.clone());
        Arc::new(move |ran| reevaluated_attempt(ran, &case, &variants).unwrap_or_else(|| ran.clone()))
    };
    let of = |ran: &Arc<EndedAttempt>| match ran.read() {
        Ok(whole) => reevaluated_attempt(&whole, &case, &variants)
            .map(|now| Arc::new(EndedAttempt::derived(ran, &now, &again))),
        Err(why) => Some(Arc::new(not_compared(ran, &why))),
    };
    let found: Vec<Option<Arc<EndedAttempt>>> = attempts.iter().map(of).collect();
    if found.iter().all(Option::is_none) {
        return None;
    }
    Some(found.into_iter().zip(attempts).map(|(now, ran)| now.unwrap_or_else(|| ran.clone())).collect())
}

/// An attempt that cannot be read any more, so that nobody knows what it would come to.
fn not_compared(ran: &EndedAttempt, why: &str) -> EndedAttempt {
    let error = format!("what the agent did cannot be compared with the case as it is now: {why}");
    EndedAttempt::unrecorded(Attempt {
        status: Status::NotEvaluated,
        adk_status: ran.adk_status,
        error: Some(error),
        started: ran.started.clone(),
        latency_s: ran.latency_s,
        tries: ran.tries,
        turn: ran.turn,
        ..Attempt::blank(ran.key, &ran.eval_id)
    })
}
