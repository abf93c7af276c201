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

use super::journal_line::JOURNAL;
use super::own_folder::OwnFolder;
use super::plan_file::{PLAN, each_path, relative_to, workspace_of};
use super::run_key::{RunKey, RunSigner, SIGNATURE_LENGTH};
use crate::domain::{
    ATTEMPTS_IN_BLOCK, AttemptRecords, EndedAttempt, FinishedAttempts, PlannedCases, RunPlan, RunState,
    packed_block,
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
/// [`AttemptSummary`](crate::domain::AttemptSummary) and [`PlannedCases`].
const MAGIC: &[u8] = b"evaltrail summaries 1\n";

/// The last part.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SummariesEnd {
    plan: FileStamp,
    journal: FileStamp,
    /// The run's number.
    pub(super) number: u64,
    /// Whether the run is marked as complete.
    pub(super) ended: bool,
    /// The number of damaged lines of the journal.
    pub(super) damaged: usize,
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
    folder: OwnFolder,
    file: BufWriter<File>,
    signer: RunSigner,
    /// The attempts that are not written yet.
    block: Vec<Arc<EndedAttempt>>,
}

impl SummaryWriter {
    /// Begins the file of a run.
    pub(super) fn begin(folder: OwnFolder, plan: &RunPlan, key: &RunKey) -> io::Result<SummaryWriter> {
        let _ = folder.remove(UNFINISHED);
        let file = BufWriter::new(folder.create(UNFINISHED)?);
        let signer = key.signer(&[SUMMARIES.as_bytes(), plan.run_id.as_bytes()]);
        let mut writer = SummaryWriter { folder, file, signer, block: Vec::new() };
        let mut without_cases = plan.without_cases();
        let workspace = workspace_of(writer.folder.path()).to_path_buf();
        each_path(&mut without_cases.sets, |path| relative_to(&workspace, path));
        writer.write(MAGIC)?;
        writer.part(&serde_json::to_vec(&without_cases)?)?;
        writer.part(&plan.cases.to_bytes())?;
        Ok(writer)
    }

    /// Adds an attempt that is in the journal. After an error, the writer is of no use.
    pub fn add(&mut self, attempt: Arc<EndedAttempt>) -> io::Result<()> {
        self.block.push(attempt);
        if self.block.len() == ATTEMPTS_IN_BLOCK { self.write_block() } else { Ok(()) }
    }

    fn write_block(&mut self) -> io::Result<()> {
        let block = packed_block(&self.block).ok_or_else(|| io::Error::other("it has no record"))?;
        self.block.clear();
        self.part(&block)
    }

    /// Completes the file. Plan and journal do not change any more.
    pub(super) fn end(mut self, number: u64, ended: bool, damaged: usize) -> io::Result<()> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        self.part(&[])?;
        let (plan, journal) = (stamp(&self.folder, PLAN)?, stamp(&self.folder, JOURNAL)?);
        let end = SummariesEnd { plan, journal, number, ended, damaged };
        self.part(&postcard::to_stdvec(&end).map_err(io::Error::other)?)?;
        let SummaryWriter { folder, mut file, signer, .. } = self;
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

fn stamp(folder: &OwnFolder, name: &str) -> io::Result<FileStamp> {
    let meta = folder.open_to_read(name)?.0.metadata()?;
    let time = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(FileStamp(meta.len(), time.as_nanos() as u64))
}

/// Reads the file of a run. `journal` creates the reader of attempts for a run's id. `None` if there is no file, or if
/// it is not this user's, damaged, or outdated.
pub(super) fn read_summaries(
    run: &Path,
    key: &RunKey,
    journal: impl FnOnce(&str) -> Arc<dyn AttemptRecords>,
) -> Option<(RunState, SummariesEnd)> {
    let folder = OwnFolder::of_run(run).ok()?;
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
