//! The journal of a run, written on a thread of its own: a slow disk holds up no attempt.

use crate::domain::{Attempt, AttemptKey};
use crate::store::{JournalError, RunFolder};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tokio::sync::mpsc;

/// How often the journal is made durable against loss of power. Against a kill it is at once.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// Answers that the dispatcher has not taken yet.
const WAITING: usize = 64;

/// An attempt that was written, or why it was not.
pub(super) type Written = (AttemptKey, Result<(), JournalError>);

/// Writes attempts in the order in which they are given.
pub(super) struct JournalWriter {
    requests: Option<Sender<Arc<Attempt>>>,
    written: mpsc::Receiver<Written>,
}

impl JournalWriter {
    /// Starts the thread. It ends when the writer is closed or dropped, and what was given is written.
    pub(super) fn start(folder: RunFolder) -> std::io::Result<JournalWriter> {
        let (requests, waiting) = channel();
        let (done, written) = mpsc::channel(WAITING);
        std::thread::Builder::new().name("journal".into()).spawn(move || write(folder, &waiting, &done))?;
        Ok(JournalWriter { requests: Some(requests), written })
    }

    /// Gives an attempt to be written; the answer comes from [`JournalWriter::written`]. False when the thread
    /// takes no more.
    pub(super) fn append(&self, attempt: Arc<Attempt>) -> bool {
        self.requests.as_ref().is_some_and(|requests| requests.send(attempt).is_ok())
    }

    /// The next answer; nothing once the writer is closed and everything was answered. Cancel-safe.
    pub(super) async fn written(&mut self) -> Option<Written> {
        self.written.recv().await
    }

    /// Takes no more attempts.
    pub(super) fn close(&mut self) {
        self.requests = None;
    }
}

fn write(mut folder: RunFolder, waiting: &Receiver<Arc<Attempt>>, done: &mpsc::Sender<Written>) {
    let mut dirty = false;
    loop {
        let attempt = match waiting.recv_timeout(if dirty { SYNC_EVERY } else { Duration::MAX }) {
            Ok(attempt) => Some(attempt),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        match attempt {
            Some(attempt) => {
                let result = folder.append(&attempt);
                dirty |= result.is_ok();
                // Where nobody waits for the answer, the attempt is written all the same.
                let _ = done.blocking_send((attempt.key, result));
            }
            None => {
                let _ = folder.sync();
                dirty = false;
            }
        }
    }
    if dirty {
        let _ = folder.sync();
    }
}
