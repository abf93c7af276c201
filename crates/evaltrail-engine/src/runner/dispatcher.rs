//! Puts the events of a run in order: submits finished attempts to the journal, updates the state of the run, and
//! decides which attempts may start.

use super::executor_message::{ExecutorMessage, JournalStatus};
use super::journal::{JournalOutcome, JournalWriter};
use super::outbox::Outbox;
use super::results::write_results;
use crate::process::clock::Stopwatch;
use crate::store::remove_run;
use evaltrail_core::domain::{
    Attempt, AttemptKey, CancelReason, EndedAttempt, JudgeUsage, RunEvent, RunPlan, RunState,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// A command to a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum DispatcherRequest {
    /// End the run early.
    Cancel(CancelReason),
    /// Pause (start no further attempts), or resume.
    Pause(bool),
    /// Cancel one attempt.
    CancelOne(AttemptKey),
}

/// An attempt that requests to start, and the channel for the reply.
pub(super) type StartRequest = (AttemptKey, oneshot::Sender<CancellationToken>);

pub(super) struct Dispatcher {
    pub(super) plan: Arc<RunPlan>,
    /// Seconds that the run worked before it was resumed.
    pub(super) earlier_parts_s: f64,
    /// The number of attempts that have not ended.
    pub(super) left: usize,
    pub(super) paused: bool,
    pub(super) cancelling: Option<CancelReason>,
    /// The state for the result files of ADK, if there will be any.
    pub(super) of_adk: Option<RunState>,
    /// `None` when the run is not recorded.
    pub(super) journal: Option<JournalWriter>,
    /// The folder of the run, to be removed at the end; `None` as soon as the run has results.
    pub(super) remove_at_end: Option<PathBuf>,
    /// Whether attempts could not be written to the journal yet.
    pub(super) is_journal_behind: bool,
    pub(super) outbox: Outbox,
    pub(super) orders: mpsc::UnboundedReceiver<DispatcherRequest>,
    pub(super) reports: mpsc::Receiver<ExecutorMessage>,
    pub(super) cancel: CancellationToken,
    /// Cancelled when no further attempt will start.
    pub(super) closing: CancellationToken,
    /// Cancelled when no attempt may request a judge.
    pub(super) judging_ends: CancellationToken,
    /// The attempt that requested to start while the run was paused.
    pub(super) waiting: Option<StartRequest>,
    pub(super) running: BTreeMap<AttemptKey, (usize, CancellationToken)>,
    /// Attempts that are being written, and the channel that reports whether they were; of attempts that ended
    /// together, the last one has it.
    pub(super) writing:
        BTreeMap<AttemptKey, (Arc<Attempt>, Option<oneshot::Sender<JournalStatus>>)>,
}

impl Dispatcher {
    /// Runs until the executor is done and the listener has received all events.
    pub(super) async fn dispatch(mut self) {
        let began = Stopwatch::start();
        loop {
            tokio::select! {
                biased;
                Some(order) = self.orders.recv() => self.order(order),
                () = self.outbox.send_next(), if !self.outbox.is_empty() => {}
                written = written(&mut self.journal) => self.written(written),
                report = self.reports.recv() => match report {
                    Some(report) => self.report(report),
                    None => break,
                },
            }
        }
        self.all_written().await;
        if let Some(state) = self.of_adk.take() {
            let written = tokio::task::spawn_blocking(move || write_results(&state)).await;
            written
                .unwrap_or_default()
                .into_iter()
                .for_each(|warning| self.warn(warning));
        }
        self.finish_journal().await;
        self.outbox.push(RunEvent::Ended {
            duration_s: self.earlier_parts_s + began.elapsed().as_secs_f64(),
        });
        self.outbox.deliver_all().await;
    }

    /// Waits until the journal has reported the outcome of every attempt.
    async fn all_written(&mut self) {
        while !self.writing.is_empty() {
            let answer = written(&mut self.journal).await;
            self.written(answer);
        }
    }

    /// Marks the run as complete if it is, waits until the journal is synced, and removes a run without results.
    async fn finish_journal(&mut self) {
        if let Some(journal) = &mut self.journal {
            if self.left == 0 {
                journal.end();
            }
            journal.close();
        }
        while let Some(journal) = &mut self.journal {
            match journal.written().await {
                Some(written) => self.written(Some(written)),
                None => self.journal = None,
            }
        }
        if let Some(folder) = self.remove_at_end.take()
            && let Err(error) = remove_run(&folder)
        {
            self.warn(format!(
                "the folder of the run, which has no results, could not be removed: {error}"
            ));
        }
    }

    pub(super) fn warn(&mut self, warning: String) {
        self.outbox.push(RunEvent::Warning(warning));
    }

    fn order(&mut self, order: DispatcherRequest) {
        match order {
            DispatcherRequest::CancelOne(key) => {
                if let Some((_, token)) = self.running.get(&key) {
                    token.cancel();
                }
            }
            DispatcherRequest::Pause(on) => {
                self.paused = on;
                self.outbox.push(RunEvent::Paused(on));
                if let (false, Some(ask)) = (on, self.waiting.take()) {
                    self.begin(ask);
                }
            }
            DispatcherRequest::Cancel(reason) => {
                self.waiting = None;
                self.closing.cancel();
                if self.cancelling < Some(reason) {
                    self.cancelling = Some(reason);
                    self.outbox.push(RunEvent::Cancelling(reason));
                }
                if reason >= CancelReason::FinishConversations {
                    self.judging_ends.cancel();
                }
                if reason == CancelReason::Stop {
                    self.cancel.cancel();
                }
            }
        }
    }

    fn report(&mut self, report: ExecutorMessage) {
        match report {
            // Dropping the channel refuses the request.
            ExecutorMessage::StartRequested(..) if self.cancelling.is_some() => {}
            ExecutorMessage::StartRequested(key, answer) if self.paused => {
                self.waiting = Some((key, answer))
            }
            ExecutorMessage::StartRequested(key, answer) => self.begin((key, answer)),
            ExecutorMessage::Connection(event) => self.outbox.push(event),
            ExecutorMessage::Progress(key, progress) => {
                self.outbox.push(RunEvent::Progress { key, progress })
            }
            ExecutorMessage::Done(attempts, recorded) => self.record(attempts, recorded),
            ExecutorMessage::Warning(warning) => self.warn(warning),
            ExecutorMessage::Superfluous => self.left = self.left.saturating_sub(1),
            ExecutorMessage::Dropped(key, spent) => {
                self.running.remove(&key);
                self.spent_on_cancelled(spent);
                self.outbox.push(RunEvent::Dropped(key));
            }
            ExecutorMessage::CancelledRequests(spent) => self.spent_on_cancelled(spent),
            ExecutorMessage::Broke(key, why, recorded) => {
                let attempt = self.broken(key, why);
                self.record(vec![Arc::new(attempt)], recorded);
            }
        }
    }

    fn spent_on_cancelled(&mut self, spent: JudgeUsage) {
        if spent == JudgeUsage::default() {
            return;
        }
        self.remove_at_end = None;
        if let Some(journal) = &self.journal {
            journal.spent_on_cancelled(spent);
        }
        self.outbox.push(RunEvent::SpentOnCancelled(spent));
    }

    fn begin(&mut self, (key, answer): StartRequest) {
        let token = self.cancel.child_token();
        let slot = self.free_slot();
        self.running.insert(key, (slot, token.clone()));
        self.outbox.push(RunEvent::Started { key, slot });
        let _ = answer.send(token);
    }

    /// The lowest free lane, so that the lanes on the screen do not move.
    fn free_slot(&self) -> usize {
        let taken: BTreeSet<usize> = self.running.values().map(|(slot, _)| *slot).collect();
        (0..).find(|slot| !taken.contains(slot)).unwrap_or(0)
    }

    /// Submits finished attempts to the journal. Their events are sent after they were written.
    fn record(&mut self, attempts: Vec<Arc<Attempt>>, recorded: oneshot::Sender<JournalStatus>) {
        self.remove_at_end = None;
        let keys: Vec<AttemptKey> = attempts.iter().map(|attempt| attempt.key).collect();
        for attempt in &attempts {
            self.writing.insert(attempt.key, (attempt.clone(), None));
        }
        if let Some((_, last)) = keys.last().and_then(|key| self.writing.get_mut(key)) {
            *last = Some(recorded);
        }
        let is_given = self
            .journal
            .as_ref()
            .is_some_and(|journal| journal.append(attempts));
        if !is_given {
            keys.into_iter()
                .for_each(|key| self.unrecorded(key, JournalStatus::Later));
        }
    }

    /// Handles an outcome of the journal; `None` when its thread has ended.
    fn written(&mut self, written: Option<JournalOutcome>) {
        match written {
            Some(JournalOutcome::Recorded(written)) => {
                written
                    .into_iter()
                    .for_each(|ended| self.finished(ended, JournalStatus::Written));
            }
            Some(JournalOutcome::Waiting(key, error)) => {
                if !std::mem::replace(&mut self.is_journal_behind, true) {
                    let again = "writing is retried, and results are kept in memory";
                    self.warn(format!("the run cannot be recorded now; {again}: {error}"));
                }
                self.unrecorded(key, JournalStatus::Later);
            }
            Some(JournalOutcome::Refused(key, error)) => {
                let case = self.plan.cases.eval_id(key.case);
                self.warn(format!("{case} could not be recorded: {error}"));
                self.unrecorded(key, JournalStatus::Never);
            }
            Some(JournalOutcome::Recovered(attempts)) => {
                self.is_journal_behind = false;
                self.warn(format!(
                    "the run is recorded again, including {attempts} delayed attempts"
                ));
            }
            Some(JournalOutcome::Lost(attempts, error)) => {
                self.warn(format!("{attempts} attempts are not recorded: {error}"));
            }
            None => self.journal_broke(),
        }
    }

    fn journal_broke(&mut self) {
        self.journal = None;
        self.warn(
            "the run is no longer recorded, results are kept in memory: the journal's thread ended"
                .into(),
        );
        for key in self.writing.keys().copied().collect::<Vec<_>>() {
            self.unrecorded(key, JournalStatus::Later);
        }
    }

    /// Reports an attempt that was not recorded.
    fn unrecorded(&mut self, key: AttemptKey, recorded: JournalStatus) {
        if let Some((attempt, _)) = self.writing.get(&key) {
            let ended = EndedAttempt::unrecorded(attempt.clone());
            self.finished(Arc::new(ended), recorded);
        }
    }

    /// Reports an attempt that ended.
    fn finished(&mut self, ended: Arc<EndedAttempt>, recorded: JournalStatus) {
        self.running.remove(&ended.key);
        // An attempt that was written after a delay was reported before.
        let Some((_, waiting)) = self.writing.remove(&ended.key) else {
            return;
        };
        self.left = self.left.saturating_sub(1);
        let event = RunEvent::Finished(ended);
        if let Some(state) = &mut self.of_adk {
            state.apply(event.clone());
        }
        self.outbox.push(event);
        if let Some(waiting) = waiting {
            let _ = waiting.send(recorded);
        }
    }

    fn broken(&self, key: AttemptKey, why: String) -> Attempt {
        let mut attempt = Attempt::blank(key, self.plan.cases.eval_id(key.case));
        attempt.set_errored(format!("evaltrail itself failed: {why}"));
        attempt
    }
}

/// The next outcome of the journal; pending forever when there is no journal.
async fn written(journal: &mut Option<JournalWriter>) -> Option<JournalOutcome> {
    match journal {
        Some(journal) => journal.written().await,
        None => std::future::pending().await,
    }
}
