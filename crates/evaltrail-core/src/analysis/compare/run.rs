//! A run to compare: its plan, attempts and conditions.

use crate::domain::{
    Conversation, EndedAttempt, EvalCase, Invocation, PlannedSet, Rubric, RunState,
};
use serde_json::Value;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// What is compared of a run beside its attempts, without texts of agents: for a run that is not stored as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunConditions {
    /// For each set of the plan, the label of its agent.
    pub agents: Vec<String>,
    /// For each set of the plan, a hash of how the calls of tools were answered; `None` if it is not known.
    pub tools: Vec<Option<u64>>,
    /// The label of the judge.
    pub judge: Option<String>,
    /// For each case of the plan, a hash of what was expected; `None` if it is not known.
    pub expectations: Vec<Option<u128>>,
    /// For each case of the plan, the allowed variant that its score is based on.
    pub variants: Vec<Option<String>>,
}

impl RunConditions {
    /// The conditions of a run.
    pub fn from_run(run: &RunState) -> RunConditions {
        let cases = || 0..run.plan.cases.len();
        RunConditions {
            agents: run.plan.sets.iter().map(|set| set.agent_label()).collect(),
            tools: run.plan.sets.iter().map(tools_of_set).collect(),
            judge: run.plan.judge.label(),
            expectations: cases()
                .map(|case| expectation_of(&run.into(), case))
                .collect(),
            variants: cases()
                .map(|case| {
                    variant_of(&run.into(), case, &run.attempts_of(case)).map(str::to_string)
                })
                .collect(),
        }
    }
}

/// A run to compare.
#[derive(Clone, Copy, Debug)]
pub struct RunToCompare<'a> {
    /// Its plan and attempts.
    pub state: &'a RunState,
    /// Its conditions, if plan and attempts do not contain them.
    pub conditions: Option<&'a RunConditions>,
}

impl RunToCompare<'_> {
    /// The labels of the agents, joined for a headline.
    pub fn agent_label(&self) -> String {
        match self.conditions {
            None => self.state.plan.agent_label(),
            Some(conditions) => {
                let mut labels = conditions.agents.clone();
                labels.dedup();
                labels.join(", ")
            }
        }
    }
}

impl<'a> From<&'a RunState> for RunToCompare<'a> {
    fn from(state: &'a RunState) -> RunToCompare<'a> {
        RunToCompare {
            state,
            conditions: None,
        }
    }
}

impl Deref for RunToCompare<'_> {
    type Target = RunState;

    fn deref(&self) -> &RunState {
        self.state
    }
}

/// What identifies a case in its workspace: the path of its file, and its id.
pub(super) fn name_of(run: &RunState, case: usize) -> (&Path, &str) {
    (
        run.plan.set_of(case).path.as_path(),
        run.plan.cases.eval_id(case),
    )
}

/// A hash of what is expected of a case: turns, session state, rubrics and scenario. `None` for an attempt that cannot
/// be read, and for one with neither turns nor a scenario, such as that of a line that is not JSON: such cases are not
/// the same case.
pub fn expectation_of(run: &RunToCompare, case: usize) -> Option<u128> {
    if let Some(conditions) = run.conditions {
        return conditions.expectations.get(case).copied().flatten();
    }
    let attempt = run.attempts_of(case).first()?.read().ok()?;
    hash_of(
        &attempt.expected,
        attempt.expected_state.as_ref(),
        &attempt.rubrics,
        attempt.scenario.as_ref(),
    )
}

/// [`expectation_of`] of a case in a file.
pub fn expectation_in_file(case: &EvalCase) -> Option<u128> {
    let scenario = match &case.conversation {
        Conversation::Scenario(scenario) => Some(scenario),
        Conversation::Turns(_) => None,
    };
    hash_of(
        case.turns(),
        case.final_session_state.as_ref(),
        &case.rubrics,
        scenario,
    )
}

fn hash_of(
    turns: &[Invocation],
    state: Option<&Value>,
    rubrics: &[Rubric],
    scenario: Option<&Value>,
) -> Option<u128> {
    if turns.is_empty() && scenario.is_none() {
        return None;
    }
    Some(xxhash_rust::xxh3::xxh3_128(
        &serde_json::to_vec(&(turns, state, rubrics, scenario)).ok()?,
    ))
}

/// The allowed variant that a score of the case is based on, whose attempts are these.
pub(super) fn variant_of<'a>(
    run: &RunToCompare<'a>,
    case: usize,
    attempts: &'a [Arc<EndedAttempt>],
) -> Option<&'a str> {
    match run.conditions {
        Some(conditions) => conditions.variants.get(case)?.as_deref(),
        None => attempts.iter().find_map(|attempt| attempt.variant()),
    }
}

/// A hash of how the calls of tools of a set are answered: from which stubs, or live. `None` if it is not known, as for a run
/// that is not stored as a whole and was written by an earlier version.
pub(super) fn tools_of(run: &RunToCompare, set: usize) -> Option<u64> {
    match run.conditions {
        Some(conditions) => conditions.tools.get(set).copied().flatten(),
        None => tools_of_set(&run.plan.sets[set]),
    }
}

/// [`tools_of`] of a set of a plan.
fn tools_of_set(set: &PlannedSet) -> Option<u64> {
    // Without paths and addresses, which differ between machines.
    let servers: Vec<&String> = set.tools.mcp.keys().collect();
    let answers = (set.tools.stubs, servers, &set.tools.faults, &set.stubs);
    Some(xxhash_rust::xxh3::xxh3_64(
        &serde_json::to_vec(&answers).ok()?,
    ))
}
