//! Which unfinished run a request goes on with, and what is different about it.

use super::index::{History, RunSource};
use crate::domain::{RunPlan, RunState};
use crate::store::{LoadedRun, load_plan, load_run};
use std::sync::Arc;

/// What `--resume` comes to.
#[derive(Debug)]
pub enum Resume {
    /// No unfinished run is of these cases; why the newest that comes near is none, if one does.
    None(Option<String>),
    /// The newest unfinished run is of these cases, but its results would not be those of this request: the run,
    /// and what differs.
    Differs(String, Vec<String>),
    /// This run goes on under the plan of the request; what differs without changing results.
    Run(Box<LoadedRun>, Vec<String>),
}

/// Finds the newest unfinished run of the cases of a plan. What the run goes on with (criteria, judge, agents,
/// limits) is the plan's, which was made and allowed today; only the attempts that ended are taken from the run.
pub fn unfinished(history: &History, plan: &RunPlan) -> Resume {
    let mut near = None;
    for head in history.ours().filter(|head| head.totals.ended() < head.attempts) {
        let RunSource::Evaltrail { sets } = &head.source else { continue };
        if !sets.iter().all(|(path, _)| plan.sets.iter().any(|set| set.path == *path)) {
            continue;
        }
        let Ok(stored) = load_plan(&head.path) else { continue };
        if let Err(why) = same_cases(&stored, plan) {
            near = near.or(Some(format!("run {}: {why}", head.run_id)));
            continue;
        }
        let decisive = decisive_differences(&stored, plan);
        if !decisive.is_empty() {
            return Resume::Differs(head.run_id.clone(), decisive);
        }
        match load_run(&head.path) {
            Ok(run) => return Resume::Run(Box::new(continued(run, plan)), other_differences(&stored, plan)),
            Err(error) => near = near.or(Some(error.to_string())),
        }
    }
    Resume::None(near)
}

/// The run under the plan of today. Both have the same cases in the same order.
fn continued(mut run: LoadedRun, plan: &RunPlan) -> LoadedRun {
    let (run_id, started) = (run.state.plan.run_id.clone(), run.state.plan.started.clone());
    let mut state = RunState::new(Arc::new(RunPlan { run_id, started, ..plan.clone() }));
    for attempt in &run.state.finished {
        state.apply(crate::domain::RunEvent::Finished(attempt.clone()));
    }
    run.state = state;
    run
}

fn same_cases(stored: &RunPlan, plan: &RunPlan) -> Result<(), String> {
    let named = |plan: &RunPlan| -> Vec<(std::path::PathBuf, String)> {
        plan.cases.iter().map(|case| (plan.sets[case.set].path.clone(), case.eval_id.clone())).collect()
    };
    if named(stored) != named(plan) {
        return Err("it is of other cases".into());
    }
    let mut changed =
        stored.cases.iter().zip(&plan.cases).filter(|(then, now)| match then.content.is_empty() {
            // Format 1 knows only whether the file is the same.
            true => stored.sets[then.set].digest != plan.sets[now.set].digest,
            false => then.content != now.content,
        });
    match changed.next() {
        None => Ok(()),
        Some((first, _)) => {
            let more = changed.count();
            let more = if more > 0 { format!(" and {more} more cases") } else { String::new() };
            Err(format!("{}{more} changed since", first.eval_id))
        }
    }
}

/// What would make the results those of another request.
fn decisive_differences(stored: &RunPlan, plan: &RunPlan) -> Vec<String> {
    let mut found = Vec::new();
    let turn = |turn: Option<u32>| turn.map_or("all turns".to_string(), |turn| format!("turn {turn} alone"));
    let (then, now) = (&stored.options, &plan.options);
    differ(&mut found, "turns", turn(then.turn), turn(now.turn));
    differ(&mut found, "attempts of each case", then.repeat, now.repeat);
    differ(&mut found, "agent", stored.agent_label(), plan.agent_label());
    let agents = |plan: &RunPlan| plan.sets.iter().map(|set| set.agent.clone()).collect::<Vec<_>>();
    if found.is_empty() && agents(stored) != agents(plan) {
        found.push("how the agent is started or reached".into());
    }
    let criteria = |plan: &RunPlan| plan.sets.iter().map(|set| set.criteria.clone()).collect::<Vec<_>>();
    if criteria(stored) != criteria(plan) {
        found.push("the criteria".into());
    }
    let users = |plan: &RunPlan| plan.sets.iter().map(|set| set.user.clone()).collect::<Vec<_>>();
    if users(stored) != users(plan) {
        found.push("the simulated user".into());
    }
    let (then, now) = (&stored.judge, &plan.judge);
    let named = |model: &Option<String>| model.clone().unwrap_or_else(|| "as the criteria name it".into());
    differ(&mut found, "judge", named(&then.model), named(&now.model));
    let samples =
        |samples: Option<u32>| samples.map_or("as the criteria say".into(), |count| count.to_string());
    differ(&mut found, "samples", samples(then.samples), samples(now.samples));
    let asked = |judge: &crate::domain::JudgeSpec| {
        (judge.provider, judge.url.clone(), judge.recording.clone(), judge.reading)
    };
    if asked(then) != asked(now) {
        found.push("how the judge is reached or read".into());
    }
    found
}

/// What changes how fast a run goes, and not what comes of it.
fn other_differences(stored: &RunPlan, plan: &RunPlan) -> Vec<String> {
    let mut found = Vec::new();
    let seconds = |milliseconds: u64| format!("{} s", milliseconds as f64 / 1000.0);
    let (then, now) = (&stored.options, &plan.options);
    differ(&mut found, "jobs", then.jobs, now.jobs);
    differ(&mut found, "time limit", seconds(then.timeout_ms), seconds(now.timeout_ms));
    differ(&mut found, "retries", then.retries, now.retries);
    let rate = |rate: Option<u32>| rate.map_or("no limit".to_string(), |rate| format!("{rate} a minute"));
    differ(&mut found, "rate", rate(then.rate), rate(now.rate));
    found
}

fn differ<T: PartialEq + std::fmt::Display>(found: &mut Vec<String>, what: &str, then: T, now: T) {
    if then != now {
        found.push(format!("{what}: {then} then, {now} now"));
    }
}
