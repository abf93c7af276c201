//! The JSON report (DESIGN section 5). Missing values are null. Cases are in the file's order.

use super::failures::{change_for, failed_cases, groups_of};
use super::{attempts_in_order, cases_not_run};
use crate::analysis::{FailureGroup, PassCount, RepeatedPass, count_of, repeated_passes};
use crate::domain::{
    Asked, Attempt, Content, Finding, Invocation, InvocationScore, Judgement, MetricResult, Quarantine,
    RubricScore, RunPlan, RunState, Sample, Spent, Status, ToolCall, ToolUse, Trajectory, TurnEnd, Votes,
    plain_members,
};
use crate::formats::json::write_with_list;
use crate::metrics::{Aggregate, aggregates};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

/// Writes the report of a run, indented. Errors: those of `out`, and attempts that cannot be read.
pub fn write_json_report(state: &RunState, out: &mut dyn Write) -> io::Result<()> {
    let totals = state.totals;
    let mut report = json!({
        "evaltrail": env!("CARGO_PKG_VERSION"),
        "run_id": state.plan.run_id,
        "started": state.plan.started,
        "duration_s": state.ended,
        "agent": state.plan.agent_label(),
        "summary": {
            "cases": totals.ended(),
            "passed": totals.passed,
            "failed": totals.failed,
            "errored": totals.errored,
            "not_evaluated": totals.not_evaluated,
            // Among those that did not pass.
            "quarantined": state.quarantined().ended(),
            "metrics": aggregates(attempts_in_order(state)).iter().map(summary).collect::<Vec<_>>(),
            "groups": groups(state),
        },
        "not_run": not_run(state),
        "cases": [],
    });
    if state.plan.options.repeat > 1 {
        report["summary"]["repeats"] = repeats(state);
        let of_k = |of: &RepeatedPass| json!({"k": of.k, "pass_at_k": of.pass_at, "pass_hat_k": of.pass_hat, "cases": of.cases});
        report["summary"]["repeated_passes"] = repeated_passes(state).iter().map(of_k).collect();
    }
    let cases = attempts_in_order(state).map(|ended| {
        let (attempt, unsteady) = (ended.read_to_write()?, ended.unsteady);
        Ok(WrittenCase { plan: &state.plan, attempt, unsteady })
    });
    write_with_list(out, &report, "cases", cases, |text| text)
}

fn not_run(state: &RunState) -> Vec<Value> {
    let name = |case: usize| json!({"eval_set": state.plan.set_of(case).id, "eval_id": state.plan.cases.eval_id(case)});
    cases_not_run(state).map(name).collect()
}

/// What failed cases share: the most specific groups, the largest first. The cases of a group are in the file's order.
fn groups(state: &RunState) -> Vec<Value> {
    let failed = failed_cases(state);
    let name = |at: &usize| {
        let case = failed[*at].key.case;
        json!({"eval_set": state.plan.set_of(case).id, "eval_id": state.plan.cases.eval_id(case)})
    };
    let found = groups_of(&failed);
    let group = |group: &FailureGroup| {
        let cases: Vec<Value> = group.members.iter().map(name).collect();
        let change = change_for(state, &failed, &group.members);
        let outer = found.groups.iter().find(|outer| outer.nested.contains(group));
        json!({
            "cause": group.cause.words(),
            "within": outer.map(|outer| outer.cause.words()),
            "share": group.members.len() as f64 / failed.len() as f64,
            "would_pass_with": change,
            "cases": cases,
        })
    };
    found.specific().iter().map(group).collect()
}

/// A case of the list `cases`. The types below are its parts, as the report writes them.
struct WrittenCase<'a> {
    plan: &'a RunPlan,
    attempt: Arc<Attempt>,
    unsteady: bool,
}

#[derive(Serialize)]
struct CaseFields<'a> {
    eval_set: &'a str,
    file: &'a str,
    eval_id: &'a str,
    attempt: u32,
    status: Status,
    adk_status: u8,
    latency_s: f64,
    error: Option<&'a str>,
    metrics: Vec<MetricFields<'a>>,
    invocations: Vec<TurnFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quarantine: Option<&'a Quarantine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a ToolUse>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unsteady: bool,
}

impl Serialize for WrittenCase<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let attempt = &*self.attempt;
        let set = self.plan.set_of(attempt.key.case);
        let turns = attempt.actual.len().max(attempt.expected.len());
        let fields = CaseFields {
            eval_set: &set.id,
            file: &set.file,
            eval_id: &attempt.eval_id,
            attempt: attempt.key.attempt,
            status: attempt.status,
            adk_status: attempt.adk_status.adk(),
            latency_s: attempt.latency_s,
            error: attempt.error.as_deref(),
            metrics: attempt.metrics.iter().map(MetricFields::of).collect(),
            invocations: (0..turns).map(|turn| TurnFields::of(attempt, turn)).collect(),
            turn: attempt.turn,
            quarantine: self.plan.cases.quarantine(attempt.key.case),
            tools: attempt.tool_use.as_ref(),
            unsteady: self.unsteady,
        };
        fields.serialize(serializer)
    }
}

#[derive(Serialize)]
struct MetricFields<'a> {
    metric: &'a str,
    score: Option<f64>,
    threshold: Option<f64>,
    status: Status,
    explanation: &'a str,
    findings: &'a [Finding],
    per_invocation: Vec<ScoreFields>,
    rubrics: Vec<RubricFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judge: Option<JudgeFields<'a>>,
}

#[derive(Serialize)]
struct ScoreFields {
    score: Option<f64>,
    status: Status,
}

#[derive(Serialize)]
struct RubricFields<'a> {
    rubric_id: &'a str,
    score: Option<f64>,
    rationale: Option<&'a str>,
    votes: Option<Votes>,
}

impl MetricFields<'_> {
    fn of(metric: &MetricResult) -> MetricFields<'_> {
        let turn = |turn: &InvocationScore| ScoreFields { score: turn.score, status: turn.status };
        MetricFields {
            metric: &metric.metric,
            score: metric.score,
            threshold: metric.threshold,
            status: metric.status,
            explanation: &metric.explanation,
            findings: &metric.findings,
            per_invocation: metric.per_invocation.iter().map(turn).collect(),
            rubrics: metric.rubrics.iter().map(RubricFields::of).collect(),
            judge: metric.judgement.as_deref().map(|judgement| JudgeFields::of(metric, judgement)),
        }
    }
}

impl RubricFields<'_> {
    fn of(rubric: &RubricScore) -> RubricFields<'_> {
        let RubricScore { rubric_id, score, rationale, votes } = rubric;
        RubricFields { rubric_id, score: *score, rationale: rationale.as_deref(), votes: *votes }
    }
}

/// The judge model, the samples, and the tokens and money spent.
#[derive(Serialize)]
struct JudgeFields<'a> {
    model: &'a str,
    unsteady: bool,
    disagreement: f64,
    position_bias: Option<f64>,
    warnings: &'a [String],
    spent: Spent,
    questions: Vec<QuestionFields<'a>>,
}

#[derive(Serialize)]
struct QuestionFields<'a> {
    turn: usize,
    text: usize,
    about: &'a str,
    samples: Vec<SampleFields<'a>>,
}

#[derive(Serialize)]
struct SampleFields<'a> {
    score: Option<f64>,
    reason: &'a str,
    error: Option<&'a str>,
    verdicts: Vec<VerdictFields<'a>>,
}

#[derive(Serialize)]
struct VerdictFields<'a> {
    id: &'a str,
    score: Option<f64>,
    rationale: Option<&'a str>,
}

impl JudgeFields<'_> {
    fn of<'a>(metric: &MetricResult, judgement: &'a Judgement) -> JudgeFields<'a> {
        JudgeFields {
            model: &judgement.model,
            unsteady: metric.is_unsteady(),
            disagreement: judgement.disagreement(),
            position_bias: judgement.position_bias,
            warnings: &judgement.warnings,
            spent: judgement.spent,
            questions: judgement.questions.iter().map(QuestionFields::of).collect(),
        }
    }
}

impl QuestionFields<'_> {
    fn of(asked: &Asked) -> QuestionFields<'_> {
        QuestionFields {
            turn: asked.id.turn + 1,
            text: asked.id.text + 1,
            about: &asked.about,
            samples: asked.samples.iter().map(SampleFields::of).collect(),
        }
    }
}

impl SampleFields<'_> {
    fn of(sample: &Sample) -> SampleFields<'_> {
        fn verdict(one: &RubricScore) -> VerdictFields<'_> {
            VerdictFields { id: &one.rubric_id, score: one.score, rationale: one.rationale.as_deref() }
        }
        SampleFields {
            score: sample.score,
            reason: &sample.reason,
            error: sample.error.as_deref(),
            verdicts: sample.verdicts.iter().map(verdict).collect(),
        }
    }
}

#[derive(Serialize)]
struct TurnFields<'a> {
    user: Option<String>,
    expected: Option<SideFields<'a>>,
    actual: Option<SideFields<'a>>,
}

/// What is expected in a turn, or what the agent did.
#[derive(Serialize)]
struct SideFields<'a> {
    tool_calls: Vec<CallFields<'a>>,
    response: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls_known: Option<bool>,
    #[serde(skip_serializing_if = "TurnEnd::is_answered")]
    end: TurnEnd,
}

#[derive(Serialize)]
struct CallFields<'a> {
    name: &'a str,
    args: Option<Cow<'a, Map<String, Value>>>,
}

impl TurnFields<'_> {
    fn of(attempt: &Attempt, turn: usize) -> TurnFields<'_> {
        let (expected, actual) = (attempt.expected.get(turn), attempt.actual.get(turn));
        TurnFields {
            user: expected.or(actual).map(|turn| turn.user.scored_text()),
            expected: expected.map(SideFields::of),
            actual: actual.map(SideFields::of),
        }
    }
}

impl SideFields<'_> {
    fn of(turn: &Invocation) -> SideFields<'_> {
        fn call(call: &ToolCall) -> CallFields<'_> {
            CallFields { name: &call.name, args: call.args.as_ref().map(plain_members) }
        }
        SideFields {
            tool_calls: turn.calls().into_iter().map(call).collect(),
            response: turn.final_response.as_ref().map(Content::scored_text),
            calls_known: matches!(turn.trajectory, Trajectory::Partial(_)).then_some(false),
            end: turn.end,
        }
    }
}

/// Mean and spread of a metric, with the number of values.
fn summary(of: &Aggregate) -> Value {
    json!({
        "metric": of.metric,
        "mean": of.mean,
        "std": of.std,
        "valid": of.valid,
        "errored": of.errored,
        "total": of.total,
        "mean_errors_as_zero": of.mean_errors_as_zero,
        "min": of.min,
        "median": of.median,
        "p90": of.p90,
        "p95": of.p95,
    })
}

/// The results of each case over its attempts.
fn repeats(state: &RunState) -> Value {
    let of_case = |case: usize| {
        let attempts = state.attempts_of(case);
        let count = count_of(state, case);
        let of_k = |of: fn(PassCount, usize) -> Option<f64>| -> Vec<Option<f64>> {
            (1..=state.plan.options.repeat as usize).map(|k| of(count, k)).collect()
        };
        json!({
            "eval_set": state.plan.set_of(case).id,
            "eval_id": state.plan.cases.eval_id(case),
            "attempts": attempts.len(),
            "passed": count.passed,
            "evaluated": count.of,
            "flaky": count.is_flaky(),
            "pass_rate": count.rate(),
            "pass_rate_95": count.interval().map(|(low, high)| [low, high]),
            "pass_at_k": of_k(PassCount::pass_at),
            "pass_hat_k": of_k(PassCount::pass_hat),
            "metrics": aggregates(attempts.iter().map(|attempt| attempt.summary())).iter().map(summary).collect::<Vec<_>>(),
        })
    };
    (0..state.plan.cases.len()).map(of_case).collect()
}
