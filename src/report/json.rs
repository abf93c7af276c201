//! The JSON report (DESIGN section 5). Numbers are numbers, missing is null, the order is the file's.

use crate::domain::{Attempt, Invocation, MetricResult, RunPlan, RunState, Status, Totals, plain_json};
use serde_json::{Value, json};

/// The report of a run.
pub fn json_report(state: &RunState) -> Value {
    let attempts: Vec<&Attempt> = in_order(state);
    let mut totals = Totals::default();
    attempts.iter().for_each(|attempt| totals.add(attempt.status));
    json!({
        "evaltrail": env!("CARGO_PKG_VERSION"),
        "run_id": state.plan.run_id,
        "started": state.plan.started,
        "duration_s": state.ended,
        "agent": state.plan.agent_label(),
        "summary": {
            "cases": attempts.len(),
            "passed": totals.passed,
            "failed": totals.failed,
            "errored": totals.errored,
            "not_evaluated": totals.not_evaluated,
            "metrics": metric_summaries(&attempts),
        },
        "cases": attempts.iter().map(|attempt| case(&state.plan, attempt)).collect::<Vec<_>>(),
    })
}

fn in_order(state: &RunState) -> Vec<&Attempt> {
    (0..state.plan.cases.len())
        .flat_map(|case| state.attempts_of(case))
        .map(|attempt| attempt.as_ref())
        .collect()
}

fn case(plan: &RunPlan, attempt: &Attempt) -> Value {
    let set = plan.set_of(attempt.key.case);
    let turns = attempt.actual.len().max(attempt.expected.len());
    json!({
        "eval_set": set.id,
        "file": set.file,
        "eval_id": attempt.eval_id,
        "attempt": attempt.key.attempt,
        "status": attempt.status,
        "adk_status": attempt.adk_status.adk(),
        "latency_s": attempt.latency_s,
        "error": attempt.error,
        "metrics": attempt.metrics.iter().map(metric).collect::<Vec<_>>(),
        "invocations": (0..turns).map(|turn| invocation(attempt, turn)).collect::<Vec<_>>(),
    })
}

fn metric(metric: &MetricResult) -> Value {
    json!({
        "metric": metric.metric,
        "score": metric.score,
        "threshold": metric.threshold,
        "status": metric.status,
        "explanation": metric.explanation,
        "per_invocation": metric.per_invocation.iter()
            .map(|turn| json!({"score": turn.score, "status": turn.status}))
            .collect::<Vec<_>>(),
        "rubrics": metric.rubrics.iter()
            .map(|rubric| json!({
                "rubric_id": rubric.rubric_id, "score": rubric.score, "rationale": rubric.rationale, "votes": null,
            }))
            .collect::<Vec<_>>(),
    })
}

fn invocation(attempt: &Attempt, turn: usize) -> Value {
    let (expected, actual) = (attempt.expected.get(turn), attempt.actual.get(turn));
    let user = expected.or(actual).map(|turn| turn.user.scored_text());
    json!({"user": user, "expected": expected.map(side), "actual": actual.map(side)})
}

fn side(turn: &Invocation) -> Value {
    let calls: Vec<Value> = turn
        .calls()
        .iter()
        .map(|call| json!({"name": call.name, "args": call.args.clone().map(|args| plain_json(args.into()))}))
        .collect();
    json!({"tool_calls": calls, "response": turn.final_response.as_ref().map(|content| content.scored_text())})
}

/// Mean and spread of each metric, with what is behind them.
fn metric_summaries(attempts: &[&Attempt]) -> Vec<Value> {
    let mut names: Vec<&str> = Vec::new();
    for metric in attempts.iter().flat_map(|attempt| &attempt.metrics) {
        if !names.contains(&metric.metric.as_str()) {
            names.push(&metric.metric);
        }
    }
    names.into_iter().map(|name| metric_summary(name, attempts)).collect()
}

fn metric_summary(name: &str, attempts: &[&Attempt]) -> Value {
    let of_metric = |attempt: &&Attempt| attempt.metrics.iter().find(|metric| metric.metric == name).cloned();
    let scores: Vec<f64> = attempts.iter().filter_map(|a| of_metric(a)?.score).collect();
    let errored = attempts.iter().filter(|attempt| attempt.status == Status::Errored).count();
    let mean = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
    json!({
        "metric": name,
        "mean": mean,
        "std": mean.and_then(|mean| sample_deviation(&scores, mean)),
        "valid": scores.len(),
        "errored": errored,
        "total": attempts.len(),
    })
}

/// The sample standard deviation (n − 1); nothing below two values.
fn sample_deviation(scores: &[f64], mean: f64) -> Option<f64> {
    if scores.len() < 2 {
        return None;
    }
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    Some((squares / (scores.len() - 1) as f64).sqrt())
}
