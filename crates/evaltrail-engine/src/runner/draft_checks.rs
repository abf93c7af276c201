//! Checks drafts of cases by running an agent with them. The run is recorded in a temporary folder: it is no result of a set.

use super::plan::{PreparedRun, RunIdentity, prepare};
use super::request::Request;
use crate::process::PrivateFolder;
use crate::runner::Selection;
use crate::store::write_whole;
use crate::workspace::{SetPath, Workspace, agent_for, app_of_first_case, stubs_path};
use evaltrail_core::analysis::classify_draft;
use evaltrail_core::domain::{
    Attempt, Conversation, Criterion, DraftCheck, DraftVerdict, EvalCase, Invocation, RunOptions,
    RunState, StubMode, ToolCall, Trajectory, value_text,
};
use evaltrail_core::formats::adk::write_case;
use evaltrail_core::formats::{CheckedDraft, SetFile};
use serde_json::json;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Which drafts are checked, and how.
#[derive(Clone, Debug)]
pub struct DraftCheckRequest<'a> {
    /// The workspace.
    pub workspace: &'a Workspace,
    /// The set of the drafts.
    pub set: (&'a SetPath, &'a SetFile),
    /// The cases of the drafts.
    pub cases: &'a [EvalCase],
    /// The agent by name or URI; `None` for that of the set.
    pub agent: Option<&'a str>,
    /// The options of the run; `repeat` is the number of attempts of each draft.
    pub options: RunOptions,
    /// Whether tools are answered from the stubs of the set; as the configuration specifies when `None`.
    pub stubs: Option<StubMode>,
    /// Environment variables to pass to programs, in addition to those that the configuration names.
    pub env: Vec<String>,
}

/// A run that checks drafts.
#[derive(Debug)]
pub struct DraftCheckRun {
    /// The run. Its sets have no results for ADK.
    pub prepared: PreparedRun,
    /// Where the run is recorded, and its set is. Dropping it deletes it.
    pub folder: PrivateFolder,
}

impl DraftCheckRun {
    /// Whether tools of the agent may run.
    pub fn calls_tools(&self) -> bool {
        let may_run = |stubs| matches!(stubs, StubMode::Off | StubMode::Live);
        let mut sets = self.prepared.plan.sets.iter();
        sets.any(|set| may_run(set.tools.stubs) && !set.agent.leaves_calls_to_caller())
    }
}

/// Plans a run of drafts. Nothing is started.
///
/// # Errors
///
/// A message: no agent is known, the run cannot be planned, or the temporary folder cannot be written.
pub fn prepare_draft_checks(request: &DraftCheckRequest<'_>) -> Result<DraftCheckRun, String> {
    let (set, file) = request.set;
    let agent = match request.agent {
        Some(agent) => agent.to_string(),
        None => {
            let app = app_of_first_case(file);
            let found = agent_for(request.workspace, set, app.as_deref(), None);
            found.map_err(|none| none.0)?.0
        }
    };
    let folder = PrivateFolder::create("drafts").map_err(|error| error.to_string())?;
    let path = write_files(folder.path(), request)
        .map_err(|error| format!("{}: {error}", folder.path().display()))?;
    let run = Request {
        selections: vec![Selection::all(path)],
        agent: Some(agent),
        config: Some(folder.path().join(CRITERIA_FILE)),
        options: request.options.clone(),
        env: request.env.clone(),
        stubs: request.stubs,
        ..Request::default()
    };
    let mut prepared =
        prepare(request.workspace, &run, &RunIdentity::now()).map_err(|error| error.0)?;
    if let Some((_, why)) = prepared.problems.first() {
        return Err(why.clone());
    }
    for planned in &mut Arc::make_mut(&mut prepared.plan).sets {
        // ADK keeps results of sets only.
        planned.app_dir = None;
        // The metrics of the workspace do not decide, and may cost something.
        let is_used = |criterion: &Criterion| criterion.metric == TRAJECTORY;
        planned.criteria.retain(is_used);
    }
    Ok(DraftCheckRun { prepared, folder })
}

/// The name of the file of criteria in the temporary folder.
const CRITERIA_FILE: &str = "test_config.json";
/// The largest number of characters of an error that is kept.
const MAX_ERROR: usize = 300;
/// The only metric of the run.
const TRAJECTORY: &str = "tool_trajectory_avg_score";

/// Writes the set of the drafts, its stubs, and criteria. Returns the set.
fn write_files(folder: &Path, request: &DraftCheckRequest<'_>) -> io::Result<SetPath> {
    let (set, file) = request.set;
    let path = folder.join("drafts.evalset.json");
    let cases: Vec<_> = request.cases.iter().map(write_case).collect();
    let text = json!({"eval_set_id": file.id, "eval_cases": cases});
    write_whole(&path, text.to_string().as_bytes())?;
    let criteria = json!({"criteria": {TRAJECTORY: 1.0}});
    write_whole(&folder.join(CRITERIA_FILE), criteria.to_string().as_bytes())?;
    let stubs = stubs_path(&set.path);
    if stubs.is_file() {
        std::fs::copy(&stubs, stubs_path(&path))?;
    }
    Ok(SetPath {
        app: set.app.clone(),
        session: set.session.clone(),
        ..request.workspace.set_path(&path)
    })
}

/// What the run of drafts showed, for each case; `None` for cases of which not all attempts ended.
pub fn checked_drafts(state: &RunState, cases: &[EvalCase]) -> Vec<Option<CheckedDraft>> {
    let check = |(at, case): (usize, &EvalCase)| {
        let ended = state.attempts_of(at);
        let attempts: Vec<Arc<Attempt>> = ended.iter().filter_map(|one| one.read().ok()).collect();
        // What cannot be read is no evidence.
        if attempts.len() < state.plan.options.repeat as usize {
            return None;
        }
        let verdict = classify_draft(case, &attempts)?;
        let first = attempts.first()?;
        Some(CheckedDraft {
            check: DraftCheck {
                verdict,
                attempts: attempts.len(),
                agent: state.plan.sets.first()?.agent_name.clone(),
                error: attempts
                    .iter()
                    .find_map(|attempt| error_of_attempt(attempt)),
            },
            agent_case: (verdict == DraftVerdict::Disputed)
                .then(|| Box::new(with_actual_calls(case, &first.actual))),
        })
    };
    cases.iter().enumerate().map(check).collect()
}

/// The error of an attempt, or that of the first of its calls that a tool answered with one.
fn error_of_attempt(attempt: &Attempt) -> Option<String> {
    let of_tool = || {
        let turns = attempt.actual.iter();
        let answers = turns.flat_map(|turn| turn.trajectory.responses());
        let mut errors = answers.filter_map(|answer| {
            let error = answer.response.get("error")?;
            Some(format!("{}: {}", answer.name, value_text(error)))
        });
        errors.next()
    };
    let error = attempt.error.clone().or_else(of_tool)?;
    Some(error.chars().take(MAX_ERROR).collect())
}

/// A case with the calls that an agent made in its turns as the expected ones.
fn with_actual_calls(case: &EvalCase, actual: &[Invocation]) -> EvalCase {
    let calls = |turn: &Invocation| -> Vec<ToolCall> {
        let calls = turn.calls().into_iter();
        calls
            .map(|call| ToolCall::new(&*call.name, call.args.clone()))
            .collect()
    };
    let turns = case.turns().iter().zip(actual);
    let turns = turns.map(|(turn, actual)| Invocation {
        trajectory: Trajectory::Listed {
            calls: calls(actual),
            responses: Vec::new(),
            texts: Vec::new(),
        },
        ..turn.clone()
    });
    EvalCase {
        conversation: Conversation::Turns(turns.collect()),
        ..case.clone()
    }
}
