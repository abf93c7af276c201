//! The baseline of a workspace: a file that can be committed, with the outcome and the scores of every case of a run.
//! Later runs are compared with it, also where the run itself is not stored. It contains neither texts of agents and
//! judges nor error messages.

use super::plan_file::{each_path, relative_to};
use super::read::{read_head, read_text_file};
use super::save::write_whole;
use crate::domain::{
    Attempt, AttemptKey, EndedAttempt, MetricResult, PlannedCase, RunEvent, RunPlan, RunState, Status,
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
const LARGEST: u64 = 1 << 30;

/// A baseline as it was read.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The run: its plan, and attempts with scores but without turns.
    pub state: RunState,
    /// For each case of the plan, a hash of what was expected; `None` if it is not known.
    pub expectations: Vec<Option<u128>>,
}

#[derive(Serialize)]
struct Head {
    format: u32,
    /// The plan without its cases.
    plan: RunPlan,
}

#[derive(Deserialize)]
struct WholeFile {
    format: u32,
    plan: RunPlan,
    cases: Vec<CaseLine>,
}

/// A case with its outcomes.
#[derive(Serialize, Deserialize)]
struct CaseLine {
    case: PlannedCase,
    /// Hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expectation: Option<String>,
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
    score: Option<f64>,
    threshold: Option<f64>,
    status: Status,
}

/// The path of the baseline of a workspace.
pub fn baseline_path(workspace: &Path) -> PathBuf {
    workspace.join(BASELINE_FILE)
}

/// Writes a run as the baseline of a workspace, one line for each case.
pub fn write_baseline(workspace: &Path, baseline: &Baseline) -> io::Result<()> {
    let state = &baseline.state;
    let mut plan = RunPlan { cases: Vec::new(), ..(*state.plan).clone() };
    each_path(&mut plan, |path| relative_to(workspace, path));
    let head = serde_json::to_string_pretty(&Head { format: FORMAT, plan })?;
    let mut text = head.trim_end_matches(['}', '\n']).trim_end().to_string();
    text.push_str("\n  },\n  \"cases\": [");
    for (at, planned) in state.plan.cases.iter().enumerate() {
        let expectation = baseline.expectations.get(at).copied().flatten();
        let line = CaseLine {
            case: planned.clone(),
            expectation: expectation.map(|hash| format!("{hash:032x}")),
            attempts: state.attempts_of(at).into_iter().map(|attempt| attempt_line(attempt)).collect(),
        };
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n    {}", serde_json::to_string(&line)?);
    }
    text.push_str("\n  ]\n}\n");
    write_whole(&baseline_path(workspace), text.as_bytes())
}

fn attempt_line(attempt: &EndedAttempt) -> AttemptLine {
    let metric = |metric: &crate::domain::MetricSummary| MetricLine {
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
    let head = read_head(&baseline_path(workspace), 256).ok()?;
    let head = String::from_utf8_lossy(&head).into_owned();
    let (_, rest) = head.split_once("\"run_id\": \"")?;
    Some(rest.split_once('"')?.0.to_string())
}

/// Reads the baseline of a workspace; `None` if there is none. Errors: the file cannot be read, or its format is newer.
pub fn read_baseline(workspace: &Path) -> io::Result<Option<Baseline>> {
    let path = baseline_path(workspace);
    let text = match read_text_file(&path, LARGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let invalid =
        |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()));
    let file: WholeFile = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    if file.format > FORMAT {
        return Err(invalid(format!("format {} was written by a newer evaltrail", file.format)));
    }
    let mut plan = file.plan;
    each_path(&mut plan, |path| *path = workspace.join(&*path));
    if let Some(line) = file.cases.iter().find(|line| line.case.set >= plan.sets.len()) {
        return Err(invalid(format!("case {:?} refers to a set that is not there", line.case.eval_id)));
    }
    plan.cases = file.cases.iter().map(|line| line.case.clone()).collect();
    let expectation = |line: &CaseLine| u128::from_str_radix(line.expectation.as_deref()?, 16).ok();
    let expectations = file.cases.iter().map(expectation).collect();
    let mut state = RunState::new(Arc::new(plan));
    for (case, line) in file.cases.iter().enumerate() {
        for attempt in &line.attempts {
            let attempt = attempt_of(case, &line.case.eval_id, attempt);
            state.apply(RunEvent::Finished(Arc::new(EndedAttempt::unrecorded(attempt))));
        }
    }
    Ok(Some(Baseline { state, expectations }))
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
        ..Attempt::blank(AttemptKey { case, attempt: line.attempt }, eval_id)
    }
}
