//! A run's folder: `run.json` (the plan) and `journal.jsonl`, one finished attempt a line, written before
//! anything is shown.
//!
//! `run.json` names the format of both files. Format 1 had no such name, and no content hashes of cases; it is
//! read as well. A damaged line of the journal costs that line: its attempt counts as not run. The torn last
//! line that a kill leaves is cut off when the run goes on.

use super::own_folder::OwnFolder;
use crate::domain::{Attempt, AttemptKey, RunEvent, RunPlan, RunState};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a run's folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub struct JournalError {
    /// What was touched.
    pub path: String,
    /// What happened.
    #[source]
    pub source: io::Error,
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> JournalError {
    let path = path.display().to_string();
    move |source| JournalError { path, source }
}

/// The folder of a run that is being written.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    journal: File,
}

/// The format of the files of a run that is written here.
pub const RUN_FORMAT: u64 = 2;

/// A run read back.
#[derive(Debug, Clone)]
pub struct LoadedRun {
    /// Its folder.
    pub path: PathBuf,
    /// What had happened.
    pub state: RunState,
    /// Whole lines of the journal that could not be read, or are about no case of the plan.
    pub damaged: usize,
    /// Bytes behind the last line end: what a kill left of a line.
    pub torn: u64,
    /// Length of the journal without them.
    whole: u64,
}

/// The folder of runs in `.evaltrail`.
const RUNS: &str = "runs";
const PLAN: &str = "run.json";
const JOURNAL: &str = "journal.jsonl";

impl RunFolder {
    /// Makes the folder of a new run.
    pub fn create(workspace: &Path, plan: &RunPlan) -> Result<RunFolder, JournalError> {
        let ours = OwnFolder::make(workspace).map_err(at(&workspace.join(".evaltrail")))?;
        let runs = ours.make_folder(RUNS).map_err(at(&ours.path().join(RUNS)))?;
        let folder = runs.make_folder(&plan.run_id).map_err(at(&runs.path().join(&plan.run_id)))?;
        let journal_path = folder.path().join(JOURNAL);
        let journal = folder.create(JOURNAL).map_err(at(&journal_path))?;
        journal.try_lock().map_err(|error| at(&journal_path)(error.into()))?;
        write_plan(&folder, plan)?;
        Ok(RunFolder { path: folder.path().to_path_buf(), journal })
    }

    /// Goes on with a run that was read back, as this plan says; a torn line is cut off first.
    pub fn resume(run: &LoadedRun, plan: &RunPlan) -> Result<RunFolder, JournalError> {
        let folder = OwnFolder::of_run(&run.path).map_err(at(&run.path))?;
        let journal_path = run.path.join(JOURNAL);
        let journal = folder.append(JOURNAL).map_err(at(&journal_path))?;
        let taken = |_| io::Error::new(io::ErrorKind::WouldBlock, "another evaltrail is writing this run");
        journal.try_lock().map_err(taken).map_err(at(&journal_path))?;
        journal.set_len(run.whole).map_err(at(&journal_path))?;
        write_plan(&folder, plan)?;
        Ok(RunFolder { path: run.path.clone(), journal })
    }

    /// Writes one finished attempt, in one write.
    pub fn append(&mut self, attempt: &Attempt) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(attempt).map_err(|error| at(&self.path)(error.into()))?;
        line.push(b'\n');
        self.journal.write_all(&line).map_err(at(&self.path))
    }

    /// Makes what was written durable against loss of power.
    pub fn sync(&self) -> io::Result<()> {
        self.journal.sync_data()
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn write_plan(folder: &OwnFolder, plan: &RunPlan) -> Result<(), JournalError> {
    let path = folder.path().join(PLAN);
    let text = || -> serde_json::Result<String> {
        let mut value = serde_json::to_value(plan)?;
        if let Some(members) = value.as_object_mut() {
            members.shift_insert(0, "format".into(), RUN_FORMAT.into());
        }
        serde_json::to_string_pretty(&value)
    };
    let text = text().map_err(|error| at(&path)(error.into()))?;
    folder.replace(PLAN, text.as_bytes()).map_err(at(&path))
}

/// Reads the plan of a run. Its indices are in range; a plan of a newer format, or one that contradicts itself,
/// is an error.
pub fn load_plan(folder: &Path) -> Result<RunPlan, JournalError> {
    let path = folder.join(PLAN);
    let bytes = OwnFolder::of_run(folder).and_then(|ours| ours.read(PLAN)).map_err(at(&path))?;
    let text = String::from_utf8_lossy(&bytes);
    let invalid = |why: String| at(&path)(io::Error::new(io::ErrorKind::InvalidData, why));
    let plan: RunPlan = serde_json::from_str(&text).map_err(|error| at(&path)(error.into()))?;
    match format_of(&text) {
        Some(1..=RUN_FORMAT) => {}
        Some(newer) => {
            return Err(invalid(format!(
                "format {newer} was written by a newer evaltrail; this one reads formats up to {RUN_FORMAT}"
            )));
        }
        None => return Err(invalid("\"format\" is not a whole number".into())),
    }
    if let Some(case) = plan.cases.iter().find(|case| case.set >= plan.sets.len()) {
        let (id, set, sets) = (&case.eval_id, case.set, plan.sets.len());
        return Err(invalid(format!(
            "case {id:?} names set number {set}, but the run has only {sets} (they count from 0)"
        )));
    }
    Ok(plan)
}

/// The format that a plan names; format 1 named none.
fn format_of(text: &str) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Head {
        #[serde(default)]
        format: Option<serde_json::Value>,
    }
    match serde_json::from_str::<Head>(text).ok()?.format {
        None => Some(1),
        Some(format) => format.as_u64(),
    }
}

/// Reads a run back.
pub fn load_run(path: &Path) -> Result<LoadedRun, JournalError> {
    let plan = load_plan(path)?;
    let read = OwnFolder::of_run(path).and_then(|ours| ours.read(JOURNAL));
    let journal = read.map_err(at(&path.join(JOURNAL)))?;
    let mut state = RunState::new(Arc::new(plan));
    let mut damaged = 0;
    let whole = journal.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    for line in journal[..whole].split_inclusive(|&byte| byte == b'\n') {
        match read_line(line).filter(|attempt| is_of_plan(attempt, &state.plan)) {
            Some(attempt) => state.apply(RunEvent::Finished(Arc::new(attempt))),
            None => damaged += 1,
        }
    }
    let torn = (journal.len() - whole) as u64;
    Ok(LoadedRun { path: path.to_path_buf(), state, damaged, torn, whole: whole as u64 })
}

fn is_of_plan(attempt: &Attempt, plan: &RunPlan) -> bool {
    let planned = plan.cases.get(attempt.key.case);
    planned.is_some_and(|planned| planned.eval_id == attempt.eval_id)
        && (1..=plan.options.repeat).contains(&attempt.key.attempt)
}

fn read_line(line: &[u8]) -> Option<Attempt> {
    let line = line.strip_suffix(b"\n")?;
    if let Ok(attempt) = serde_json::from_slice(line) {
        return Some(attempt);
    }
    // Arguments may nest deeper than serde_json reads; our own reader goes as deep as eval sets do.
    let parsed = crate::formats::json::parse(std::str::from_utf8(line).ok()?).ok()?;
    serde_json::from_value(parsed.value).ok()
}

impl LoadedRun {
    /// The attempts still owed.
    pub fn outstanding(&self) -> Vec<AttemptKey> {
        self.state.outstanding()
    }
}

/// The folders of a workspace's runs, in no order and without reading them. Links are none.
pub fn run_folders(workspace: &Path) -> Vec<PathBuf> {
    let Ok(runs) = OwnFolder::of(workspace).and_then(|ours| ours.folder(RUNS)) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(runs.path()) else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| path.join(PLAN).exists())
        .collect()
}

/// Removes the folder of a run. False when another evaltrail is writing it.
pub fn remove_run(path: &Path) -> Result<bool, JournalError> {
    let folder = OwnFolder::of_run(path).map_err(at(path))?;
    if let Ok(journal) = folder.append(JOURNAL)
        && journal.try_lock().is_err()
    {
        return Ok(false);
    }
    fs::remove_dir_all(path).map_err(at(path))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Invocation, PlannedCase, PlannedSet, RunOptions, ToolCall, Trajectory};
    use std::fs::OpenOptions;

    fn plan() -> RunPlan {
        RunPlan {
            judge: crate::domain::JudgeSpec::standard(),
            run_id: "r1".into(),
            started: "2026-01-01T00:00:00Z".into(),
            sets: vec![PlannedSet {
                id: "s".into(),
                file: "s".into(),
                path: "/s".into(),
                digest: String::new(),
                agent: crate::domain::AgentSpec::Saved,
                agent_name: String::new(),
                agent_jobs: None,
                app_dir: None,
                criteria: Vec::new(),
                user: Default::default(),
            }],
            cases: (0..3)
                .map(|index| PlannedCase {
                    set: 0,
                    index,
                    eval_id: index.to_string(),
                    content: String::new(),
                })
                .collect(),
            options: RunOptions::default(),
        }
    }

    fn attempt(case: usize) -> Attempt {
        Attempt::blank(AttemptKey { case, attempt: 1 }, &case.to_string())
    }

    #[test]
    fn a_torn_line_is_cut_off_and_the_rest_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create(folder.path(), &plan()).unwrap();
        run.append(&attempt(0)).unwrap();
        run.append(&attempt(1)).unwrap();
        let path = run.path().to_path_buf();
        drop(run);
        let journal = path.join("journal.jsonl");
        let whole = fs::metadata(&journal).unwrap().len();
        OpenOptions::new().write(true).open(&journal).unwrap().set_len(whole - 7).unwrap();
        let loaded = load_run(&path).unwrap();
        assert_eq!((loaded.state.totals.ended(), loaded.torn > 0), (1, true));
        RunFolder::resume(&loaded, &plan()).unwrap().append(&attempt(2)).unwrap();
        let again = load_run(&path).unwrap();
        assert_eq!((again.torn, again.damaged, again.outstanding().len()), (0, 0, 1));
    }

    #[test]
    fn a_damaged_line_costs_that_line_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create(folder.path(), &plan()).unwrap();
        (0..3).for_each(|case| run.append(&attempt(case)).unwrap());
        let path = run.path().to_path_buf();
        drop(run);
        let journal = path.join("journal.jsonl");
        let text = fs::read_to_string(&journal).unwrap();
        let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
        let middle = lines[1].len() / 2;
        lines[1].replace_range(middle..middle + 9, "\u{0}damaged\u{0}");
        lines.push(serde_json::to_string(&attempt(7)).unwrap() + "\n");
        lines.push(serde_json::to_string(&Attempt { eval_id: "1".into(), ..attempt(2) }).unwrap() + "\n");
        fs::write(&journal, lines.concat()).unwrap();
        let loaded = load_run(&path).unwrap();
        let owed: Vec<usize> = loaded.outstanding().iter().map(|key| key.case).collect();
        assert_eq!((loaded.damaged, loaded.torn, owed), (3, 0, vec![1]));
        RunFolder::resume(&loaded, &plan()).unwrap().append(&attempt(1)).unwrap();
        let again = load_run(&path).unwrap();
        assert_eq!((again.damaged, again.outstanding().len()), (3, 0), "what stands behind it is not lost");
    }

    #[test]
    fn formats_are_named_and_planted_plans_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(folder.path(), &plan()).unwrap();
        let path = run.path().join("run.json");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("{\n  \"format\": 2,"), "{text}");
        let load = |text: String| {
            fs::write(&path, text).unwrap();
            load_run(run.path())
                .map(|run| run.state.plan.cases.len())
                .map_err(|error| error.source.to_string())
        };
        assert_eq!(load(text.replace("  \"format\": 2,\n", "")), Ok(3), "format 1 had no name");
        assert!(
            load(text.replace("\"format\": 2", "\"format\": 3")).unwrap_err().contains("newer evaltrail")
        );
        assert!(
            load(text.replacen("\"set\": 0", "\"set\": 99", 1)).unwrap_err().contains("the run has only 1")
        );
    }

    #[test]
    fn deep_arguments_lose_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create(folder.path(), &plan()).unwrap();
        let text = format!("{{\"x\": {}{}}}", "[".repeat(190), "]".repeat(190));
        let args = crate::formats::json::parse(&text).unwrap().value;
        let call = ToolCall::new("t", args.as_object().cloned());
        let trajectory = Trajectory::Listed { calls: vec![call], responses: vec![], texts: vec![] };
        let actual = vec![Invocation { trajectory, ..Invocation::default() }];
        run.append(&Attempt { actual: actual.into(), ..attempt(0) }).unwrap();
        assert_eq!(load_run(run.path()).unwrap().state.totals.ended(), 1);
    }

    #[test]
    fn two_do_not_write_one_run() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(folder.path(), &plan()).unwrap();
        let loaded = load_run(run.path()).unwrap();
        assert!(
            RunFolder::resume(&loaded, &plan()).unwrap_err().source.to_string().contains("another evaltrail")
        );
    }

    #[test]
    fn numbers_that_json_does_not_know_lose_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create(folder.path(), &plan()).unwrap();
        let text = "{\"x\": NaN, \"y\": -Infinity, \"n\": 123456789012345678901234567890}";
        let args = crate::formats::json::parse(text).unwrap().value;
        let call = ToolCall::new("t", args.as_object().cloned());
        let trajectory = Trajectory::Listed { calls: vec![call], responses: vec![], texts: vec![] };
        let actual = vec![Invocation { trajectory, ..Invocation::default() }];
        run.append(&Attempt { actual: actual.into(), ..attempt(0) }).unwrap();
        run.append(&attempt(1)).unwrap();
        let loaded = load_run(run.path()).unwrap();
        assert_eq!(loaded.state.totals.ended(), 2);
        let read = loaded.state.finished[0].actual[0].calls()[0].args.clone().unwrap();
        assert_eq!(Some(&read), args.as_object());
    }
}
