//! The one table of metrics, and the one place that scores a case.

use super::{efficiency, rouge, trajectory};
use crate::domain::{Criterion, Invocation, InvocationScore, MetricResult, Status};
use serde_json::{Map, Value};

/// What a metric is and needs.
#[derive(Clone, Copy, Debug)]
pub struct MetricInfo {
    /// The name that ADK defines.
    pub name: &'static str,
    /// What it says, in a sentence.
    pub summary: &'static str,
    /// Lowest and highest score, where there are bounds.
    pub range: Option<(f64, f64)>,
    /// How it is computed.
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Trajectory,
    ResponseMatch,
    Efficiency,
    Judge,
    Vertex,
}

const fn metric(
    name: &'static str,
    kind: Kind,
    range: Option<(f64, f64)>,
    summary: &'static str,
) -> MetricInfo {
    MetricInfo { name, summary, range, kind }
}

const UNIT: Option<(f64, f64)> = Some((0.0, 1.0));

/// The metrics of ADK 2.13, in its order.
pub const METRICS: &[MetricInfo] = &[
    metric(
        "tool_trajectory_avg_score",
        Kind::Trajectory,
        UNIT,
        "the share of turns whose tool calls match the expected ones",
    ),
    metric("response_evaluation_score", Kind::Vertex, Some((1.0, 5.0)), "coherence, as Vertex AI judges it"),
    metric("response_match_score", Kind::ResponseMatch, UNIT, "word overlap with the reference (ROUGE-1 F)"),
    metric("safety_v1", Kind::Vertex, UNIT, "safety, as Vertex AI judges it"),
    metric(
        "multi_turn_task_success_v1",
        Kind::Vertex,
        UNIT,
        "task success over the conversation, as Vertex AI judges it",
    ),
    metric(
        "multi_turn_trajectory_quality_v1",
        Kind::Vertex,
        UNIT,
        "trajectory quality over the conversation, as Vertex AI judges it",
    ),
    metric(
        "multi_turn_tool_use_quality_v1",
        Kind::Vertex,
        UNIT,
        "tool use over the conversation, as Vertex AI judges it",
    ),
    metric(
        "final_response_match_v2",
        Kind::Judge,
        UNIT,
        "a judge's verdict on whether the response agrees with the reference",
    ),
    metric(
        "rubric_based_final_response_quality_v1",
        Kind::Judge,
        UNIT,
        "the share of response rubrics that a judge says yes to",
    ),
    metric("hallucinations_v1", Kind::Judge, UNIT, "the share of sentences that a judge finds supported"),
    metric(
        "rubric_based_tool_use_quality_v1",
        Kind::Judge,
        UNIT,
        "the share of tool use rubrics that a judge says yes to",
    ),
    metric(
        "per_turn_user_simulator_quality_v1",
        Kind::Judge,
        UNIT,
        "whether the simulated user keeps to its plan",
    ),
    metric(
        "rubric_based_multi_turn_trajectory_quality_v1",
        Kind::Judge,
        UNIT,
        "the share of trajectory rubrics that a judge says yes to",
    ),
    metric("tool_call_count_v1", Kind::Efficiency, None, "tool calls a turn"),
    metric("inference_call_count_v1", Kind::Efficiency, None, "model calls a turn"),
    metric("token_usage_v1", Kind::Efficiency, None, "tokens a turn"),
    metric("invocation_duration_v1", Kind::Efficiency, None, "seconds a turn"),
];

/// Why a criterion cannot be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unusable {
    /// No metric has this name.
    #[error("no metric is called {name:?}{}", did_you_mean(.nearest))]
    Unknown {
        /// The name as given.
        name: String,
        /// A metric of nearly the same name.
        nearest: Option<&'static str>,
    },
    /// It takes a judge model.
    #[error("{0} asks a judge model, and no judge is configured")]
    NeedsJudge(&'static str),
    /// It takes Google's service.
    #[error("{0} is computed by Vertex AI, and no project is configured")]
    NeedsVertex(&'static str),
    /// An efficiency metric was given a threshold.
    #[error("{0} is informational and takes no threshold")]
    TakesNoThreshold(&'static str),
    /// An option has a value that the metric does not take.
    #[error("option {option}: expected {expected}, found {found}")]
    Option {
        /// Which option.
        option: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What it was given.
        found: String,
    },
    /// There is nothing to compare with.
    #[error("the case expects nothing: a scenario has no reference turns")]
    NoReference,
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// A metric by name; a label after a colon is not part of it.
pub fn info(name: &str) -> Option<&'static MetricInfo> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// Whether a criterion can be evaluated, and if not, why.
pub fn usable(criterion: &Criterion) -> Result<(), Unusable> {
    let metric = info(criterion.name()).ok_or_else(|| unknown(criterion.name()))?;
    match metric.kind {
        Kind::Judge => Err(Unusable::NeedsJudge(metric.name)),
        Kind::Vertex => Err(Unusable::NeedsVertex(metric.name)),
        Kind::Efficiency if criterion.threshold.is_some() => Err(Unusable::TakesNoThreshold(metric.name)),
        Kind::Trajectory => trajectory::TrajectoryOptions::of(criterion).map(|_| ()),
        Kind::Efficiency | Kind::ResponseMatch => Ok(()),
    }
}

fn unknown(name: &str) -> Unusable {
    /// Names further apart than this are not mistaken for each other.
    const NEAR: usize = 4;
    let away = |metric: &MetricInfo| match name.len() >= 5 && metric.name.starts_with(name) {
        true => 0,
        false => distance(name, metric.name),
    };
    let nearest = METRICS.iter().min_by_key(|metric| away(metric)).filter(|metric| away(metric) <= NEAR);
    Unusable::Unknown { name: name.to_string(), nearest: nearest.map(|metric| metric.name) }
}

/// Edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let next = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}

/// Scores a case under its criteria, and under the four efficiency metrics that ADK always adds.
/// `expected` is `None` for a case without reference turns.
pub fn score_case(
    criteria: &[Criterion],
    expected: Option<&[Invocation]>,
    actual: &[Invocation],
) -> Vec<MetricResult> {
    let named = |metric: &MetricInfo| criteria.iter().any(|criterion| criterion.metric == metric.name);
    let added: Vec<Criterion> = METRICS
        .iter()
        .filter(|metric| metric.kind == Kind::Efficiency && !named(metric))
        .map(|metric| Criterion::new(metric.name, None))
        .collect();
    criteria.iter().chain(&added).map(|criterion| score(criterion, expected, actual)).collect()
}

/// Scores a case under one criterion.
pub fn score(criterion: &Criterion, expected: Option<&[Invocation]>, actual: &[Invocation]) -> MetricResult {
    match judge(criterion, expected, actual) {
        Ok(outcome) => result(criterion, outcome),
        Err(why) => not_evaluated(criterion, actual.len(), &why.to_string()),
    }
}

/// What a metric computes, before it is held against the threshold.
pub(super) struct Outcome {
    pub(super) score: Option<f64>,
    pub(super) explanation: String,
    pub(super) per_invocation: Vec<(Option<f64>, String)>,
    pub(super) details: Vec<Option<crate::domain::MetricDetails>>,
    pub(super) overall: Option<crate::domain::MetricDetails>,
    pub(super) informational: bool,
}

fn judge(
    criterion: &Criterion,
    expected: Option<&[Invocation]>,
    actual: &[Invocation],
) -> Result<Outcome, Unusable> {
    usable(criterion)?;
    let kind = info(criterion.name()).ok_or_else(|| unknown(criterion.name()))?.kind;
    if kind == Kind::Efficiency {
        return Ok(efficiency::measure(criterion.name(), actual));
    }
    let expected = expected.ok_or(Unusable::NoReference)?;
    match kind {
        Kind::Trajectory => {
            let options = trajectory::TrajectoryOptions::of(criterion)?;
            Ok(trajectory::measure(options, expected, actual, criterion.threshold))
        }
        _ => Ok(rouge::measure(expected, actual, criterion.threshold)),
    }
}

fn result(criterion: &Criterion, outcome: Outcome) -> MetricResult {
    let status = |score| match outcome.informational {
        true => Status::Informational,
        false => Status::of(score, criterion.threshold),
    };
    let mut details = outcome.details.into_iter();
    let per_invocation = outcome
        .per_invocation
        .into_iter()
        .map(|(score, explanation)| InvocationScore {
            score,
            status: status(score),
            explanation,
            details: details.next().flatten(),
        })
        .collect();
    MetricResult {
        metric: criterion.metric.clone(),
        score: outcome.score,
        threshold: criterion.threshold,
        status: status(outcome.score),
        explanation: outcome.explanation,
        per_invocation,
        rubrics: Vec::new(),
        criterion: as_written(criterion),
        details: outcome.overall,
    }
}

/// The result of a criterion that could not be judged: never green, and it says why.
fn not_evaluated(criterion: &Criterion, turns: usize, why: &str) -> MetricResult {
    let nothing = InvocationScore {
        score: None,
        status: Status::NotEvaluated,
        explanation: String::new(),
        details: None,
    };
    MetricResult {
        metric: criterion.metric.clone(),
        score: None,
        threshold: criterion.threshold,
        status: Status::NotEvaluated,
        explanation: why.to_string(),
        per_invocation: vec![nothing; turns],
        rubrics: Vec::new(),
        criterion: as_written(criterion),
        details: None,
    }
}

/// The criterion as ADK's result file shows it: as the user wrote it, or a plain threshold.
fn as_written(criterion: &Criterion) -> Option<Value> {
    if !criterion.options.is_empty() {
        return Some(Value::Object(criterion.options.clone()));
    }
    let mut plain = Map::new();
    plain.insert("threshold".into(), criterion.threshold?.into());
    plain.insert("include_intermediate_responses_in_final".into(), false.into());
    Some(Value::Object(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_judged_says_why() {
        let why = |name: &str, threshold| usable(&Criterion::new(name, threshold)).unwrap_err().to_string();
        assert!(
            why("tool_trajectory_avg_scor", Some(1.0))
                .contains("did you mean \"tool_trajectory_avg_score\"?")
        );
        assert!(why("nonsense", Some(1.0)).ends_with("called \"nonsense\""));
        assert!(why("hallucinations_v1", Some(0.5)).contains("judge"));
        assert!(why("token_usage_v1", Some(3.0)).contains("takes no threshold"));
        assert!(usable(&Criterion::new("response_match_score:again", Some(0.5))).is_ok());
    }

    #[test]
    fn efficiency_is_always_measured() {
        let names: Vec<String> = score_case(&[], Some(&[]), &[]).into_iter().map(|m| m.metric).collect();
        assert_eq!(names.len(), 4);
    }
}
