//! Orders what happens: the one that writes the journal, keeps the counts and decides what may start.

use super::executor::Report;
use super::results::write_results;
use crate::domain::{Attempt, AttemptKey, CancelReason, RunEvent, RunState};
use crate::store::RunFolder;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// How often the journal is made durable against loss of power. Against a kill it is at once.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// What a listener may ask for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// End the run early.
    Cancel(CancelReason),
    /// Begin nothing new for now, or go on.
    Pause(bool),
    /// Give up one attempt.
    CancelOne(AttemptKey),
}

/// An attempt that asks to begin, and where the answer goes.
pub(super) type Ask = (AttemptKey, oneshot::Sender<CancellationToken>);

pub(super) struct Dispatcher {
    pub(super) state: RunState,
    pub(super) folder: Option<RunFolder>,
    pub(super) listener: mpsc::Sender<RunEvent>,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    pub(super) reports: mpsc::Receiver<Report>,
    pub(super) cancel: CancellationToken,
    /// Set when nothing more will begin.
    pub(super) closing: CancellationToken,
    /// An attempt that asked to begin while the run is paused.
    pub(super) held: Option<Ask>,
    pub(super) write_results: bool,
    pub(super) running: BTreeMap<AttemptKey, (usize, CancellationToken)>,
    pub(super) dirty: bool,
}

impl Dispatcher {
    /// Goes on until the executor is done.
    pub(super) async fn dispatch(mut self) {
        let began = Instant::now();
        let mut sync = tokio::time::interval(SYNC_EVERY);
        sync.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                Some(order) = self.orders.recv() => self.order(order).await,
                report = self.reports.recv() => match report {
                    Some(report) => self.report(report).await,
                    None => break,
                },
                _ = sync.tick(), if self.dirty => self.sync(),
            }
        }
        self.sync();
        if self.write_results {
            for warning in write_results(&self.state) {
                self.emit(RunEvent::Warning(warning)).await;
            }
        }
        self.emit(RunEvent::Ended { duration_s: began.elapsed().as_secs_f64() }).await;
    }

    /// Folds an event and hands it on. A listener that has gone away stops nothing.
    async fn emit(&mut self, event: RunEvent) {
        self.state.apply(event.clone());
        let _ = self.listener.send(event).await;
    }

    async fn order(&mut self, order: Order) {
        match order {
            Order::CancelOne(key) => {
                if let Some((_, token)) = self.running.get(&key) {
                    token.cancel();
                }
            }
            Order::Pause(on) => {
                self.emit(RunEvent::Paused(on)).await;
                if let (false, Some(ask)) = (on, self.held.take()) {
                    self.begin(ask).await;
                }
            }
            Order::Cancel(reason) => {
                self.held = None;
                self.closing.cancel();
                if self.state.cancelling < Some(reason) {
                    self.emit(RunEvent::Cancelling(reason)).await;
                }
                if reason == CancelReason::Stop {
                    self.cancel.cancel();
                }
            }
        }
    }

    async fn report(&mut self, report: Report) {
        match report {
            // No answer means no.
            Report::Ask(..) if self.state.cancelling.is_some() => {}
            Report::Ask(key, answer) if self.state.paused => self.held = Some((key, answer)),
            Report::Ask(key, answer) => self.begin((key, answer)).await,
            Report::Progress(key, progress) => self.emit(RunEvent::Progress { key, progress }).await,
            Report::Done(attempt) => self.done(attempt).await,
            Report::Dropped(key) => {
                self.running.remove(&key);
                self.emit(RunEvent::Dropped(key)).await;
            }
            Report::Broke(key, why) => {
                let attempt = self.broken(key, why);
                self.done(Arc::new(attempt)).await;
            }
        }
    }

    async fn begin(&mut self, (key, answer): Ask) {
        let token = self.cancel.child_token();
        let slot = self.free_slot();
        self.running.insert(key, (slot, token.clone()));
        self.emit(RunEvent::Started { key, slot }).await;
        let _ = answer.send(token);
    }

    /// The lowest lane that is free, so that lanes on screen stay where they are.
    fn free_slot(&self) -> usize {
        let taken: BTreeSet<usize> = self.running.values().map(|(slot, _)| *slot).collect();
        (0..).find(|slot| !taken.contains(slot)).unwrap_or(0)
    }

    /// Into the journal first, then onto the screen.
    async fn done(&mut self, attempt: Arc<Attempt>) {
        self.running.remove(&attempt.key);
        if let Some(folder) = &mut self.folder {
            match folder.append(&attempt) {
                Ok(()) => self.dirty = true,
                Err(error) => {
                    self.folder = None;
                    let warning =
                        format!("the run is no longer recorded, results are kept in memory: {error}");
                    self.emit(RunEvent::Warning(warning)).await;
                }
            }
        }
        self.emit(RunEvent::Finished(attempt)).await;
    }

    fn broken(&self, key: AttemptKey, why: String) -> Attempt {
        let mut attempt = Attempt::blank(key, &self.state.plan.cases[key.case].eval_id);
        attempt.fail(format!("evaltrail itself failed: {why}"));
        attempt
    }

    fn sync(&mut self) {
        self.dirty = false;
        let handle = self.folder.as_ref().and_then(|folder| folder.handle().ok());
        if let Some(handle) = handle {
            tokio::task::spawn_blocking(move || handle.sync_data());
        }
    }
}
