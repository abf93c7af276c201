//! A run's folder: `run.json` (the plan) and `journal.jsonl`, one finished attempt a line, written
//! before anything is shown. A torn last line is what a kill leaves; it is cut off.

use super::write_whole;
use crate::domain::{Attempt, AttemptKey, RunEvent, RunPlan, RunState};
use std::fs::{self, File, OpenOptions};
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

/// A run read back.
#[derive(Debug, Clone)]
pub struct LoadedRun {
    /// Its folder.
    pub path: PathBuf,
    /// What had happened.
    pub state: RunState,
    /// How many bytes at the end of the journal were torn.
    pub torn: u64,
    /// Length of what is whole.
    whole: u64,
}

/// Where a workspace keeps its runs.
fn runs_folder(workspace: &Path) -> PathBuf {
    workspace.join(".evaltrail").join("runs")
}

/// Makes our folder in a workspace; it ignores itself for git.
pub(super) fn own_folder(workspace: &Path) -> io::Result<()> {
    let ours = workspace.join(".evaltrail");
    fs::create_dir_all(&ours)?;
    let ignore = ours.join(".gitignore");
    if !ignore.exists() {
        fs::write(&ignore, "*\n")?;
    }
    Ok(())
}

impl RunFolder {
    /// Makes the folder of a new run.
    pub fn create(workspace: &Path, plan: &RunPlan) -> Result<RunFolder, JournalError> {
        let ours = workspace.join(".evaltrail");
        own_folder(workspace).map_err(at(&ours))?;
        let path = runs_folder(workspace).join(&plan.run_id);
        fs::create_dir_all(&path).map_err(at(&path))?;
        let journal_path = path.join("journal.jsonl");
        let journal = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(&journal_path)
            .map_err(at(&journal_path))?;
        journal.try_lock().map_err(|error| at(&journal_path)(error.into()))?;
        let plan_path = path.join("run.json");
        let text = serde_json::to_string_pretty(plan).map_err(|error| at(&plan_path)(error.into()))?;
        write_whole(&plan_path, text.as_bytes()).map_err(at(&plan_path))?;
        Ok(RunFolder { path, journal })
    }

    /// Goes on with a run that was read back; a torn line is cut off first.
    pub fn resume(run: &LoadedRun) -> Result<RunFolder, JournalError> {
        let journal_path = run.path.join("journal.jsonl");
        let journal = OpenOptions::new().append(true).open(&journal_path).map_err(at(&journal_path))?;
        let taken = |_| io::Error::new(io::ErrorKind::WouldBlock, "another evaltrail is writing this run");
        journal.try_lock().map_err(taken).map_err(at(&journal_path))?;
        journal.set_len(run.whole).map_err(at(&journal_path))?;
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

/// Reads a run back.
pub fn load_run(path: &Path) -> Result<LoadedRun, JournalError> {
    let plan_path = path.join("run.json");
    let text = fs::read_to_string(&plan_path).map_err(at(&plan_path))?;
    let plan: RunPlan = serde_json::from_str(&text).map_err(|error| at(&plan_path)(error.into()))?;
    let journal_path = path.join("journal.jsonl");
    let journal = fs::read(&journal_path).map_err(at(&journal_path))?;
    let mut state = RunState::new(Arc::new(plan));
    let mut whole = 0;
    for line in journal.split_inclusive(|&byte| byte == b'\n') {
        let Some(attempt) = read_line(line) else { break };
        whole += line.len();
        state.apply(RunEvent::Finished(Arc::new(attempt)));
    }
    let torn = (journal.len() - whole) as u64;
    Ok(LoadedRun { path: path.to_path_buf(), state, torn, whole: whole as u64 })
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

/// The newest run of exactly this selection that still owes attempts.
pub fn newest_unfinished(workspace: &Path, plan: &RunPlan) -> Option<LoadedRun> {
    let mut runs: Vec<LoadedRun> = fs::read_dir(runs_folder(workspace))
        .ok()?
        .filter_map(|entry| load_run(&entry.ok()?.path()).ok())
        .filter(|run| same_selection(&run.state.plan, plan) && !run.state.outstanding().is_empty())
        .collect();
    runs.sort_by(|a, b| a.state.plan.started.cmp(&b.state.plan.started));
    runs.pop()
}

/// The same experiment: files by content, cases, criteria, agents, repeats.
fn same_selection(a: &RunPlan, b: &RunPlan) -> bool {
    a.sets == b.sets && a.cases == b.cases && a.options.repeat == b.options.repeat
}

impl LoadedRun {
    /// The attempts still owed.
    pub fn outstanding(&self) -> Vec<AttemptKey> {
        self.state.outstanding()
    }
}

/// The folders of a workspace's runs, without reading them.
pub(super) fn run_folders(workspace: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(runs_folder(workspace)) else { return Vec::new() };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("run.json").exists())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Invocation, PlannedCase, RunOptions, ToolCall, Trajectory};

    fn plan() -> RunPlan {
        RunPlan {
            judge: crate::domain::JudgeSpec::standard(),
            run_id: "r1".into(),
            started: "2026-01-01T00:00:00Z".into(),
            sets: vec![],
            cases: (0..3).map(|index| PlannedCase { set: 0, index, eval_id: index.to_string() }).collect(),
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
        RunFolder::resume(&loaded).unwrap().append(&attempt(2)).unwrap();
        let again = load_run(&path).unwrap();
        assert_eq!((again.torn, again.outstanding().len()), (0, 1));
        assert!(newest_unfinished(folder.path(), &plan()).is_some());
        let other = RunPlan { cases: plan().cases[..2].to_vec(), ..plan() };
        assert!(newest_unfinished(folder.path(), &other).is_none(), "another selection");
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
        assert!(RunFolder::resume(&loaded).unwrap_err().source.to_string().contains("another evaltrail"));
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
