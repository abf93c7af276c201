//! What the attempts of a run share, and who is informed of their progress.

use super::decided_cases::DecidedCases;
use super::lost_agents::LostAgents;
use crate::agents::{Agents, AttemptMemory};
use crate::judge::{Judges, Programs};
use crate::process::clock::SteadyClock;
use crate::stubs::StubFile;
use evaltrail_core::domain::{AttemptKey, Criterion, EndedAttempt, JudgeUsage, Progress, RunPlan};
use evaltrail_core::formats::{Notes, SetFile};
use evaltrail_core::metrics::{CriterionError, JudgedMetric, Scorer};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Mutex, Semaphore};

/// Receives the progress of an attempt.
pub(super) trait ProgressSink: Send {
    fn send_progress(&mut self, progress: Progress) -> impl Future<Output = ()> + Send;

    /// The attempt's share of the run's memory. A conversation without a run does not count.
    fn memory(&self) -> Arc<AttemptMemory> {
        Arc::default()
    }

    /// Called after each response of a judge, also of one that simulates a user. If the attempt is cancelled, its results do
    /// not contain what was spent.
    fn add_judge_usage(&mut self, _spent: JudgeUsage) {}

    /// Called when the conversation has ended, before the attempt waits for its judges.
    fn on_conversation_ended(&mut self) {}

    /// Called when the agent is no longer needed. Releases the attempt's slots, so that another attempt may start.
    fn release_agent(&mut self);
}

/// The data that all attempts of a run share.
pub(super) struct RunResources {
    pub(super) plan: Arc<RunPlan>,
    pub(super) sets: Vec<Arc<SetFile>>,
    /// The notes of the sets, by set.
    pub(super) notes: Vec<Notes>,
    /// The recorded answers of the tools of the sets, by set.
    pub(super) stubs: Vec<Arc<StubFile>>,
    pub(super) agents: Agents,
    pub(super) programs: Programs,
    pub(super) judges: Judges,
    /// The criteria that a judge decides, by set and position.
    pub(super) judged: Vec<JudgedCriteria>,
    /// The scorer of each set.
    pub(super) scorers: Vec<Scorer>,
    /// Limits the attempts that are judged at the same time: more of them would only wait for the judge.
    pub(super) judging: Semaphore,
    /// The earlier attempts that are re-evaluated.
    pub(super) kept: HashMap<AttemptKey, Arc<EndedAttempt>>,
    /// Which cases need no more attempts.
    pub(super) decided: DecidedCases,
    /// Which agents cannot be connected any more.
    pub(super) lost_agents: LostAgents,
    /// Measures the duration of the run.
    pub(super) clock: SteadyClock,
    /// A lock for each pinned session id: cases that share a session run one after the other.
    pub(super) pinned: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

impl RunResources {
    pub(super) fn new(
        plan: Arc<RunPlan>,
        (sets, notes, stubs): (Vec<Arc<SetFile>>, Vec<Notes>, Vec<Arc<StubFile>>),
        judges: Judges,
        kept: HashMap<AttemptKey, Arc<EndedAttempt>>,
    ) -> RunResources {
        RunResources {
            scorers: plan
                .sets
                .iter()
                .map(|set| Scorer::new(&set.criteria))
                .collect(),
            judged: plan
                .sets
                .iter()
                .map(|set| judged_of(&set.criteria, &judges))
                .collect(),
            decided: DecidedCases::default(),
            lost_agents: LostAgents::new(&plan),
            plan,
            sets,
            notes,
            stubs,
            agents: Agents::default(),
            programs: Programs::default(),
            judging: Semaphore::new(judges.spec().jobs.max(1) as usize),
            judges,
            kept,
            clock: SteadyClock::start(),
            pinned: Mutex::default(),
        }
    }
}

/// The criteria of a set that a judge decides, by position.
pub(super) type JudgedCriteria = Vec<(usize, Result<JudgedMetric, CriterionError>)>;

/// The judged metrics of these criteria.
pub(super) fn judged_of(criteria: &[Criterion], judges: &Judges) -> JudgedCriteria {
    let spec = judges.spec();
    let ready = |criterion| JudgedMetric::new(criterion, spec.reading, spec.samples).transpose();
    criteria
        .iter()
        .enumerate()
        .filter_map(|(at, criterion)| Some((at, ready(criterion)?)))
        .collect()
}
