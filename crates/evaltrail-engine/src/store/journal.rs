//! The folder of a run: `run.json` (the plan) and `journal.jsonl`. The journal has a line for each finished attempt, or a block
//! for many that finished together ([`journal_block`]), written before the results are shown; lines with the cost of cancelled
//! attempts; and a last line when the run is complete.
//!
//! The plan and the lines are signed. A run that is not signed with this user's key is foreign: it can be viewed, but
//! nothing is based on it. In a signed run, a line that is damaged or not signed is ignored, so that its attempt counts
//! as not run. An incomplete last line, which a killed process leaves, is removed when the run is resumed.

use super::evaltrail_folder::EvaltrailFolder;
use super::full_plan::{AllShardsPlan, WHOLE_PLAN, full_plan_text};
use super::journal_block::{self, RecordPosition};
use super::journal_error::{JournalError, at, taken};
use super::journal_line::{
    END, JOURNAL, MAX_FOREIGN_LINE, MAX_OUTER_BYTES, MAX_SIGNED_LINE, SpentOnCancelledLine,
    sign_line, with_key,
};
use super::journal_reader::{LINES_AT_LEAST, LoadedRun, load_run_with};
use super::journal_records::JournalRecords;
use super::lock::try_lock;
use super::plan_file::{PLAN, plan_text, workspace_of};
use super::run_folders::{LOCK, RUNS};
use super::run_key::RunKey;
use super::summaries::SummaryWriter;
use evaltrail_core::domain::{
    Attempt, AttemptKey, AttemptRecords, InMemory, JudgeUsage, RecordedAt, RunPlan, RunState,
};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// The folder of a run that is being written. It is locked.
#[derive(Debug)]
pub struct RunFolder {
    folder: EvaltrailFolder,
    journal: File,
    /// Held open while the run is locked.
    _lock: File,
    /// The length of the complete lines in the journal, in bytes.
    written: u64,
    /// Whether an incomplete line may follow them.
    is_torn: bool,
    run_id: String,
    number: u64,
    /// The number of attempts of the journal that cannot be read.
    damaged: usize,
    /// What judges spent on attempts that were cancelled, as recorded in the journal.
    spent_on_cancelled: JudgeUsage,
    key: Option<RunKey>,
}

impl RunFolder {
    /// Creates the folder of a new run.
    pub fn create(
        workspace: &Path,
        plan: &RunPlan,
        key: Option<RunKey>,
    ) -> Result<RunFolder, JournalError> {
        let ours = EvaltrailFolder::make(workspace).map_err(at(&workspace.join(".evaltrail")))?;
        let runs = ours
            .make_folder(RUNS)
            .map_err(at(&ours.path().join(RUNS)))?;
        let folder = runs
            .make_folder(&plan.run_id)
            .map_err(at(&runs.path().join(&plan.run_id)))?;
        let journal_path = folder.path().join(JOURNAL);
        let lock = folder.append(LOCK).map_err(at(folder.path()))?;
        if !try_lock(&lock) {
            return Err(at(folder.path())(taken()));
        }
        let journal = folder.create(JOURNAL).map_err(at(&journal_path))?;
        // Without a number the order of runs is not defined, so the run is not signed.
        let numbered = key.and_then(|key| key.next_number().ok().map(|number| (key, number)));
        let (key, number) = numbered.map_or((None, 0), |(key, number)| (Some(key), number));
        let run_id = plan.run_id.clone();
        let run = RunFolder {
            folder,
            journal,
            _lock: lock,
            written: 0,
            is_torn: false,
            run_id,
            number,
            damaged: 0,
            spent_on_cancelled: JudgeUsage::default(),
            key,
        };
        run.write_plan(plan)?;
        Ok(run)
    }

    /// Opens and locks the folder of a run, to resume the run. An incomplete last line is removed. Errors: for example
    /// that another process is writing the run, see [`JournalError::is_taken`].
    pub fn reopen(
        path: &Path,
        key: Option<RunKey>,
    ) -> Result<(RunFolder, LoadedRun), JournalError> {
        let folder = EvaltrailFolder::of_run(path).map_err(at(path))?;
        let journal_path = path.join(JOURNAL);
        let lock = folder.append(LOCK).map_err(at(path))?;
        if !try_lock(&lock) {
            return Err(at(path)(taken()));
        }
        let journal = folder.append(JOURNAL).map_err(at(&journal_path))?;
        let run = load_run_with(path, key.as_ref(), InMemory::Whole)?;
        folder
            .cut(JOURNAL, run.journal_length)
            .map_err(at(&journal_path))?;
        let (run_id, number, damaged) = (run.state.plan.run_id.clone(), run.number, run.damaged);
        let spent_on_cancelled = run.state.spent_on_cancelled;
        Ok((
            RunFolder {
                folder,
                journal,
                _lock: lock,
                written: run.journal_length,
                is_torn: false,
                run_id,
                number,
                damaged,
                spent_on_cancelled,
                key,
            },
            run,
        ))
    }

    /// Writes the plan, replacing an existing one.
    pub fn write_plan(&self, plan: &RunPlan) -> Result<(), JournalError> {
        let path = self.folder.path().join(PLAN);
        let text = plan_text(
            plan,
            workspace_of(self.folder.path()),
            self.key.as_ref(),
            self.number,
        );
        let text = text.map_err(|error| at(&path)(error.into()))?;
        self.folder
            .replace(PLAN, text.as_bytes())
            .map_err(at(&path))
    }

    /// Writes the plan of all shards beside that of this run.
    pub fn write_full_plan(&self, whole: &AllShardsPlan) -> Result<(), JournalError> {
        let path = self.folder.path().join(WHOLE_PLAN);
        let text = full_plan_text(whole, workspace_of(self.folder.path()));
        let text = text.map_err(|error| at(&path)(error.into()))?;
        self.folder
            .replace(WHOLE_PLAN, text.as_bytes())
            .map_err(at(&path))
    }

    /// Appends one finished attempt in a single write, and returns its position. If the write fails, no part of it is
    /// read later. Errors: for example that the attempt is too large for a journal, see [`JournalError::is_final`].
    pub fn append(&mut self, attempt: &Attempt) -> Result<RecordedAt, JournalError> {
        let line = self.signed(self.record_of(attempt)?);
        let offset = self.written;
        self.write(&line)?;
        Ok(recorded_at(offset, &line))
    }

    /// Appends finished attempts in a single write, and returns their positions. If it fails, none of them is read
    /// later. Errors: as those of [`RunFolder::append`] for any of them.
    pub fn append_all<'a>(
        &mut self,
        attempts: impl IntoIterator<Item = &'a Attempt>,
    ) -> Result<Vec<RecordedAt>, JournalError> {
        let attempts: Vec<&Attempt> = attempts.into_iter().collect();
        let records: Result<Vec<Vec<u8>>, JournalError> = match attempts.len() {
            ..LINES_AT_LEAST => attempts
                .iter()
                .map(|attempt| self.record_of(attempt))
                .collect(),
            _ => attempts
                .par_iter()
                .map(|attempt| self.record_of(attempt))
                .collect(),
        };
        self.write_records(records?)
    }

    /// Appends the lines of attempts of another run, each with the key that the attempt has in this one. Lines have no
    /// signatures. Errors: as those of [`RunFolder::append`] for any of them.
    pub fn append_lines(
        &mut self,
        lines: &[(Vec<u8>, AttemptKey)],
    ) -> Result<Vec<RecordedAt>, JournalError> {
        let moved = |(line, key): &(Vec<u8>, AttemptKey)| {
            self.with_valid_length(with_key(line, *key).map_err(at(self.folder.path()))?)
        };
        let records = lines.par_iter().map(moved).collect::<Result<Vec<_>, _>>()?;
        self.write_records(records)
    }

    /// Writes records, in blocks where that is worth it.
    fn write_records(&mut self, records: Vec<Vec<u8>>) -> Result<Vec<RecordedAt>, JournalError> {
        let lines = journal_block::lines_of(&records).into_par_iter();
        let lines: Vec<(Vec<u8>, Vec<usize>)> = lines
            .map(|line| (self.signed(line.text), line.lengths))
            .collect();
        let (mut text, mut positions) = (Vec::new(), Vec::new());
        for (line, lengths) in lines {
            let offset = self.written + text.len() as u64;
            match lengths[..] {
                [_] => positions.push(recorded_at(offset, &line)),
                _ => positions.extend(positions_in_block(offset, &lengths)),
            }
            text.extend(line);
        }
        self.write(&text)?;
        Ok(positions)
    }

    /// The record of an attempt: its line without a signature.
    fn record_of(&self, attempt: &Attempt) -> Result<Vec<u8>, JournalError> {
        let record = serde_json::to_vec(attempt);
        self.with_valid_length(record.map_err(|error| at(self.folder.path())(error.into()))?)
    }

    /// Returns the record. Errors: it is too long for a journal.
    fn with_valid_length(&self, record: Vec<u8>) -> Result<Vec<u8>, JournalError> {
        let longest = if self.key.is_some() {
            MAX_SIGNED_LINE
        } else {
            MAX_FOREIGN_LINE
        };
        if record.len() + MAX_OUTER_BYTES > longest {
            let why = format!(
                "its record has {} MB, the limit is {} MB",
                record.len() >> 20,
                longest >> 20
            );
            return Err(at(self.folder.path())(io::Error::new(
                io::ErrorKind::FileTooLarge,
                why,
            )));
        }
        Ok(record)
    }

    /// Appends what judges spent on attempts that were cancelled.
    pub fn append_spent_on_cancelled(&mut self, spent: JudgeUsage) -> Result<(), JournalError> {
        let line = serde_json::to_vec(&SpentOnCancelledLine {
            spent_on_cancelled: spent,
        });
        let line = self.signed(line.map_err(|error| at(self.folder.path())(error.into()))?);
        self.write(&line)?;
        self.spent_on_cancelled = self.spent_on_cancelled.and(spent);
        Ok(())
    }

    /// Reads attempts that were written.
    pub fn records(&self) -> Arc<dyn AttemptRecords> {
        let (path, run_id) = (self.folder.path().to_path_buf(), self.run_id.clone());
        let open = self
            .folder
            .open_to_read(JOURNAL)
            .ok()
            .map(|(journal, _)| journal);
        Arc::new(JournalRecords::new(path, run_id, self.key.clone(), open))
    }

    /// Marks the run as complete, so that it is not resumed.
    pub fn end(&mut self) -> Result<(), JournalError> {
        let line = self.signed(END.to_vec());
        self.write(&line)
    }

    /// Begins the summaries of the run, with the attempts that ended so far. `None` if the run is too small for them to
    /// be useful, is not signed, or they cannot be written: then the journal is read instead.
    pub fn begin_summaries(&self, state: &RunState) -> Option<SummaryWriter> {
        /// The journal of fewer attempts is read in a few milliseconds.
        const AT_LEAST: usize = 1000;
        let key = self
            .key
            .as_ref()
            .filter(|_| state.plan.attempts() >= AT_LEAST)?;
        let mut writer =
            SummaryWriter::begin(EvaltrailFolder::of_run(self.path()).ok()?, &state.plan, key)
                .ok()?;
        state
            .finished
            .iter()
            .try_for_each(|attempt| writer.add(attempt))
            .ok()?;
        Some(writer)
    }

    /// Completes the summaries of the run, after its end was written.
    pub fn end_summaries(&self, writer: SummaryWriter) -> io::Result<()> {
        writer.end(self.number, true, self.damaged, self.spent_on_cancelled)
    }

    fn signed(&self, mut line: Vec<u8>) -> Vec<u8> {
        if let Some(key) = &self.key {
            sign_line(&mut line, key, &self.run_id);
        }
        line.push(b'\n');
        line
    }

    fn write(&mut self, lines: &[u8]) -> Result<(), JournalError> {
        self.cut_off().map_err(at(self.folder.path()))?;
        match self.journal.write_all(lines) {
            Ok(()) => {
                self.written += lines.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.is_torn = true;
                let cut = self.cut_off();
                Err(at(self.folder.path())(cut.err().unwrap_or(error)))
            }
        }
    }

    /// Removes the incomplete lines that a failed write may have left, so that the next line is not appended to it.
    fn cut_off(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.folder.cut(JOURNAL, self.written)?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// Syncs the journal to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.journal.sync_data()
    }

    /// Whether the run is signed with this user's key.
    pub fn is_signed(&self) -> bool {
        self.key.is_some()
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The positions of the records of a block whose line is at an offset.
fn positions_in_block(offset: u64, lengths: &[usize]) -> impl Iterator<Item = RecordedAt> {
    lengths.iter().enumerate().map(move |(index, length)| {
        let position = RecordPosition {
            line: offset,
            in_block: Some(index),
        };
        position.recorded_at(*length)
    })
}

/// The position of a line at an offset; its length does not include the line feed.
fn recorded_at(offset: u64, line: &[u8]) -> RecordedAt {
    RecordedAt {
        offset,
        length: line.len() as u64 - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::super::journal_reader::load_run;
    use super::*;
    use evaltrail_core::domain::{
        Invocation, PlannedCase, PlannedCases, PlannedSet, RunOptions, ToolCall, Trajectory,
    };
    use std::fs::{self, OpenOptions};

    fn plan() -> RunPlan {
        plan_with_cases(3)
    }

    fn plan_with_cases(cases: usize) -> RunPlan {
        RunPlan {
            commit: None,
            judge: evaltrail_core::domain::JudgeSpec::standard(),
            run_id: "r1".into(),
            started: "2026-01-01T00:00:00Z".into(),
            sets: vec![PlannedSet {
                stubs: None,
                tools: Default::default(),
                id: "s".into(),
                file: "s".into(),
                path: "/s".into(),
                digest: String::new(),
                agent: evaltrail_core::domain::AgentSpec::Saved,
                agent_name: String::new(),
                agent_jobs: None,
                agent_files: None,
                file_cases: None,
                app_dir: None,
                criteria: Vec::new(),
                user: Default::default(),
            }],
            cases: PlannedCases::new((0..cases).map(|index| PlannedCase {
                set: 0,
                index,
                eval_id: index.to_string().into(),
                content: "".into(),
                quarantine: None,
            }))
            .unwrap(),
            options: RunOptions::default(),
        }
    }

    fn attempt(case: usize) -> Attempt {
        Attempt::blank(AttemptKey { case, attempt: 1 }, &case.to_string())
    }

    fn reopened(path: &Path) -> RunFolder {
        RunFolder::reopen(path, None).unwrap().0
    }

    fn run_key() -> (tempfile::TempDir, RunKey) {
        let home = tempfile::tempdir().unwrap();
        let app_folders = crate::store::AppFolders {
            data: home.path().into(),
            cache: home.path().join("cache"),
            config: home.path().into(),
        };
        let key = RunKey::open(&app_folders).unwrap();
        (home, key)
    }

    #[test]
    fn unsigned_run_is_foreign_added_lines_ignored() {
        let (folder, (_home, key)) = (tempfile::tempdir().unwrap(), run_key());
        let mut run = RunFolder::create(folder.path(), &plan(), Some(key.clone())).unwrap();
        run.append(&attempt(0)).unwrap();
        let (path, journal) = (run.path().to_path_buf(), run.path().join("journal.jsonl"));
        drop(run);
        let loaded = load_run(&path, Some(&key)).unwrap();
        assert_eq!(
            (
                loaded.is_signed,
                loaded.damaged,
                loaded.state.finished.len()
            ),
            (true, 0, 1)
        );
        let (_other_home, other) = run_key();
        let theirs = load_run(&path, Some(&other)).unwrap();
        assert_eq!(
            (theirs.is_signed, theirs.number, theirs.state.finished.len()),
            (false, 0, 1)
        );
        let planted = serde_json::to_string(&attempt(1)).unwrap() + "\n{\"ended\":true}\n";
        let signed = fs::read_to_string(&journal).unwrap();
        fs::write(
            &journal,
            signed.clone() + &planted + &signed.replace("\"tries\":1", "\"tries\":2"),
        )
        .unwrap();
        let loaded = load_run(&path, Some(&key)).unwrap();
        assert_eq!(
            (loaded.damaged, loaded.ended, loaded.state.finished.len()),
            (3, false, 1)
        );
        let plan_text = fs::read_to_string(path.join("run.json")).unwrap();
        fs::write(
            path.join("run.json"),
            plan_text.replace("\"jobs\": 4", "\"jobs\": 5"),
        )
        .unwrap();
        assert!(
            !load_run(&path, Some(&key)).unwrap().is_signed,
            "a plan that was changed is foreign"
        );
    }

    /// A run of which 60 attempts are written: one in a line of its own, 40 in a block, and 19 in another. Returns the positions of
    /// the attempts, too.
    fn run_with_blocks(workspace: &Path, key: Option<RunKey>) -> (RunFolder, Vec<RecordedAt>) {
        let mut run = RunFolder::create(workspace, &plan_with_cases(100), key).unwrap();
        let mut positions = vec![run.append(&attempt(0)).unwrap()];
        for cases in [1..41, 41..60] {
            let attempts: Vec<Attempt> = cases.map(attempt).collect();
            positions.extend(run.append_all(&attempts).unwrap());
        }
        (run, positions)
    }

    #[test]
    fn attempts_of_blocks_are_read_again() {
        for is_signed in [true, false] {
            let (folder, (_home, key)) = (tempfile::tempdir().unwrap(), run_key());
            let key = is_signed.then_some(key);
            let (mut run, positions) = run_with_blocks(folder.path(), key.clone());
            let text = fs::read_to_string(run.path().join("journal.jsonl")).unwrap();
            assert_eq!(text.lines().count(), 3);
            let loaded = load_run(run.path(), key.as_ref()).unwrap();
            assert_eq!((loaded.damaged, loaded.state.finished.len()), (0, 60));
            let records = run.records();
            for (case, position) in positions.iter().enumerate() {
                assert_eq!(*records.read(*position).unwrap(), attempt(case));
                let ended = loaded.state.finished.get(case).unwrap();
                assert_eq!(ended.recorded_at(), Some(*position));
                assert_eq!(*ended.read().unwrap(), attempt(case));
            }
            // The next line is read from where it was written.
            let position = run.append(&attempt(99)).unwrap();
            assert_eq!(run.records().read(position).unwrap().key.case, 99);
        }
    }

    #[test]
    fn foreign_blocks_are_read_within_the_plan() {
        let folder = tempfile::tempdir().unwrap();
        let (run, _) = run_with_blocks(folder.path(), None);
        let journal = run.path().join("journal.jsonl");
        // As another writer of JSON would write it.
        let text = fs::read_to_string(&journal).unwrap().replace("\":", "\": ");
        let blocks: Vec<&str> = text.lines().skip(1).collect();
        let load = |lines: &[&str]| {
            fs::write(&journal, lines.join("\n") + "\n").unwrap();
            let loaded = load_run(run.path(), None).unwrap();
            (loaded.damaged, loaded.state.finished.len())
        };
        assert_eq!(load(&blocks), (0, 59));
        // The plan has 100 attempts. Copies of the blocks have more records, so the last copies are not read.
        let many = blocks.repeat(10);
        assert!(load(&many).0 > 0 && load(&many).1 == 59);
    }

    #[test]
    fn changed_block_costs_its_attempts() {
        let (folder, (_home, key)) = (tempfile::tempdir().unwrap(), run_key());
        let (run, positions) = run_with_blocks(folder.path(), Some(key.clone()));
        let journal = run.path().join("journal.jsonl");
        let mut bytes = fs::read(&journal).unwrap();
        let lines: Vec<usize> = memchr::memchr_iter(b'\n', &bytes).collect();
        bytes[lines[0] + 100] ^= 1;
        fs::write(&journal, &bytes).unwrap();
        let loaded = load_run(run.path(), Some(&key)).unwrap();
        assert_eq!((loaded.damaged, loaded.state.finished.len()), (40, 20));
        let error = run.records().read(positions[7]).unwrap_err();
        assert!(error.ends_with("journal.jsonl was changed"), "{error}");
        assert!(run.records().read(positions[50]).is_ok());
    }

    #[test]
    fn torn_block_is_cut_off_before_appending() {
        let (folder, (_home, key)) = (tempfile::tempdir().unwrap(), run_key());
        let (run, _) = run_with_blocks(folder.path(), Some(key.clone()));
        let path = run.path().to_path_buf();
        drop(run);
        let journal = path.join("journal.jsonl");
        let bytes = fs::read(&journal).unwrap();
        fs::write(&journal, &bytes[..bytes.len() - 30]).unwrap();
        let (mut run, loaded) = RunFolder::reopen(&path, Some(key.clone())).unwrap();
        assert!(loaded.torn > 0 && loaded.damaged == 0);
        assert_eq!(loaded.state.finished.len(), 41);
        let rest: Vec<Attempt> = (41..60).map(attempt).collect();
        run.append_all(&rest).unwrap();
        let loaded = load_run(&path, Some(&key)).unwrap();
        assert_eq!((loaded.torn, loaded.state.finished.len()), (0, 60));
    }

    #[test]
    fn copied_run_refers_to_files_of_new_folder() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (_home, key) = run_key();
        let mut planned = plan();
        planned.sets[0].path = folder.path().join("a/s.json");
        let outside = folder.path().with_file_name("outside");
        planned.sets[0].app_dir = Some(outside.clone());
        let run = RunFolder::create(folder.path(), &planned, Some(key.clone())).unwrap();
        let copy = elsewhere.path().join(".evaltrail/runs/r1");
        fs::create_dir_all(&copy).unwrap();
        for name in ["run.json", "journal.jsonl"] {
            fs::copy(run.path().join(name), copy.join(name)).unwrap();
        }
        let loaded = load_run(&copy, Some(&key)).unwrap();
        assert!(loaded.is_signed);
        assert_eq!(
            loaded.state.plan.sets[0].path,
            elsewhere.path().join("a/s.json")
        );
        assert_eq!(loaded.state.plan.sets[0].app_dir.as_ref(), Some(&outside));
        assert_eq!(
            load_run(run.path(), Some(&key)).unwrap().state.plan.sets[0],
            planned.sets[0]
        );
    }

    #[test]
    fn the_end_is_noted_and_numbers_go_up() {
        let (folder, (_home, key)) = (tempfile::tempdir().unwrap(), run_key());
        let mut first = RunFolder::create(folder.path(), &plan(), Some(key.clone())).unwrap();
        assert!(!load_run(first.path(), Some(&key)).unwrap().ended);
        first.end().unwrap();
        let second_plan = RunPlan {
            run_id: "r2".into(),
            ..plan()
        };
        let second = RunFolder::create(folder.path(), &second_plan, Some(key.clone())).unwrap();
        let load = |run: &RunFolder| load_run(run.path(), Some(&key)).unwrap();
        assert!(load(&first).ended && load(&second).number > load(&first).number);
    }

    #[test]
    fn torn_line_is_cut_off_before_appending() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create(folder.path(), &plan(), None).unwrap();
        run.append(&attempt(0)).unwrap();
        run.append(&attempt(1)).unwrap();
        let path = run.path().to_path_buf();
        drop(run);
        let journal = path.join("journal.jsonl");
        let whole = fs::metadata(&journal).unwrap().len();
        OpenOptions::new()
            .write(true)
            .open(&journal)
            .unwrap()
            .set_len(whole - 7)
            .unwrap();
        let loaded = load_run(&path, None).unwrap();
        assert_eq!((loaded.state.totals.ended(), loaded.torn > 0), (1, true));
        reopened(&path).append(&attempt(2)).unwrap();
        OpenOptions::new()
            .append(true)
            .open(&journal)
            .unwrap()
            .write_all(b"\n")
            .unwrap();
        let again = load_run(&path, None).unwrap();
        assert_eq!(
            (again.torn, again.damaged, again.outstanding().len()),
            (0, 0, 1)
        );
    }

    #[test]
    fn damaged_line_loses_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create(folder.path(), &plan(), None).unwrap();
        let written: Vec<RecordedAt> = (0..3)
            .map(|case| run.append(&attempt(case)).unwrap())
            .collect();
        assert!(written[0].offset == 0 && written[1].offset == written[0].length + 1);
        let path = run.path().to_path_buf();
        drop(run);
        let journal = path.join("journal.jsonl");
        let text = fs::read_to_string(&journal).unwrap();
        let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
        let middle = lines[1].len() / 2;
        lines[1].replace_range(middle..middle + 9, "\u{0}damaged\u{0}");
        lines.push(serde_json::to_string(&attempt(7)).unwrap() + "\n");
        lines.push(
            serde_json::to_string(&Attempt {
                eval_id: "1".into(),
                ..attempt(2)
            })
            .unwrap()
                + "\n",
        );
        fs::write(&journal, lines.concat()).unwrap();
        let loaded = load_run(&path, None).unwrap();
        let owed: Vec<usize> = loaded.outstanding().iter().map(|key| key.case).collect();
        assert_eq!((loaded.damaged, loaded.torn, owed), (3, 0, vec![1]));
        reopened(&path).append(&attempt(1)).unwrap();
        let again = load_run(&path, None).unwrap();
        assert_eq!(
            (again.damaged, again.outstanding().len()),
            (3, 0),
            "lines after it are not lost"
        );
    }

    #[test]
    fn old_formats_load_and_bad_plans_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(folder.path(), &plan(), None).unwrap();
        let path = run.path().join("run.json");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("{\n  \"format\": 4,"), "{text}");
        let load = |text: String| {
            fs::write(&path, text).unwrap();
            load_run(run.path(), None)
                .map(|run| run.state.plan.cases.len())
                .map_err(|error| error.source.to_string())
        };
        let old = text
            .replace("  \"signature\": \"\",\n", "")
            .replace("  \"number\": 0,\n", "");
        assert_eq!(
            load(old.replace("  \"format\": 4,\n", "")),
            Ok(3),
            "format 1 had no name"
        );
        assert_eq!(
            load(old.replace("\"format\": 4", "\"format\": 2")),
            Ok(3),
            "format 2 had no signature"
        );
        assert_eq!(
            load(text.replace("\"format\": 4", "\"format\": 3")),
            Ok(3),
            "format 3 had no blocks"
        );
        assert!(
            load(text.replace("\"format\": 4", "\"format\": 6"))
                .unwrap_err()
                .contains("newer evaltrail")
        );
        assert!(
            load(text.replacen("\"set\": 0", "\"set\": 99", 1))
                .unwrap_err()
                .contains("the run has only 1")
        );
    }

    #[test]
    fn large_plan_is_compressed_and_signed() {
        let folder = tempfile::tempdir().unwrap();
        let mut plan = plan();
        let case = |index: usize| PlannedCase {
            set: 0,
            index,
            eval_id: format!("case {index}").into(),
            content: format!("{index:032x}").into(),
            quarantine: None,
        };
        plan.cases = PlannedCases::new((0..1_000).map(case)).unwrap();
        let run = RunFolder::create(folder.path(), &plan, None).unwrap();
        let text = fs::read_to_string(run.path().join("run.json")).unwrap();
        assert!(text.starts_with("{\n  \"format\": 5,"), "{text}");
        assert!(!text.contains("case 999"), "{text}");
        assert_eq!(
            load_run(run.path(), None).unwrap().state.plan.cases,
            plan.cases
        );
    }

    #[test]
    fn deep_arguments_lose_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create(folder.path(), &plan(), None).unwrap();
        let text = format!("{{\"x\": {}{}}}", "[".repeat(190), "]".repeat(190));
        let args = evaltrail_core::formats::json::parse(&text).unwrap().value;
        let call = ToolCall::new("t", args.as_object().cloned());
        let trajectory = Trajectory::Listed {
            calls: vec![call],
            responses: vec![],
            texts: vec![],
        };
        let actual = vec![Invocation {
            trajectory,
            ..Invocation::default()
        }];
        run.append(&Attempt {
            actual: actual.into(),
            ..attempt(0)
        })
        .unwrap();
        assert_eq!(load_run(run.path(), None).unwrap().state.totals.ended(), 1);
    }

    /// Thirds and elevenths reveal a number parser that is inexact in the last bit.
    #[test]
    fn an_attempt_is_read_again_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let (_home, key) = run_key();
        let mut run = RunFolder::create(folder.path(), &plan(), Some(key)).unwrap();
        let records = run.records();
        for n in 1..60 {
            let turn = Invocation {
                created: 1.0 / f64::from(n),
                ..Invocation::default()
            };
            let written = Attempt {
                latency_s: Some(7.0 / f64::from(n)),
                actual: [turn].into(),
                ..attempt(0)
            };
            let at = run.append(&written).unwrap();
            assert_eq!(*records.read(at).unwrap(), written);
        }
        let endless = Invocation {
            created: f64::INFINITY,
            ..Invocation::default()
        };
        let at = run
            .append(&Attempt {
                latency_s: Some(f64::NAN),
                actual: [endless].into(),
                ..attempt(1)
            })
            .unwrap();
        let read = records.read(at).unwrap();
        assert_eq!(
            (read.latency_s, read.actual[0].created),
            (None, 0.0),
            "JSON has no such numbers"
        );
        assert_eq!(load_run(run.path(), None).unwrap().state.totals.ended(), 2);
        #[cfg(unix)]
        fs::remove_dir_all(run.path()).unwrap();
        assert!(
            records.read(at).is_ok(),
            "a run that was removed can be read for as long as it is open"
        );
    }

    #[test]
    fn second_writer_of_a_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::create(folder.path(), &plan(), None).unwrap();
        let error = RunFolder::reopen(run.path(), None).unwrap_err();
        assert!(
            error.is_taken() && error.to_string().contains("another evaltrail"),
            "{error}"
        );
    }

    #[test]
    fn numbers_that_json_does_not_know_lose_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = RunFolder::create(folder.path(), &plan(), None).unwrap();
        let text = "{\"x\": NaN, \"y\": -Infinity, \"n\": 123456789012345678901234567890}";
        let args = evaltrail_core::formats::json::parse(text).unwrap().value;
        let call = ToolCall::new("t", args.as_object().cloned());
        let trajectory = Trajectory::Listed {
            calls: vec![call],
            responses: vec![],
            texts: vec![],
        };
        let actual = vec![Invocation {
            trajectory,
            ..Invocation::default()
        }];
        run.append(&Attempt {
            actual: actual.into(),
            ..attempt(0)
        })
        .unwrap();
        run.append(&attempt(1)).unwrap();
        let loaded = load_run(run.path(), None).unwrap();
        assert_eq!(loaded.state.totals.ended(), 2);
        let read = loaded.state.finished.get(0).unwrap().read().unwrap().actual[0].calls()[0]
            .args
            .clone()
            .unwrap();
        assert_eq!(Some(&read), args.as_object());
    }
}
