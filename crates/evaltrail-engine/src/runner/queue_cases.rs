//! The cases that this machine takes from a queue, one after the other.

use super::executor_message::{ExecutorMessage, JournalStatus};
use crate::store::{CaseQueue, NextCase};
use evaltrail_core::domain::AttemptKey;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The longest time after which a machine without a case looks again whether the others are done.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// The number of times in a row that a queue may fail.
const MAX_FAILURES: u32 = 5;

/// The cases that this machine takes from a queue.
pub(super) struct ClaimedCases {
    queue: Arc<CaseQueue>,
    /// The outstanding attempts of each case.
    of: HashMap<usize, VecDeque<AttemptKey>>,
    /// Cancelled when results cannot be recorded on this machine: other machines take the cases.
    cannot_record: CancellationToken,
}

impl ClaimedCases {
    /// Creates it from a queue and the outstanding attempts of all its cases.
    pub(super) fn new(queue: Arc<CaseQueue>, attempts: VecDeque<AttemptKey>) -> ClaimedCases {
        let mut of: HashMap<usize, VecDeque<AttemptKey>> = HashMap::new();
        attempts
            .into_iter()
            .for_each(|key| of.entry(key.case).or_default().push_back(key));
        ClaimedCases {
            queue,
            of,
            cannot_record: CancellationToken::new(),
        }
    }

    /// What is told about attempts that cannot be recorded.
    pub(super) fn records(&self) -> QueueRecords {
        QueueRecords {
            queue: self.queue.clone(),
            cannot_record: self.cannot_record.clone(),
        }
    }

    /// The attempts of the next case; none if all cases are done, or no more attempts start. Waits while other machines have
    /// the last cases, because one of them may be gone.
    pub(super) async fn next(
        &mut self,
        reports: &mpsc::Sender<ExecutorMessage>,
        closing: &CancellationToken,
    ) -> VecDeque<AttemptKey> {
        let mut failures = 0;
        loop {
            if self.cannot_record.is_cancelled() {
                let why = "no further cases are taken from the queue, because results cannot be recorded on this machine";
                let _ = reports.send(ExecutorMessage::Warning(why.into())).await;
                return VecDeque::new();
            }
            let queue = self.queue.clone();
            let next = tokio::task::spawn_blocking(move || queue.next());
            let next = tokio::select! {
                biased;
                () = closing.cancelled() => return VecDeque::new(),
                next = next => next,
            };
            match next {
                Ok(Ok(NextCase::Run(case))) => return self.of.remove(&case).unwrap_or_default(),
                Ok(Ok(NextCase::Wait)) => failures = 0,
                Ok(Ok(NextCase::Finished)) => return VecDeque::new(),
                Ok(Err(error)) => {
                    failures += 1;
                    let _ = reports
                        .send(ExecutorMessage::Warning(format!("the queue: {error}")))
                        .await;
                    if failures == MAX_FAILURES {
                        return VecDeque::new();
                    }
                }
                // The process ends.
                Err(_) => return VecDeque::new(),
            }
            tokio::select! {
                biased;
                () = closing.cancelled() => return VecDeque::new(),
                () = tokio::time::sleep((self.queue.heartbeat_interval() / 2).min(MAX_WAIT)) => {}
            }
        }
    }
}

/// Handles attempts that could not be recorded: their results are missing at the queue.
#[derive(Clone)]
pub(super) struct QueueRecords {
    queue: Arc<CaseQueue>,
    cannot_record: CancellationToken,
}

impl QueueRecords {
    /// Of a case that no machine can record, this gives up; otherwise other machines take it over, and this one takes no
    /// further cases.
    pub(super) async fn failed(self, case: usize, recorded: JournalStatus) {
        match recorded {
            JournalStatus::Written => {}
            JournalStatus::Later => self.cannot_record.cancel(),
            JournalStatus::Never => {
                let queue = self.queue;
                // If this fails, the case is taken over when this machine is gone.
                let _ = tokio::task::spawn_blocking(move || queue.give_up(case)).await;
            }
        }
    }
}
