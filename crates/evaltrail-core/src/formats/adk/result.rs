//! Writing of result files that ADK and `adk web` can read: snake_case, statuses as numbers, nothing that they refuse.
//!
//! Values for which ADK has no field (an error's cause, evaltrail's own status) are written under the key `evaltrail`
//! of a case result, which ADK ignores.

use super::content::{write_call, write_content, write_part, write_response};
use super::event::write_event;
use super::result_session::session;
use crate::domain::{
    Attempt, EndedAttempt, Invocation, MetricDetails, MetricResult, Rubric, RubricScore, Status,
    Trajectory, adk_view, python_json,
};
use crate::formats::json::{JsonLayout, write_with_list};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The ending of the names of result files.
pub const RESULT_ENDING: &str = ".evalset_result.json";

/// The folder in which ADK stores the results of an application.
pub fn app_history(app_dir: &Path) -> PathBuf {
    app_dir.join(".adk").join("eval_history")
}

/// The folder in which ADK stores the results of an application in an object store (`--eval_storage_uri`).
pub fn storage_history(app_dir: &Path) -> PathBuf {
    app_dir.join("evals").join("eval_history")
}

/// The folder of the application to which a result belongs that lies where ADK stores results.
pub fn app_of_result(result: &Path) -> Option<&Path> {
    let folder = result.parent()?;
    let is_history =
        folder.ends_with(".adk/eval_history") || folder.ends_with("evals/eval_history");
    is_history.then(|| folder.parent()?.parent()).flatten()
}

/// The folder of the application to which a set belongs that lies where ADK stores it in an object store:
/// `<app>/evals/eval_sets/<id>.evalset.json`.
pub fn storage_app(set: &Path) -> Option<&Path> {
    let folder = set.parent()?;
    folder
        .ends_with("evals/eval_sets")
        .then(|| folder.parent()?.parent())
        .flatten()
}

/// ADK's id of a result: application, set and time, the time spelt as Python spells a float.
pub fn result_id(app: &str, set_id: &str, created: f64) -> String {
    let time = match created.fract() {
        0.0 => format!("{created:.1}"),
        _ => created.to_string(),
    };
    format!("{app}_{set_id}_{time}")
}

/// The name under which ADK saves a result with this id.
pub fn result_name(id: &str) -> String {
    id.replace('/', "_")
}

/// What a result is of.
#[derive(Clone, Copy, Debug)]
pub struct ResultOf<'a> {
    /// The application.
    pub app: &'a str,
    /// The eval set's id.
    pub set_id: &'a str,
    /// Unix seconds.
    pub created: f64,
    /// The run that the attempts are from, so that the result is not listed beside it.
    pub run_id: &'a str,
}

/// Writes the result of one eval set's attempts, in the given order.
///
/// # Errors
///
/// Errors of `out`, and of attempts that cannot be read.
pub fn write_result(
    out: &mut dyn Write,
    of: ResultOf,
    attempts: &[Arc<EndedAttempt>],
) -> io::Result<()> {
    let ResultOf {
        app,
        set_id,
        created,
        ..
    } = of;
    let id = result_id(app, set_id, created);
    let document = json!({
        "eval_set_result_id": id,
        "eval_set_result_name": result_name(&id),
        "eval_set_id": set_id,
        "eval_case_results": [],
        "creation_timestamp": created,
    });
    let cases = attempts
        .iter()
        .map(|ended| Ok(case_result(of, &*ended.read_to_write()?)));
    let document = (&document, JsonLayout::Indented);
    write_with_list(out, document, "eval_case_results", cases, python_json)
}

fn case_result(of: ResultOf, attempt: &Attempt) -> Value {
    let set_id = of.set_id;
    // In ADK, a case whose agent failed has no metric results and no invocations.
    let turns = if attempt.error.is_some() {
        0
    } else {
        attempt.actual.len()
    };
    json!({
        "eval_set_file": set_id,
        "eval_set_id": set_id,
        "eval_id": attempt.eval_id,
        "final_eval_status": attempt.adk_status.adk(),
        "eval_metric_results": null,
        "overall_eval_metric_results": attempt.metrics.iter().map(overall).collect::<Vec<_>>(),
        "eval_metric_result_per_invocation": (0..turns).map(|turn| per_invocation(attempt, turn)).collect::<Vec<_>>(),
        "session_id": attempt.session_id,
        "session_details": session(of.app, of.created, attempt),
        "user_id": attempt.user_id,
        "evaltrail": {
            "run_id": of.run_id,
            "status": attempt.status,
            "error": attempt.error,
            "attempt": attempt.key.attempt,
            "latency_s": attempt.latency_s,
            "explanations": attempt.metrics.iter()
                .map(|metric| (metric.metric.clone(), Value::from(metric.explanation.clone())))
                .collect::<Map<_, _>>(),
        },
    })
}

fn per_invocation(attempt: &Attempt, turn: usize) -> Value {
    let results: Vec<Value> = attempt
        .metrics
        .iter()
        .map(|metric| match metric.per_invocation.get(turn) {
            Some(turn) => {
                // ADK has no status for errors: they are "not evaluated".
                let status = if turn.status == Status::Errored {
                    Status::NotEvaluated
                } else {
                    turn.status
                };
                metric_result(
                    metric,
                    turn.score(),
                    status,
                    turn.details.as_ref(),
                    &turn.rubrics,
                )
            }
            None => metric_result(metric, None, Status::NotEvaluated, None, &[]),
        })
        .collect();
    json!({
        "actual_invocation": write_invocation(&attempt.actual[turn]),
        "expected_invocation": attempt.expected.get(turn).map(write_invocation),
        "eval_metric_results": results,
    })
}

fn overall(metric: &MetricResult) -> Value {
    metric_result(
        metric,
        metric.score(),
        adk_view(metric),
        metric.details.as_ref(),
        &metric.rubrics,
    )
}

fn metric_result(
    metric: &MetricResult,
    score: Option<f64>,
    status: Status,
    details: Option<&MetricDetails>,
    rubrics: &[RubricScore],
) -> Value {
    let tokens = match details {
        Some(MetricDetails::Tokens(usage)) => json!({
            "total_tokens": usage.total, "input_tokens": usage.input, "prompt_tokens": usage.prompt,
            "cached_tokens": usage.cached, "tool_use_tokens": usage.tool_use, "output_tokens": usage.output,
            "candidates_tokens": usage.candidates, "reasoning_tokens": usage.reasoning,
        }),
        _ => Value::Null,
    };
    let seconds = match details {
        Some(MetricDetails::Seconds { total }) => json!({
            "total_seconds": total, "model_seconds": null, "tool_seconds": null, "framework_seconds": null,
        }),
        _ => Value::Null,
    };
    json!({
        "metric_name": metric.metric,
        "threshold": metric.threshold,
        "criterion": metric.criterion,
        "custom_function_path": null,
        "score": score,
        "eval_status": status.adk(),
        "details": {"rubric_scores": rubric_scores(rubrics), "token_usage_details": tokens, "duration_details": seconds},
    })
}

/// Verdicts on rubrics; null if there are none.
fn rubric_scores(rubrics: &[RubricScore]) -> Value {
    let of = |rubric: &RubricScore| json!({"rubric_id": rubric.rubric_id, "rationale": rubric.rationale, "score": rubric.score()});
    if rubrics.is_empty() {
        Value::Null
    } else {
        rubrics.iter().map(of).collect()
    }
}

/// An invocation as ADK writes it into a result.
pub fn write_invocation(invocation: &Invocation) -> Value {
    json!({
        "invocation_id": invocation.id,
        "user_content": write_content(&invocation.user),
        "final_response": invocation.final_response.as_ref().map(write_content),
        "intermediate_data": write_trajectory(&invocation.trajectory),
        "creation_timestamp": invocation.created,
        "duration": invocation.durations.total,
        "rubrics": if invocation.rubrics.is_empty() { Value::Null } else {
            invocation.rubrics.iter().map(write_rubric).collect()
        },
        "app_details": invocation.app_details,
    })
}

fn write_trajectory(trajectory: &Trajectory) -> Value {
    match trajectory {
        // ADK has no way to say that not all calls are known.
        Trajectory::Unknown | Trajectory::Partial(_) => Value::Null,
        Trajectory::Listed {
            calls,
            responses,
            texts,
        } => json!({
            "tool_uses": calls.iter().map(write_call).collect::<Vec<_>>(),
            "tool_responses": responses.iter().map(write_response).collect::<Vec<_>>(),
            "intermediate_responses": texts.iter()
                .map(|(author, parts)| json!([author, parts.iter().map(write_part).collect::<Vec<_>>()]))
                .collect::<Vec<_>>(),
        }),
        Trajectory::Events(events) => json!({
            "invocation_events": events.iter().map(write_event).collect::<Vec<_>>(),
        }),
    }
}

pub(super) fn write_rubric(rubric: &Rubric) -> Value {
    json!({
        "rubric_id": rubric.id,
        "rubric_content": {"text_property": rubric.text},
        "description": rubric.description,
        "type": rubric.read_as(),
    })
}
