//! Puts the events of a run in order: submits finished attempts to the journal, updates the state of the run, and
//! decides which attempts may start.

use super::journal::{JournalWriter, Written};
use super::outbox::Outbox;
use super::report::Report;
use super::results::write_results;
use crate::domain::{
    Attempt, AttemptKey, CancelReason, EndedAttempt, InMemory, RecordedAt, RunEvent, RunState,
};
use crate::process::clock::Stopwatch;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// A command to a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// End the run early.
    Cancel(CancelReason),
    /// Pause (start no further attempts), or resume.
    Pause(bool),
    /// Cancel one attempt.
    CancelOne(AttemptKey),
}

/// An attempt that requests to start, and the channel for the reply.
pub(super) type Ask = (AttemptKey, oneshot::Sender<CancellationToken>);

pub(super) struct Dispatcher {
    pub(super) state: RunState,
    /// `None` when the run is not recorded.
    pub(super) journal: Option<JournalWriter>,
    /// Whether attempts could not be written to the journal yet.
    pub(super) is_journal_behind: bool,
    pub(super) outbox: Outbox,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    pub(super) reports: mpsc::Receiver<Report>,
    pub(super) cancel: CancellationToken,
    /// Cancelled when no further attempt will start.
    pub(super) closing: CancellationToken,
    /// The attempt that requested to start while the run was paused.
    pub(super) held: Option<Ask>,
    pub(super) write_results: bool,
    pub(super) running: BTreeMap<AttemptKey, (usize, CancellationToken)>,
    /// Attempts that are being written, and the channel that reports whether they were; of attempts that ended
    /// together, the last one has it.
    pub(super) writing: BTreeMap<AttemptKey, (Arc<Attempt>, Option<oneshot::Sender<bool>>)>,
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
        if self.write_results {
            let state = self.state.clone();
            let written = tokio::task::spawn_blocking(move || write_results(&state)).await;
            written.unwrap_or_default().into_iter().for_each(|warning| self.warn(warning));
        }
        self.finish_journal().await;
        self.emit(RunEvent::Ended { duration_s: began.elapsed().as_secs_f64() });
        self.outbox.deliver_all().await;
    }

    /// Waits until the journal has reported the outcome of every attempt.
    async fn all_written(&mut self) {
        while !self.writing.is_empty() {
            let answer = written(&mut self.journal).await;
            self.written(answer);
        }
    }

    /// Marks the run as complete if it is, and waits until the journal is synced.
    async fn finish_journal(&mut self) {
        let went_through = self.state.outstanding().is_empty();
        if let Some(journal) = &mut self.journal {
            if went_through {
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
    }

    /// Applies an event to the state, and sends it to the listener.
    pub(super) fn emit(&mut self, event: RunEvent) {
        // The dispatcher does not use the progress of attempts.
        if !matches!(event, RunEvent::Progress { .. }) {
            self.state.apply(event.clone());
        }
        self.outbox.push(event);
    }

    pub(super) fn warn(&mut self, warning: String) {
        self.emit(RunEvent::Warning(warning));
    }

    fn order(&mut self, order: Order) {
        match order {
            Order::CancelOne(key) => {
                if let Some((_, token)) = self.running.get(&key) {
                    token.cancel();
                }
            }
            Order::Pause(on) => {
                self.emit(RunEvent::Paused(on));
                if let (false, Some(ask)) = (on, self.held.take()) {
                    self.begin(ask);
                }
            }
            Order::Cancel(reason) => {
                self.held = None;
                self.closing.cancel();
                if self.state.cancelling < Some(reason) {
                    self.emit(RunEvent::Cancelling(reason));
                }
                if reason == CancelReason::Stop {
                    self.cancel.cancel();
                }
            }
        }
    }

    fn report(&mut self, report: Report) {
        match report {
            // Dropping the channel refuses the request.
            Report::Ask(..) if self.state.cancelling.is_some() => {}
            Report::Ask(key, answer) if self.state.paused => self.held = Some((key, answer)),
            Report::Ask(key, answer) => self.begin((key, answer)),
            Report::Progress(key, progress) => self.emit(RunEvent::Progress { key, progress }),
            Report::Done(attempts, recorded) => self.record(attempts, recorded),
            Report::Dropped(key) => {
                self.running.remove(&key);
                self.emit(RunEvent::Dropped(key));
            }
            Report::Broke(key, why, recorded) => {
                let attempt = self.broken(key, why);
                self.record(vec![Arc::new(attempt)], recorded);
            }
        }
    }

    fn begin(&mut self, (key, answer): Ask) {
        let token = self.cancel.child_token();
        let slot = self.free_slot();
        self.running.insert(key, (slot, token.clone()));
        self.emit(RunEvent::Started { key, slot });
        let _ = answer.send(token);
    }

    /// The lowest free lane, so that the lanes on the screen do not move.
    fn free_slot(&self) -> usize {
        let taken: BTreeSet<usize> = self.running.values().map(|(slot, _)| *slot).collect();
        (0..).find(|slot| !taken.contains(slot)).unwrap_or(0)
    }

    /// Submits finished attempts to the journal. Their events are sent after they were written.
    fn record(&mut self, attempts: Vec<Arc<Attempt>>, recorded: oneshot::Sender<bool>) {
        let keys: Vec<AttemptKey> = attempts.iter().map(|attempt| attempt.key).collect();
        for attempt in &attempts {
            self.writing.insert(attempt.key, (attempt.clone(), None));
        }
        if let Some((_, last)) = keys.last().and_then(|key| self.writing.get_mut(key)) {
            *last = Some(recorded);
        }
        let is_given = self.journal.as_ref().is_some_and(|journal| journal.append(attempts));
        if !is_given {
            keys.into_iter().for_each(|key| self.finished(key, None));
        }
    }

    /// Handles an outcome of the journal; `None` when its thread has ended.
    fn written(&mut self, written: Option<Written>) {
        match written {
            Some(Written::Recorded(written)) => {
                written.into_iter().for_each(|(key, at)| self.finished(key, Some(at)));
            }
            Some(Written::Waiting(key, error)) => {
                if !std::mem::replace(&mut self.is_journal_behind, true) {
                    let again = "writing is retried, and results are kept in memory";
                    self.warn(format!("the run cannot be recorded now; {again}: {error}"));
                }
                self.finished(key, None);
            }
            Some(Written::Refused(key, error)) => {
                let case = self.state.plan.cases.eval_id(key.case);
                self.warn(format!("{case} is not recorded: {error}"));
                self.finished(key, None);
            }
            Some(Written::Recovered(attempts)) => {
                self.is_journal_behind = false;
                self.warn(format!("the run is recorded again, including {attempts} delayed attempts"));
            }
            Some(Written::Lost(attempts, error)) => {
                self.warn(format!("{attempts} attempts are not recorded: {error}"));
            }
            None => self.journal_broke(),
        }
    }

    fn journal_broke(&mut self) {
        self.journal = None;
        self.warn(
            "the run is no longer recorded, results are kept in memory: the journal's thread ended".into(),
        );
        for key in self.writing.keys().copied().collect::<Vec<_>>() {
            self.finished(key, None);
        }
    }

    /// Reports an attempt that ended; `at` is its position in the journal if it was recorded.
    fn finished(&mut self, key: AttemptKey, at: Option<RecordedAt>) {
        self.running.remove(&key);
        if let Some((attempt, recorded)) = self.writing.remove(&key) {
            let is_recorded = at.is_some() && self.journal.is_some();
            let ended = match (at, &self.journal) {
                (Some(at), Some(journal)) => {
                    EndedAttempt::recorded(attempt, at, &journal.records, InMemory::Whole)
                }
                _ => EndedAttempt::unrecorded(attempt),
            };
            self.emit(RunEvent::Finished(Arc::new(ended)));
            if let Some(recorded) = recorded {
                let _ = recorded.send(is_recorded);
            }
        }
    }

    fn broken(&self, key: AttemptKey, why: String) -> Attempt {
        let mut attempt = Attempt::blank(key, self.state.plan.cases.eval_id(key.case));
        attempt.fail(format!("evaltrail itself failed: {why}"));
        attempt
    }
}

/// The next outcome of the journal; pending forever when there is no journal.
async fn written(journal: &mut Option<JournalWriter>) -> Option<Written> {
    match journal {
        Some(journal) => journal.written().await,
        None => std::future::pending().await,
    }
}
