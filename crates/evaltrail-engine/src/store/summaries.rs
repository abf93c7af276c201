//! `summaries`, a file in the folder of a run that ended: its plan and the summaries of its attempts in a compact form.
//! With it, a run of 100,000 attempts is opened without its journal, which is about 15 times as large. The file can be
//! removed at any time. It is only read if it is signed with this user's key, and if plan and journal have the size and
//! the time that they had when it was written.
//!
//! ```text
//! magic │ plan as JSON, without cases │ cases │ blocks of attempts… │ empty │ end │ signature
//! ```
//!
//! Each part but the first and the last begins with its length.

use super::evaltrail_folder::EvaltrailFolder;
use super::journal_line::JOURNAL;
use super::plan_file::{PLAN, each_path, relative_to, workspace_of};
use super::run_key::{RunKey, RunSigner, SIGNATURE_LENGTH};
use evaltrail_core::domain::{
    ATTEMPTS_IN_BLOCK, AttemptRecords, EndedAttempt, FinishedAttempts, JudgeUsage, PlannedCases,
    RunPlan, RunState, packed_block,
};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

const SUMMARIES: &str = "summaries";
/// The file while it is written.
const UNFINISHED: &str = "summaries.part";
/// The first bytes, with the version of the format. It changes with every change of the binary form of
/// [`AttemptSummary`](evaltrail_core::domain::AttemptSummary) and [`PlannedCases`].
const MAGIC: &[u8] = b"evaltrail summaries 16\n";

/// The last part.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SummariesEnd {
    plan: FileStamp,
    journal: FileStamp,
    /// The run's number.
    pub(super) number: u64,
    /// Whether the run is marked as complete.
    pub(super) ended: bool,
    /// The number of attempts of the journal that cannot be read.
    pub(super) damaged: usize,
    /// What judges spent on attempts that were cancelled.
    pub(super) spent_on_cancelled: JudgeUsage,
}

impl SummariesEnd {
    /// The length of the journal in bytes.
    pub(super) fn journal_length(&self) -> u64 {
        self.journal.0
    }
}

/// The size of a file in bytes, and the time of its last change in nanoseconds since 1970.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct FileStamp(u64, u64);

/// Writes the summaries of a run while its journal is written.
pub struct SummaryWriter {
    folder: EvaltrailFolder,
    file: BufWriter<File>,
    signer: RunSigner,
    /// The attempts that are not written yet.
    block: Vec<Arc<EndedAttempt>>,
}

impl SummaryWriter {
    /// Begins the file of a run.
    pub(super) fn begin(
        folder: EvaltrailFolder,
        plan: &RunPlan,
        key: &RunKey,
    ) -> io::Result<SummaryWriter> {
        let _ = folder.remove(UNFINISHED);
        let file = BufWriter::new(folder.create(UNFINISHED)?);
        let signer = key.signer(&[SUMMARIES.as_bytes(), plan.run_id.as_bytes()]);
        let mut writer = SummaryWriter {
            folder,
            file,
            signer,
            block: Vec::new(),
        };
        let mut without_cases = plan.without_cases();
        let workspace = workspace_of(writer.folder.path()).to_path_buf();
        each_path(&mut without_cases.sets, |path| {
            relative_to(&workspace, path)
        });
        writer.write(MAGIC)?;
        writer.part(&serde_json::to_vec(&without_cases)?)?;
        writer.part(&plan.cases.to_bytes())?;
        Ok(writer)
    }

    /// Adds an attempt that is in the journal. After an error, the writer is of no use.
    pub fn add(&mut self, attempt: Arc<EndedAttempt>) -> io::Result<()> {
        self.block.push(attempt);
        if self.block.len() == ATTEMPTS_IN_BLOCK {
            self.write_block()
        } else {
            Ok(())
        }
    }

    fn write_block(&mut self) -> io::Result<()> {
        let block =
            packed_block(&self.block).ok_or_else(|| io::Error::other("it has no record"))?;
        self.block.clear();
        self.part(&block)
    }

    /// Completes the file. Plan and journal do not change any more.
    pub(super) fn end(
        mut self,
        number: u64,
        ended: bool,
        damaged: usize,
        spent_on_cancelled: JudgeUsage,
    ) -> io::Result<()> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        self.part(&[])?;
        let (plan, journal) = (stamp(&self.folder, PLAN)?, stamp(&self.folder, JOURNAL)?);
        let end = SummariesEnd {
            plan,
            journal,
            number,
            ended,
            damaged,
            spent_on_cancelled,
        };
        self.part(&postcard::to_stdvec(&end).map_err(io::Error::other)?)?;
        let SummaryWriter {
            folder,
            mut file,
            signer,
            ..
        } = self;
        file.write_all(signer.signature().as_bytes())?;
        file.flush()?;
        folder.rename(UNFINISHED, SUMMARIES)
    }

    fn part(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(&(bytes.len() as u64).to_le_bytes())?;
        self.write(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.signer.update(bytes);
        self.file.write_all(bytes)
    }
}

fn stamp(folder: &EvaltrailFolder, name: &str) -> io::Result<FileStamp> {
    let meta = folder.open_to_read(name)?.0.metadata()?;
    let time = meta
        .modified()?
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Ok(FileStamp(meta.len(), time.as_nanos() as u64))
}

/// Reads the file of a run. `journal` creates the reader of attempts for a run's id. `None` if there is no file, or if
/// it is not this user's, damaged, or outdated.
pub(super) fn read_summaries(
    run: &Path,
    key: &RunKey,
    journal: impl FnOnce(&str) -> Arc<dyn AttemptRecords>,
) -> Option<(RunState, SummariesEnd)> {
    let folder = EvaltrailFolder::of_run(run).ok()?;
    let file = folder.read(SUMMARIES).ok()?;
    let (signed, signature) = file.split_at_checked(file.len().checked_sub(SIGNATURE_LENGTH)?)?;
    let mut parts = Parts(signed.strip_prefix(MAGIC)?);
    let mut plan: RunPlan = serde_json::from_slice(parts.next()?).ok()?;
    let mut signer = key.signer(&[SUMMARIES.as_bytes(), plan.run_id.as_bytes()]);
    signer.update(signed);
    if !signer.has_signed(std::str::from_utf8(signature).ok()?) {
        return None;
    }
    plan.cases = PlannedCases::of_bytes(parts.next()?)?;
    let workspace = workspace_of(folder.path());
    each_path(&mut plan.sets, |path| *path = workspace.join(&*path));
    let journal = journal(&plan.run_id);
    let mut finished = FinishedAttempts::default();
    loop {
        match parts.next()? {
            [] => break,
            block => finished.push_block(block, &journal)?,
        }
    }
    let end: SummariesEnd = postcard::from_bytes(parts.next()?).ok()?;
    let is_current = stamp(&folder, PLAN).is_ok_and(|now| now == end.plan)
        && stamp(&folder, JOURNAL).is_ok_and(|now| now == end.journal);
    let state = RunState::of_finished(Arc::new(plan), finished)?;
    is_current.then_some((state, end))
}

/// Parts that begin with their lengths.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (part, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{AppFolders, LoadedRun, RunFolder, load_run};
    use evaltrail_core::domain::{
        AgentSpec, Attempt, AttemptKey, JudgeSpec, PlannedCase, PlannedSet, RecordedAt, RunOptions,
        Status,
    };
    use std::fs;
    use std::path::PathBuf;

    const CASES: usize = ATTEMPTS_IN_BLOCK + 3;

    fn plan(workspace: &Path) -> RunPlan {
        let set = PlannedSet {
            stubs: None,
            tools: Default::default(),
            id: "s".into(),
            file: "s".into(),
            path: workspace.join("a/s.json"),
            digest: String::new(),
            agent: AgentSpec::Saved,
            agent_name: String::new(),
            agent_jobs: None,
            agent_files: None,
            file_cases: None,
            app_dir: None,
            criteria: Vec::new(),
            user: Default::default(),
        };
        let case = |index: usize| PlannedCase {
            set: 0,
            index,
            eval_id: format!("case {index}").into(),
            content: format!("{index:032x}").into(),
            quarantine: None,
        };
        RunPlan {
            commit: None,
            judge: JudgeSpec::standard(),
            run_id: "r1".into(),
            started: "2026-01-01T00:00:00Z".into(),
            sets: vec![set],
            cases: PlannedCases::new((0..CASES).map(case)).unwrap(),
            options: RunOptions::default(),
        }
    }

    fn key(home: &Path) -> RunKey {
        let app_folders = AppFolders {
            data: home.to_path_buf(),
            cache: home.join("cache"),
            config: home.to_path_buf(),
        };
        RunKey::open(&app_folders).unwrap()
    }

    /// Records a run with its summaries.
    fn record(workspace: &Path, key: &RunKey) -> PathBuf {
        let plan = plan(workspace);
        let mut run = RunFolder::create(workspace, &plan, Some(key.clone())).unwrap();
        let records = run.records();
        let folder = EvaltrailFolder::of_run(run.path()).unwrap();
        let mut writer = SummaryWriter::begin(folder, &plan, key).unwrap();
        for case in 0..CASES {
            let status = if case.is_multiple_of(2) {
                Status::Passed
            } else {
                Status::Failed
            };
            let blank = Attempt::blank(AttemptKey { case, attempt: 1 }, plan.cases.eval_id(case));
            let attempt = Attempt {
                status,
                latency_s: Some(7.0 / (case + 1) as f64),
                ..blank
            };
            let at = run.append(&attempt).unwrap();
            let ended = EndedAttempt::recorded(
                attempt,
                at,
                &records,
                evaltrail_core::domain::InMemory::Summary,
            );
            writer.add(Arc::new(ended)).unwrap();
        }
        run.end().unwrap();
        run.end_summaries(writer).unwrap();
        run.path().to_path_buf()
    }

    struct NoJournal;

    impl AttemptRecords for NoJournal {
        fn read(&self, _: RecordedAt) -> Result<Arc<Attempt>, String> {
            Err("not needed".into())
        }
    }

    fn has_summaries(run: &Path, key: &RunKey) -> bool {
        read_summaries(run, key, |_| Arc::new(NoJournal)).is_some()
    }

    fn without_summaries(run: &Path, key: &RunKey) -> LoadedRun {
        let (file, aside) = (run.join(SUMMARIES), run.join("aside"));
        fs::rename(&file, &aside).unwrap();
        let loaded = load_run(run, Some(key)).unwrap();
        fs::rename(&aside, &file).unwrap();
        loaded
    }

    #[test]
    fn summaries_do_not_change_the_loaded_run() {
        let (workspace, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = key(home.path());
        let run = record(workspace.path(), &key);
        assert!(has_summaries(&run, &key));
        let (with, without) = (
            load_run(&run, Some(&key)).unwrap(),
            without_summaries(&run, &key),
        );
        assert_eq!(with.state.plan, without.state.plan);
        assert!(with.state.finished.iter().eq(without.state.finished.iter()));
        assert_eq!(with.state.totals, without.state.totals);
        assert_eq!(
            (with.is_signed, with.number, with.ended),
            (true, without.number, true)
        );
        let last = |run: &LoadedRun| run.state.attempts_of(CASES - 1)[0].read().unwrap();
        assert_eq!(
            last(&with),
            last(&without),
            "whole attempts are read from the journal"
        );
    }

    #[test]
    fn stale_damaged_or_foreign_summaries_ignored() {
        let (workspace, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = key(home.path());
        let run = record(workspace.path(), &key);
        let other = tempfile::tempdir().unwrap();
        assert!(!has_summaries(&run, &self::key(other.path())));
        let file = run.join(SUMMARIES);
        let good = fs::read(&file).unwrap();
        for at in (0..good.len()).step_by(7) {
            let mut changed = good.clone();
            changed[at] ^= 1;
            fs::write(&file, &changed).unwrap();
            assert!(!has_summaries(&run, &key), "byte {at}");
            fs::write(&file, &good[..at]).unwrap();
            assert!(!has_summaries(&run, &key), "{at} bytes");
        }
        fs::write(&file, &good).unwrap();
        assert!(has_summaries(&run, &key));
        let mut journal = fs::OpenOptions::new()
            .append(true)
            .open(run.join(JOURNAL))
            .unwrap();
        journal.write_all(b"{\"planted\": true}\n").unwrap();
        assert!(!has_summaries(&run, &key), "the journal changed");
        assert_eq!(load_run(&run, Some(&key)).unwrap().damaged, 1);
    }

    #[test]
    fn copied_run_belongs_to_its_new_workspace() {
        let (workspace, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = key(home.path());
        let run = record(workspace.path(), &key);
        let elsewhere = tempfile::tempdir().unwrap();
        let copy = elsewhere.path().join(".evaltrail/runs/r1");
        fs::create_dir_all(&copy).unwrap();
        for name in [PLAN, JOURNAL, SUMMARIES] {
            fs::copy(run.join(name), copy.join(name)).unwrap();
            let times = fs::metadata(run.join(name)).unwrap().modified().unwrap();
            let file = fs::OpenOptions::new()
                .write(true)
                .open(copy.join(name))
                .unwrap();
            file.set_times(fs::FileTimes::new().set_modified(times))
                .unwrap();
        }
        assert!(has_summaries(&copy, &key));
        let loaded = load_run(&copy, Some(&key)).unwrap();
        assert_eq!(
            loaded.state.plan.sets[0].path,
            elsewhere.path().join("a/s.json")
        );
    }
}
