//! The baseline of a workspace: a file that can be committed, with the outcome and the scores of every case of a run.
//! Later runs are compared with it, also where the run itself is not stored. It contains no texts of agents and judges,
//! no error messages, and no addresses or command lines of agents. Agents are named by their labels, which contain no
//! secrets.

use super::plan_file::MAX_ATTEMPTS;
use super::plan_file::relative_to;
use super::read::{read_file, read_start, read_text_file};
use super::save::{Replace, create, remove, replace};
use evaltrail_core::analysis::RunConditions;
use evaltrail_core::domain::{
    AgentSpec, Attempt, AttemptKey, Criterion, EndedAttempt, JudgeSpec, MetricResult, PlannedCase,
    PlannedCases, PlannedSet, RunEvent, RunOptions, RunPlan, RunState, Score, Status, UserSpec,
};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the file, in the workspace's folder.
pub const BASELINE_FILE: &str = "evaltrail-baseline.json";
/// The version of the file's format.
const FORMAT: u32 = 1;
/// The maximum size of the file, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// A baseline.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The run: its plan, and attempts with scores but without turns.
    pub state: RunState,
    /// The agents, the judge, the expectations and the variants of the run, which its plan here does not contain.
    pub conditions: RunConditions,
}

#[derive(Serialize)]
struct BaselineHeader {
    format: u32,
    run: RunLine,
}

#[derive(Deserialize)]
struct WholeFile<'a> {
    format: u32,
    run: RunLine,
    #[serde(borrow)]
    cases: Vec<CaseLine<'a>>,
}

#[derive(Serialize, Deserialize)]
struct RunLine {
    run_id: String,
    started: String,
    repeat: u32,
    /// The label of the judge.
    judge: Option<String>,
    sets: Vec<BaselineSet>,
}

#[derive(Serialize, Deserialize)]
struct BaselineSet {
    id: String,
    file: String,
    /// Relative to the workspace if it is inside it.
    #[serde(with = "evaltrail_core::domain::stored_path")]
    path: PathBuf,
    /// The label of the agent, without secrets.
    agent: String,
    /// A hash of how the calls of tools were answered. Hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<String>,
    /// Whether saved responses were scored.
    saved: bool,
    criteria: Vec<Criterion>,
}

/// A case with its outcomes.
#[derive(Serialize, Deserialize)]
struct CaseLine<'a> {
    #[serde(borrow)]
    case: PlannedCase<'a>,
    /// Hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expectation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
    attempts: Vec<AttemptLine>,
}

#[derive(Serialize, Deserialize)]
struct AttemptLine {
    attempt: u32,
    status: Status,
    metrics: Vec<MetricLine>,
}

#[derive(Serialize, Deserialize)]
struct MetricLine {
    metric: String,
    score: Option<Score>,
    threshold: Option<f64>,
    status: Status,
}

/// The path of the baseline of a workspace.
pub fn baseline_path(workspace: &Path) -> PathBuf {
    workspace.join(BASELINE_FILE)
}

/// Writes a run as the baseline of a workspace, one line for each case. Errors: for example that a link is in its
/// place.
pub fn write_baseline(workspace: &Path, baseline: &Baseline) -> io::Result<()> {
    let path = baseline_path(workspace);
    if path.is_symlink() {
        return Err(io::Error::other(
            "it is a link; evaltrail does not write through it",
        ));
    }
    let (plan, conditions) = (&baseline.state.plan, &baseline.conditions);
    let set = |(at, set): (usize, &PlannedSet)| {
        let mut path = set.path.clone();
        relative_to(workspace, &mut path);
        BaselineSet {
            id: set.id.clone(),
            file: set.file.clone(),
            path,
            agent: conditions.agents.get(at).cloned().unwrap_or_default(),
            tools: conditions
                .tools
                .get(at)
                .copied()
                .flatten()
                .map(|hash| format!("{hash:016x}")),
            saved: set.agent == AgentSpec::Saved,
            criteria: set.criteria.clone(),
        }
    };
    let run = RunLine {
        run_id: plan.run_id.clone(),
        started: plan.started.clone(),
        repeat: plan.options.repeat,
        judge: conditions.judge.clone(),
        sets: plan.sets.iter().enumerate().map(set).collect(),
    };
    let header = serde_json::to_string_pretty(&BaselineHeader {
        format: FORMAT,
        run,
    })?;
    let mut text = header.strip_suffix("\n}").unwrap_or(&header).to_string();
    text.push_str(",\n  \"cases\": [");
    for (at, planned) in plan.cases.iter().enumerate() {
        let expectation = conditions.expectations.get(at).copied().flatten();
        let attempts = baseline.state.attempts_of(at);
        let line = CaseLine {
            case: planned.into_owned(),
            expectation: expectation.map(|hash| format!("{hash:032x}")),
            variant: conditions.variants.get(at).cloned().flatten(),
            attempts: attempts
                .into_iter()
                .map(|attempt| attempt_line(&attempt))
                .collect(),
        };
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n    {}", serde_json::to_string(&line)?);
    }
    text.push_str("\n  ]\n}\n");
    // The workspace may be the copy of a bucket, to which a change is written as well.
    let written = match read_file(&path, MAX_BYTES) {
        Ok(read) => replace(Replace {
            path: &path,
            within: None,
            read: &read,
            new: text.as_bytes(),
        }),
        Err(_) => create(&path, text.as_bytes()),
    };
    written.map(drop).map_err(io::Error::other)
}

/// Removes the baseline of a workspace.
pub fn remove_baseline(workspace: &Path) -> io::Result<()> {
    let path = baseline_path(workspace);
    remove(&path, None, &read_file(&path, MAX_BYTES)?).map_err(io::Error::other)
}

fn attempt_line(attempt: &EndedAttempt) -> AttemptLine {
    let metric = |metric: &evaltrail_core::domain::MetricSummary| MetricLine {
        metric: metric.metric.clone(),
        score: metric.score,
        threshold: metric.threshold,
        status: metric.status,
    };
    AttemptLine {
        attempt: attempt.key.attempt,
        status: attempt.status,
        metrics: attempt.metrics.iter().map(metric).collect(),
    }
}

/// The id of the run that is the baseline, from the beginning of the file.
pub fn baseline_run_id(workspace: &Path) -> Option<String> {
    let start = read_start(&baseline_path(workspace), 256).ok()?;
    let start = String::from_utf8_lossy(&start).into_owned();
    let (_, rest) = start.split_once("\"run_id\": \"")?;
    Some(rest.split_once('"')?.0.to_string())
}

/// Reads the baseline of a workspace; `None` if there is none. Errors: the file cannot be read, or its format is newer.
pub fn read_baseline(workspace: &Path) -> io::Result<Option<Baseline>> {
    let path = baseline_path(workspace);
    let text = match read_text_file(&path, MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let invalid = |why: String| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{}: {why}", path.display()),
        )
    };
    let file: WholeFile =
        serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    if file.format > FORMAT {
        return Err(invalid(format!(
            "format {} was written by a newer evaltrail",
            file.format
        )));
    }
    if file.cases.len().saturating_mul(file.run.repeat as usize) > MAX_ATTEMPTS {
        return Err(invalid(format!("it has more than {MAX_ATTEMPTS} attempts")));
    }
    if let Some(line) = file
        .cases
        .iter()
        .find(|line| line.case.set >= file.run.sets.len())
    {
        return Err(invalid(format!(
            "case {:?} refers to a set that is not there",
            line.case.eval_id
        )));
    }
    let expectation = |line: &CaseLine| u128::from_str_radix(line.expectation.as_deref()?, 16).ok();
    let conditions = RunConditions {
        agents: file.run.sets.iter().map(|set| set.agent.clone()).collect(),
        tools: file.run.sets.iter().map(tools_of).collect(),
        judge: file.run.judge.clone(),
        expectations: file.cases.iter().map(expectation).collect(),
        variants: file.cases.iter().map(|line| line.variant.clone()).collect(),
    };
    let cases = PlannedCases::new(file.cases.iter().map(|line| line.case.clone()));
    let cases = cases.map_err(|error| invalid(error.to_string()))?;
    let plan = RunPlan {
        commit: None,
        run_id: file.run.run_id,
        started: file.run.started,
        sets: file
            .run
            .sets
            .into_iter()
            .map(|set| planned_set(workspace, set))
            .collect(),
        cases,
        options: RunOptions {
            repeat: file.run.repeat,
            ..RunOptions::default()
        },
        judge: JudgeSpec::standard(),
    };
    let mut state = RunState::new(Arc::new(plan));
    for (case, line) in file.cases.iter().enumerate() {
        for attempt in &line.attempts {
            let attempt = attempt_of(case, &line.case.eval_id, attempt);
            state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(
                attempt,
            ))));
        }
    }
    Ok(Some(Baseline { state, conditions }))
}

/// `None` if it is not known.
fn tools_of(set: &BaselineSet) -> Option<u64> {
    u64::from_str_radix(set.tools.as_deref()?, 16).ok()
}

fn planned_set(workspace: &Path, set: BaselineSet) -> PlannedSet {
    PlannedSet {
        stubs: None,
        tools: Default::default(),
        id: set.id,
        file: set.file,
        path: workspace.join(set.path),
        digest: String::new(),
        agent: if set.saved {
            AgentSpec::Saved
        } else {
            AgentSpec::PriorAttempts
        },
        agent_name: String::new(),
        agent_jobs: None,
        agent_files: None,
        file_cases: None,
        app_dir: None,
        criteria: set.criteria,
        user: UserSpec::default(),
    }
}

fn attempt_of(case: usize, eval_id: &str, line: &AttemptLine) -> Attempt {
    let metric = |line: &MetricLine| MetricResult {
        metric: line.metric.clone(),
        score: line.score,
        threshold: line.threshold,
        status: line.status,
        explanation: String::new(),
        findings: Vec::new(),
        per_invocation: Vec::new(),
        rubrics: Vec::new(),
        criterion: None,
        details: None,
        judgement: None,
    };
    Attempt {
        status: line.status,
        metrics: line.metrics.iter().map(metric).collect(),
        ..Attempt::blank(
            AttemptKey {
                case,
                attempt: line.attempt,
            },
            eval_id,
        )
    }
}
