//! Scores attempts that only have to be computed, many at a time: saved responses and earlier attempts, without judges
//! and programs. A task and several messages for each of them would take longer than the scores.

use super::executor_message::ExecutorMessage;
use super::run_resources::{ProgressSink, RunResources};
use evaltrail_core::domain::{Attempt, AttemptKey, JudgeUsage, Progress};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// The number of attempts that are scored together. A cancellation takes effect between batches.
const BATCH: usize = 128;

/// Scores attempts in order, in batches. Returns `false` if the dispatcher refused one.
pub(super) async fn score_batches(
    shared: &Arc<RunResources>,
    keys: Vec<AttemptKey>,
    reports: &mpsc::Sender<ExecutorMessage>,
) -> bool {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = processors.min(shared.plan.options.jobs.max(1) as usize);
    let mut batches = JoinSet::new();
    let mut is_refused = false;
    for keys in keys.chunks(BATCH) {
        if batches.len() >= at_once {
            let _ = batches.join_next().await;
        }
        // The request names the first attempt of the batch.
        let (ask, answer) = oneshot::channel();
        let asked = reports
            .send(ExecutorMessage::StartRequested(keys[0], ask))
            .await;
        let (Ok(()), Ok(cancel)) = (asked, answer.await) else {
            is_refused = true;
            break;
        };
        let (shared, reports, keys) = (shared.clone(), reports.clone(), keys.to_vec());
        batches.spawn(async move {
            let first = keys[0];
            let scored = tokio::task::spawn_blocking(move || {
                keys.into_iter()
                    .map(|key| Arc::new(computed(&shared, key)))
                    .collect::<Vec<_>>()
            });
            let (recorded, is_recorded) = oneshot::channel();
            let report = match scored.await {
                Ok(attempts) if !cancel.is_cancelled() => ExecutorMessage::Done(attempts, recorded),
                _ => ExecutorMessage::Dropped(first, JudgeUsage::default()),
            };
            let _ = reports.send(report).await;
            // No more attempts are scored than can be written.
            let _ = is_recorded.await;
        });
    }
    while batches.join_next().await.is_some() {}
    !is_refused
}

/// Scores one attempt. A panic affects only this attempt.
fn computed(shared: &RunResources, key: AttemptKey) -> Attempt {
    let scored = AssertUnwindSafe(shared.run(key, &mut Silent))
        .catch_unwind()
        .now_or_never();
    let why = match scored {
        Some(Ok(attempt)) => return attempt,
        Some(Err(panic)) => panic_text(&*panic),
        None => "it waits for something".to_string(),
    };
    let mut attempt = Attempt::blank(key, shared.plan.cases.eval_id(key.case));
    attempt.set_errored(format!("evaltrail itself failed: {why}"));
    attempt
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic".into())
}

/// Reports no progress: an attempt of a batch has none that a person could see.
struct Silent;

impl ProgressSink for Silent {
    async fn send_progress(&mut self, _: Progress) {}

    fn release_agent(&mut self) {}
}
