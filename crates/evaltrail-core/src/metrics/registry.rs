//! Criteria with their metrics built, and their results.

use super::catalog::{Build, Direction, Family, MetricInfo, catalog};
use super::criterion_error::CriterionError;
use super::declared::declared;
use super::measure::{Evidence, Measure, Outcome, TurnScore};
use crate::domain::{
    Criterion, CustomMetric, Finding, FindingRule, InvocationScore, MetricResult, NotFinite, Score,
    Status, did_you_mean, most_similar,
};
use serde_json::{Map, Value};

/// Finds a metric by name, without the label after a colon.
pub fn info(name: &str) -> Option<&'static MetricInfo> {
    catalog().find(|metric| metric.name == name)
}

/// Which scores of a criterion's metric are better. Templates for a judge state it in their options.
pub(super) fn direction_of(criterion: &Criterion) -> Direction {
    match criterion.options.get("direction").and_then(Value::as_str) {
        Some("lower") => Direction::Lower,
        _ => info(criterion.name()).map_or(Direction::Higher, |metric| metric.direction),
    }
}

/// Builds the metric of a criterion from its options.
pub(super) fn build_measure(criterion: &Criterion) -> Result<Box<dyn Measure>, CriterionError> {
    check_threshold(criterion)?;
    if let Some(custom) = &criterion.custom {
        return declared(custom);
    }
    let metric = info(criterion.name()).ok_or_else(|| unknown(criterion.name()))?;
    if metric.informational && criterion.threshold.is_some() {
        return Err(CriterionError::TakesNoThreshold(metric.name));
    }
    match metric.build {
        Build::Computed(build) => build(criterion),
        Build::Judged(_) | Build::Served(_) => Err(CriterionError::NeedsJudge(metric.name)),
    }
}

/// Checks that scores can be compared with the threshold.
pub(super) fn check_threshold(criterion: &Criterion) -> Result<(), CriterionError> {
    match criterion
        .threshold
        .filter(|threshold| !threshold.is_finite())
    {
        Some(threshold) => Err(CriterionError::Threshold(threshold)),
        None => Ok(()),
    }
}

/// Why a criterion cannot be used because its threshold is not a finite number; `None` if it is one, or there is none.
pub fn unusable_threshold(criterion: &Criterion) -> Option<CriterionError> {
    check_threshold(criterion).err()
}

/// The options of a criterion that its metric does not have and that are thus ignored, each with a sentence. Empty for
/// custom and unknown metrics.
pub fn unknown_options(criterion: &Criterion) -> Vec<(&str, String)> {
    let Some(metric) = info(criterion.name()).filter(|_| criterion.custom.is_none()) else {
        return Vec::new();
    };
    let known = || {
        let own = metric.options.iter().map(|option| option.name);
        own.filter(|name| !name.starts_with('['))
            .chain(["threshold"])
    };
    // Both spellings are accepted: match_type and matchType.
    let without_underscores = |name: &str| name.replace('_', "");
    let is_known = |key: &str| {
        known().any(|name| {
            let has_same_letters = without_underscores(name).eq_ignore_ascii_case(key);
            key == name || has_same_letters && key.starts_with(|c: char| c.is_ascii_lowercase())
        })
    };
    let keys = criterion.options.keys().map(String::as_str);
    keys.filter(|key| !is_known(key))
        .map(|key| {
            let similar = did_you_mean(key, known());
            let text = format!(
                "{} has no option {key:?}, so it is ignored{similar}",
                criterion.name()
            );
            (key, text)
        })
        .collect()
}

/// Why a criterion cannot be used because no metric has its name; `None` if one has.
pub fn unknown_metric(criterion: &Criterion) -> Option<CriterionError> {
    let is_known = criterion.custom.is_some() || info(criterion.name()).is_some();
    (!is_known).then(|| unknown(criterion.name()))
}

/// A metric of ADK's source code that no release of ADK has.
const UNRELEASED: &str = "tool_parameter_match";

fn unknown(name: &str) -> CriterionError {
    if name == UNRELEASED {
        return CriterionError::Unavailable(format!(
            "{UNRELEASED} is in no release of ADK, and evaltrail does not have it; trajectory_match compares \
             arguments, with the rules of [[match]]"
        ));
    }
    if let Some(own) = own_name_of(name) {
        return CriterionError::Unknown {
            name: name.to_string(),
            nearest: Some(own),
        };
    }
    let nearest = most_similar(name, catalog().map(|metric| metric.name));
    CriterionError::Unknown {
        name: name.to_string(),
        nearest,
    }
}

/// The metric of evaltrail for one of Vertex AI's model-based metrics, such as `judged_fluency` for `fluency`.
fn own_name_of(name: &str) -> Option<&'static str> {
    catalog()
        .map(|metric| metric.name)
        .find(|own| own.strip_prefix("judged_") == Some(name))
}

/// Why no score can meet a criterion; `None` if one can.
pub fn unreachable_threshold(criterion: &Criterion) -> Option<String> {
    let metric = info(criterion.name()).filter(|_| criterion.custom.is_none())?;
    let threshold = criterion.threshold?;
    let (low, high) = metric.range.unwrap_or((0.0, f64::INFINITY));
    let is_unreachable = match metric.direction {
        Direction::Higher => threshold > high,
        Direction::Lower => threshold < low,
    };
    let range = if high.is_finite() {
        format!("from {low} to {high}")
    } else {
        format!("at least {low}")
    };
    let name = &criterion.metric;
    is_unreachable.then(|| {
        format!("no score of {name} reaches the threshold {threshold}: its scores are {range}")
    })
}

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
    (rule, why): (FindingRule, &str),
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

/// Whether a judge decides a criterion.
pub fn needs_judge(criterion: &Criterion) -> bool {
    match &criterion.custom {
        Some(custom) => matches!(custom, CustomMetric::Judged(_)),
        None => {
            info(criterion.name()).is_some_and(|metric| !matches!(metric.build, Build::Computed(_)))
        }
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
    fn unavailable_metric_names_are_explained() {
        for name in [
            "coherence",
            "fluency",
            "groundedness",
            "instruction_following",
            "safety",
            "verbosity",
        ] {
            let why = unknown(name).to_string();
            assert!(
                why.contains(&format!("did you mean \"judged_{name}\"?")),
                "{why}"
            );
        }
        for name in [
            "text_quality",
            "summarization_quality",
            "question_answering_quality",
        ] {
            assert!(
                unknown(name)
                    .to_string()
                    .contains(&format!("\"judged_{name}\"")),
                "{name}"
            );
        }
        let why = unknown("tool_parameter_match").to_string();
        assert!(
            why.contains("no release of ADK") && !why.contains("did you mean"),
            "{why}"
        );
    }

    #[test]
    fn the_suggestion_for_a_long_name_costs_no_time() {
        let long = "tool_trajectory_avg_score".repeat(1 << 18);
        let began = std::time::Instant::now();
        assert!(
            unknown(&long)
                == CriterionError::Unknown {
                    name: long.clone(),
                    nearest: None
                }
        );
        assert!(
            began.elapsed() < std::time::Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
    }

    #[test]
    fn a_threshold_outside_of_the_range_is_found() {
        let why =
            |name: &str, threshold| unreachable_threshold(&Criterion::new(name, Some(threshold)));
        let words = why("response_match_score", 1.5).unwrap();
        assert_eq!(
            words,
            "no score of response_match_score reaches the threshold 1.5: its scores are from 0 to 1"
        );
        assert!(
            why("latency_in_seconds", -1.0)
                .unwrap()
                .contains("at least 0")
        );
        assert!(why("response_evaluation_score", 5.5).is_some());
        let reachable = [
            ("response_match_score", 1.0),
            ("response_evaluation_score", 5.0),
            ("failure", 0.0),
        ];
        assert!(
            reachable
                .into_iter()
                .all(|(name, threshold)| why(name, threshold).is_none())
        );
    }

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
