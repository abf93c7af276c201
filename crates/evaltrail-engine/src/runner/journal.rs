//! Writes the journal of a run on a separate thread, so that a slow disk does not delay attempts. Writes that fail, for
//! example because the disk is full, are retried.

use crate::store::{JournalError, RunFolder, SummaryWriter};
use evaltrail_core::domain::{
    Attempt, AttemptKey, AttemptRecords, EndedAttempt, InMemory, JudgeUsage, RecordedAt, RunState,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The interval at which the journal is synced to disk and failed writes are retried.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// The number of outcomes that may wait for the dispatcher.
const WAITING: usize = 64;

enum JournalRequest {
    Append(Vec<Arc<Attempt>>),
    SpentOnCancelled(JudgeUsage),
    /// The run is complete.
    End,
}

/// The outcome of a request.
pub(super) enum JournalOutcome {
    /// The attempts were written.
    Recorded(Vec<Arc<EndedAttempt>>),
    /// The attempt could not be written, for this reason. The write will be retried.
    Waiting(AttemptKey, JournalError),
    /// The attempt cannot be written to a journal.
    Refused(AttemptKey, JournalError),
    /// This many delayed attempts were written.
    Recovered(usize),
    /// This many attempts could not be written before the end of the run.
    Lost(usize, JournalError),
}

/// Writes attempts in the order in which they are submitted.
pub(super) struct JournalWriter {
    requests: Option<Sender<JournalRequest>>,
    written: mpsc::Receiver<JournalOutcome>,
}

impl JournalWriter {
    /// Starts the thread for a run with this state. When the writer is closed or dropped, the thread writes what was submitted, and ends.
    pub(super) fn start(folder: RunFolder, state: &RunState) -> std::io::Result<JournalWriter> {
        let (requests, waiting) = channel();
        let (done, written) = mpsc::channel(WAITING);
        let mut thread = JournalThread {
            records: folder.records(),
            summaries: folder.begin_summaries(state),
            folder,
            done,
            unwritten: VecDeque::new(),
            is_dirty: false,
            synced: Instant::now(),
        };
        std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || thread.serve(&waiting))?;
        Ok(JournalWriter {
            requests: Some(requests),
            written,
        })
    }

    /// Submits attempts; [`JournalWriter::written`] returns the outcome. Returns `false` when the thread has ended.
    pub(super) fn append(&self, attempts: Vec<Arc<Attempt>>) -> bool {
        self.requests
            .as_ref()
            .is_some_and(|requests| requests.send(JournalRequest::Append(attempts)).is_ok())
    }

    /// Submits what judges spent on attempts that were cancelled. There is no reply.
    pub(super) fn spent_on_cancelled(&self, spent: JudgeUsage) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(JournalRequest::SpentOnCancelled(spent));
        }
    }

    /// Marks the run as complete. There is no reply: if the mark is missing, `--resume` finds no attempts to run.
    pub(super) fn end(&self) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(JournalRequest::End);
        }
    }

    /// The next outcome; `None` when the writer is closed and there are no more. Cancel-safe.
    pub(super) async fn written(&mut self) -> Option<JournalOutcome> {
        self.written.recv().await
    }

    /// Closes the writer: no more requests are accepted.
    pub(super) fn close(&mut self) {
        self.requests = None;
    }
}

struct JournalThread {
    folder: RunFolder,
    /// Reads attempts that were written.
    records: Arc<dyn AttemptRecords>,
    /// `None` if the run has none, or they could not be written.
    summaries: Option<SummaryWriter>,
    done: mpsc::Sender<JournalOutcome>,
    /// Attempts that could not be written yet, the oldest first.
    unwritten: VecDeque<Arc<Attempt>>,
    is_dirty: bool,
    synced: Instant,
}

impl JournalThread {
    fn serve(&mut self, requests: &Receiver<JournalRequest>) {
        loop {
            let has_work = self.is_dirty || !self.unwritten.is_empty();
            let left = SYNC_EVERY.saturating_sub(self.synced.elapsed());
            match requests.recv_timeout(if has_work { left } else { Duration::MAX }) {
                Ok(JournalRequest::Append(attempts)) => self.append_all(attempts),
                Ok(JournalRequest::SpentOnCancelled(spent)) => self.spent_on_cancelled(spent),
                Ok(JournalRequest::End) => self.end(),
                Err(RecvTimeoutError::Timeout) => {
                    // A write that fails again is retried later.
                    let _ = self.retry();
                    self.sync();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Err(error) = self.retry() {
            self.answer(JournalOutcome::Lost(self.unwritten.len(), error));
        }
        self.sync();
    }

    /// Writes what judges spent on attempts that were cancelled. If that fails, an attempt cannot be written either, which
    /// is reported.
    fn spent_on_cancelled(&mut self, spent: JudgeUsage) {
        if self.folder.append_spent_on_cancelled(spent).is_ok() {
            self.is_dirty = true;
        }
    }

    /// Marks the run as complete, unless an attempt is missing.
    fn end(&mut self) {
        if self.retry().and_then(|()| self.folder.end()).is_err() {
            return;
        }
        self.is_dirty = true;
        if let Some(summaries) = self.summaries.take() {
            // Without them, the journal is read.
            let _ = self.folder.end_summaries(summaries);
        }
    }

    /// Writes attempts: at once, or one by one if that fails.
    fn append_all(&mut self, attempts: Vec<Arc<Attempt>>) {
        let written = match self.retry() {
            Ok(()) => self
                .folder
                .append_all(attempts.iter().map(|attempt| &**attempt))
                .ok(),
            Err(_) => None,
        };
        match written {
            Some(positions) => {
                self.is_dirty = true;
                let recorded = attempts.into_iter().zip(positions);
                let ended = recorded
                    .map(|(attempt, at)| self.ended(attempt, at))
                    .collect();
                self.answer(JournalOutcome::Recorded(ended));
            }
            None => attempts
                .into_iter()
                .for_each(|attempt| self.append(attempt)),
        }
    }

    /// Writes an attempt. Earlier ones are written first, so that the lines are in the order in which attempts ended.
    fn append(&mut self, attempt: Arc<Attempt>) {
        let key = attempt.key;
        match self.retry().and_then(|()| self.write(&attempt)) {
            Ok(ended) => self.answer(JournalOutcome::Recorded(vec![ended])),
            // The error is that of this attempt: `retry` returns only errors that may pass.
            Err(error) if error.is_final() => self.answer(JournalOutcome::Refused(key, error)),
            Err(error) => {
                self.unwritten.push_back(attempt);
                self.answer(JournalOutcome::Waiting(key, error));
            }
        }
    }

    fn write(&mut self, attempt: &Arc<Attempt>) -> Result<Arc<EndedAttempt>, JournalError> {
        let at = self.folder.append(attempt)?;
        self.is_dirty = true;
        Ok(self.ended(attempt.clone(), at))
    }

    /// The attempt with its record, which is added to the summaries.
    fn ended(&mut self, attempt: Arc<Attempt>, at: RecordedAt) -> Arc<EndedAttempt> {
        let ended = Arc::new(EndedAttempt::recorded(
            attempt,
            at,
            &self.records,
            InMemory::Whole,
        ));
        if let Some(summaries) = &mut self.summaries
            && summaries.add(ended.clone()).is_err()
        {
            self.summaries = None;
        }
        ended
    }

    /// Retries the writes that failed. An attempt that no journal can take is reported, and does not hold up the others.
    fn retry(&mut self) -> Result<(), JournalError> {
        let mut written = 0;
        while let Some(oldest) = self.unwritten.front().cloned() {
            match self.write(&oldest) {
                Ok(_) => written += 1,
                Err(error) if error.is_final() => {
                    self.answer(JournalOutcome::Refused(oldest.key, error))
                }
                Err(error) => return Err(error),
            }
            self.unwritten.pop_front();
        }
        if written > 0 {
            self.answer(JournalOutcome::Recovered(written));
        }
        Ok(())
    }

    fn sync(&mut self) {
        self.synced = Instant::now();
        if std::mem::take(&mut self.is_dirty) {
            let _ = self.folder.sync();
        }
    }

    /// Reports an outcome. If the dispatcher has ended, it is discarded, and writing continues.
    fn answer(&self, written: JournalOutcome) {
        let _ = self.done.blocking_send(written);
    }
}
