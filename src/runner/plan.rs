//! Plans a run.

use super::opened_sets::{OpenedSelection, OpenedSelections, open_selections};
use super::past::{past_results, results_before_shards, unreadable_text};
use super::shards::{CaseToSplit, SplitPlan, split};
use crate::config::is_agent_address;
use crate::domain::{
    AgentSpec, AttemptKey, CaseKey, EndedAttempt, InMemory, JudgeSpec, PlannedCase, PlannedCases,
    PlannedSet, Query, RunOptions, RunPlan, Shard, ShardBy, StubMode, ToolFault, ToolsSpec,
};
use crate::formats::adk::storage_app;
use crate::formats::{FileProblem, Notes, SetFile};
use crate::history::{CaseResult, PastResult, PastResults, case_results, place};
use crate::judge::JudgeGrant;
use crate::metrics::{CriterionError, unknown_metric, unreachable_threshold};
use crate::runner::Selection;
use crate::runner::chosen_cases::{Filtered, choose, quarantine_on};
use crate::store::{CaseQueue, MOST_ATTEMPTS, WholePlan};
use crate::stubs::StubFile;
use crate::workspace::{
    CriteriaSource, OpenSet, SetPath, Workspace, agent_for, agent_of_set, criteria_for,
    current_commit, user_for,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A request for a run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The files and cases.
    pub selections: Vec<Selection>,
    /// The agent by name or URI.
    pub agent: Option<String>,
    /// Whether to score the responses that are saved in the files, without an agent.
    pub saved: bool,
    /// Earlier attempts to re-evaluate, without an agent: by file and case, the attempts of a case in order.
    pub kept: Vec<(PathBuf, CaseKey, Arc<EndedAttempt>)>,
    /// A file of criteria, instead of the one beside each file.
    pub config: Option<PathBuf>,
    /// Further metrics, with their default options.
    pub metrics: Vec<String>,
    /// A filter of the cases.
    pub query: Query,
    /// How to run them.
    pub options: RunOptions,
    /// Environment variables to pass to programs, in addition to those that the configuration names.
    pub env: Vec<String>,
    /// Whether tools are answered from stubs; as the configuration specifies when `None`.
    pub stubs: Option<StubMode>,
    /// Whether tools are answered from stubs where the configuration says nothing about it.
    pub keeps_stubs: bool,
    /// Failures that tools are made to have.
    pub faults: Vec<ToolFault>,
    /// The judge.
    pub judge: JudgeSpec,
}

/// A plan, with the data that is needed to execute it.
#[derive(Clone, Debug)]
pub struct Prepared {
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
    pub whole: Option<Arc<WholePlan>>,
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
pub struct Stamp {
    /// Short and random. Runs are not ordered by their ids.
    pub run_id: String,
    /// RFC 3339.
    pub started: String,
}

impl Stamp {
    /// A new id, with the current time.
    pub fn now() -> Stamp {
        let run_id = uuid::Uuid::new_v4().simple().to_string()[..12].to_string();
        Stamp {
            run_id,
            started: jiff::Timestamp::now().to_string(),
        }
    }
}

/// Creates the plan. It depends only on the request, the workspace's files and the stamp.
pub fn prepare(
    workspace: &Workspace,
    request: &Request,
    stamp: &Stamp,
) -> Result<Prepared, PlanError> {
    let mut plan = RunPlan {
        run_id: stamp.run_id.clone(),
        started: stamp.started.clone(),
        commit: current_commit(&workspace.root),
        sets: Vec::new(),
        cases: PlannedCases::default(),
        options: request.options.clone(),
        judge: request.judge.clone(),
    };
    let day = stamp.started.get(..10).unwrap_or_default().to_string();
    let mut sets = Vec::new();
    let mut notes = Vec::new();
    let mut stubs = Vec::new();
    let OpenedSelections {
        opened,
        mut problems,
        mut malformed,
    } = open_selections(&request.selections);
    let PastResults {
        results: past,
        unreadable,
    } = past_for(workspace, request, &opened);
    let mut to_split = Vec::new();
    for OpenedSelection {
        selection,
        open,
        notes: beside,
        stubs: of_set,
    } in opened
    {
        match plan_set(workspace, request, selection, &open, (&beside, &past, &day)) {
            Err(problem) => {
                problems.push((selection.set.shown.clone(), problem.why));
                malformed.extend(problem.malformed.map(|file| *file));
            }
            Ok((mut planned, indices)) => {
                planned.stubs = of_set.digest;
                stubs.push(of_set.file);
                let (set, file) = (plan.sets.len(), &open.file);
                if request.options.shard.is_some() {
                    to_split.extend(cases_to_split(
                        &selection.set,
                        file,
                        &indices,
                        (&beside, &past),
                    ));
                }
                for index in indices {
                    let eval_id = file.eval_id(index);
                    let quarantine = quarantine_on(&beside, &eval_id, &day).map(Cow::Owned);
                    let content = file.content_hash(index).into();
                    let case = PlannedCase {
                        set,
                        index,
                        eval_id,
                        content,
                        quarantine,
                    };
                    plan.cases
                        .push(case)
                        .map_err(|error| PlanError(error.to_string()))?;
                }
                plan.sets.push(planned);
                notes.push(beside);
                sets.push(Arc::new(open.file));
            }
        }
    }
    plan.cases.shrink_to_fit();
    check_size(&plan, &problems)?;
    let (mut whole, mut remarks) = (None, Vec::new());
    if let Some(shard) = plan.options.shard {
        let SplitPlan {
            part,
            whole: of_all,
            split,
            remarks: said,
        } = split_inside(plan, shard, &to_split, workspace)?;
        whole = Some(Arc::new(WholePlan {
            plan: of_all,
            split,
            problems: problems.clone(),
        }));
        (plan, remarks) = (part, said);
    }
    remarks.extend(unreadable.into_iter().map(unreadable_text));
    remarks.extend(unreachable_thresholds(&plan));
    let kept = kept_of(&plan, &sets, &request.kept);
    let (plan, grant) = (Arc::new(plan), JudgeGrant::default());
    Ok(Prepared {
        plan,
        sets,
        notes,
        stubs,
        problems,
        malformed,
        kept,
        grant,
        whole,
        queue: None,
        remarks,
    })
}

/// A remark for each criterion that no score can meet.
fn unreachable_thresholds(plan: &RunPlan) -> BTreeSet<String> {
    plan.sets
        .iter()
        .flat_map(|set| &set.criteria)
        .filter_map(unreachable_threshold)
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
    if plan.attempts() <= MOST_ATTEMPTS {
        return Ok(());
    }
    let (cases, repeat) = (plan.cases.len(), plan.options.repeat);
    Err(PlanError(format!(
        "{cases} cases, {repeat} times each, are more than {MOST_ATTEMPTS} attempts; run fewer at once"
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
    file: &SetFile,
    indices: &[usize],
    (notes, past): (&Notes, &[PastResult]),
) -> Vec<CaseToSplit> {
    let results = if past.is_empty() {
        Vec::new()
    } else {
        case_results(file, &set.path, notes, past)
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
fn kept_of(
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
        let case = *at.get(&(set, place(&sets[set], &key.eval_id, &key.content)?))?;
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

/// Why a set is not part of a plan.
struct SetNotPlanned {
    why: String,
    malformed: Option<Box<(PathBuf, FileProblem)>>,
}

impl From<String> for SetNotPlanned {
    fn from(why: String) -> SetNotPlanned {
        SetNotPlanned {
            why,
            malformed: None,
        }
    }
}

fn plan_set(
    workspace: &Workspace,
    request: &Request,
    selection: &Selection,
    open: &OpenSet,
    (notes, past, day): (&Notes, &[PastResult], &str),
) -> Result<(PlannedSet, Vec<usize>), SetNotPlanned> {
    let set = &selection.set;
    if request.saved && request.kept.is_empty() && open.file.form.is_adk() {
        let why = "the file contains no saved responses; `evaltrail run` runs its cases";
        return Err(why.to_string().into());
    }
    let (criteria, criteria_source) = criteria_for(
        workspace,
        set,
        &open.file,
        request.config.as_deref(),
        &request.metrics,
    )
    .map_err(|problem| SetNotPlanned {
        why: problem.to_string(),
        malformed: problem
            .malformed
            .map(|found| (problem.path, *found))
            .map(Box::new),
    })?;
    let asked = criteria
        .iter()
        .filter(|criterion| request.metrics.contains(&criterion.metric));
    if let Some(unknown) = asked.filter_map(unknown_metric).next() {
        let why = format!("--metric: {unknown}; `evaltrail metrics` lists them");
        return Err(why.into());
    }
    let names_agent = request.agent.is_some() || workspace.config.agent.is_some();
    // Before an agent is called, which may cost money. Responses that exist are scored by the others.
    let calls_agent = !request.saved && request.kept.is_empty();
    let unknown = criteria.iter().filter_map(unknown_metric);
    let mut misspelled = unknown.filter(|one| matches!(one, CriterionError::Unknown { .. }));
    if let Some(unknown) = misspelled.next().filter(|_| calls_agent) {
        let file = match &criteria_source {
            CriteriaSource::File(file) => format!("{file}: "),
            CriteriaSource::Default => String::new(),
        };
        return Err(format!("{file}{unknown}; `evaltrail metrics` lists them").into());
    }
    let (agent_name, mut agent) = match request.saved {
        _ if !request.kept.is_empty() => ("kept".to_string(), AgentSpec::Kept),
        true => ("saved".to_string(), AgentSpec::Saved),
        false => {
            let case_app = first_app(&open.file);
            agent_for(
                workspace,
                set,
                case_app.as_deref(),
                request.agent.as_deref(),
            )
            .map_err(|error| match names_agent || open.file.form.is_adk() {
                true => error.0,
                false => "a data set is run only with an agent; `evaltrail score`, or s in the explorer, scores the responses that it contains".into(),
            })?
        }
    };
    if let Some(program) = agent.program_mut() {
        program.env.extend(request.env.iter().cloned());
    }
    let chosen = choose(&open.file, selection)?;
    let indices = match request.query.is_empty() {
        true => chosen,
        false => {
            let results = case_results(&open.file, &set.path, notes, past);
            let results: HashMap<usize, CaseResult> = results
                .into_iter()
                .map(|result| (result.index, result))
                .collect();
            let fits = |at: &usize| {
                let case = Filtered {
                    file: &open.file,
                    at: *at,
                    set,
                    agent: &agent_name,
                    day,
                };
                case.fits(&request.query, notes, results.get(at))
            };
            chosen.into_iter().filter(fits).collect()
        }
    };
    let app_dir = match agent.app() {
        Some(app) => app_folder(workspace, set, app),
        None => agent_of_set(workspace, set, &open.file).map(|agent| agent.path.clone()),
    };
    let tools = tools_of(workspace, request, &agent_name, &agent)?;
    let planned = PlannedSet {
        stubs: None,
        tools,
        id: open.file.id.clone(),
        file: set.shown.clone(),
        path: set.path.clone(),
        digest: open.digest.clone(),
        agent,
        agent_jobs: workspace.config.agent_jobs.get(&agent_name).copied(),
        file_cases: Some(open.file.len()),
        agent_name,
        app_dir,
        criteria,
        user: user_for(workspace, set, request.config.as_deref()),
    };
    Ok((planned, indices))
}

/// How the agent's tools are answered. The error is a message.
fn tools_of(
    workspace: &Workspace,
    request: &Request,
    agent_name: &str,
    agent: &AgentSpec,
) -> Result<ToolsSpec, String> {
    if matches!(agent, AgentSpec::Saved | AgentSpec::Kept) {
        return Ok(ToolsSpec::default());
    }
    // The configuration says nothing about an agent that the user gave by its address.
    let is_address = request.agent.as_deref().is_some_and(is_agent_address);
    let configured = workspace
        .config
        .agent_tools
        .get(agent_name)
        .filter(|_| !is_address);
    let configured = configured.cloned().unwrap_or_default();
    let stubs = request.stubs.unwrap_or(configured.stubs);
    let stubs = match stubs {
        StubMode::Off if agent.leaves_calls_to_caller() && request.stubs.is_none() => {
            StubMode::Fail
        }
        StubMode::Off if agent.leaves_calls_to_caller() => StubMode::Live,
        StubMode::Off if request.keeps_stubs && request.stubs.is_none() => StubMode::Fail,
        stubs => stubs,
    };
    let tools = ToolsSpec {
        stubs,
        faults: request.faults.clone(),
        ..configured
    };
    match agent.cannot_intercept(&tools) {
        Some(why) => Err(format!("{agent_name}: {why}")),
        None => Ok(tools),
    }
}

fn app_folder(workspace: &Workspace, set: &SetPath, app: &str) -> Option<PathBuf> {
    if let Some(agent) = workspace.agent_folder(app, Some(&set.path)) {
        return Some(agent.path.clone());
    }
    if let Some(stored) = storage_app(&set.path).filter(|dir| dir.ends_with(app)) {
        return Some(stored.to_path_buf());
    }
    let near = set
        .path
        .ancestors()
        .skip(1)
        .find(|folder| folder.file_name().is_some_and(|name| name == app));
    near.filter(|folder| folder.join("agent.py").is_file())
        .map(Path::to_path_buf)
}

fn first_app(file: &SetFile) -> Option<String> {
    (!file.is_empty())
        .then(|| file.case(0).ok()?.session_input)
        .flatten()
        .map(|input| input.app_name)
}
