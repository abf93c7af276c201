//! Which agents of a run were connected before it, and cannot be connected any more. Their attempts are not run, instead of
//! ending with the same error one after the other.

use crate::agents::{AgentError, ErrorKind};
use evaltrail_core::domain::{AttemptKey, PlannedSet, RunPlan, UnavailableAgent};
use parking_lot::Mutex;
use std::collections::BTreeSet;

/// After this number of attempts in a row that could not connect, the agent is lost. At least one of them must have begun after
/// another one failed, so that a short outage, in which all attempts in flight fail, is not enough.
const MAX_IN_A_ROW: usize = 3;

/// The agents of a run, and which of them are lost.
#[derive(Debug)]
pub(super) struct LostAgents {
    /// By set, the position of its agent in `agents`.
    by_set: Vec<usize>,
    agents: Mutex<Vec<AgentContact>>,
}

/// What attempts found out about an agent.
#[derive(Debug, Default)]
struct AgentContact {
    name: String,
    /// The number of attempts in a row that could not connect.
    failed: usize,
    /// The number of rows before this one.
    row: u64,
    /// Why the agent is lost. From its announcement on, it is lost until the run ends, whatever the attempts in flight find out:
    /// those that it answers have their results, and those that cannot connect are not run.
    lost: Option<String>,
    /// Why it was lost before it answered again. Attempts that were not run until then are announced when the run ends.
    lost_before: Option<String>,
    /// The attempts that are not run because it is lost.
    not_run: BTreeSet<AttemptKey>,
    /// How many attempts were not run, and are not announced yet; `None` after the announcement.
    unannounced: Option<usize>,
}

/// What was known of an agent when an attempt began.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContactBefore {
    row: u64,
    failed: usize,
}

/// What the attempts do that were started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartedState {
    /// Some may be in flight, or wait for their next try.
    InFlight,
    /// All ended, and no further one is started.
    AllEnded,
}

impl AgentContact {
    /// The agent answered. If it was thought to be lost and that is not announced yet, it is not lost: attempts that have not
    /// been left out yet are errors, as before.
    fn answered(&mut self) {
        self.failed = 0;
        self.row += 1;
        if let Some(unannounced) = &mut self.unannounced
            && let Some(why) = self.lost.take()
        {
            let recorded = std::mem::take(&mut self.not_run).len();
            *unannounced = unannounced.saturating_sub(recorded);
            self.lost_before = Some(why);
        }
    }

    /// Why attempts were or are not run; `None` if that is not to be announced now.
    fn to_announce(&self, attempts: StartedState) -> Option<String> {
        let is_lost = self.lost.clone();
        let left = self.unannounced.is_some_and(|count| count > 0);
        let was_lost = || self.lost_before.clone().filter(|_| left);
        match attempts {
            StartedState::InFlight => is_lost,
            StartedState::AllEnded => is_lost.or_else(was_lost),
        }
    }
}

impl LostAgents {
    pub(super) fn new(plan: &RunPlan) -> LostAgents {
        let is_same = |one: &PlannedSet, other: &PlannedSet| {
            (&one.agent, &one.tools) == (&other.agent, &other.tools)
        };
        let mut agents: Vec<AgentContact> = Vec::new();
        let mut by_set: Vec<usize> = Vec::new();
        for (at, set) in plan.sets.iter().enumerate() {
            let before = plan.sets[..at].iter().position(|other| is_same(other, set));
            by_set.push(before.map_or(agents.len(), |before| by_set[before]));
            if before.is_none() {
                agents.push(AgentContact {
                    name: set.agent_name.clone(),
                    unannounced: Some(0),
                    ..AgentContact::default()
                });
            }
        }
        LostAgents {
            by_set,
            agents: Mutex::new(agents),
        }
    }

    /// An attempt of a set begins.
    pub(super) fn attempt_began(&self, set: usize) -> ContactBefore {
        let agent = &self.agents.lock()[self.by_set[set]];
        ContactBefore {
            row: agent.row,
            failed: agent.failed,
        }
    }

    /// An attempt ended with an answer of the agent, or with this error.
    pub(super) fn attempt_ended(&self, set: usize, error: Option<ErrorKind>) {
        let is_answer = match error {
            None | Some(ErrorKind::Agent | ErrorKind::Unavailable | ErrorKind::Flood) => true,
            // The server may have ended in the middle of a response.
            Some(_) => false,
        };
        if is_answer {
            self.agents.lock()[self.by_set[set]].answered();
        }
    }

    /// An attempt ended with this error, after its retries, before the agent did anything. If it could not connect and the agent
    /// is lost, the attempt is not run.
    pub(super) fn attempt_failed(
        &self,
        set: usize,
        key: AttemptKey,
        before: ContactBefore,
        error: &AgentError,
    ) {
        if error.kind != ErrorKind::Unreachable {
            return;
        }
        let agent = &mut self.agents.lock()[self.by_set[set]];
        agent.failed += 1;
        let began_after_another = before.row == agent.row && before.failed > 0;
        if agent.lost.is_none() && agent.failed >= MAX_IN_A_ROW && began_after_another {
            agent.lost = Some(format!(
                "{} attempts in a row could not connect: {}",
                agent.failed, error.message
            ));
        }
        if agent.lost.is_some() {
            agent.not_run.insert(key);
            agent.unannounced = agent.unannounced.map(|count| count + 1);
        }
    }

    /// Whether an attempt that ended counts as not run. Can be asked once.
    pub(super) fn take_not_run(&self, set: usize, key: AttemptKey) -> bool {
        self.agents.lock()[self.by_set[set]].not_run.remove(&key)
    }

    /// Whether the agent of a set is lost.
    pub(super) fn is_lost(&self, set: usize) -> bool {
        self.agents.lock()[self.by_set[set]].lost.is_some()
    }

    /// The agents that are lost and were not announced yet, and at the end also those that only were lost for a time in which
    /// attempts were not run. `left_out` is the number of further attempts of the agent of a set that are not started.
    pub(super) fn announced(
        &self,
        attempts: StartedState,
        left_out: impl Fn(usize) -> usize,
    ) -> Vec<UnavailableAgent> {
        let mut agents = self.agents.lock();
        let announce = |(at, agent): (usize, &mut AgentContact)| {
            let error = agent.to_announce(attempts)?;
            let sets = self.by_set.iter().enumerate();
            let of_agent = sets.filter(|(_, of)| **of == at && agent.lost.is_some());
            let left_out: usize = of_agent.map(|(set, _)| left_out(set)).sum();
            Some(UnavailableAgent {
                agent: agent.name.clone(),
                error,
                attempts: agent.unannounced.take()? + left_out,
                may_be_more: attempts == StartedState::InFlight,
            })
        };
        agents.iter_mut().enumerate().filter_map(announce).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{JudgeSpec, PlannedCases, RunOptions};

    fn of_two_sets() -> LostAgents {
        let set = |name: &str| {
            serde_json::from_value::<PlannedSet>(serde_json::json!({
                "id": name, "file": name, "path": name, "digest": "",
                "agent": {"kind": "saved"}, "agent_name": name, "criteria": []
            }))
        };
        LostAgents::new(&RunPlan {
            run_id: "r".into(),
            started: String::new(),
            commit: None,
            sets: vec![set("home").unwrap(), set("home").unwrap()],
            cases: PlannedCases::default(),
            options: RunOptions::default(),
            judge: JudgeSpec::standard(),
        })
    }

    fn refused() -> AgentError {
        AgentError::new(ErrorKind::Unreachable, "refused")
    }

    fn key(case: usize) -> AttemptKey {
        AttemptKey { case, attempt: 1 }
    }

    #[test]
    fn agent_is_lost_after_failures_in_a_row() {
        let lost_agents = of_two_sets();
        let fail = |set, case| {
            let before = lost_agents.attempt_began(set);
            lost_agents.attempt_failed(set, key(case), before, &refused());
            lost_agents.take_not_run(set, key(case))
        };
        assert_eq!((fail(0, 0), fail(1, 1)), (false, false));
        lost_agents.attempt_ended(0, None);
        assert_eq!((fail(0, 2), fail(0, 3)), (false, false), "a new row");
        lost_agents.attempt_ended(0, Some(ErrorKind::Timeout));
        assert!(!lost_agents.is_lost(0));
        assert!(fail(1, 4) && lost_agents.is_lost(0) && lost_agents.is_lost(1));
        assert!(fail(0, 5));
        let [lost] = &lost_agents.announced(StartedState::AllEnded, |set| 10 + set)[..] else {
            panic!("one agent is lost")
        };
        assert_eq!((lost.agent.as_str(), lost.attempts), ("home", 23));
        assert_eq!(lost.error, "3 attempts in a row could not connect: refused");
        assert_eq!(lost_agents.announced(StartedState::AllEnded, |_| 1), []);
    }

    /// Loses the agent, with the failures of the attempts 0, 1 and 2.
    fn lose(lost_agents: &LostAgents) {
        for case in 0..3 {
            lost_agents.attempt_failed(0, key(case), lost_agents.attempt_began(0), &refused());
        }
        assert!(lost_agents.is_lost(0));
    }

    #[test]
    fn announcement_before_the_end_is_a_minimum() {
        let lost_agents = of_two_sets();
        lose(&lost_agents);
        let words = lost_agents.announced(StartedState::InFlight, |_| 2)[0].text();
        assert!(words.contains("at least 5 attempts are not run"), "{words}");
        let lost_agents = of_two_sets();
        lose(&lost_agents);
        let words = lost_agents.announced(StartedState::AllEnded, |_| 2)[0].text();
        assert!(words.contains("used, 5 attempts are not run"), "{words}");
    }

    #[test]
    fn answer_before_announcement_finds_agent() {
        let lost_agents = of_two_sets();
        lose(&lost_agents);
        lost_agents.attempt_ended(0, None);
        assert!(!lost_agents.is_lost(0) && !lost_agents.take_not_run(0, key(2)));
        assert_eq!(lost_agents.announced(StartedState::AllEnded, |_| 7), []);
        lose(&lost_agents);
        assert!(lost_agents.take_not_run(0, key(2)), "it is lost again");
        lost_agents.attempt_ended(0, None);
        assert_eq!(lost_agents.announced(StartedState::InFlight, |_| 7), []);
        let [lost] = &lost_agents.announced(StartedState::AllEnded, |_| 7)[..] else {
            panic!("an attempt was not run")
        };
        assert_eq!((lost.attempts, lost.may_be_more), (1, false));
    }

    #[test]
    fn answer_after_announcement_changes_nothing() {
        let lost_agents = of_two_sets();
        lose(&lost_agents);
        assert_eq!(
            lost_agents.announced(StartedState::InFlight, |_| 0).len(),
            1
        );
        lost_agents.attempt_ended(0, None);
        assert!(lost_agents.is_lost(0));
        assert_eq!(lost_agents.announced(StartedState::AllEnded, |_| 0), []);
    }

    #[test]
    fn failures_at_the_same_time_lose_no_agent() {
        let lost_agents = of_two_sets();
        let begun: Vec<ContactBefore> = (0..5).map(|_| lost_agents.attempt_began(0)).collect();
        for (case, before) in begun.into_iter().enumerate() {
            lost_agents.attempt_failed(0, key(case), before, &refused());
        }
        assert!(!lost_agents.is_lost(0));
        lost_agents.attempt_failed(0, key(9), lost_agents.attempt_began(0), &refused());
        assert!(lost_agents.is_lost(0) && lost_agents.take_not_run(0, key(9)));
    }
}
