//! Reads runs: the plan, and the journal or the summaries of its attempts.

use super::evaltrail_folder::EvaltrailFolder;
use super::journal_block::{RecordBlock, RecordPlace, claimed_records, is_block};
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
    let (mut damaged, mut ended, mut whole, mut torn) = (0, false, 0, None);
    let longest = if is_signed {
        MAX_SIGNED_LINE
    } else {
        MAX_FOREIGN_LINE
    };
    let plan = state.plan.clone();
    // Of a foreign run, no more records are read than it can have: blocks of equal ones are short.
    let mut records_left = match is_signed {
        true => usize::MAX,
        false => state.plan.attempts(),
    };
    while torn.is_none() {
        let lines_of_file;
        (lines_of_file, torn) =
            read_block(&mut journal, longest, &mut whole).map_err(at(&journal_path))?;
        let mut is_read = |line: &RawLine| {
            let claimed = if line.is_block() {
                claimed_records(&line.text)
            } else {
                0
            };
            let is_within = claimed <= records_left;
            records_left = records_left.saturating_sub(claimed);
            is_within
        };
        let block: Vec<(bool, &RawLine)> = lines_of_file
            .iter()
            .map(|line| (is_read(line), line))
            .collect();
        let read = |(is_read, line): &(bool, &RawLine)| match is_read {
            true => read_line(line, key, &plan, &records, in_memory),
            false => JournalLine::Damaged(claimed_records(&line.text)),
        };
        let is_short =
            block.len() < LINES_AT_LEAST && !block.iter().any(|(_, line)| line.is_block());
        let lines: Vec<JournalLine> = match is_short {
            true => block.iter().map(read).collect(),
            false => block.par_iter().map(read).collect(),
        };
        for line in lines {
            match line {
                JournalLine::Attempt(attempt) => state.apply(RunEvent::Finished(attempt)),
                JournalLine::SpentOnCancelled(spent) => {
                    state.apply(RunEvent::SpentOnCancelled(spent))
                }
                JournalLine::End => ended = true,
                JournalLine::Block(attempts, unreadable) => {
                    for attempt in attempts {
                        state.apply(RunEvent::Finished(attempt));
                    }
                    damaged += unreadable;
                }
                JournalLine::Empty => {}
                JournalLine::Damaged(attempts) => damaged += attempts,
            }
        }
    }
    let (path, torn) = (path.to_path_buf(), torn.unwrap_or(0));
    Ok(LoadedRun {
        path,
        state,
        is_signed,
        number,
        ended,
        damaged,
        torn,
        journal_length: whole,
    })
}

/// The lines of a journal that are read before they are parsed have at least this length together, in bytes.
const BLOCK: usize = 4 << 20;

/// How many times its length a block usually has when it is read.
const BLOCK_RATIO: usize = 8;

/// Fewer lines are not worth another thread.
pub(super) const LINES_AT_LEAST: usize = 128;

/// A line of a journal, without the line feed. It is empty if it was too long.
struct RawLine {
    text: Vec<u8>,
    at: RecordedAt,
}

impl RawLine {
    fn is_block(&self) -> bool {
        is_block(&self.text)
    }
}

/// Reads the next lines. `whole` is the length of all complete lines so far. Also returns the length of the incomplete
/// line at the end of the journal, once it is reached.
fn read_block(
    journal: &mut impl BufRead,
    longest: usize,
    whole: &mut u64,
) -> io::Result<(Vec<RawLine>, Option<u64>)> {
    let (mut lines, mut size) = (Vec::new(), 0);
    while size < BLOCK {
        let mut text = Vec::new();
        let (length, is_whole) = read_line_within(journal, longest, &mut text)?;
        if !is_whole {
            return Ok((lines, Some(length)));
        }
        // A block takes several times its length when it is read.
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
    Attempt(Arc<EndedAttempt>),
    SpentOnCancelled(JudgeUsage),
    End,
    Empty,
    /// The attempts of a block, and how many others in it cannot be read or do not belong to a case of the plan.
    Block(Vec<Arc<EndedAttempt>>, usize),
    /// It cannot be read, has no valid signature in a signed run, or does not belong to a case of the plan. With the number
    /// of attempts that it claims to have.
    Damaged(usize),
}

fn read_line(
    line: &RawLine,
    key: Option<&RunKey>,
    plan: &RunPlan,
    records: &Arc<dyn AttemptRecords>,
    in_memory: InMemory,
) -> JournalLine {
    if line.at.length == 0 {
        return JournalLine::Empty;
    }
    let verified = match key {
        Some(key) => match verified(&line.text, key, &plan.run_id) {
            Some(verified) => Some(verified),
            None => return JournalLine::Damaged(claimed_records(&line.text)),
        },
        None => None,
    };
    let text = verified.as_deref().unwrap_or(&line.text);
    // That of a foreign run has a signature, which cannot be verified.
    if text == END || (key.is_none() && text.starts_with(SIGNED_END)) {
        return JournalLine::End;
    }
    if let Some(spent) = SpentOnCancelledLine::read(text) {
        return JournalLine::SpentOnCancelled(spent);
    }
    let read_record = |record: &[u8], at: RecordedAt| {
        let attempt = read_attempt(record).filter(|attempt| is_of_plan(attempt, plan))?;
        let ended = EndedAttempt::recorded(attempt, at, records, in_memory);
        Some(Arc::new(ended))
    };
    if !is_block(text) {
        let attempt = read_record(text, line.at);
        return attempt.map_or(JournalLine::Damaged(1), JournalLine::Attempt);
    }
    let Some(block) = RecordBlock::read(text) else {
        return JournalLine::Damaged(claimed_records(text));
    };
    let attempts = block.records().enumerate().filter_map(|(index, record)| {
        let place = RecordPlace {
            line: line.at.offset,
            in_block: Some(index),
        };
        read_record(record, place.recorded_at(record.len()))
    });
    let attempts: Vec<_> = attempts.collect();
    let unreadable = block.count() - attempts.len();
    JournalLine::Block(attempts, unreadable)
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
