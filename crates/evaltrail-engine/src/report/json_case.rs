//! A case of the JSON report. The types are its parts with the names of their members; they borrow from the attempt, because
//! a report may have a million cases.

use super::json_steps::{StepFields, steps};
use evaltrail_core::domain::{
    Attempt, Content, Finding, IntermediateResponse, Invocation, InvocationScore, JudgeUsage,
    JudgedQuestion, Judgement, MetricResult, ModelError, Quarantine, RubricScore, RunPlan, Sample,
    Score, Status, ToolCall, ToolUse, Trajectory, TurnEnd, Votes, plain_members,
};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// An attempt, to be written as a case of the report.
pub(super) struct WrittenCase<'a> {
    pub(super) plan: &'a RunPlan,
    pub(super) attempt: Arc<Attempt>,
    pub(super) unsteady: bool,
    /// Why it did not pass; empty if it passed.
    pub(super) reason: String,
}

#[derive(Serialize)]
struct CaseFields<'a> {
    eval_set: &'a str,
    file: &'a str,
    eval_id: &'a str,
    /// The position of the case in the file, from 1.
    position: usize,
    attempt: u32,
    status: Status,
    adk_status: u8,
    latency_s: Option<f64>,
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    model_errors: Vec<ModelErrorFields<'a>>,
    reason: Option<&'a str>,
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
            position: self.plan.cases.index_in_file(attempt.key.case) + 1,
            attempt: attempt.key.attempt,
            status: attempt.status,
            adk_status: attempt.adk_status.adk(),
            latency_s: attempt.latency_s,
            error: attempt.error.as_deref(),
            model_errors: attempt.model_errors().map(ModelErrorFields::new).collect(),
            reason: Some(self.reason.as_str()).filter(|reason| !reason.is_empty()),
            metrics: attempt.metrics.iter().map(MetricFields::new).collect(),
            invocations: (0..turns)
                .map(|turn| TurnFields::new(attempt, turn))
                .collect(),
            turn: attempt.turn,
            quarantine: self.plan.cases.quarantine(attempt.key.case),
            tools: attempt.tool_use.as_ref(),
            unsteady: self.unsteady,
        };
        fields.serialize(serializer)
    }
}

/// An error that the model reported; `turn` begins at 1.
#[derive(Serialize)]
struct ModelErrorFields<'a> {
    turn: usize,
    author: &'a str,
    code: &'a str,
    message: &'a str,
    at_s: Option<f64>,
}

impl ModelErrorFields<'_> {
    fn new((turn, error): (usize, &ModelError)) -> ModelErrorFields<'_> {
        let ModelError {
            author,
            code,
            message,
            at,
        } = error;
        ModelErrorFields {
            turn,
            author,
            code,
            message,
            at_s: *at,
        }
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
    fn new(metric: &MetricResult) -> MetricFields<'_> {
        let turn = |turn: &InvocationScore| ScoreFields {
            score: turn.score(),
            status: turn.status,
        };
        MetricFields {
            metric: &metric.metric,
            score: metric.score(),
            threshold: metric.threshold,
            status: metric.status,
            explanation: metric.stated_explanation(),
            findings: &metric.findings,
            per_invocation: metric.per_invocation.iter().map(turn).collect(),
            rubrics: metric.rubrics.iter().map(RubricFields::new).collect(),
            judge: metric
                .judgement
                .as_deref()
                .map(|judgement| JudgeFields::new(metric, judgement)),
        }
    }
}

impl RubricFields<'_> {
    fn new(rubric: &RubricScore) -> RubricFields<'_> {
        let RubricScore {
            rubric_id,
            score,
            rationale,
            votes,
        } = rubric;
        RubricFields {
            rubric_id,
            score: score.map(Score::get),
            rationale: rationale.as_deref(),
            votes: *votes,
        }
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
    notes: &'a [String],
    spent: JudgeUsage,
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
    fn new<'a>(metric: &MetricResult, judgement: &'a Judgement) -> JudgeFields<'a> {
        JudgeFields {
            model: &judgement.model,
            unsteady: metric.is_unsteady(),
            disagreement: judgement.disagreement(),
            position_bias: judgement.position_bias.map(Score::get),
            warnings: &judgement.warnings,
            notes: &judgement.notes,
            spent: judgement.spent,
            questions: judgement
                .questions
                .iter()
                .map(QuestionFields::new)
                .collect(),
        }
    }
}

impl QuestionFields<'_> {
    fn new(asked: &JudgedQuestion) -> QuestionFields<'_> {
        QuestionFields {
            turn: asked.id.turn + 1,
            text: asked.id.text + 1,
            about: &asked.about,
            samples: asked.samples.iter().map(SampleFields::new).collect(),
        }
    }
}

impl SampleFields<'_> {
    fn new(sample: &Sample) -> SampleFields<'_> {
        fn verdict(one: &RubricScore) -> VerdictFields<'_> {
            VerdictFields {
                id: &one.rubric_id,
                score: one.score(),
                rationale: one.rationale.as_deref(),
            }
        }
        SampleFields {
            score: sample.score(),
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
    /// `null` if they are not known.
    tool_calls: Option<Vec<CallFields<'a>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    intermediate_responses: Vec<TextFields>,
    response: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls_known: Option<bool>,
    #[serde(skip_serializing_if = "TurnEnd::is_answered")]
    end: TurnEnd,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepFields<'a>>,
}

#[derive(Serialize)]
struct CallFields<'a> {
    name: &'a str,
    args: Option<Cow<'a, Map<String, Value>>>,
}

#[derive(Serialize)]
struct TextFields {
    author: String,
    text: String,
}

impl TurnFields<'_> {
    fn new(attempt: &Attempt, turn: usize) -> TurnFields<'_> {
        let (expected, actual) = (attempt.expected.get(turn), attempt.actual.get(turn));
        TurnFields {
            user: expected.or(actual).map(|turn| turn.user.scored_text()),
            expected: expected.map(SideFields::new),
            actual: actual.map(SideFields::new),
        }
    }
}

impl SideFields<'_> {
    fn new(turn: &Invocation) -> SideFields<'_> {
        fn call(call: &ToolCall) -> CallFields<'_> {
            CallFields {
                name: &call.name,
                args: call.args.as_ref().map(plain_members),
            }
        }
        fn text(response: &IntermediateResponse) -> TextFields {
            TextFields {
                author: response.author.clone(),
                text: response.text(),
            }
        }
        let calls: Vec<CallFields> = turn.calls().into_iter().map(call).collect();
        let is_known = turn.trajectory.is_known() || !calls.is_empty();
        SideFields {
            tool_calls: is_known.then_some(calls),
            intermediate_responses: turn.intermediate_responses().iter().map(text).collect(),
            response: turn.final_response.as_ref().map(Content::scored_text),
            calls_known: matches!(turn.trajectory, Trajectory::Partial(_)).then_some(false),
            end: turn.end,
            steps: steps(turn),
        }
    }
}
