//! Criteria with their metrics built, and their results.

use super::catalog::{Build, Direction, Family, MetricInfo, catalog};
use super::declared::declared;
use super::measure::{Evidence, Measure, Outcome, Turn};
use super::unusable::Unusable;
use crate::domain::{Criterion, CustomMetric, Finding, FindingRule, InvocationScore, MetricResult, Status};
use serde_json::{Map, Value};

/// Finds a metric by name, without the label after a colon.
pub fn info(name: &str) -> Option<&'static MetricInfo> {
    catalog().find(|metric| metric.name == name)
}

/// Builds the metric of a criterion from its options.
pub(super) fn ready(criterion: &Criterion) -> Result<Box<dyn Measure>, Unusable> {
    if let Some(custom) = &criterion.custom {
        return declared(custom);
    }
    let metric = info(criterion.name()).ok_or_else(|| unknown(criterion.name()))?;
    if metric.informational && criterion.threshold.is_some() {
        return Err(Unusable::TakesNoThreshold(metric.name));
    }
    match metric.build {
        Build::Computed(build) => build(criterion),
        Build::Judged(_) | Build::Served(_) => Err(Unusable::NeedsJudge(metric.name)),
    }
}

/// Why a criterion cannot be used because no metric has its name; `None` if one has.
pub fn unknown_metric(criterion: &Criterion) -> Option<Unusable> {
    let is_known = criterion.custom.is_some() || info(criterion.name()).is_some();
    (!is_known).then(|| unknown(criterion.name()))
}

fn unknown(name: &str) -> Unusable {
    /// Names with a larger edit distance, or one of half of the name, are not suggested.
    const NEAR: usize = 4;
    let away = |metric: &MetricInfo| match name.len() >= 5 && metric.name.starts_with(name) {
        true => 0,
        false => distance(name, metric.name),
    };
    let nearest =
        catalog().min_by_key(|metric| away(metric)).filter(|metric| away(metric) <= NEAR.min(name.len() / 2));
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

/// A criterion with its metric built.
pub(super) struct Scored {
    pub(super) criterion: Criterion,
    direction: Direction,
    pub(super) measure: Result<Box<dyn Measure>, Unusable>,
}

impl Scored {
    pub(super) fn of(criterion: &Criterion) -> Scored {
        Scored {
            direction: info(criterion.name()).map_or(Direction::Higher, |metric| metric.direction),
            measure: ready(criterion),
            criterion: criterion.clone(),
        }
    }

    pub(super) fn score(&self, evidence: &Evidence) -> MetricResult {
        match &self.measure {
            Ok(measure) => {
                let outcome = measure.measure(evidence, self.criterion.threshold);
                result(&self.criterion, self.direction, outcome)
            }
            Err(why) => not_evaluated(&self.criterion, evidence.actual.len(), &why.to_string()),
        }
    }
}

/// Scores a case under one criterion.
pub fn score(criterion: &Criterion, evidence: &Evidence) -> MetricResult {
    Scored::of(criterion).score(evidence)
}

/// The status of a score. At the threshold, or beyond it in the metric's direction, it passes.
pub fn status_of(direction: Direction, score: Option<f64>, threshold: Option<f64>) -> Status {
    match direction {
        Direction::Higher => Status::of(score, threshold),
        Direction::Lower => Status::of(score.map(|score| -score), threshold.map(|threshold| -threshold)),
    }
}

fn result(criterion: &Criterion, direction: Direction, outcome: Outcome) -> MetricResult {
    let status = |score| match outcome.informational {
        true => Status::Informational,
        false => status_of(direction, score, criterion.threshold),
    };
    let mut details = outcome.details.into_iter();
    let of_turn = |(at, turn): (usize, &Turn)| {
        turn.findings.iter().map(|finding| finding.clone().in_turn(at + 1)).collect::<Vec<_>>()
    };
    let mut findings = outcome.findings;
    findings.extend(outcome.per_invocation.iter().enumerate().flat_map(of_turn));
    let decided = informational_without_threshold(criterion, status(outcome.score));
    if decided == Status::Failed && findings.is_empty() {
        findings.push(Finding::threshold_missed(outcome.score, criterion.threshold));
    }
    let per_invocation = outcome
        .per_invocation
        .into_iter()
        .map(|turn| InvocationScore {
            score: turn.score,
            status: status(turn.score),
            explanation: turn.words(),
            details: details.next().flatten(),
            rubrics: Vec::new(),
        })
        .collect();
    MetricResult {
        metric: criterion.metric.clone(),
        score: outcome.score,
        threshold: criterion.threshold,
        status: decided,
        explanation: outcome.explanation,
        findings,
        per_invocation,
        rubrics: Vec::new(),
        criterion: as_written(criterion),
        details: outcome.overall,
        judgement: None,
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
    let findings = if why.is_empty() { Vec::new() } else { vec![Finding::text(rule, why)] };
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

/// Whether a judge decides a criterion.
pub fn needs_judge(criterion: &Criterion) -> bool {
    match &criterion.custom {
        Some(custom) => matches!(custom, CustomMetric::Judged(_)),
        None => info(criterion.name()).is_some_and(|metric| !matches!(metric.build, Build::Computed(_))),
    }
}

/// Whether ADK defines the metric.
pub fn is_adk(name: &str) -> bool {
    info(name).is_some_and(|metric| metric.family == Family::Adk)
}

/// The criterion as it is in ADK's result file: as the user wrote it, or a plain threshold.
fn as_written(criterion: &Criterion) -> Option<Value> {
    let mut options = criterion.options.clone();
    if options.is_empty() {
        options.insert("threshold".into(), criterion.threshold?.into());
        options.insert("include_intermediate_responses_in_final".into(), false.into());
    }
    if !criterion.rules.is_empty() {
        options.insert(RULES.into(), serde_json::to_value(&criterion.rules).unwrap_or_default());
    }
    Some(Value::Object(options))
}

/// The key under which a result stores the rules it was scored by.
pub(super) const RULES: &str = "match";

/// The criterion of a result.
pub fn criterion_of(metric: &MetricResult) -> Criterion {
    let mut criterion = Criterion::new(&metric.metric, metric.threshold);
    if let Some(Value::Object(options)) = &metric.criterion {
        // A plain threshold is written without options.
        let plain = options.len() == 2 && options.contains_key("include_intermediate_responses_in_final");
        criterion.options = if plain { Map::new() } else { options.clone() };
        let rules = criterion.options.remove(RULES);
        criterion.rules = rules.and_then(|rules| serde_json::from_value(rules).ok()).unwrap_or_default();
    }
    criterion
}
