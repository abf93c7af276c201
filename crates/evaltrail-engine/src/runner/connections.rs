//! Connects the agents of a run before its first attempt, so that an agent that cannot be used is one error and not one for
//! each attempt.

use super::executor_message::ExecutorMessage;
use super::run_resources::RunResources;
use crate::agents::{AgentError, ConnectionStatus};
use crate::net::Backoff;
use evaltrail_core::domain::{AgentSpec, AttemptKey, PlannedSet, RunEvent, UnavailableAgent};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The attempts whose agents are connected.
pub(super) struct ConnectedAttempts {
    pub(super) attempts: Vec<AttemptKey>,
    /// Whether all agents are connected.
    pub(super) all: bool,
}

/// Connects the agents of these attempts, at the same time. Ends early, without attempts, when `closing` is cancelled.
pub(super) async fn connect_agents(
    shared: &RunResources,
    attempts: Vec<AttemptKey>,
    reports: &mpsc::Sender<ExecutorMessage>,
    closing: &CancellationToken,
) -> ConnectedAttempts {
    let agents = agents_of(shared, &attempts);
    let connecting = agents.iter().map(|agent| connect(shared, agent, reports));
    let connected = tokio::select! {
        biased;
        () = closing.cancelled() => return ConnectedAttempts { attempts: Vec::new(), all: false },
        connected = futures_util::future::join_all(connecting) => connected,
    };
    let failed: BTreeSet<usize> = agents
        .iter()
        .zip(connected)
        .filter(|(_, is_connected)| !is_connected)
        .flat_map(|(agent, _)| agent.sets.keys().copied())
        .collect();
    let is_connected = |key: &AttemptKey| !failed.contains(&shared.plan.cases.set_of(key.case));
    ConnectedAttempts {
        attempts: attempts.into_iter().filter(is_connected).collect(),
        all: failed.is_empty(),
    }
}

/// An agent of the run, with the number of its attempts in each of its sets.
struct AgentOfRun {
    sets: BTreeMap<usize, usize>,
}

impl AgentOfRun {
    /// One of its sets, which names it and says how it is connected.
    fn planned<'a>(&self, shared: &'a RunResources) -> &'a PlannedSet {
        let first = self.sets.keys().next().copied().unwrap_or_default();
        &shared.plan.sets[first]
    }
}

/// The live agents of these attempts. Sets share one if the same is connected for both.
fn agents_of(shared: &RunResources, attempts: &[AttemptKey]) -> Vec<AgentOfRun> {
    let mut by_set: BTreeMap<usize, usize> = BTreeMap::new();
    for key in attempts {
        *by_set
            .entry(shared.plan.cases.set_of(key.case))
            .or_default() += 1;
    }
    let mut agents: Vec<AgentOfRun> = Vec::new();
    for (set, count) in by_set {
        let planned = &shared.plan.sets[set];
        if matches!(planned.agent, AgentSpec::Saved | AgentSpec::PriorAttempts) {
            continue;
        }
        let same = agents.iter_mut().find(|agent| {
            let other = agent.planned(shared);
            (&other.agent, &other.tools) == (&planned.agent, &planned.tools)
        });
        match same {
            Some(agent) => {
                agent.sets.insert(set, count);
            }
            None => agents.push(AgentOfRun {
                sets: BTreeMap::from([(set, count)]),
            }),
        }
    }
    agents
}

/// Connects an agent, and reports how that goes on. Returns whether it is connected.
async fn connect(
    shared: &RunResources,
    agent: &AgentOfRun,
    reports: &mpsc::Sender<ExecutorMessage>,
) -> bool {
    let name = &agent.planned(shared).agent_name;
    let (status, mut changes) = ConnectionStatus::new();
    let send = async |event: RunEvent| {
        let _ = reports.send(ExecutorMessage::Connection(event)).await;
    };
    let connecting = connect_with_retries(shared, agent.planned(shared), status);
    let show_changes = async {
        while changes.changed().await.is_ok() {
            let status = changes.borrow_and_update().clone();
            let agent = name.clone();
            send(RunEvent::Connecting { agent, status }).await;
        }
    };
    // The status ends with the connection.
    let (outcome, ()) = tokio::join!(connecting, show_changes);
    let event = match &outcome {
        Ok(()) => RunEvent::Connected {
            agent: name.clone(),
        },
        Err(error) => RunEvent::AgentUnavailable(UnavailableAgent {
            agent: name.clone(),
            error: error.message.clone(),
            attempts: agent.sets.values().sum(),
            may_be_more: false,
        }),
    };
    send(event).await;
    outcome.is_ok()
}

/// Retries as an attempt does.
async fn connect_with_retries(
    shared: &RunResources,
    planned: &PlannedSet,
    status: ConnectionStatus,
) -> Result<(), AgentError> {
    let options = &shared.plan.options;
    let limit = Duration::from_millis(options.timeout_ms);
    let mut backoff = Backoff::new(options.retries);
    loop {
        status.report("connecting", "");
        let agents = &shared.agents;
        let connected = agents.connect(&planned.agent, &planned.tools, limit, &status);
        let Err(error) = connected.await else {
            return Ok(());
        };
        let delay = error
            .may_retry()
            .then(|| backoff.next(error.retry_after))
            .flatten();
        let Some(delay) = delay else {
            return Err(error);
        };
        let waiting = format!("again in {:.1}s", delay.as_secs_f64());
        status.report(&waiting, &error.message);
        tokio::time::sleep(delay).await;
    }
}
