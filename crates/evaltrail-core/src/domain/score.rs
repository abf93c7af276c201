//! Scores and statuses of metrics and cases.

use super::{Finding, FindingRule, Judgement, Score, finite_number};
use crate::domain::RubricScore;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The outcome of a metric or a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Evaluated, and the threshold is met.
    Passed,
    /// Evaluated, and the threshold is not met.
    Failed,
    /// The agent or the judge failed to complete.
    Errored,
    /// Could not be evaluated; never counts as passed.
    NotEvaluated,
    /// A score without a verdict.
    Informational,
}

impl Status {
    /// The status that needs attention first; `None` if there are none.
    pub fn worst(statuses: impl IntoIterator<Item = Status>) -> Option<Status> {
        let rank = |status: &Status| match status {
            Status::Failed => 4,
            Status::Errored => 3,
            Status::NotEvaluated | Status::Informational => 2,
            Status::Passed => 1,
        };
        statuses.into_iter().max_by_key(rank)
    }

    /// Whether it counts in a pass rate: a rate is the share of passed attempts among those that were evaluated. An
    /// attempt that errored was evaluated, and did not pass.
    pub fn is_evaluated(self) -> bool {
        matches!(self, Status::Passed | Status::Failed | Status::Errored)
    }

    /// The name to display.
    pub fn label(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::Errored => "errored",
            Status::NotEvaluated => "not evaluated",
            Status::Informational => "informational",
        }
    }

    /// The name in reports and in the filter language.
    pub fn key(self) -> &'static str {
        match self {
            Status::NotEvaluated => "not_evaluated",
            other => other.label(),
        }
    }

    /// The glyph that identifies the status without color.
    pub fn glyph(self) -> &'static str {
        match self {
            Status::Passed => "✓",
            Status::Failed => "✗",
            Status::Errored => "!",
            Status::NotEvaluated => "?",
            Status::Informational => "·",
        }
    }

    /// ADK's number for a metric's status. ADK has no "errored": it records a failure.
    pub fn adk(self) -> u8 {
        match self {
            Status::Passed => 1,
            Status::Failed | Status::Errored => 2,
            Status::NotEvaluated => 3,
            Status::Informational => 4,
        }
    }

    /// The status for ADK's number; `None` if the number is unknown.
    pub fn from_adk(number: u64) -> Option<Status> {
        Some(match number {
            1 => Status::Passed,
            2 => Status::Failed,
            3 => Status::NotEvaluated,
            4 => Status::Informational,
            _ => return None,
        })
    }

    /// ADK's pass rule: passed at or above the threshold; not evaluated without a score.
    pub fn from_score(score: Option<f64>, threshold: Option<f64>) -> Status {
        match (score, threshold) {
            (Some(score), Some(threshold)) if score >= threshold => Status::Passed,
            (Some(_), Some(_)) => Status::Failed,
            (Some(_), None) => Status::Informational,
            (None, _) => Status::NotEvaluated,
        }
    }
}

/// The score of one criterion over a whole case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricResult {
    /// The criterion's metric, label included.
    pub metric: String,
    /// The score; `None` when it could not be computed.
    pub score: Option<Score>,
    /// The score needed to pass; `None` for informational metrics.
    pub threshold: Option<f64>,
    /// The outcome.
    pub status: Status,
    /// A sentence that the user can act on: the step, the argument, the number.
    pub explanation: String,
    /// The reasons for the score, in the order of turns and calls. A result that failed or was not evaluated has at
    /// least one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The scores of the turns.
    pub per_invocation: Vec<InvocationScore>,
    /// The rubrics with the judge's verdicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<RubricScore>,
    /// The criterion as the user wrote it, for ADK's result file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<Value>,
    /// The values that the score is computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<MetricDetails>,
    /// The questions to the judge and its responses, if a judge was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Box<Judgement>>,
}

impl MetricResult {
    /// The score as a number.
    pub fn score(&self) -> Option<f64> {
        self.score.map(Score::get)
    }

    /// The explanation; where a metric was not evaluated and no reason was recorded, that.
    pub fn stated_explanation(&self) -> &str {
        match (self.status, self.explanation.is_empty()) {
            (Status::NotEvaluated | Status::Errored, true) => "no reason is recorded",
            _ => &self.explanation,
        }
    }

    /// Whether one sample of the judge could change the outcome.
    pub fn is_unsteady(&self) -> bool {
        let decided = matches!(self.status, Status::Passed | Status::Failed);
        decided
            && self
                .judgement
                .as_ref()
                .is_some_and(|judgement| judgement.is_unsteady(self.threshold))
    }
}

/// The score of one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InvocationScore {
    /// The score; `None` when it could not be computed.
    pub score: Option<Score>,
    /// The outcome.
    pub status: Status,
    /// The reason; empty if the score alone is sufficient.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub explanation: String,
    /// The values that the score is computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<MetricDetails>,
    /// The turn's rubrics with the judge's verdicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<RubricScore>,
}

impl InvocationScore {
    /// The score as a number.
    pub fn score(&self) -> Option<f64> {
        self.score.map(Score::get)
    }
}

/// The values that a metric measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricDetails {
    /// Tokens by kind.
    Tokens(TokenUsage),
    /// Seconds.
    Seconds {
        /// The whole turn.
        total: Option<f64>,
    },
}

/// Tokens by kind; for a case, the means over its turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Input and output.
    pub total: Option<f64>,
    /// Prompt and tool use.
    pub input: Option<f64>,
    /// Prompt, cached tokens included.
    pub prompt: Option<f64>,
    /// Cached.
    pub cached: Option<f64>,
    /// Tool use.
    pub tool_use: Option<f64>,
    /// Candidates and reasoning.
    pub output: Option<f64>,
    /// Candidates.
    pub candidates: Option<f64>,
    /// Reasoning.
    pub reasoning: Option<f64>,
}

/// A case's status from its metrics. Failed takes precedence over errored, errored over not evaluated, and not
/// evaluated over passed: unlike in ADK, a case does not pass if one criterion could not be evaluated.
///
/// A metric without a threshold is informational: that it could not be computed does not decide. A program decides
/// without a threshold, too.
pub fn case_status(metrics: &[MetricResult]) -> Status {
    let is_of_program = |metric: &MetricResult| {
        metric
            .findings
            .iter()
            .any(|finding| finding.rule == FindingRule::ProgramFailed)
    };
    let decides = |metric: &MetricResult| {
        metric.status != Status::Errored || metric.threshold.is_some() || is_of_program(metric)
    };
    let has = |status| {
        metrics
            .iter()
            .any(|metric| metric.status == status && decides(metric))
    };
    if has(Status::Failed) {
        Status::Failed
    } else if has(Status::Errored) {
        Status::Errored
    } else if has(Status::NotEvaluated) || !has(Status::Passed) {
        Status::NotEvaluated
    } else {
        Status::Passed
    }
}

/// The metric that compares the final session state. ADK has no such metric.
pub const SESSION_STATE_MATCH: &str = "session_state_match";

/// ADK's `final_eval_status`: failed if any metric failed, else passed if any passed; other statuses are ignored.
/// [`SESSION_STATE_MATCH`] does not count, because ADK never compares session states.
pub fn adk_status(metrics: &[MetricResult]) -> Status {
    let is_state =
        |metric: &&MetricResult| metric.metric.split(':').next() == Some(SESSION_STATE_MATCH);
    let counted = || metrics.iter().filter(|metric| !is_state(metric));
    let has = |status| counted().any(|metric| adk_view(metric) == status);
    if has(Status::Failed) {
        Status::Failed
    } else if has(Status::Passed) {
        Status::Passed
    } else {
        Status::NotEvaluated
    }
}

/// The status of a metric in ADK: a metric that is informational only in evaltrail is compared with the threshold of
/// the criterion as the user wrote it, and an errored one is not evaluated.
pub fn adk_view(metric: &MetricResult) -> Status {
    let written = metric
        .criterion
        .as_ref()
        .and_then(|criterion| finite_number(criterion.get("threshold")?));
    if metric.judgement.is_some() && metric.threshold.is_some() {
        return Status::from_score(metric.score(), metric.threshold);
    }
    match (metric.status, metric.score, written) {
        (Status::Informational, Some(_), Some(_)) => Status::from_score(metric.score(), written),
        (Status::Errored, ..) => Status::NotEvaluated,
        (status, ..) => status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(statuses: &[Status]) -> Vec<MetricResult> {
        let metric = |status: &Status| MetricResult {
            metric: "m".into(),
            score: None,
            threshold: None,
            status: *status,
            explanation: String::new(),
            findings: vec![],
            per_invocation: vec![],
            rubrics: vec![],
            criterion: None,
            details: None,
            judgement: None,
        };
        statuses.iter().map(metric).collect()
    }

    /// Columns: metrics, status here, status in ADK.
    #[test]
    fn unjudged_metric_never_passes() {
        use Status::*;
        let table: &[(&[Status], Status, Status)] = &[
            (&[Passed, NotEvaluated, Informational], NotEvaluated, Passed),
            (&[NotEvaluated, Informational], NotEvaluated, NotEvaluated),
            (&[Passed, Failed], Failed, Failed),
            (&[Passed, Informational], Passed, Passed),
            (&[Informational], NotEvaluated, NotEvaluated),
            (&[], NotEvaluated, NotEvaluated),
        ];
        for (statuses, here, in_adk) in table {
            let metrics = metrics(statuses);
            assert_eq!(
                (case_status(&metrics), adk_status(&metrics)),
                (*here, *in_adk),
                "{statuses:?}"
            );
        }
    }

    #[test]
    fn errored_informational_metric_is_ignored() {
        let mut both = metrics(&[Status::Passed, Status::Errored]);
        assert_eq!(case_status(&both), Status::Passed);
        assert_eq!(
            case_status(&both[1..]),
            Status::NotEvaluated,
            "nothing passed"
        );
        both[1].findings = vec![Finding::text(FindingRule::ProgramFailed, "crashed")];
        assert_eq!(
            case_status(&both),
            Status::Errored,
            "a program decides its own status"
        );
        both[1] = MetricResult {
            threshold: Some(0.5),
            ..metrics(&[Status::Errored]).remove(0)
        };
        assert_eq!(case_status(&both), Status::Errored);
    }

    #[test]
    fn at_the_threshold_is_passed() {
        assert_eq!(Status::from_score(Some(0.8), Some(0.8)), Status::Passed);
        assert_eq!(
            Status::from_score(Some(2.0 / 3.0), Some(0.6666666666666666)),
            Status::Passed
        );
        assert_eq!(Status::from_score(None, Some(0.0)), Status::NotEvaluated);
        assert_eq!(Status::from_score(Some(1.0), None), Status::Informational);
    }
}
