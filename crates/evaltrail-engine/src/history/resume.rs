//! Finds the unfinished run that a request resumes, and what differs between the two.

use super::index::History;
use super::run_summary::{RunSource, RunSummary};
use crate::store::{JournalError, LoadedRun, RunFolder, load_plan};
use evaltrail_core::domain::{
    PlannedCase, PlannedSet, RunEvent, RunOptions, RunPlan, RunState, criteria_by_metric,
};
use std::path::Path;
use std::sync::Arc;

/// The outcome of `--resume`.
#[derive(Debug)]
pub enum Resume {
    /// There is no unfinished run of these cases. Contains the reason why the newest similar run cannot be resumed, if
    /// there is one.
    None(Option<String>),
    /// The newest unfinished run has these cases, but its results would differ from those of this request: the run, and
    /// the differences.
    Differs(Box<RunPlan>, Vec<String>),
    /// Another process is writing this run.
    Taken(String),
    /// The run to resume with the plan of the request, and the differences that do not affect results.
    Run(Box<ResumedRun>, Vec<String>),
}

/// An unfinished run that is resumed. It is locked.
#[derive(Debug)]
pub struct ResumedRun {
    /// The folder of the run.
    pub folder: RunFolder,
    /// The attempts that ended, with the plan of the request.
    pub state: RunState,
    /// The number of attempts of its journal that could not be read.
    pub damaged: usize,
}

/// Finds the newest unfinished run of the cases of a plan, or the one with the id `named`. Criteria, judge, agents and limits are those of the plan,
/// for which permissions were checked; only the attempts that ended are taken from the run. Foreign runs are ignored.
pub fn unfinished(history: &History, plan: &RunPlan, named: Option<&str>) -> Resume {
    let mut near = None;
    let is_meant = |summary: &&RunSummary| {
        !summary.is_finished() && named.is_none_or(|run_id| summary.run_id == run_id)
    };
    for summary in history.ours().filter(is_meant) {
        let RunSource::Evaltrail { sets, .. } = &summary.source else {
            continue;
        };
        if !sets
            .iter()
            .all(|counted| plan.sets.iter().any(|set| set.path == counted.path))
        {
            continue;
        }
        let Ok(stored) = load_plan(&summary.path, history.key.as_ref()) else {
            continue;
        };
        if !stored.is_signed {
            continue;
        }
        if let Err(why) = same_cases(&stored.plan, plan) {
            near = near.or(Some(format!("run {}: {why}", summary.run_id)));
            continue;
        }
        let decisive = decisive_differences(&stored.plan, plan);
        if !decisive.is_empty() {
            return Resume::Differs(Box::new(stored.plan), decisive);
        }
        match reopened(&summary.path, history, plan) {
            Ok(Some(run)) => {
                return Resume::Run(Box::new(run), other_differences(&stored.plan, plan));
            }
            // The run was finished or replaced in the meantime.
            Ok(None) => {}
            Err(error) if error.is_taken() => return Resume::Taken(summary.run_id.clone()),
            Err(error) => near = near.or(Some(error.to_string())),
        }
    }
    Resume::None(near)
}

/// The plan of one of this user's runs. The error is a message.
pub fn plan_of_run(history: &History, run_id: &str) -> Result<RunPlan, String> {
    let summary = history.ours().find(|summary| summary.run_id == run_id);
    let summary = summary.ok_or("it is not there any more")?;
    let stored = load_plan(&summary.path, history.key.as_ref());
    let stored = stored.map_err(|error| error.to_string())?;
    match stored.is_signed {
        true => Ok(stored.plan),
        false => Err("it is foreign (it is not signed with your key)".into()),
    }
}

fn reopened(
    path: &Path,
    history: &History,
    plan: &RunPlan,
) -> Result<Option<ResumedRun>, JournalError> {
    let (folder, run) = RunFolder::reopen(path, history.key.clone())?;
    if (run.ended && run.state.count_outstanding() == 0) || !run.is_signed {
        return Ok(None);
    }
    let damaged = run.damaged;
    let state = continued(run, plan);
    folder.write_plan(&state.plan)?;
    Ok(Some(ResumedRun {
        folder,
        state,
        damaged,
    }))
}

/// The state of the run with the plan of the request. Both plans have the same cases in the same order.
fn continued(run: LoadedRun, plan: &RunPlan) -> RunState {
    let stored = &run.state.plan;
    let (run_id, started) = (stored.run_id.clone(), stored.started.clone());
    let options = RunOptions {
        merged: stored.options.merged.clone(),
        // The plan of the request was made now.
        resumed: [
            &stored.options.resumed[..],
            std::slice::from_ref(&plan.started),
        ]
        .concat(),
        ..plan.options.clone()
    };
    let mut state = RunState::new(Arc::new(RunPlan {
        run_id,
        started,
        options,
        ..plan.clone()
    }));
    for attempt in run.state.finished.iter() {
        state.apply(RunEvent::Finished(attempt));
    }
    state
}

pub(super) fn same_cases(stored: &RunPlan, plan: &RunPlan) -> Result<(), String> {
    let is_same = |(then, now): (PlannedCase, PlannedCase)| {
        then.eval_id == now.eval_id && stored.sets[then.set].path == plan.sets[now.set].path
    };
    let both = || stored.cases.iter().zip(plan.cases.iter());
    if stored.cases.len() != plan.cases.len() || !both().all(is_same) {
        return Err("its cases differ".into());
    }
    let mut changed = both().filter(|(then, now)| match then.content.is_empty() {
        // Format 1 has only digests of files.
        true => stored.sets[then.set].digest != plan.sets[now.set].digest,
        false => then.content != now.content,
    });
    match changed.next() {
        None => Ok(()),
        Some((first, _)) => {
            let more = changed.count();
            let more = if more > 0 {
                format!(" and {more} more cases")
            } else {
                String::new()
            };
            Err(format!("{}{more} changed since", first.eval_id))
        }
    }
}

/// The differences that would affect results.
pub(super) fn decisive_differences(stored: &RunPlan, plan: &RunPlan) -> Vec<String> {
    let mut found = Vec::new();
    let turn = |turn: Option<u32>| {
        turn.map_or("all turns".to_string(), |turn| format!("turn {turn} only"))
    };
    let (then, now) = (&stored.options, &plan.options);
    differ(&mut found, "turns", turn(then.turn), turn(now.turn));
    differ(&mut found, "attempts of each case", then.repeat, now.repeat);
    differ(
        &mut found,
        "agent",
        stored.agent_label(),
        plan.agent_label(),
    );
    // Both as they are stored. Anything that is no secret tells them apart.
    let as_stored = |plan: &RunPlan| {
        plan.sets
            .iter()
            .map(PlannedSet::without_secrets)
            .collect::<Vec<_>>()
    };
    let (stored_sets, sets) = (as_stored(stored), as_stored(plan));
    let differs = |differs: fn(&PlannedSet, &PlannedSet) -> bool| {
        stored_sets.len() != sets.len()
            || stored_sets
                .iter()
                .zip(&sets)
                .any(|(then, now)| differs(then, now))
    };
    if found.is_empty() && differs(|then, now| then.agent != now.agent) {
        found.push("how the agent is started or reached".into());
    }
    if differs(|then, now| criteria_by_metric(&then.criteria) != criteria_by_metric(&now.criteria))
    {
        found.push("the criteria".into());
    }
    if differs(|then, now| then.stubs != now.stubs) {
        found.push("the recorded answers of tools".into());
    }
    if found.is_empty() && differs(|then, now| then.tools != now.tools) {
        found.push("how tools are answered".into());
    }
    if differs(|then, now| then.user != now.user) {
        found.push("the simulated user".into());
    }
    let (then, now) = (&stored.judge, &plan.judge);
    let named =
        |model: &Option<String>| model.clone().unwrap_or_else(|| "from the criteria".into());
    differ(&mut found, "judge", named(&then.model), named(&now.model));
    let samples = |samples: Option<u32>| {
        samples.map_or("from the criteria".into(), |count| count.to_string())
    };
    differ(
        &mut found,
        "samples",
        samples(then.samples),
        samples(now.samples),
    );
    let asked = |judge: &evaltrail_core::domain::JudgeSpec| {
        (
            judge.provider,
            judge.without_secrets().url,
            judge.recording.clone(),
            judge.reading,
        )
    };
    if asked(then) != asked(now) {
        found.push("how the judge is reached or its responses are parsed".into());
    }
    found
}

/// The differences that affect only the speed of a run, not its results.
fn other_differences(stored: &RunPlan, plan: &RunPlan) -> Vec<String> {
    let mut found = Vec::new();
    let seconds = |milliseconds: u64| format!("{} s", milliseconds as f64 / 1000.0);
    let (then, now) = (&stored.options, &plan.options);
    differ(&mut found, "jobs", then.jobs, now.jobs);
    differ(
        &mut found,
        "time limit",
        seconds(then.timeout_ms),
        seconds(now.timeout_ms),
    );
    differ(&mut found, "retries", then.retries, now.retries);
    differ(&mut found, "gate", then.gate.name(), now.gate.name());
    let rate =
        |rate: Option<u32>| rate.map_or("no limit".to_string(), |rate| format!("{rate} a minute"));
    differ(&mut found, "rate", rate(then.rate), rate(now.rate));
    found
}

fn differ<T: PartialEq + std::fmt::Display>(found: &mut Vec<String>, what: &str, then: T, now: T) {
    if then != now {
        found.push(format!("{what}: {then} before, {now} now"));
    }
}
