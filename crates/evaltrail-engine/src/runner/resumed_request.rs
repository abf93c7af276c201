//! The request with which an unfinished run is continued, where only its plan is known.

use super::request::Request;
use crate::runner::Selection;
use crate::workspace::{SetPath, Workspace};
use evaltrail_core::domain::{AgentSpec, CaseKey, JudgeSpec, RunPlan, StubMode};

/// The request that was made for the run of a stored plan. Its sets must be among `sets`. The error is a message.
pub fn resumed_request(
    workspace: &Workspace,
    plan: &RunPlan,
    sets: &[SetPath],
) -> Result<Request, String> {
    let runs_on = |agent: AgentSpec| plan.sets.iter().all(|set| set.agent == agent);
    if plan.options.shard.is_some() {
        return Err("it is one shard of a run, which only the command line resumes".into());
    }
    if runs_on(AgentSpec::PriorAttempts) {
        return Err("it judged earlier attempts again; judge them again instead".into());
    }
    let requested = plan.options.requested.clone();
    if requested.agent_has_secret {
        let why =
            "the agent was given with a secret, which is not stored; resume on the command line";
        return Err(why.into());
    }
    let judge = workspace.config.judge.clone();
    let judge = judge.unwrap_or_else(JudgeSpec::standard);
    let tools = plan.sets.first().map(|set| &set.tools);
    let modes = plan.sets.iter().map(|set| set.tools.stubs);
    let stubs = modes.reduce(|one, other| if one == other { one } else { StubMode::Off });
    Ok(Request {
        selections: selections(plan, sets)?,
        saved: runs_on(AgentSpec::Saved),
        agent: requested.agent,
        env: requested.env,
        config: requested.config.map(|file| workspace.root.join(file)),
        metrics: requested.metrics,
        options: plan.options.clone(),
        stubs: stubs.filter(|mode| *mode != StubMode::Off),
        faults: tools.map(|tools| tools.faults.clone()).unwrap_or_default(),
        judge: JudgeSpec {
            cache: plan.judge.cache,
            ..judge.with_choice(plan.judge.model.clone(), plan.judge.samples)
        },
        ..Request::default()
    })
}

/// The cases of the plan, by set. Errors: a set is not there any more.
fn selections(plan: &RunPlan, sets: &[SetPath]) -> Result<Vec<Selection>, String> {
    let keys = |set: usize| -> Vec<CaseKey> {
        let cases = plan.cases.iter().filter(|case| case.set == set);
        cases
            .map(|case| CaseKey {
                eval_id: case.eval_id.into_owned(),
                content: case.content.into_owned(),
            })
            .collect()
    };
    let selection = |(at, planned): (usize, &evaltrail_core::domain::PlannedSet)| {
        let found = sets.iter().find(|set| set.path == planned.path);
        let set = found.ok_or_else(|| format!("{} is not there any more", planned.file))?;
        Ok(Selection {
            cases: Some(keys(at)),
            ..Selection::all(set.clone())
        })
    };
    plan.sets.iter().enumerate().map(selection).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{PlannedCases, PlannedSet, RequestedOptions, RunOptions};

    #[test]
    fn agent_with_secret_is_not_requested_again() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let resumed = |agent: &str, agent_has_secret| {
            let set = serde_json::json!({
                "id": "s", "file": "s", "path": "s", "digest": "",
                "agent": {"kind": "saved"}, "agent_name": agent, "criteria": []
            });
            let set: PlannedSet = serde_json::from_value(set).unwrap();
            let found = SetPath::of_file(&set.path, folder.path());
            let plan = RunPlan {
                run_id: "r".into(),
                started: String::new(),
                commit: None,
                sets: vec![set],
                cases: PlannedCases::default(),
                options: RunOptions {
                    requested: RequestedOptions {
                        agent: Some(agent.into()),
                        agent_has_secret,
                        ..RequestedOptions::default()
                    },
                    ..RunOptions::default()
                },
                judge: JudgeSpec::standard(),
            };
            resumed_request(&workspace, &plan, &[found]).map(|request| request.agent)
        };
        assert_eq!(resumed("cmd:a", false), Ok(Some("cmd:a".into())));
        let why = resumed("cmd:a --api-key …", true).unwrap_err();
        assert!(why.contains("was given with a secret"), "{why}");
    }
}
