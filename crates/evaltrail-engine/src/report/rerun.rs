//! The commands that run the failures of a run again, or continue it, where only the plan of the run is known.

use crate::config::is_agent_address;
use evaltrail_core::domain::{AgentSpec, Gate, RunPlan, StubMode, clean_line, has_secret_mark};
use std::collections::BTreeSet;

/// The command that runs the failures of a run again, for `workspace`, which is named as in commands.
pub fn rerun_of_plan(plan: &RunPlan, workspace: &str) -> String {
    command_of_plan(plan, workspace, "failed") + secret_note(&agent_option(plan))
}

/// The command that continues an unfinished run, for the paths of its cases as in commands.
pub fn resume_of_plan(plan: &RunPlan, paths: &str) -> String {
    let command = command_of_plan(plan, paths, "resume") + &requested_options(plan);
    command + secret_note(&agent_option(plan))
}

/// What follows a command whose agent has a mark in place of a secret: what to do with it. Empty for other agents.
pub fn secret_note(agent: &str) -> &'static str {
    match has_secret_mark(agent) {
        true => "  (write the secret of the agent in place of …)",
        false => "",
    }
}

/// The command with the options of a run; `option` names the run.
fn command_of_plan(plan: &RunPlan, workspace: &str, option: &str) -> String {
    let is_scored = plan.sets.iter().all(|set| set.agent == AgentSpec::Saved);
    let command = if is_scored { "score" } else { "run" };
    let run = super::shell_word(&plan.run_id);
    let options = &plan.options;
    // `score` evaluates each case once.
    let repeat =
        (!is_scored && options.repeat > 1).then(|| format!(" --repeat {}", options.repeat));
    let gate = (!is_scored && options.gate != Gate::All)
        .then(|| format!(" --gate {}", options.gate.name()));
    let (repeat, gate) = (repeat.unwrap_or_default(), gate.unwrap_or_default());
    let (agent, judge, tools) = (agent_option(plan), judge_options(plan), tools_options(plan));
    format!("evaltrail {command} {workspace} --{option}={run}{repeat}{gate}{agent}{judge}{tools}")
}

/// The options that only the request shows, and the turn.
fn requested_options(plan: &RunPlan) -> String {
    let requested = &plan.options.requested;
    let word = |text: &str| super::shell_word(&clean_line(text));
    let env = requested
        .env
        .iter()
        .map(|name| format!(" --env {}", word(name)));
    let config = requested
        .config
        .as_deref()
        .map(|file| format!(" --config {}", word(file)));
    let metrics = requested.metrics.join(",");
    let metrics = (!metrics.is_empty()).then(|| format!(" --metric {}", word(&metrics)));
    let turn = plan.options.turn.map(|turn| format!(" --turn {turn}"));
    env.chain(config).chain(metrics).chain(turn).collect()
}

/// The options for the judge, if it was not left to the criteria.
fn judge_options(plan: &RunPlan) -> String {
    let judge = &plan.judge;
    let model = judge
        .model
        .as_deref()
        .map(|model| format!(" --judge {}", super::shell_word(&clean_line(model))));
    let samples = judge.samples.map(|samples| format!(" --samples {samples}"));
    [model, samples].into_iter().flatten().collect()
}

/// The option for the agent, if it was given by its address.
fn agent_option(plan: &RunPlan) -> String {
    if let Some(agent) = &plan.options.requested.agent {
        return format!(" --agent {}", super::shell_word(&clean_line(agent)));
    }
    let names: BTreeSet<&str> = plan
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
fn tools_options(plan: &RunPlan) -> String {
    let mut options = BTreeSet::new();
    for set in plan
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
