//! Attempts read again, one at a time, from the journal that they were written into.

use super::journal::{JOURNAL, read_attempt, verified};
use super::own_folder::OwnFolder;
use super::run_key::RunKey;
use crate::domain::{Attempt, AttemptRecords, RecordedAt};
use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// So many attempts stay at hand: the screen asks for the same ones again and again.
const RECENT: usize = 8;
/// Attempts with a longer record stay at hand only as the last one.
const LARGE: u64 = 256 << 10;

/// The journal of a run, as the place where attempts are recorded. Opened for each reading: a workspace may have a
/// thousand runs.
pub(super) struct JournalRecords {
    run: PathBuf,
    run_id: String,
    /// Nothing when the run is not signed.
    key: Option<RunKey>,
    recent: Mutex<VecDeque<(RecordedAt, Attempt)>>,
}

impl JournalRecords {
    pub(super) fn of(run: PathBuf, run_id: String, key: Option<RunKey>) -> JournalRecords {
        JournalRecords { run, run_id, key, recent: Mutex::default() }
    }

    fn line(&self, at: RecordedAt) -> io::Result<Vec<u8>> {
        let (mut journal, length) = OwnFolder::of_run(&self.run)?.open_to_read(JOURNAL)?;
        if at.offset.saturating_add(at.length) > length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the journal was cut off"));
        }
        let mut line = vec![0; at.length as usize];
        journal.seek(SeekFrom::Start(at.offset))?;
        journal.read_exact(&mut line)?;
        Ok(line)
    }

    fn read_line(&self, at: RecordedAt) -> Result<Attempt, String> {
        let read = self.line(at).map_err(|error| format!("{}: {error}", self.run.join(JOURNAL).display()))?;
        let line = match &self.key {
            Some(key) => verified(&read, key, &self.run_id),
            None => Some(read),
        };
        let attempt = line.and_then(|line| read_attempt(&line));
        attempt.ok_or_else(|| format!("{} was changed", self.run.join(JOURNAL).display()))
    }
}

impl AttemptRecords for JournalRecords {
    fn read(&self, at: RecordedAt) -> Result<Attempt, String> {
        let recent = || self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, attempt)) = recent().iter().find(|(known, _)| *known == at) {
            return Ok(attempt.clone());
        }
        let attempt = self.read_line(at)?;
        let mut recent = recent();
        recent.retain(|(known, _)| known.length <= LARGE);
        recent.truncate(RECENT - 1);
        recent.push_front((at, attempt.clone()));
        Ok(attempt)
    }

    fn is_at_hand(&self, at: RecordedAt) -> bool {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.iter().any(|(known, _)| *known == at)
    }
}
