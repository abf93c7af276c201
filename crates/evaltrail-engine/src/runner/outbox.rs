//! The queue of events for the listener of a run. The listener may be blocked for any time, for example by `$EDITOR`, a
//! suspension or a slow terminal. The run never waits for it.

use evaltrail_core::domain::{AttemptKey, RunEvent, Transcript};
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::mpsc;

/// Delivers events in order. Events that the listener has not received yet are queued. The queued progress of an
/// attempt is limited by [`Transcript`], so that the memory is bounded by the number of attempts.
pub(super) struct Outbox {
    listener: mpsc::Sender<RunEvent>,
    waiting: VecDeque<RunEvent>,
    progress: BTreeMap<AttemptKey, Transcript>,
}

impl Outbox {
    pub(super) fn new(listener: mpsc::Sender<RunEvent>) -> Outbox {
        Outbox {
            listener,
            waiting: VecDeque::new(),
            progress: BTreeMap::new(),
        }
    }

    /// Whether the listener has received everything.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.progress.is_empty()
    }

    /// Sends an event, or queues it until the listener can receive it.
    pub(super) fn push(&mut self, event: RunEvent) {
        let event = match self.is_empty() {
            false => event,
            true => match self.listener.try_send(event) {
                Ok(()) => return,
                // The listener was dropped.
                Err(mpsc::error::TrySendError::Closed(_)) => return,
                Err(mpsc::error::TrySendError::Full(event)) => event,
            },
        };
        match event {
            RunEvent::Progress { key, progress } => {
                self.progress.entry(key).or_default().push(progress);
            }
            event => {
                if let RunEvent::Finished(attempt) = &event {
                    self.progress.remove(&attempt.key);
                }
                if let RunEvent::Dropped(key) = &event {
                    self.progress.remove(key);
                }
                self.waiting.push_back(event);
            }
        }
    }

    /// Waits until the listener can receive an event, and sends the next one. Cancel-safe.
    pub(super) async fn send_next(&mut self) {
        match self.listener.reserve().await {
            Ok(permit) => {
                if let Some(event) = next(&mut self.waiting, &mut self.progress) {
                    permit.send(event);
                }
            }
            Err(_) => {
                self.waiting.clear();
                self.progress.clear();
            }
        }
    }

    /// Waits until the listener has received everything, or was dropped.
    pub(super) async fn deliver_all(mut self) {
        while !self.is_empty() {
            self.send_next().await;
        }
    }
}

/// The next event: queued events in order, then the progress of running attempts.
fn next(
    waiting: &mut VecDeque<RunEvent>,
    progress: &mut BTreeMap<AttemptKey, Transcript>,
) -> Option<RunEvent> {
    if let Some(event) = waiting.pop_front() {
        return Some(event);
    }
    let mut entry = progress.first_entry()?;
    let key = *entry.key();
    let progress = entry.get_mut().pop();
    if entry.get().last().is_none() {
        entry.remove();
    }
    progress.map(|progress| RunEvent::Progress { key, progress })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{Attempt, EndedAttempt, Progress};
    use std::sync::Arc;

    fn key(case: usize) -> AttemptKey {
        AttemptKey { case, attempt: 1 }
    }

    fn progress(case: usize, progress: Progress) -> RunEvent {
        RunEvent::Progress {
            key: key(case),
            progress,
        }
    }

    #[tokio::test]
    async fn full_outbox_drops_only_old_progress() {
        let (listener, mut events) = mpsc::channel(2);
        let mut outbox = Outbox::new(listener);
        let says = |n: usize| Progress::Says(n.to_string());
        let ended = RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(Attempt::blank(
            key(0),
            "a",
        ))));
        (0..1000).for_each(|n| outbox.push(progress(0, says(n))));
        outbox.push(progress(
            1,
            Progress::Turn {
                turn: 2,
                of: 3,
                user: String::new(),
            },
        ));
        (0..500).for_each(|n| outbox.push(progress(1, says(n))));
        outbox.push(ended.clone());
        outbox.push(RunEvent::Paused(true));
        tokio::spawn(outbox.deliver_all());
        let mut seen = Vec::new();
        while let Some(event) = events.recv().await {
            seen.push(event);
        }
        let expected = [
            progress(0, says(0)),
            progress(0, says(1)),
            ended,
            RunEvent::Paused(true),
        ];
        assert_eq!(seen[..4], expected);
        // The oldest step, the turn, is the one that no longer fits.
        let steps: Vec<RunEvent> = (0..500).map(|n| progress(1, says(n))).collect();
        assert_eq!(seen[4..], steps);
    }

    #[tokio::test]
    async fn a_listener_that_went_away_is_not_waited_for() {
        let (listener, events) = mpsc::channel(1);
        let mut outbox = Outbox::new(listener);
        (0..3).for_each(|_| outbox.push(RunEvent::Paused(true)));
        drop(events);
        outbox.push(RunEvent::Paused(false));
        outbox.deliver_all().await;
    }
}
