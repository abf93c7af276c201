//! Runs attempts, so many at once, each as its own task.

use super::attempt::{Shared, Tell};
use crate::agents::AttemptMemory;
use crate::domain::{Attempt, AttemptKey, Progress, RunPlan};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What the executor tells the dispatcher.
pub(super) enum Report {
    /// May this one start? No answer means no.
    Ask(AttemptKey, oneshot::Sender<CancellationToken>),
    /// It got further.
    Progress(AttemptKey, Progress),
    /// It ended. Its slots are taken until the dispatcher answers, or drops the sender.
    Done(Arc<Attempt>, oneshot::Sender<bool>),
    /// It was given up.
    Dropped(AttemptKey),
    /// It broke inside evaltrail.
    Broke(AttemptKey, String, oneshot::Sender<bool>),
}

/// Slots that are held together, until they are let go or dropped.
type Room = Arc<Mutex<Option<(OwnedSemaphorePermit, Option<OwnedSemaphorePermit>)>>>;

struct Teller {
    key: AttemptKey,
    /// The slot among all attempts, and the one of the agent.
    room: Room,
    memory: Arc<AttemptMemory>,
    reports: mpsc::Sender<Report>,
}

impl Tell for Teller {
    async fn tell(&mut self, progress: Progress) {
        let _ = self.reports.send(Report::Progress(self.key, progress)).await;
    }

    fn memory(&self) -> Arc<AttemptMemory> {
        self.memory.clone()
    }

    fn agent_is_done(&mut self) {
        if let Ok(mut room) = self.room.lock() {
            room.take();
        }
    }
}

/// Starts the owed attempts in order as slots come free, until the dispatcher refuses one.
pub(super) async fn execute(
    shared: Arc<Shared>,
    owed: Vec<AttemptKey>,
    reports: mpsc::Sender<Report>,
    closing: CancellationToken,
) {
    let mut pace = shared.plan.options.rate.map(pace_of);
    let slots = Arc::new(Semaphore::new(shared.plan.options.jobs.max(1) as usize));
    let limits = AgentLimits::of(&shared.plan);
    let mut owed = VecDeque::from(owed);
    let mut tasks = JoinSet::new();
    while !owed.is_empty() {
        let Ok(slot) = slots.clone().acquire_owned().await else { break };
        while tasks.try_join_next().is_some() {}
        let Some((key, permit)) = next_owed(&mut owed, &limits, &mut tasks).await else { break };
        if let Some(pace) = &mut pace {
            tokio::select! {
                biased;
                () = closing.cancelled() => break,
                _ = pace.tick() => {}
            }
        }
        let (ask, answer) = oneshot::channel();
        if reports.send(Report::Ask(key, ask)).await.is_err() {
            break;
        }
        let Ok(cancel) = answer.await else { break };
        let (shared, reports) = (shared.clone(), reports.clone());
        let room: Room = Arc::new(Mutex::new(Some((slot, permit))));
        let memory = AttemptMemory::of(&shared.agents.memory);
        let teller = Teller { key, room: room.clone(), memory: memory.clone(), reports: reports.clone() };
        tasks.spawn(async move {
            let (recorded, is_recorded) = oneshot::channel();
            let report = one(shared, cancel, teller, recorded).await;
            let _ = reports.send(report).await;
            // Only now may another begin: never more are seen at once than may be.
            if is_recorded.await == Ok(false) {
                memory.stays();
            }
            drop(room);
        });
    }
    while tasks.join_next().await.is_some() {}
    shared.agents.finish().await;
}

/// The first owed attempt whose agent can take one more. When none can, one must end first.
async fn next_owed(
    owed: &mut VecDeque<AttemptKey>,
    limits: &AgentLimits,
    tasks: &mut JoinSet<()>,
) -> Option<(AttemptKey, Option<OwnedSemaphorePermit>)> {
    /// Further ahead than this nobody jumps the queue.
    const AHEAD: usize = 1000;
    loop {
        let mut ahead = owed.iter().take(AHEAD).enumerate();
        let free = ahead.find_map(|(at, key)| limits.take(*key).map(|permit| (at, permit)));
        if let Some((at, permit)) = free {
            return Some((owed.remove(at)?, permit));
        }
        let _ = tasks.join_next().await?;
    }
}

/// How many attempts each agent takes at once, where it has a limit of its own.
struct AgentLimits {
    plan: Arc<RunPlan>,
    /// By set: sets of one agent share its limit.
    by_set: Vec<Option<Arc<Semaphore>>>,
}

impl AgentLimits {
    fn of(plan: &Arc<RunPlan>) -> AgentLimits {
        let mut by_agent: HashMap<&str, Arc<Semaphore>> = HashMap::new();
        let by_set = plan.sets.iter().map(|set| {
            let jobs = set.agent_jobs?.max(1) as usize;
            Some(by_agent.entry(&set.agent_name).or_insert_with(|| Arc::new(Semaphore::new(jobs))).clone())
        });
        AgentLimits { by_set: by_set.collect(), plan: plan.clone() }
    }

    /// Room for one more: nothing when the agent is full, no permit when it has no limit.
    fn take(&self, key: AttemptKey) -> Option<Option<OwnedSemaphorePermit>> {
        match &self.by_set[self.plan.cases[key.case].set] {
            None => Some(None),
            Some(limit) => limit.clone().try_acquire_owned().ok().map(Some),
        }
    }
}

/// A tick for each attempt that may begin, so many a minute; a late one is not made up for.
fn pace_of(rate: u32) -> tokio::time::Interval {
    let mut pace = tokio::time::interval(std::time::Duration::from_secs(60) / rate.max(1));
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    pace
}

/// One attempt as its own task, so that a panic in it is its own.
async fn one(
    shared: Arc<Shared>,
    cancel: CancellationToken,
    mut teller: Teller,
    recorded: oneshot::Sender<bool>,
) -> Report {
    let key = teller.key;
    let mut attempt = tokio::spawn(async move { shared.run(key, &mut teller).await });
    tokio::select! {
        biased;
        () = cancel.cancelled() => {
            attempt.abort();
            let _ = attempt.await;
            Report::Dropped(key)
        }
        ended = &mut attempt => match ended {
            Ok(attempt) => Report::Done(Arc::new(attempt), recorded),
            Err(error) => Report::Broke(key, error.to_string(), recorded),
        },
    }
}
