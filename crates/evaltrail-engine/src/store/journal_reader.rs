//! Reads runs: the plan, and the journal or the summaries of its attempts.

use super::evaltrail_folder::EvaltrailFolder;
use super::journal_block::{RecordBlock, RecordPosition, claimed_records, is_block};
use super::journal_error::{JournalError, at};
use super::journal_line::{
    END, JOURNAL, MAX_FOREIGN_LINE, MAX_SIGNED_LINE, SIGNED_END, SpentOnCancelledLine,
    read_attempt, verified,
};
use super::journal_records::JournalRecords;
use super::plan_file::{self, PLAN, StoredPlan};
use super::read::read_line_within;
use super::run_key::RunKey;
use super::summaries::{SummaryWriter, read_summaries};
use evaltrail_core::domain::{
    Attempt, AttemptKey, AttemptRecords, EndedAttempt, InMemory, JudgeUsage, RecordedAt, RunEvent,
    RunPlan, RunState,
};
use rayon::prelude::*;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run that was read from its folder.
#[derive(Debug, Clone)]
pub struct LoadedRun {
    /// Its folder.
    pub path: PathBuf,
    /// The plan and the attempts that ended.
    pub state: RunState,
    /// Whether it is signed with this user's key.
    pub is_signed: bool,
    /// The run's number, which is greater than those of all earlier runs; 0 if it is not signed.
    pub number: u64,
    /// Whether the run is marked as complete.
    pub ended: bool,
    /// The number of attempts of the journal that could not be read, are not signed, or do not belong to a case of the plan;
    /// of a block that cannot be read, as many as it claims to have.
    pub damaged: usize,
    /// The length of an incomplete last line, which a killed process left, in bytes.
    pub torn: u64,
    /// The length of the journal without the incomplete line, in bytes.
    pub(super) journal_length: u64,
}

/// Reads the lines of attempts from the journal of a run.
pub struct JournalLines(JournalRecords);

impl JournalLines {
    /// Opens the journal of a run, which stays open.
    pub fn open(run: &LoadedRun, key: Option<&RunKey>) -> Result<JournalLines, JournalError> {
        let opened = EvaltrailFolder::of_run(&run.path).and_then(|ours| ours.open_to_read(JOURNAL));
        let (journal, _) = opened.map_err(at(&run.path.join(JOURNAL)))?;
        let key = key.filter(|_| run.is_signed).cloned();
        let run_id = run.state.plan.run_id.clone();
        Ok(JournalLines(JournalRecords::new(
            run.path.clone(),
            run_id,
            key,
            Some(journal),
        )))
    }

    /// The line of an attempt without a signature, as evaltrail writes it. The error says why it cannot be read any more.
    pub fn line(&self, at: RecordedAt) -> Result<Vec<u8>, String> {
        self.0.own_line(at)
    }
}

/// Reads the plan of a run.
pub fn load_plan(folder: &Path, key: Option<&RunKey>) -> Result<StoredPlan, JournalError> {
    let read = EvaltrailFolder::of_run(folder).and_then(|ours| plan_file::read_plan(&ours, key));
    read.map_err(at(&folder.join(PLAN)))
}

/// Reads a run, with the summaries of its attempts.
pub fn load_run(path: &Path, key: Option<&RunKey>) -> Result<LoadedRun, JournalError> {
    load_run_with(path, key, InMemory::Summary)
}

/// Reads a run.
pub fn load_run_with(
    path: &Path,
    key: Option<&RunKey>,
    in_memory: InMemory,
) -> Result<LoadedRun, JournalError> {
    if let Some(run) = key.and_then(|key| run_of_summaries(path, key, in_memory)) {
        return Ok(run);
    }
    let run = read_run(path, key, in_memory)?;
    if let Some(key) = key.filter(|_| run.is_worth_summaries()) {
        // Without the file, the next reader takes as long as this one.
        let _ = store_summaries(&run, key);
    }
    Ok(run)
}

/// Reads a run from the summaries that were stored when it ended.
fn run_of_summaries(path: &Path, key: &RunKey, in_memory: InMemory) -> Option<LoadedRun> {
    let journal = || EvaltrailFolder::of_run(path).and_then(|ours| ours.open_to_read(JOURNAL));
    let open = (in_memory == InMemory::Whole)
        .then(journal)
        .and_then(Result::ok)
        .map(|(journal, _)| journal);
    let records = |run_id: &str| -> Arc<dyn AttemptRecords> {
        Arc::new(JournalRecords::new(
            path.to_path_buf(),
            run_id.to_string(),
            Some(key.clone()),
            open,
        ))
    };
    let (mut state, end) = read_summaries(path, key, records)?;
    state.spent_on_cancelled = end.spent_on_cancelled;
    Some(LoadedRun {
        path: path.to_path_buf(),
        state,
        is_signed: true,
        number: end.number,
        ended: end.ended,
        damaged: end.damaged,
        torn: 0,
        journal_length: end.journal_length(),
    })
}

fn store_summaries(run: &LoadedRun, key: &RunKey) -> io::Result<()> {
    let mut writer =
        SummaryWriter::begin(EvaltrailFolder::of_run(&run.path)?, &run.state.plan, key)?;
    run.state
        .finished
        .iter()
        .try_for_each(|attempt| writer.add(attempt))?;
    writer.end(
        run.number,
        run.ended,
        run.damaged,
        run.state.spent_on_cancelled,
    )
}

/// Reads a run from its plan and its journal.
fn read_run(
    path: &Path,
    key: Option<&RunKey>,
    in_memory: InMemory,
) -> Result<LoadedRun, JournalError> {
    let StoredPlan {
        plan,
        is_signed,
        number,
    } = load_plan(path, key)?;
    let journal_path = path.join(JOURNAL);
    let opened = EvaltrailFolder::of_run(path).and_then(|ours| ours.open_to_read(JOURNAL));
    let (file, total) = opened.map_err(at(&journal_path))?;
    let open = (in_memory == InMemory::Whole)
        .then(|| file.try_clone().ok())
        .flatten();
    // Lines that are written in the meantime are not read.
    let mut journal = BufReader::new(file.take(total));
    let key = key.filter(|_| is_signed);
    let records: Arc<dyn AttemptRecords> = Arc::new(JournalRecords::new(
        path.to_path_buf(),
        plan.run_id.clone(),
        key.cloned(),
        open,
    ));
    let mut state = RunState::new(Arc::new(plan));
    let plan = state.plan.clone();
    let mut reader = LineReader {
        key,
        plan: &plan,
        records: &records,
        in_memory,
        records_left: match is_signed {
            true => usize::MAX,
            false => plan.attempts(),
        },
    };
    let longest = match is_signed {
        true => MAX_SIGNED_LINE,
        false => MAX_FOREIGN_LINE,
    };
    let read =
        apply_lines(&mut state, &mut reader, &mut journal, longest).map_err(at(&journal_path))?;
    Ok(LoadedRun {
        path: path.to_path_buf(),
        state,
        is_signed,
        number,
        ended: read.ended,
        damaged: read.damaged,
        torn: read.torn,
        journal_length: read.whole,
    })
}

/// What was read of a journal.
#[derive(Default)]
struct ReadJournal {
    /// The number of attempts that cannot be read.
    damaged: usize,
    /// Whether the run is complete.
    ended: bool,
    /// The length of the complete lines, in bytes.
    whole: u64,
    /// The length of the incomplete last line, in bytes.
    torn: u64,
}

/// Applies all lines of a journal to the state of its run.
fn apply_lines(
    state: &mut RunState,
    reader: &mut LineReader<'_>,
    journal: &mut impl BufRead,
    longest: usize,
) -> io::Result<ReadJournal> {
    let mut read = ReadJournal::default();
    let mut torn = None;
    while torn.is_none() {
        let lines;
        (lines, torn) = read_lines(journal, longest, &mut read.whole)?;
        for line in reader.read_all(&lines) {
            match line {
                JournalLine::Attempts(attempts, unreadable) => {
                    let finished = attempts.into_iter().map(RunEvent::Finished);
                    finished.for_each(|event| state.apply(event));
                    read.damaged += unreadable;
                }
                JournalLine::SpentOnCancelled(spent) => {
                    state.apply(RunEvent::SpentOnCancelled(spent));
                }
                JournalLine::End => read.ended = true,
                JournalLine::Empty => {}
            }
        }
    }
    read.torn = torn.unwrap_or(0);
    Ok(read)
}

/// The lines of a journal that are read before they are parsed have at least this length together, in bytes.
const LINES_LENGTH: usize = 4 << 20;

/// The usual ratio of the size of a block to the length of its line.
const BLOCK_RATIO: usize = 8;

/// Fewer lines are not worth another thread.
pub(super) const LINES_AT_LEAST: usize = 128;

/// A line of a journal, without the line feed. It is empty if it was too long.
struct RawLine {
    text: Vec<u8>,
    at: RecordedAt,
}

/// Reads the next lines. `whole` is the length of all complete lines so far. Also returns the length of the incomplete
/// line at the end of the journal, once it is reached.
fn read_lines(
    journal: &mut impl BufRead,
    longest: usize,
    whole: &mut u64,
) -> io::Result<(Vec<RawLine>, Option<u64>)> {
    let (mut lines, mut size) = (Vec::new(), 0);
    while size < LINES_LENGTH {
        let mut text = Vec::new();
        let (length, is_whole) = read_line_within(journal, longest, &mut text)?;
        if !is_whole {
            return Ok((lines, Some(length)));
        }
        // A block has several times the length of its line.
        size += match is_block(&text) {
            true => BLOCK_RATIO * text.len(),
            false => text.len(),
        };
        // Of a line that is too long, only the beginning was read.
        if text.pop() != Some(b'\n') {
            text.clear();
        }
        lines.push(RawLine {
            at: RecordedAt {
                offset: *whole,
                length: length - 1,
            },
            text,
        });
        *whole += length;
    }
    Ok((lines, None))
}

enum JournalLine {
    /// The attempts of a line, and the number of its other records: those that cannot be read, have no valid signature in a
    /// signed run, or do not belong to a case of the plan.
    Attempts(Vec<Arc<EndedAttempt>>, usize),
    SpentOnCancelled(JudgeUsage),
    End,
    Empty,
}

/// Reads lines of the journal of a run.
struct LineReader<'a> {
    /// The key that has to have signed the lines; `None` for a foreign run.
    key: Option<&'a RunKey>,
    plan: &'a RunPlan,
    records: &'a Arc<dyn AttemptRecords>,
    in_memory: InMemory,
    /// The number of records of blocks that are still read. Of a foreign run, no more are read than it can have: a short line
    /// may claim many.
    records_left: usize,
}

impl LineReader<'_> {
    /// Reads lines, by several threads if there are many records.
    fn read_all(&mut self, lines: &[RawLine]) -> Vec<JournalLine> {
        let lines: Vec<(&RawLine, bool)> = lines
            .iter()
            .map(|line| (line, self.is_within_limit(line)))
            .collect();
        let read = |(line, is_read): &(&RawLine, bool)| match is_read {
            true => self.read(line),
            false => JournalLine::unreadable(&line.text),
        };
        let has_blocks = lines.iter().any(|(line, _)| is_block(&line.text));
        match lines.len() < LINES_AT_LEAST && !has_blocks {
            true => lines.iter().map(read).collect(),
            false => lines.par_iter().map(read).collect(),
        }
    }

    /// Whether the records of a line are read; counts those of blocks.
    fn is_within_limit(&mut self, line: &RawLine) -> bool {
        let records = match is_block(&line.text) {
            true => claimed_records(&line.text),
            false => 0,
        };
        let is_within = records <= self.records_left;
        self.records_left = self.records_left.saturating_sub(records);
        is_within
    }

    fn read(&self, line: &RawLine) -> JournalLine {
        if line.at.length == 0 {
            return JournalLine::Empty;
        }
        let verified = match self.key {
            Some(key) => match verified(&line.text, key, &self.plan.run_id) {
                Some(verified) => Some(verified),
                None => return JournalLine::unreadable(&line.text),
            },
            None => None,
        };
        let text = verified.as_deref().unwrap_or(&line.text);
        // That of a foreign run has a signature, which cannot be verified.
        if text == END || (self.key.is_none() && text.starts_with(SIGNED_END)) {
            return JournalLine::End;
        }
        if let Some(spent) = SpentOnCancelledLine::read(text) {
            return JournalLine::SpentOnCancelled(spent);
        }
        match is_block(text) {
            true => self.read_block(text, line.at.offset),
            false => match self.read_record(text, line.at) {
                Some(attempt) => JournalLine::Attempts(vec![attempt], 0),
                None => JournalLine::unreadable(text),
            },
        }
    }

    fn read_block(&self, text: &[u8], offset: u64) -> JournalLine {
        let Some(block) = RecordBlock::read(text) else {
            return JournalLine::unreadable(text);
        };
        let attempts = block.records().enumerate().filter_map(|(index, record)| {
            let position = RecordPosition {
                line: offset,
                in_block: Some(index),
            };
            self.read_record(record, position.recorded_at(record.len()))
        });
        let attempts: Vec<_> = attempts.collect();
        let unreadable = block.count() - attempts.len();
        JournalLine::Attempts(attempts, unreadable)
    }

    fn read_record(&self, record: &[u8], at: RecordedAt) -> Option<Arc<EndedAttempt>> {
        let attempt = read_attempt(record).filter(|attempt| is_of_plan(attempt, self.plan))?;
        let ended = EndedAttempt::recorded(attempt, at, self.records, self.in_memory);
        Some(Arc::new(ended))
    }
}

impl JournalLine {
    /// A line of which no record is used.
    fn unreadable(line: &[u8]) -> JournalLine {
        JournalLine::Attempts(Vec::new(), claimed_records(line))
    }
}

fn is_of_plan(attempt: &Attempt, plan: &RunPlan) -> bool {
    let planned = plan.cases.get(attempt.key.case);
    planned.is_some_and(|planned| planned.eval_id == attempt.eval_id)
        && (1..=plan.options.repeat).contains(&attempt.key.attempt)
}

impl LoadedRun {
    /// The run of a result of ADK, which has no folder of its own and is not signed.
    pub fn of_result(path: PathBuf, state: RunState) -> LoadedRun {
        let (is_signed, number, ended) = (false, 0, true);
        LoadedRun {
            path,
            state,
            is_signed,
            number,
            ended,
            damaged: 0,
            torn: 0,
            journal_length: 0,
        }
    }

    /// Whether reading the journal of this run again would take noticeable time, and it will not change.
    fn is_worth_summaries(&self) -> bool {
        const LONG: u64 = 4 << 20;
        self.is_signed && self.ended && self.torn == 0 && self.journal_length > LONG
    }

    /// The attempts that have not ended.
    pub fn outstanding(&self) -> Vec<AttemptKey> {
        self.state.outstanding()
    }
}
