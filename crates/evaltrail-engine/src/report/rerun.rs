//! The command that runs the failures of a run again, where only the plan of the run is known.

use crate::config::is_agent_address;
use evaltrail_core::domain::{AgentSpec, Gate, RunState, StubMode, clean_line};
use std::collections::BTreeSet;

/// The command for `workspace`, which is named as in commands.
pub fn rerun_of_plan(state: &RunState, workspace: &str) -> String {
    let is_scored = state
        .plan
        .sets
        .iter()
        .all(|set| set.agent == AgentSpec::Saved);
    let command = if is_scored { "score" } else { "run" };
    let run = super::shell_word(&state.plan.run_id);
    let options = &state.plan.options;
    // `score` evaluates each case once.
    let repeat =
        (!is_scored && options.repeat > 1).then(|| format!(" --repeat {}", options.repeat));
    let gate = (!is_scored && options.gate != Gate::All)
        .then(|| format!(" --gate {}", options.gate.name()));
    let (repeat, gate) = (repeat.unwrap_or_default(), gate.unwrap_or_default());
    let (agent, judge, tools) = (
        agent_option(state),
        judge_options(state),
        tools_options(state),
    );
    format!("evaltrail {command} {workspace} --failed={run}{repeat}{gate}{agent}{judge}{tools}")
}

/// The options for the judge, if it was not left to the criteria.
fn judge_options(state: &RunState) -> String {
    let judge = &state.plan.judge;
    let model = judge
        .model
        .as_deref()
        .map(|model| format!(" --judge {}", super::shell_word(&clean_line(model))));
    let samples = judge.samples.map(|samples| format!(" --samples {samples}"));
    [model, samples].into_iter().flatten().collect()
}

/// The option for the agent, if it was given by its address.
fn agent_option(state: &RunState) -> String {
    let names: BTreeSet<&str> = state
        .plan
        .sets
        .iter()
        .map(|set| set.agent_name.as_str())
        .collect();
    match names.into_iter().collect::<Vec<_>>().as_slice() {
        [name] if is_agent_address(name) => {
            format!(" --agent '{}'", clean_line(name).replace('\'', "'\\''"))
        }
        _ => String::new(),
    }
}

/// The options with which tools are answered again as they were.
fn tools_options(state: &RunState) -> String {
    let mut options = BTreeSet::new();
    for set in state
        .plan
        .sets
        .iter()
        .filter(|set| !set.agent.leaves_calls_to_caller())
    {
        let mode = StubMode::NAMES
            .iter()
            .find(|(_, mode)| *mode == set.tools.stubs && *mode != StubMode::Off);
        options.extend(mode.map(|(name, _)| format!(" --stubs={name}")));
        let faults = set
            .tools
            .faults
            .iter()
            .map(|fault| clean_line(&fault.describe()).replace('\'', "'\\''"));
        options.extend(faults.map(|fault| format!(" --tool-fault '{fault}'")));
    }
    options.into_iter().collect()
}
