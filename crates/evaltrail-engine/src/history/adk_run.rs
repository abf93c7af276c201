//! The run that a result of ADK is the result of.

use super::adk_results::{CasesOfSet, ended_attempt, open_result};
use super::latest::{HistorySet, matching};
use super::run_summary::{RunSource, RunSummary};
use crate::store::fingerprint;
use evaltrail_core::domain::{
    AgentServer, AgentSpec, Attempt, AttemptKey, Criterion, EvalCase, FinishedAttempts, InMemory,
    JudgeSpec, PlannedCase, PlannedCases, PlannedSet, ProgramSpec, RunOptions, RunPlan, RunState,
};
use evaltrail_core::metrics::{criterion_of, reevaluated_attempt};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// The run that a result of ADK is the result of. `sets` are the files that it can belong to. Errors: the file cannot be
/// read.
pub(super) fn run_of_result(run: &RunSummary, sets: &[HistorySet]) -> Result<RunState, String> {
    let RunSource::Adk {
        app_dir, set_id, ..
    } = &run.source
    else {
        return Err("it is not a result of ADK".into());
    };
    let file = open_result(&run.path).map(Arc::new)?;
    let set = matching(sets, app_dir, set_id).first().copied();
    let mut cases = CasesOfSet::new(set.map(|set| set.file));
    // Cases in the order of their file; those that are no longer in it come last.
    let mut entries: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (at, entry) in file.entries.iter().enumerate() {
        let first = *first.entry(&entry.eval_id).or_insert(at);
        let position = cases
            .get(&entry.eval_id)
            .map_or(usize::MAX, |(position, _)| position);
        entries.entry((position, first)).or_default().push(at);
    }
    let (mut planned, mut finished) = (PlannedCases::default(), FinishedAttempts::default());
    let (mut criteria, mut repeat): (Vec<Criterion>, u32) = (Vec::new(), 1);
    for (case, ((position, _), of_case)) in entries.into_iter().enumerate() {
        let eval_id = file.entries[of_case[0]].eval_id.as_str();
        let now = cases.get(eval_id).map(|(_, case)| case);
        let mut content = String::new();
        for at in of_case {
            let key = AttemptKey {
                case,
                attempt: file.entries[at].attempt,
            };
            let ended = ended_attempt(&file, at, key, now.clone(), InMemory::Summary);
            if let Ok(attempt) = ended.read() {
                content = content_of(&attempt, now.as_deref().zip(set), position);
                add_criteria(&mut criteria, &attempt);
            }
            repeat = repeat.max(key.attempt);
            finished.push(Arc::new(ended));
        }
        let index = if position == usize::MAX {
            case
        } else {
            position
        };
        let case = PlannedCase {
            set: 0,
            index,
            eval_id: eval_id.into(),
            content: content.into(),
            quarantine: None,
        };
        planned.push(case).map_err(|error| error.to_string())?;
    }
    let plan = RunPlan {
        run_id: run.run_id.clone(),
        started: run.started.clone(),
        commit: None,
        sets: vec![planned_set(app_dir, set_id, set, criteria)],
        cases: planned,
        options: RunOptions {
            repeat,
            ..RunOptions::default()
        },
        judge: JudgeSpec::standard(),
    };
    RunState::of_finished(Arc::new(plan), finished).ok_or_else(|| "a case is there twice".into())
}

/// The content hash of the case if it is known to be the present one; else a hash of what the result records of it.
fn content_of(attempt: &Attempt, now: Option<(&EvalCase, &HistorySet)>, position: usize) -> String {
    if let Some((case, set)) = now
        && reevaluated_attempt(attempt, case, &[]).is_none()
    {
        return set.file.content_hash(position);
    }
    let recorded = serde_json::to_vec(&(&attempt.expected, &attempt.rubrics)).unwrap_or_default();
    format!("adk-{}", fingerprint(&[&recorded]))
}

/// Adds the criteria that decided an attempt, each metric once.
fn add_criteria(criteria: &mut Vec<Criterion>, attempt: &Attempt) {
    for metric in attempt
        .metrics
        .iter()
        .filter(|metric| metric.criterion.is_some())
    {
        if criteria.iter().all(|known| known.metric != metric.metric) {
            criteria.push(criterion_of(metric));
        }
    }
}

fn planned_set(
    app_dir: &Path,
    set_id: &str,
    set: Option<&HistorySet>,
    criteria: Vec<Criterion>,
) -> PlannedSet {
    let app = app_dir
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let path = set.map_or_else(|| app_dir.join(set_id), |set| set.path.clone());
    PlannedSet {
        id: set_id.to_string(),
        file: path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        path,
        digest: String::new(),
        agent: AgentSpec::Adk {
            server: AgentServer::Start(ProgramSpec::default()),
            app: app.clone(),
            agent_name: None,
        },
        agent_name: app,
        agent_jobs: None,
        agent_files: None,
        file_cases: None,
        app_dir: Some(app_dir.to_path_buf()),
        criteria,
        user: Default::default(),
        stubs: None,
        tools: Default::default(),
    }
}
