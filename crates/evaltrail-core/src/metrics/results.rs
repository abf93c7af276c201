//! Criteria with their metrics built, and their results: with a score, or with the reason why there is none.

use super::catalog::Direction;
use super::criterion_error::CriterionError;
use super::measure::{Evidence, Measure, Outcome, TurnScore};
use super::registry::{build_measure, info};
use crate::domain::{
    Criterion, Finding, FindingRule, InvocationScore, MetricResult, NotFinite, Score, Status,
};
use serde_json::{Map, Value};

/// A criterion with its metric built.
pub(super) struct BuiltCriterion {
    pub(super) criterion: Criterion,
    direction: Direction,
    pub(super) measure: Result<Box<dyn Measure>, CriterionError>,
}

impl BuiltCriterion {
    pub(super) fn new(criterion: &Criterion) -> BuiltCriterion {
        BuiltCriterion {
            direction: info(criterion.name()).map_or(Direction::Higher, |metric| metric.direction),
            measure: build_measure(criterion),
            criterion: criterion.clone(),
        }
    }

    pub(super) fn score(&self, evidence: &Evidence) -> MetricResult {
        match &self.measure {
            Ok(measure) => {
                let outcome = measure.measure(evidence, self.criterion.threshold);
                result(&self.criterion, self.direction, outcome).unwrap_or_else(|why| {
                    without_finite_score(&self.criterion, evidence.actual.len(), &why.to_string())
                })
            }
            Err(why) => {
                let result =
                    not_evaluated(&self.criterion, evidence.actual.len(), &why.to_string());
                MetricResult {
                    status: informational_without_threshold(&self.criterion, result.status),
                    ..result
                }
            }
        }
    }
}

/// Scores a case under one criterion.
pub fn score(criterion: &Criterion, evidence: &Evidence) -> MetricResult {
    BuiltCriterion::new(criterion).score(evidence)
}

/// The status of a score. At the threshold, or beyond it in the metric's direction, it passes.
pub fn status_of(direction: Direction, score: Option<f64>, threshold: Option<f64>) -> Status {
    match direction {
        Direction::Higher => Status::from_score(score, threshold),
        Direction::Lower => Status::from_score(
            score.map(|score| -score),
            threshold.map(|threshold| -threshold),
        ),
    }
}

fn result(
    criterion: &Criterion,
    direction: Direction,
    outcome: Outcome,
) -> Result<MetricResult, NotFinite> {
    let status = |score| match outcome.informational {
        true => Status::Informational,
        false => status_of(direction, score, criterion.threshold),
    };
    let mut details = outcome.details.into_iter();
    let of_turn = |(at, turn): (usize, &TurnScore)| {
        turn.findings
            .iter()
            .map(|finding| finding.clone().in_turn(at + 1))
            .collect::<Vec<_>>()
    };
    let mut findings = outcome.findings;
    findings.extend(outcome.per_invocation.iter().enumerate().flat_map(of_turn));
    let decided = informational_without_threshold(criterion, status(outcome.score));
    if decided == Status::Failed && findings.is_empty() {
        findings.push(Finding::threshold_missed(
            outcome.score,
            criterion.threshold,
        ));
    }
    let per_invocation = outcome
        .per_invocation
        .into_iter()
        .map(|turn| {
            Ok(InvocationScore {
                score: Score::check(turn.score)?,
                status: status(turn.score),
                explanation: turn.describe(),
                details: details.next().flatten(),
                rubrics: Vec::new(),
            })
        })
        .collect::<Result<Vec<InvocationScore>, NotFinite>>()?;
    Ok(MetricResult {
        metric: criterion.metric.clone(),
        score: Score::check(outcome.score)?,
        threshold: criterion.threshold,
        status: decided,
        explanation: outcome.explanation,
        findings,
        per_invocation,
        rubrics: Vec::new(),
        criterion: as_written(criterion),
        details: outcome.overall,
        judgement: None,
    })
}

/// The result of a criterion whose score is no finite number.
pub(super) fn without_finite_score(criterion: &Criterion, turns: usize, why: &str) -> MetricResult {
    let findings = vec![Finding::text(FindingRule::NotEvaluated, why)];
    MetricResult {
        findings,
        ..unscored(criterion, turns, Status::Errored, why)
    }
}

/// A metric without a threshold is informational, also when it has no score.
fn informational_without_threshold(criterion: &Criterion, status: Status) -> Status {
    match (status, criterion.threshold) {
        (Status::NotEvaluated, None) => Status::Informational,
        (status, _) => status,
    }
}

/// The result of a criterion that could not be evaluated: it never passes, and its explanation is the reason.
fn not_evaluated(criterion: &Criterion, turns: usize, why: &str) -> MetricResult {
    unscored(criterion, turns, Status::NotEvaluated, why)
}

/// The result of a criterion without a score.
pub fn unscored(criterion: &Criterion, turns: usize, status: Status, why: &str) -> MetricResult {
    let nothing = InvocationScore {
        score: None,
        status,
        explanation: String::new(),
        details: None,
        rubrics: Vec::new(),
    };
    let rule = match status {
        Status::Errored => FindingRule::ProgramFailed,
        _ => FindingRule::NotEvaluated,
    };
    let findings = if why.is_empty() {
        Vec::new()
    } else {
        vec![Finding::text(rule, why)]
    };
    MetricResult {
        metric: criterion.metric.clone(),
        score: None,
        threshold: criterion.threshold,
        status,
        explanation: why.to_string(),
        findings,
        per_invocation: vec![nothing; turns],
        rubrics: Vec::new(),
        criterion: as_written(criterion),
        details: None,
        judgement: None,
    }
}

/// The result of a criterion for which responses of a judge or a simulated user are missing, and why they are.
pub fn without_responses(
    criterion: &Criterion,
    turns: usize,
    rule: FindingRule,
    why: &str,
) -> MetricResult {
    // A metric without a threshold must not keep a case from passing.
    let status = match criterion.threshold {
        Some(_) => Status::NotEvaluated,
        None => Status::Informational,
    };
    MetricResult {
        findings: vec![Finding::text(rule, why)],
        ..unscored(criterion, turns, status, why)
    }
}

/// The criterion as it is in ADK's result file: as the user wrote it, or a plain threshold.
fn as_written(criterion: &Criterion) -> Option<Value> {
    let mut options = criterion.options.clone();
    if options.is_empty() {
        options.insert("threshold".into(), criterion.threshold?.into());
        options.insert(
            "include_intermediate_responses_in_final".into(),
            false.into(),
        );
    }
    if !criterion.rules.is_empty() {
        options.insert(
            RULES_KEY.into(),
            serde_json::to_value(&criterion.rules).unwrap_or_default(),
        );
    }
    Some(Value::Object(options))
}

/// The key under which a result stores the rules it was scored by.
pub(super) const RULES_KEY: &str = "match";

/// The criterion of a result.
pub fn criterion_of(metric: &MetricResult) -> Criterion {
    let mut criterion = Criterion::new(&metric.metric, metric.threshold);
    if let Some(Value::Object(options)) = &metric.criterion {
        // A plain threshold is written without options.
        let plain =
            options.len() == 2 && options.contains_key("include_intermediate_responses_in_final");
        criterion.options = if plain { Map::new() } else { options.clone() };
        let rules = criterion.options.remove(RULES_KEY);
        criterion.rules = rules
            .and_then(|rules| serde_json::from_value(rules).ok())
            .unwrap_or_default();
    }
    criterion
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_finite_threshold_is_not_evaluated() {
        for threshold in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let found = score(
                &Criterion::new("latency_in_seconds", Some(threshold)),
                &Evidence {
                    latency_s: Some(1.0),
                    ..Evidence::default()
                },
            );
            assert_eq!(found.status, Status::NotEvaluated, "{threshold}");
            assert!(
                found.explanation.contains("not a finite number"),
                "{}",
                found.explanation
            );
        }
    }
}
