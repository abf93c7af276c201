//! The journal of a run, written on a thread of its own: a slow disk holds up no attempt. What cannot be written
//! (the disk is full) waits and is tried again.

use crate::domain::{Attempt, AttemptKey, AttemptRecords, RecordedAt};
use crate::store::{JournalError, RunFolder};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How often the journal is made durable against loss of power, and a failed write is tried again.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// Answers that the dispatcher has not taken yet.
const WAITING: usize = 64;

enum Request {
    Append(Arc<Attempt>),
    /// The run went through.
    End,
}

/// What became of requests.
pub(super) enum Written {
    /// The attempt is in the journal, and where.
    Recorded(AttemptKey, RecordedAt),
    /// The attempt waits for the journal to be writable again; why it is not.
    Waiting(AttemptKey, JournalError),
    /// The attempt cannot be in the journal.
    Refused(AttemptKey, JournalError),
    /// This many attempts that waited are in the journal now.
    Recovered(usize),
    /// This many attempts could not be written before the end.
    Lost(usize, JournalError),
}

/// Writes attempts in the order in which they are given.
pub(super) struct JournalWriter {
    requests: Option<Sender<Request>>,
    written: mpsc::Receiver<Written>,
    /// Where what was written can be read again.
    pub(super) records: Arc<dyn AttemptRecords>,
}

impl JournalWriter {
    /// Starts the thread. It ends when the writer is closed or dropped, and what was given is written.
    pub(super) fn start(folder: RunFolder) -> std::io::Result<JournalWriter> {
        let (requests, waiting) = channel();
        let (done, written) = mpsc::channel(WAITING);
        let records = folder.records();
        let mut thread = JournalThread {
            folder,
            done,
            unwritten: VecDeque::new(),
            is_dirty: false,
            synced: Instant::now(),
        };
        std::thread::Builder::new().name("journal".into()).spawn(move || thread.serve(&waiting))?;
        Ok(JournalWriter { requests: Some(requests), written, records })
    }

    /// Gives an attempt to be written; the answer comes from [`JournalWriter::written`]. False when the thread
    /// takes no more.
    pub(super) fn append(&self, attempt: Arc<Attempt>) -> bool {
        self.requests.as_ref().is_some_and(|requests| requests.send(Request::Append(attempt)).is_ok())
    }

    /// Notes that the run went through. Nothing is answered: where it is not noted, a resume finds nothing to do.
    pub(super) fn end(&self) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(Request::End);
        }
    }

    /// The next answer; nothing once the writer is closed and everything was answered. Cancel-safe.
    pub(super) async fn written(&mut self) -> Option<Written> {
        self.written.recv().await
    }

    /// Takes no more requests.
    pub(super) fn close(&mut self) {
        self.requests = None;
    }
}

struct JournalThread {
    folder: RunFolder,
    done: mpsc::Sender<Written>,
    /// What could not be written yet, the oldest first.
    unwritten: VecDeque<Arc<Attempt>>,
    is_dirty: bool,
    synced: Instant,
}

impl JournalThread {
    fn serve(&mut self, requests: &Receiver<Request>) {
        loop {
            let has_work = self.is_dirty || !self.unwritten.is_empty();
            let left = SYNC_EVERY.saturating_sub(self.synced.elapsed());
            match requests.recv_timeout(if has_work { left } else { Duration::MAX }) {
                Ok(Request::Append(attempt)) => self.append(attempt),
                Ok(Request::End) => {
                    self.is_dirty |= self.retry().and_then(|()| self.folder.end()).is_ok();
                }
                Err(RecvTimeoutError::Timeout) => {
                    // What cannot be written yet is tried again later.
                    let _ = self.retry();
                    self.sync();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Err(error) = self.retry() {
            self.answer(Written::Lost(self.unwritten.len(), error));
        }
        self.sync();
    }

    /// The order of lines is that of the attempts' ends.
    fn append(&mut self, attempt: Arc<Attempt>) {
        let key = attempt.key;
        match self.retry().and_then(|()| self.write(&attempt)) {
            Ok(at) => self.answer(Written::Recorded(key, at)),
            Err(error) if error.is_final() => self.answer(Written::Refused(key, error)),
            Err(error) => {
                self.unwritten.push_back(attempt);
                self.answer(Written::Waiting(key, error));
            }
        }
    }

    fn write(&mut self, attempt: &Attempt) -> Result<RecordedAt, JournalError> {
        let at = self.folder.append(attempt)?;
        self.is_dirty = true;
        Ok(at)
    }

    /// Tries again what could not be written.
    fn retry(&mut self) -> Result<(), JournalError> {
        let before = self.unwritten.len();
        while let Some(oldest) = self.unwritten.front().cloned() {
            self.write(&oldest)?;
            self.unwritten.pop_front();
        }
        if before > 0 {
            self.answer(Written::Recovered(before));
        }
        Ok(())
    }

    fn sync(&mut self) {
        self.synced = Instant::now();
        if std::mem::take(&mut self.is_dirty) {
            let _ = self.folder.sync();
        }
    }

    /// Where nobody waits for the answer, the attempt is written all the same.
    fn answer(&self, written: Written) {
        let _ = self.done.blocking_send(written);
    }
}
