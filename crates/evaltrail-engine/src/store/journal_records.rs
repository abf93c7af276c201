//! Reads single attempts back from the journal into which they were written.

use super::evaltrail_folder::EvaltrailFolder;
use super::journal_block::{MAX_BLOCK_LINE, RecordBlock, RecordPosition};
use super::journal_line::{JOURNAL, read_attempt, verified};
use super::run_key::RunKey;
use crate::process::open_file_limit;
use evaltrail_core::domain::{Attempt, AttemptRecords, RecordedAt};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The journal of a run, for reading attempts.
pub(super) struct JournalRecords {
    run: Arc<Path>,
    run_id: String,
    /// `None` when the run is not signed.
    key: Option<RunKey>,
    open: Option<OpenJournal>,
}

impl JournalRecords {
    /// With `journal`, the attempts can be read even after the run was removed. The number of such open files is
    /// limited, because a workspace may have a thousand runs.
    pub(super) fn new(
        run: PathBuf,
        run_id: String,
        key: Option<RunKey>,
        journal: Option<File>,
    ) -> JournalRecords {
        JournalRecords {
            run: run.into(),
            run_id,
            key,
            open: journal.and_then(OpenJournal::open),
        }
    }

    fn line(&self, read: impl FnOnce(&mut File) -> io::Result<Vec<u8>>) -> Result<Vec<u8>, String> {
        let read = match &self.open {
            Some(open) => read(&mut open.file.lock()),
            None => EvaltrailFolder::of_run(&self.run)
                .and_then(|folder| folder.open_to_read(JOURNAL))
                .and_then(|(mut journal, _)| read(&mut journal)),
        };
        read.map_err(|error| format!("{}: {error}", self.run.join(JOURNAL).display()))
    }

    /// The record of an attempt: its line without the signature.
    fn verified_record(&self, at: RecordedAt) -> Result<Vec<u8>, String> {
        let position = RecordPosition::new(at);
        match position.in_block {
            None => self.without_signature(self.line(|journal| read_at(journal, at))?),
            Some(index) => {
                let block = self.block(position.line)?;
                let record = block.record(index).map(<[u8]>::to_vec);
                record.ok_or_else(|| self.was_changed())
            }
        }
    }

    /// The block in the line at an offset.
    fn block(&self, offset: u64) -> Result<Arc<RecordBlock>, String> {
        if let Some(block) = BLOCKS.lock().find(&self.run, offset) {
            return Ok(block);
        }
        let line = self.without_signature(self.line(|journal| read_line_at(journal, offset))?)?;
        let block = Arc::new(RecordBlock::read(&line).ok_or_else(|| self.was_changed())?);
        BLOCKS.lock().keep(&self.run, offset, block.clone());
        Ok(block)
    }

    /// The line without its signature. Errors: the signature is not valid.
    fn without_signature(&self, read: Vec<u8>) -> Result<Vec<u8>, String> {
        let line = match &self.key {
            Some(key) => verified(&read, key, &self.run_id),
            None => Some(read),
        };
        line.ok_or_else(|| self.was_changed())
    }

    /// A line without a signature, as evaltrail writes it. That of a run that is not signed is written again.
    pub(super) fn own_line(&self, at: RecordedAt) -> Result<Vec<u8>, String> {
        match &self.key {
            Some(_) => self.verified_record(at),
            None => serde_json::to_vec(&self.read_line(at)?).map_err(|error| error.to_string()),
        }
    }

    fn read_line(&self, at: RecordedAt) -> Result<Attempt, String> {
        read_attempt(&self.verified_record(at)?).ok_or_else(|| self.was_changed())
    }

    fn was_changed(&self) -> String {
        format!("{} was changed", self.run.join(JOURNAL).display())
    }
}

impl AttemptRecords for JournalRecords {
    fn read(&self, at: RecordedAt) -> Result<Arc<Attempt>, String> {
        if let Some(attempt) = recent(|recent| recent.find(&self.run, at)) {
            return Ok(attempt);
        }
        let attempt = Arc::new(self.read_line(at)?);
        recent(|recent| recent.keep(&self.run, at, attempt.clone()));
        Ok(attempt)
    }
}

fn read_at(journal: &mut File, at: RecordedAt) -> io::Result<Vec<u8>> {
    let mut line = vec![0; at.length as usize];
    journal.seek(SeekFrom::Start(at.offset))?;
    journal
        .read_exact(&mut line)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), "the journal was truncated")
            }
            _ => error,
        })?;
    Ok(line)
}

/// Reads the line at an offset, at most [`MAX_BLOCK_LINE`] bytes, without its line feed.
fn read_line_at(journal: &mut File, offset: u64) -> io::Result<Vec<u8>> {
    journal.seek(SeekFrom::Start(offset))?;
    let mut line = Vec::new();
    let mut limited = BufReader::with_capacity(64 << 10, journal).take(MAX_BLOCK_LINE as u64);
    limited.read_until(b'\n', &mut line)?;
    match line.pop() {
        Some(b'\n') => Ok(line),
        _ => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the journal was truncated",
        )),
    }
}

/// The maximum number of journals that are open for reading, if the limit of open files is not low.
const MAX_OPEN: usize = 128;
/// The part of the limit of open files that journals may have. Connections and programs need the rest.
const PART_OF_LIMIT: usize = 8;

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// The maximum number of open journals under this limit of open files.
fn open_at_most(limit: Option<u64>) -> usize {
    limit.map_or(MAX_OPEN, |limit| {
        (limit as usize / PART_OF_LIMIT).min(MAX_OPEN)
    })
}

/// One of at most [`open_at_most`] files.
struct OpenJournal {
    file: Mutex<File>,
}

impl OpenJournal {
    fn open(file: File) -> Option<OpenJournal> {
        let most = open_at_most(open_file_limit());
        let one_more = |open: usize| (open < most).then_some(open + 1);
        OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .ok()?;
        Some(OpenJournal {
            file: Mutex::new(file),
        })
    }
}

impl Drop for OpenJournal {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A cache of the attempts that were read last, of all runs, because the screen needs the same ones repeatedly. It has
/// at least the last one, and otherwise at most [`MAX_RECENT`] bytes of records and [`MAX_ATTEMPTS`] attempts:
/// it is searched for every attempt that a report reads.
#[derive(Default)]
struct Recent {
    attempts: VecDeque<(Arc<Path>, RecordedAt, Arc<Attempt>)>,
}

const MAX_RECENT: u64 = 1 << 20;
const MAX_ATTEMPTS: usize = 32;

static RECENT: Mutex<Option<Recent>> = Mutex::new(None);

fn recent<T>(with: impl FnOnce(&mut Recent) -> T) -> T {
    let mut recent = RECENT.lock();
    with(recent.get_or_insert_default())
}

impl Recent {
    fn find(&self, run: &Path, at: RecordedAt) -> Option<Arc<Attempt>> {
        let found = self
            .attempts
            .iter()
            .find(|(known, position, _)| *position == at && **known == *run);
        found.map(|(_, _, attempt)| attempt.clone())
    }

    fn keep(&mut self, run: &Arc<Path>, at: RecordedAt, attempt: Arc<Attempt>) {
        self.attempts.push_front((run.clone(), at, attempt));
        let mut bytes = 0;
        let fits = |(_, position, _): &&(Arc<Path>, RecordedAt, Arc<Attempt>)| {
            bytes += position.length;
            bytes <= MAX_RECENT
        };
        let count = self
            .attempts
            .iter()
            .take(MAX_ATTEMPTS)
            .take_while(fits)
            .count();
        self.attempts.truncate(count.max(1));
    }
}

/// The blocks that were read last, of all runs, the latest first: neighbouring attempts are read after each other, by several
/// threads at different positions. A block has at most 1 MB.
struct RecentBlocks(VecDeque<(Arc<Path>, u64, Arc<RecordBlock>)>);

static BLOCKS: Mutex<RecentBlocks> = Mutex::new(RecentBlocks(VecDeque::new()));

impl RecentBlocks {
    fn find(&mut self, run: &Path, offset: u64) -> Option<Arc<RecordBlock>> {
        let is_same = |(of, at, _): &(Arc<Path>, u64, _)| *at == offset && **of == *run;
        let found = self.0.iter().position(is_same)?;
        let found = self.0.remove(found)?;
        let block = found.2.clone();
        self.0.push_front(found);
        Some(block)
    }

    /// Keeps a block. Another thread may have read it as well.
    fn keep(&mut self, run: &Arc<Path>, offset: u64, block: Arc<RecordBlock>) {
        if self.find(run, offset).is_none() {
            self.0.push_front((run.clone(), offset, block));
            self.0.truncate((2 * rayon::current_num_threads()).max(8));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::AttemptKey;

    #[test]
    fn a_low_limit_of_open_files_is_left_to_others() {
        assert_eq!(open_at_most(None), 128);
        assert_eq!(open_at_most(Some(1 << 20)), 128);
        assert_eq!(open_at_most(Some(256)), 32);
        assert_eq!(open_at_most(Some(4)), 0);
    }

    #[test]
    fn a_journal_stays_open() {
        assert!(OpenJournal::open(tempfile::tempfile().unwrap()).is_some());
    }

    #[test]
    fn recent_attempts_are_cached_up_to_a_size() {
        let run: &Arc<Path> = &Path::new("run").into();
        let position = |offset: u64, length: u64| RecordedAt { offset, length };
        let attempt = || {
            Arc::new(Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "a",
            ))
        };
        let mut recent = Recent::default();
        for offset in 0..4 {
            recent.keep(run, position(offset, MAX_RECENT / 2), attempt());
        }
        assert_eq!(recent.attempts.len(), 2, "the newest that fit");
        assert!(recent.find(run, position(3, MAX_RECENT / 2)).is_some());
        assert!(recent.find(run, position(1, MAX_RECENT / 2)).is_none());
        recent.keep(run, position(9, 2 * MAX_RECENT), attempt());
        assert_eq!(
            recent.attempts.len(),
            1,
            "the last one is kept whatever its size"
        );
    }
}
