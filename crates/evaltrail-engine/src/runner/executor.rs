//! Runs attempts concurrently, each in a task of its own, up to the limit of the plan.

use super::batches::score_batches;
use super::connections::connect_agents;
use super::executor_message::{ExecutorMessage, JournalStatus};
use super::lost_agents::StartedState::{self, AllEnded, InFlight};
use super::queue_cases::{ClaimedCases, QueueRecords};
use super::run_resources::{ProgressSink, RunResources};
use crate::agents::AttemptMemory;
use crate::store::CaseQueue;
use evaltrail_core::domain::{AttemptKey, Gate, JudgeUsage, Progress, RunEvent, RunPlan};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The slots of an attempt. They are released together.
type SlotPermits = Arc<Mutex<Option<(OwnedSemaphorePermit, Option<OwnedSemaphorePermit>)>>>;

struct ProgressReporter {
    key: AttemptKey,
    /// The slot among all attempts, and the slot of the agent.
    slots: SlotPermits,
    memory: Arc<AttemptMemory>,
    reports: mpsc::Sender<ExecutorMessage>,
    /// Cancelled when the conversation has ended, so that the attempt is judged or waits for its judges.
    conversation_ended: CancellationToken,
    /// What its judges spent so far.
    spent: Arc<Mutex<JudgeUsage>>,
}

impl ProgressSink for ProgressReporter {
    async fn send_progress(&mut self, progress: Progress) {
        let _ = self
            .reports
            .send(ExecutorMessage::Progress(self.key, progress))
            .await;
    }

    fn memory(&self) -> Arc<AttemptMemory> {
        self.memory.clone()
    }

    fn add_judge_usage(&mut self, spent: JudgeUsage) {
        let mut all = self.spent.lock();
        *all = all.and(spent);
    }

    fn on_conversation_ended(&mut self) {
        self.conversation_ended.cancel();
    }

    fn release_agent(&mut self) {
        self.slots.lock().take();
    }
}

/// Starts the outstanding attempts in order as slots become free, until the dispatcher refuses one. With a queue, only those
/// of the cases that this machine takes from it.
pub(super) async fn execute(
    shared: Arc<RunResources>,
    outstanding_attempts: Vec<AttemptKey>,
    queue: Option<Arc<CaseQueue>>,
    reports: mpsc::Sender<ExecutorMessage>,
    closing: CancellationToken,
    judging_ends: CancellationToken,
) {
    let mut pace = shared.plan.options.rate.map(pace_of);
    let is_decided_by_case = matches!(shared.plan.options.gate, Gate::Until(_));
    let is_computed = |key: &AttemptKey| {
        let is_alone = queue.is_none() && pace.is_none() && !is_decided_by_case;
        is_alone && shared.is_computed(shared.plan.cases.set_of(key.case))
    };
    let (computed, outstanding_attempts) = outstanding_attempts.into_iter().partition(is_computed);
    if !score_batches(&shared, computed, &reports).await {
        return;
    }
    let connected = connect_agents(&shared, outstanding_attempts, &reports, &closing).await;
    let (outstanding_attempts, queue) = match queue {
        // A case of a queue is taken only by a machine that can run it.
        Some(_) if !connected.all => (Vec::new(), None),
        queue => (connected.attempts, queue),
    };
    let slots = Arc::new(Semaphore::new(shared.plan.options.jobs.max(1) as usize));
    let limits = AgentLimits::from_plan(&shared.plan);
    let mut outstanding_attempts = VecDeque::<AttemptKey>::from(outstanding_attempts);
    let mut taken =
        queue.map(|queue| ClaimedCases::new(queue, std::mem::take(&mut outstanding_attempts)));
    let mut attempts = StartedAttempts {
        shared: shared.clone(),
        reports: reports.clone(),
        judging_ends,
        of_queue: taken.as_ref().map(ClaimedCases::records),
        tasks: JoinSet::new(),
    };
    while taken.is_some() || !outstanding_attempts.is_empty() {
        let Ok(slot) = slots.clone().acquire_owned().await else {
            break;
        };
        if let (Some(taken), true) = (&mut taken, outstanding_attempts.is_empty()) {
            outstanding_attempts = taken.next(&reports, &closing).await;
            if outstanding_attempts.is_empty() {
                break;
            }
        }
        while attempts.tasks.try_join_next().is_some() {}
        let next = next_startable(&mut outstanding_attempts, &limits, &mut attempts.tasks).await;
        let Some((key, permit)) = next else {
            break;
        };
        if shared.decided.is_superfluous(key) {
            let _ = reports.send(ExecutorMessage::Superfluous).await;
            continue;
        }
        if shared
            .lost_agents
            .is_lost(shared.plan.cases.set_of(key.case))
        {
            outstanding_attempts.push_front(key);
            leave_out_lost(&shared, &mut outstanding_attempts, &reports, InFlight).await;
            // A case of a queue is taken only by a machine that can run it.
            if taken.is_some() {
                break;
            }
            continue;
        }
        let Some(cancel) = permission_to_start(key, &mut pace, &reports, &closing).await else {
            break;
        };
        attempts.start(key, cancel, (slot, permit));
    }
    attempts.all_end().await;
    leave_out_lost(&shared, &mut outstanding_attempts, &reports, AllEnded).await;
    let _ = reports
        .send(ExecutorMessage::CancelledRequests(
            shared.judges.cancelled(),
        ))
        .await;
    shared.agents.finish().await;
}

/// Asks the dispatcher whether an attempt may start, when the rate of attempts allows it. `None` if no further one may.
async fn permission_to_start(
    key: AttemptKey,
    pace: &mut Option<tokio::time::Interval>,
    reports: &mpsc::Sender<ExecutorMessage>,
    closing: &CancellationToken,
) -> Option<CancellationToken> {
    if let Some(pace) = pace {
        tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            _ = pace.tick() => {}
        }
    }
    let (reply, answer) = oneshot::channel();
    let request = ExecutorMessage::StartRequested(key, reply);
    reports.send(request).await.ok()?;
    answer.await.ok()
}

/// Removes the attempts of agents that cannot be connected any more, and reports these agents once.
async fn leave_out_lost(
    shared: &RunResources,
    outstanding: &mut VecDeque<AttemptKey>,
    reports: &mpsc::Sender<ExecutorMessage>,
    attempts: StartedState,
) {
    let set_of = |key: &AttemptKey| shared.plan.cases.set_of(key.case);
    let left_out = |set: usize| outstanding.iter().filter(|key| set_of(key) == set).count();
    let lost = shared.lost_agents.announced(attempts, left_out);
    outstanding.retain(|key| !shared.lost_agents.is_lost(set_of(key)));
    for agent in lost {
        let event = RunEvent::AgentUnavailable(agent);
        let _ = reports.send(ExecutorMessage::Connection(event)).await;
    }
}

/// The attempts of a run that were started, each in a task.
struct StartedAttempts {
    shared: Arc<RunResources>,
    reports: mpsc::Sender<ExecutorMessage>,
    /// Cancelled when no attempt may request a judge.
    judging_ends: CancellationToken,
    /// With a queue, where results that cannot be recorded are reported.
    of_queue: Option<QueueRecords>,
    tasks: JoinSet<()>,
}

impl StartedAttempts {
    /// Starts an attempt in its slots: the slot among all attempts, and the slot of the agent.
    fn start(
        &mut self,
        key: AttemptKey,
        cancel: CancellationToken,
        slots: (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>),
    ) {
        let (shared, reports, of_queue) = (
            self.shared.clone(),
            self.reports.clone(),
            self.of_queue.clone(),
        );
        let slots: SlotPermits = Arc::new(Mutex::new(Some(slots)));
        let memory = AttemptMemory::new(&shared.agents.memory);
        let judging_ends = self.judging_ends.clone();
        let reporter = ProgressReporter {
            key,
            slots: slots.clone(),
            memory: memory.clone(),
            reports: reports.clone(),
            conversation_ended: CancellationToken::new(),
            spent: Arc::default(),
        };
        self.tasks.spawn(async move {
            let (recorded_tx, recorded_rx) = oneshot::channel();
            let report = run_attempt(shared, cancel, judging_ends, reporter, recorded_tx).await;
            let _ = reports.send(report).await;
            // The slots are released only now, so that no more attempts than allowed are ever shown at the same time.
            if let Ok(recorded) = recorded_rx.await
                && recorded != JournalStatus::Written
            {
                memory.stays();
                if let Some(records) = of_queue {
                    records.failed(key.case, recorded).await;
                }
            }
            drop(slots);
        });
    }

    async fn all_end(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// The first outstanding attempt whose agent has a free slot. Waits until there is one.
async fn next_startable(
    outstanding_attempts: &mut VecDeque<AttemptKey>,
    limits: &AgentLimits,
    tasks: &mut JoinSet<()>,
) -> Option<(AttemptKey, Option<OwnedSemaphorePermit>)> {
    /// How many attempts from the front of the queue are considered.
    const AHEAD: usize = 1000;
    loop {
        let mut ahead = outstanding_attempts.iter().take(AHEAD).enumerate();
        let free = ahead.find_map(|(at, key)| limits.take(*key).map(|permit| (at, permit)));
        if let Some((at, permit)) = free {
            return Some((outstanding_attempts.remove(at)?, permit));
        }
        let _ = tasks.join_next().await?;
    }
}

/// The maximum number of concurrent attempts of each agent, where one is configured.
struct AgentLimits {
    plan: Arc<RunPlan>,
    /// By set. Sets with the same agent share its limit.
    by_set: Vec<Option<Arc<Semaphore>>>,
}

impl AgentLimits {
    fn from_plan(plan: &Arc<RunPlan>) -> AgentLimits {
        let mut by_agent: HashMap<&str, Arc<Semaphore>> = HashMap::new();
        let by_set = plan.sets.iter().map(|set| {
            let jobs = set.agent_jobs?.max(1) as usize;
            Some(
                by_agent
                    .entry(&set.agent_name)
                    .or_insert_with(|| Arc::new(Semaphore::new(jobs)))
                    .clone(),
            )
        });
        AgentLimits {
            by_set: by_set.collect(),
            plan: plan.clone(),
        }
    }

    /// Acquires a slot: `None` when the agent has no free slot, `Some(None)` when it has no limit.
    fn take(&self, key: AttemptKey) -> Option<Option<OwnedSemaphorePermit>> {
        match &self.by_set[self.plan.cases.set_of(key.case)] {
            None => Some(None),
            Some(limit) => limit.clone().try_acquire_owned().ok().map(Some),
        }
    }
}

/// An interval that ticks `rate` times a minute, once for each attempt that may start. Late ticks are not caught up.
fn pace_of(rate: u32) -> tokio::time::Interval {
    let mut pace = tokio::time::interval(std::time::Duration::from_secs(60) / rate.max(1));
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    pace
}

/// Runs one attempt in a task of its own, so that a panic affects only this attempt.
async fn run_attempt(
    shared: Arc<RunResources>,
    cancel: CancellationToken,
    judging_ends: CancellationToken,
    mut reporter: ProgressReporter,
    recorded: oneshot::Sender<JournalStatus>,
) -> ExecutorMessage {
    let (key, conversation_ended, spent) = (
        reporter.key,
        reporter.conversation_ended.clone(),
        reporter.spent.clone(),
    );
    let resources = shared.clone();
    let attempt = tokio::spawn(async move {
        tokio::select! {
            // Cancellation is checked first, so that a cancelled attempt sends no request when another one releases its slot.
            biased;
            () = cancel.cancelled() => None,
            _ = async { tokio::join!(judging_ends.cancelled(), conversation_ended.cancelled()) } => None,
            attempt = shared.run(key, &mut reporter) => {
                let set = shared.plan.cases.set_of(key.case);
                (!shared.lost_agents.take_not_run(set, key)).then_some(attempt)
            }
        }
    });
    match attempt.await {
        Ok(Some(attempt)) => {
            resources.decided.add(&attempt);
            ExecutorMessage::Done(vec![Arc::new(attempt)], recorded)
        }
        Ok(None) => ExecutorMessage::Dropped(key, *spent.lock()),
        Err(error) => ExecutorMessage::Broke(key, error.to_string(), recorded),
    }
}
