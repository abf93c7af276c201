//! Plans a run.

use super::opened_sets::{OpenedSelection, OpenedSelections, open_selections};
use super::past::{past_results, results_before_shards, unreadable_text};
use super::plan_set::SetPlanner;
use super::request::Request;
use super::shards::{CaseToSplit, SplitPlan, split};
use crate::history::{CaseResult, PastResult, PastResults, case_results, find_case};
use crate::judge::JudgeGrant;
use crate::runner::chosen_cases::quarantine_on;
use crate::store::{AllShardsPlan, CaseQueue, MAX_ATTEMPTS};
use crate::stubs::StubFile;
use crate::workspace::{OpenSet, SetPath, Workspace, agent_files_hash, current_commit};
use evaltrail_core::domain::{
    AgentSpec, AttemptKey, CaseKey, EndedAttempt, InMemory, PlannedCase, PlannedCases, PlannedSet,
    RequestedOptions, RunOptions, RunPlan, Shard, ShardBy, agent_without_secrets,
};
use evaltrail_core::formats::{FileProblem, Notes, SetFile};
use evaltrail_core::metrics::{unknown_options, unreachable_threshold};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// A plan, with the data that is needed to execute it.
#[derive(Clone, Debug)]
pub struct PreparedRun {
    /// The plan.
    pub plan: Arc<RunPlan>,
    /// The opened files, in the plan's order.
    pub sets: Vec<Arc<SetFile>>,
    /// The notes of the files, in the same order.
    pub notes: Vec<Notes>,
    /// The recorded answers of tools, in the same order.
    pub stubs: Vec<Arc<StubFile>>,
    /// Files that cannot be used, and why; the rest can be run.
    pub problems: Vec<(String, String)>,
    /// The files whose content is invalid: where, and what was expected.
    pub malformed: BTreeMap<PathBuf, FileProblem>,
    /// The earlier attempts that are re-evaluated.
    pub kept: HashMap<AttemptKey, Arc<EndedAttempt>>,
    /// What the user allowed the judge; initially nothing.
    pub grant: JudgeGrant,
    /// The plan of all shards, if this is the plan of one.
    pub whole: Option<Arc<AllShardsPlan>>,
    /// The queue from which cases are taken; `None` if all are run here.
    pub queue: Option<Arc<CaseQueue>>,
    /// What the user should know about the plan.
    pub remarks: Vec<String>,
}

/// Why a run cannot be planned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// The id of a run, and when it started.
#[derive(Clone, Debug)]
pub struct RunIdentity {
    /// Short and random. Runs are not ordered by their ids.
    pub run_id: String,
    /// RFC 3339.
    pub started: String,
}

impl RunIdentity {
    /// A new id, with the current time.
    pub fn now() -> RunIdentity {
        let run_id = uuid::Uuid::new_v4().simple().to_string()[..12].to_string();
        RunIdentity {
            run_id,
            started: jiff::Timestamp::now().to_string(),
        }
    }
}

/// Creates the plan. It depends only on the request, the workspace's files and the stamp.
pub fn prepare(
    workspace: &Workspace,
    request: &Request,
    stamp: &RunIdentity,
) -> Result<PreparedRun, PlanError> {
    let day = stamp.started.get(..10).unwrap_or_default();
    let OpenedSelections {
        opened,
        mut problems,
        mut malformed,
    } = open_selections(&request.selections);
    let PastResults {
        results: past,
        unreadable,
    } = past_for(workspace, request, &opened);
    let planner = SetPlanner {
        workspace,
        request,
        past: &past,
        day,
    };
    let mut planned = PlannedSets::new(workspace, request, stamp);
    for opened in opened {
        match planner.plan(opened.selection, &opened.open, &opened.notes) {
            Ok((set, indices)) => planned.add(opened, set, &indices, planner)?,
            Err(problem) => {
                problems.push((opened.selection.set.shown.clone(), problem.why));
                malformed.extend(problem.malformed.map(|file| *file));
            }
        }
    }
    let mut plan = planned.plan;
    note_agent_files(&mut plan);
    plan.cases.shrink_to_fit();
    check_size(&plan, &problems)?;
    let (mut whole, mut remarks) = (None, Vec::new());
    if let Some(shard) = plan.options.shard {
        let SplitPlan {
            part,
            whole: of_all,
            split,
            remarks: of_split,
        } = split_inside(plan, shard, &planned.to_split, workspace)?;
        whole = Some(Arc::new(AllShardsPlan {
            plan: of_all,
            split,
            problems: problems.clone(),
        }));
        (plan, remarks) = (part, of_split);
    }
    remarks.extend(unreadable.into_iter().map(unreadable_text));
    remarks.extend(criteria_remarks(&plan));
    Ok(PreparedRun {
        kept: earlier_attempts(&plan, &planned.sets, &request.kept),
        plan: Arc::new(plan),
        sets: planned.sets,
        notes: planned.notes,
        stubs: planned.stubs,
        problems,
        malformed,
        grant: JudgeGrant::default(),
        whole,
        queue: None,
        remarks,
    })
}

/// Notes which files the agents have now, so that it is known later whether they were changed. Saved responses depend on none.
fn note_agent_files(plan: &mut RunPlan) {
    let mut known: HashMap<PathBuf, Option<String>> = HashMap::new();
    for set in &mut plan.sets {
        let has_files = !matches!(set.agent, AgentSpec::Saved | AgentSpec::PriorAttempts);
        if let Some(folder) = set.app_dir.as_ref().filter(|_| has_files) {
            let hash = known
                .entry(folder.clone())
                .or_insert_with(|| agent_files_hash(folder));
            set.agent_files = hash.clone();
        }
    }
}

/// The sets that are planned so far, with what is needed to execute them, in the plan's order.
struct PlannedSets {
    plan: RunPlan,
    sets: Vec<Arc<SetFile>>,
    notes: Vec<Notes>,
    stubs: Vec<Arc<StubFile>>,
    /// The cases to divide among shards; empty if there are none.
    to_split: Vec<CaseToSplit>,
}

impl PlannedSets {
    fn new(workspace: &Workspace, request: &Request, stamp: &RunIdentity) -> PlannedSets {
        PlannedSets {
            plan: RunPlan {
                run_id: stamp.run_id.clone(),
                started: stamp.started.clone(),
                commit: current_commit(&workspace.root),
                sets: Vec::new(),
                cases: PlannedCases::default(),
                options: RunOptions {
                    requested: requested_options(workspace, request),
                    ..request.options.clone()
                },
                judge: request.judge.clone(),
            },
            sets: Vec::new(),
            notes: Vec::new(),
            stubs: Vec::new(),
            to_split: Vec::new(),
        }
    }

    /// Adds a set with the cases at these positions. Errors: the plan has too many cases.
    fn add(
        &mut self,
        opened: OpenedSelection,
        mut planned: PlannedSet,
        indices: &[usize],
        planner: SetPlanner,
    ) -> Result<(), PlanError> {
        let OpenedSelection {
            selection,
            open,
            notes,
            stubs,
        } = opened;
        let (set, file) = (self.plan.sets.len(), &open.file);
        if self.plan.options.shard.is_some() {
            let cases = cases_to_split(&selection.set, &open, indices, &notes, planner.past);
            self.to_split.extend(cases);
        }
        for &index in indices {
            let eval_id = file.eval_id(index);
            let quarantine = quarantine_on(&notes, &eval_id, planner.day).map(Cow::Owned);
            let case = PlannedCase {
                set,
                index,
                content: file.content_hash(index).into(),
                eval_id,
                quarantine,
            };
            let added = self.plan.cases.push(case);
            added.map_err(|error| PlanError(error.to_string()))?;
        }
        planned.stubs = stubs.digest;
        self.plan.sets.push(planned);
        self.stubs.push(stubs.file);
        self.notes.push(notes);
        self.sets.push(Arc::new(open.file));
        Ok(())
    }
}

/// What of a request the plan does not show otherwise.
fn requested_options(workspace: &Workspace, request: &Request) -> RequestedOptions {
    let config = request.config.as_deref().map(|file| {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
        let shown = file.strip_prefix(&workspace.root).unwrap_or(&file);
        shown.display().to_string()
    });
    let agent = request.agent.as_deref().map(agent_without_secrets);
    RequestedOptions {
        agent_has_secret: agent != request.agent,
        agent,
        env: request.env.clone(),
        config,
        metrics: request.metrics.clone(),
    }
}

/// A remark for each criterion that no score can meet, and for each option that its metric ignores.
fn criteria_remarks(plan: &RunPlan) -> BTreeSet<String> {
    let criteria = || plan.sets.iter().flat_map(|set| &set.criteria);
    let ignored = criteria().flat_map(unknown_options).map(|(_, text)| text);
    criteria()
        .filter_map(unreachable_threshold)
        .chain(ignored)
        .collect()
}

/// The earlier results that the filter, or the split into shards, needs.
fn past_for(workspace: &Workspace, request: &Request, opened: &[OpenedSelection]) -> PastResults {
    let shard = request.options.shard;
    if !request.query.needs_results() && shard.is_none_or(|shard| shard.by != ShardBy::Time) {
        return PastResults::default();
    }
    let files: Vec<(&SetPath, &SetFile)> = opened
        .iter()
        .map(|one| (&one.selection.set, &one.open.file))
        .collect();
    match shard {
        None => past_results(workspace, &files, InMemory::Summary),
        Some(_) => results_before_shards(workspace, &files),
    }
}

/// Errors: the plan has no cases, or too many attempts.
fn check_size(plan: &RunPlan, problems: &[(String, String)]) -> Result<(), PlanError> {
    if plan.cases.is_empty() && problems.is_empty() {
        return Err(PlanError("no case is selected".into()));
    }
    if let Some(why) = plan.options.gate.too_few_attempts(plan.options.repeat) {
        return Err(PlanError(why));
    }
    if plan.attempts() <= MAX_ATTEMPTS {
        return Ok(());
    }
    let (cases, repeat) = (plan.cases.len(), plan.options.repeat);
    Err(PlanError(format!(
        "{cases} cases, {repeat} times each, are more than {MAX_ATTEMPTS} attempts; run fewer at once"
    )))
}

/// The shard of a plan. Errors: a set is outside of the workspace.
fn split_inside(
    plan: RunPlan,
    shard: Shard,
    cases: &[CaseToSplit],
    workspace: &Workspace,
) -> Result<SplitPlan, PlanError> {
    match plan
        .sets
        .iter()
        .find(|set| !set.path.starts_with(&workspace.root))
    {
        None => {
            let mut split = split(plan, shard, cases);
            // Other machines have the workspace elsewhere.
            if let Some(recording) = &mut split.whole.judge.recording
                && let Ok(inside) = recording.strip_prefix(&workspace.root)
            {
                *recording = inside.to_path_buf();
            }
            Ok(split)
        }
        Some(outside) => {
            let (set, root) = (&outside.file, workspace.root.display());
            Err(PlanError(format!(
                "{set} is outside of {root}, so other machines cannot find it: --shard needs sets inside"
            )))
        }
    }
}

/// What decides to which shards the cases of a file belong.
fn cases_to_split(
    set: &SetPath,
    open: &OpenSet,
    indices: &[usize],
    notes: &Notes,
    past: &[PastResult],
) -> Vec<CaseToSplit> {
    let file = &open.file;
    let results = if past.is_empty() {
        Vec::new()
    } else {
        case_results((file, Some(&open.digest)), &set.path, notes, past)
    };
    let mean = |result: &CaseResult| {
        let known: Vec<f64> = result
            .attempts
            .iter()
            .filter_map(|attempt| attempt.latency_s)
            .collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let seconds: HashMap<usize, f64> = results
        .iter()
        .filter_map(|result| Some((result.index, mean(result)?)))
        .collect();
    let to_split = |&index: &usize| CaseToSplit {
        name: format!("{}/{}", set.shown, file.eval_id(index)),
        session: named_session(file, index),
        seconds: seconds.get(&index).copied(),
    };
    indices.iter().map(to_split).collect()
}

/// The id of the session that a case names.
fn named_session(file: &SetFile, index: usize) -> Option<String> {
    let text = file.case_text(index)?;
    // Few cases name one, and reading a case takes much longer than searching it.
    let may_name = ["session_id", "sessionId"]
        .iter()
        .any(|key| text.contains(key));
    let input = may_name
        .then(|| file.case(index).ok()?.session_input)
        .flatten()?;
    input.session_id.filter(|id| !id.is_empty())
}

/// The earlier attempts, by the attempts of the plan.
fn earlier_attempts(
    plan: &RunPlan,
    sets: &[Arc<SetFile>],
    kept: &[(PathBuf, CaseKey, Arc<EndedAttempt>)],
) -> HashMap<AttemptKey, Arc<EndedAttempt>> {
    let set_of = |file: &PathBuf| plan.sets.iter().position(|set| set.path == *file);
    let at: HashMap<(usize, usize), usize> = plan
        .cases
        .iter()
        .enumerate()
        .map(|(at, case)| ((case.set, case.index), at))
        .collect();
    let mut attempts: HashMap<usize, u32> = HashMap::new();
    let of = |(file, key, attempt): &(PathBuf, CaseKey, Arc<EndedAttempt>)| {
        let set = set_of(file)?;
        let case = *at.get(&(set, find_case(&sets[set], &key.eval_id, &key.content)?))?;
        let number = attempts.entry(case).or_default();
        *number += 1;
        Some((
            AttemptKey {
                case,
                attempt: *number,
            },
            attempt.clone(),
        ))
    };
    kept.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requested_agent_says_if_a_secret_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let stored = |agent: &str| {
            let request = Request {
                agent: Some(agent.into()),
                ..Request::default()
            };
            let requested = requested_options(&workspace, &request);
            (requested.agent.unwrap(), requested.agent_has_secret)
        };
        assert_eq!(
            stored("cmd:./agent -n 1"),
            ("cmd:./agent -n 1".into(), false)
        );
        assert_eq!(
            stored("cmd:./agent --api-key SECRET123"),
            ("cmd:./agent --api-key …".into(), true)
        );
    }
}
