//! Preparation of a run that the person starts: the request to the runner, and what must be allowed first.

use super::paths::with_home;
use super::task_context::TaskContext;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::configured_run::ConfiguredRun;
use crate::explorer::shared::message::RunMsg;
use crate::explorer::shared::run_target::{RunOverrides, RunTarget};
use evaltrail_core::domain::{
    CaseKey, EndedAttempt, Gate, JudgeSpec, RunOptions, StubMode, counted, score_text,
};
use evaltrail_core::formats::SetFile;
use evaltrail_engine::config::CRITERIA_FILE;
use evaltrail_engine::history::{Resume, ResumedRun, plan_of_run, unfinished};
use evaltrail_engine::runner::{
    self, DotenvKeyQuestion, PreparedRun, Request, Selection, TrustQuestion, history_of,
};
use evaltrail_engine::store::{AppFolders, Trust};
use evaltrail_engine::workspace::{CriteriaSource, SetPath, Workspace, agent_for, criteria_for};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A case, and what identifies it in whichever version of its file is read next.
pub(crate) type ChosenCase = (CaseRef, CaseKey);

/// The sets that a run leaves out, and why the first one.
pub(super) fn left_out(prepared: &PreparedRun) -> Option<String> {
    let (file, why) = prepared.problems.first()?;
    let more = prepared.problems.len() - 1;
    let more = if more > 0 {
        format!(" (and {more} more)")
    } else {
        String::new()
    };
    let why = if why.contains(file.as_str()) {
        why.clone()
    } else {
        format!("{file}: {why}")
    };
    Some(format!("not run: {why}{more}"))
}

/// What a person said before this run is prepared.
pub(super) struct GivenConsents {
    /// What may be done.
    pub(super) granted: Vec<TrustQuestion>,
    /// Fingerprints of keys that are not used.
    pub(super) declined: BTreeSet<String>,
}

/// A run that may start, and the unfinished run that it continues.
pub(super) struct PermittedRun {
    pub(super) prepared: PreparedRun,
    pub(super) resumed: Option<ResumedRun>,
    /// What to say about the continued run.
    pub(super) remarks: Vec<String>,
}

pub(super) fn prepare(
    context: &TaskContext,
    cases: Vec<ChosenCase>,
    allowed: GivenConsents,
    against: RunTarget,
    app_folders: Option<&AppFolders>,
) -> Result<PermittedRun, RunMsg> {
    let refused = |why: String| RunMsg::Refused(why);
    let request = match &against {
        RunTarget::Resume(run_id) => request_of_unfinished(context, run_id),
        against => request(context, &cases, against),
    }
    .map_err(refused)?;
    let mut prepared = runner::prepare(&context.workspace, &request, &runner::RunIdentity::now())
        .map_err(|error| refused(error.0))?;
    if prepared.plan.cases.is_empty()
        && let Some((file, why)) = prepared.problems.first()
    {
        return Err(refused(format!("{file}: {why}")));
    }
    // Whoever named the agent of a run that is continued is not here now.
    let is_resumed = matches!(against, RunTarget::Resume(_));
    let agent = request.agent.as_deref().filter(|_| !is_resumed);
    match open_questions(
        &context.workspace,
        &mut prepared,
        agent,
        allowed,
        app_folders,
    )
    .map_err(refused)?
    {
        questions if questions.is_empty() => match &against {
            RunTarget::Resume(run_id) => resumed(context, run_id, prepared).map_err(refused),
            _ => Ok(PermittedRun {
                prepared,
                resumed: None,
                remarks: Vec::new(),
            }),
        },
        questions => {
            let cases = cases.iter().map(|(case, _)| *case).collect();
            Err(RunMsg::AskTrust(cases, questions, against))
        }
    }
}

/// The request that was made for an unfinished run. The error is a message.
fn request_of_unfinished(context: &TaskContext, run_id: &str) -> Result<Request, String> {
    plan_of_run(&history_of(&context.workspace), run_id)
        .and_then(|plan| runner::resumed_request(&context.workspace, &plan, &context.sets))
        .map_err(|why| format!("run {run_id} cannot be resumed: {why}"))
}

/// An unfinished run that is continued with what was prepared. The error is a message: why the results of both parts would not
/// belong together.
fn resumed(
    context: &TaskContext,
    run_id: &str,
    prepared: PreparedRun,
) -> Result<PermittedRun, String> {
    let named = |why: &str| Err(format!("run {run_id} cannot be resumed: {why}"));
    if let Some((file, why)) = prepared.problems.first() {
        return named(&format!("{file}: {why}"));
    }
    let history = history_of(&context.workspace);
    match unfinished(&history, &prepared.plan, Some(run_id)) {
        Resume::None(why) => named(&why.unwrap_or_else(|| "it is finished".into())),
        Resume::Differs(_, differences) => {
            named(&format!("this changed since: {}", differences.join("; ")))
        }
        Resume::Taken(_) => named("another evaltrail process is writing it"),
        Resume::Run(run, differences) => {
            let damaged = (run.damaged > 0).then(|| {
                let attempts = counted(run.damaged, "attempt");
                format!("{attempts} of its journal cannot be read, and will be run again")
            });
            Ok(PermittedRun {
                prepared,
                resumed: Some(*run),
                remarks: differences.into_iter().chain(damaged).collect(),
            })
        }
    }
}

/// The request to the runner. The error is a message.
fn request(
    context: &TaskContext,
    cases: &[ChosenCase],
    against: &RunTarget,
) -> Result<Request, String> {
    let mut by_set: BTreeMap<usize, Vec<CaseKey>> = BTreeMap::new();
    for (case, key) in cases {
        by_set.entry(case.set).or_default().push(key.clone());
    }
    let selection = |(set, cases): (usize, Vec<CaseKey>)| Selection {
        cases: Some(cases),
        ..Selection::all(context.sets[set].clone())
    };
    let kept = saved_attempts(context, cases, against);
    // The agent is not run instead.
    if let RunTarget::Recorded(attempts) = against
        && (attempts.is_empty() || kept.len() != attempts.len())
    {
        return Err("the cases have changed meanwhile; judge them again".into());
    }
    let repeat = match kept.first() {
        None => 1,
        Some((file, key, _)) => kept
            .iter()
            .filter(|(path, other, _)| path == file && other == key)
            .count() as u32,
    };
    let turn = match against {
        RunTarget::Turn(turn) => Some(*turn),
        _ => None,
    };
    let chosen = match against {
        RunTarget::AgentWith(chosen) => (**chosen).clone(),
        _ => RunOverrides::default(),
    };
    let configured = context.workspace.config.run_options();
    let jobs = chosen.jobs.unwrap_or(configured.jobs);
    let gate = chosen.gate.unwrap_or(configured.gate);
    let is_run = kept.is_empty() && *against != RunTarget::Saved;
    let (gate, repeat) = match is_run {
        true => {
            let configured = (context.workspace.config.repeat, configured.gate);
            (
                gate,
                Gate::attempts(configured, (chosen.repeat, chosen.gate)),
            )
        }
        false => (gate.without_repeats(), chosen.repeat.unwrap_or(repeat)),
    };
    let judge = context
        .workspace
        .config
        .judge
        .clone()
        .unwrap_or_else(JudgeSpec::standard);
    Ok(Request {
        kept,
        selections: by_set.into_iter().map(selection).collect(),
        options: RunOptions {
            repeat,
            gate,
            turn,
            jobs,
            ..configured
        },
        saved: *against == RunTarget::Saved,
        judge: judge.with_choice(chosen.judge, chosen.samples),
        agent: chosen.agent,
        metrics: chosen.metrics,
        stubs: chosen.stubs,
        keeps_stubs: chosen.keeps_stubs,
        config: chosen
            .criteria
            .map(|file| context.workspace.root.join(with_home(&file))),
        ..Request::default()
    })
}

/// What a run of these sets uses where nothing is chosen.
pub(super) fn configured_run(
    context: &TaskContext,
    sets: &[(usize, Arc<SetFile>)],
) -> ConfiguredRun {
    let workspace = &context.workspace;
    let options = workspace.config.run_options();
    let samples = workspace
        .config
        .judge
        .as_ref()
        .and_then(|judge| judge.samples);
    let mut configured = ConfiguredRun {
        repeat: options.repeat,
        given_repeat: workspace.config.repeat,
        jobs: options.jobs,
        gate: options.gate.name(),
        rate: options.rate,
        own_metrics: workspace
            .config
            .metrics
            .iter()
            .map(|one| one.name.clone())
            .collect(),
        samples: samples
            .map(|samples| samples.to_string())
            .unwrap_or_default(),
        criteria_files: criteria_files(context),
        ..ConfiguredRun::default()
    };
    let mut modes: BTreeSet<&'static str> = BTreeSet::new();
    for (set, file) in sets {
        let Some(set) = context.sets.get(*set) else {
            continue;
        };
        modes.insert(stubs_of(workspace, set, file));
        add_criteria(&mut configured, workspace, set, file);
    }
    configured.stubs = match modes.into_iter().collect::<Vec<_>>()[..] {
        [] => "off".into(),
        [mode] => mode.into(),
        _ => "by agent".into(),
    };
    configured
}

/// Adds the criteria of a set: where they are from, and their metrics.
fn add_criteria(
    configured: &mut ConfiguredRun,
    workspace: &Workspace,
    set: &SetPath,
    file: &SetFile,
) {
    let add = |list: &mut Vec<String>, text: String| {
        if !list.contains(&text) {
            list.push(text);
        }
    };
    let (criteria, source) = match criteria_for(workspace, set, file, None, &[]) {
        Ok(found) => found,
        Err(problem) => return add(&mut configured.criteria, problem.to_string()),
    };
    let source = match source {
        CriteriaSource::File(file) => shown_path(workspace, Path::new(&file)),
        CriteriaSource::Default => "defaults".to_string(),
    };
    add(&mut configured.criteria, source);
    let names = criteria.iter().map(|criterion| criterion.metric.clone());
    configured.own_metrics.extend(names);
    for criterion in criteria.iter().filter(|one| one.threshold.is_some()) {
        let threshold = criterion.threshold.map(score_text).unwrap_or_default();
        let text = format!("{} {threshold}", criterion.metric);
        add(&mut configured.metrics, text);
    }
}

/// The files of criteria that are beside sets of the workspace.
fn criteria_files(context: &TaskContext) -> Vec<String> {
    let beside = context
        .sets
        .iter()
        .map(|set| set.path.with_file_name(CRITERIA_FILE));
    let mut files: Vec<PathBuf> = beside.collect();
    files.sort();
    files.dedup();
    files.retain(|file| file.is_file());
    let shown = |file: &PathBuf| shown_path(&context.workspace, file);
    files.iter().map(shown).collect()
}

/// A path relative to the workspace, where it is in it.
fn shown_path(workspace: &Workspace, path: &Path) -> String {
    let below = path.strip_prefix(&workspace.root).unwrap_or(path);
    below.display().to_string()
}

/// How the tools of a set's agent are answered, as the configuration says.
fn stubs_of(workspace: &Workspace, set: &SetPath, file: &SetFile) -> &'static str {
    let app = (!file.is_empty())
        .then(|| file.case(0).ok()?.session_input)
        .flatten()
        .map(|input| input.app_name);
    let agent = agent_for(workspace, set, app.as_deref(), None).ok();
    let tools = agent.and_then(|(name, _)| workspace.config.agent_tools.get(&name));
    let mode = tools.map_or(StubMode::Off, |tools| tools.stubs);
    let named = StubMode::NAMES.iter().find(|(_, one)| *one == mode);
    named.map_or("off", |(name, _)| name)
}

/// What is still to be allowed before a run begins: programs and addresses, then, alone, the use of keys. Keys that are
/// allowed are put into the plan. `agent` is the one that the person named for this run.
fn open_questions(
    workspace: &Workspace,
    prepared: &mut PreparedRun,
    agent: Option<&str>,
    allowed: GivenConsents,
    app_folders: Option<&AppFolders>,
) -> Result<Vec<TrustQuestion>, String> {
    let mut trust = Trust::load(app_folders);
    for question in &allowed.granted {
        trust
            .grant(&question.fingerprint, &question.command)
            .map_err(|error| error.to_string())?;
    }
    let mut questions = runner::trust_questions(workspace, prepared, agent);
    let destinations = runner::allowed_destinations(&questions);
    questions.retain(|question| !trust.allows(&question.fingerprint));
    if !questions.is_empty() {
        return Ok(questions);
    }
    prepared.grant.destinations = destinations;
    // Without a place to remember the answer it would be asked about again and again.
    if app_folders.is_none() {
        return Ok(questions);
    }
    if let Some(DotenvKeyQuestion { question, keys }) = runner::offered_keys(workspace, prepared) {
        if trust.allows(&question.fingerprint) {
            prepared.grant.keys = keys;
        } else if !allowed.declined.contains(&question.fingerprint) {
            questions.push(question);
        }
    }
    Ok(questions)
}

/// What is to be scored again, by file and case.
fn saved_attempts(
    context: &TaskContext,
    cases: &[ChosenCase],
    against: &RunTarget,
) -> Vec<(PathBuf, CaseKey, Arc<EndedAttempt>)> {
    let RunTarget::Recorded(kept) = against else {
        return Vec::new();
    };
    let keys: HashMap<CaseRef, &CaseKey> = cases.iter().map(|(case, key)| (*case, key)).collect();
    let of = |(case, attempt): &(CaseRef, Arc<EndedAttempt>)| {
        let key = (*keys.get(case)?).clone();
        Some((context.sets[case.set].path.clone(), key, attempt.clone()))
    };
    kept.iter().filter_map(of).collect()
}
