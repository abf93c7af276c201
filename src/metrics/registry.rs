//! Criteria made ready, and the one place that scores a case.

use super::catalog::{Build, Direction, Family, MetricInfo, catalog};
use super::declared::declared;
use super::judged::JudgedMetric;
use super::measure::{Evidence, Measure, Outcome, Turn};
use super::state::is_declared;
use super::variants::allow_variants;
use crate::domain::{
    Attempt, Criterion, CustomMetric, Finding, FindingRule, Invocation, InvocationScore, MetricResult,
    Reading, Status, Trajectory, adk_status, case_status,
};
use serde_json::Value;

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
    /// An efficiency metric was given a threshold.
    #[error("{0} is informational and takes no threshold")]
    TakesNoThreshold(&'static str),
    /// A person's own program computes it.
    #[error("a program computes this metric; run or score the case to ask it")]
    NeedsProgram,
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
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// A metric by name; a label after a colon is not part of it.
pub fn info(name: &str) -> Option<&'static MetricInfo> {
    catalog().find(|metric| metric.name == name)
}

/// Whether a criterion can be evaluated, by a judge if need be, and if not, why.
pub fn usable(criterion: &Criterion) -> Result<(), Unusable> {
    if JudgedMetric::of(criterion, Reading::default(), None)?.is_some() {
        return Ok(());
    }
    ready(criterion).map(|_| ())
}

/// Reads a criterion's options: what is left is to give it cases.
fn ready(criterion: &Criterion) -> Result<Box<dyn Measure>, Unusable> {
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

fn unknown(name: &str) -> Unusable {
    /// Names further apart than this are not mistaken for each other.
    const NEAR: usize = 4;
    let away = |metric: &MetricInfo| match name.len() >= 5 && metric.name.starts_with(name) {
        true => 0,
        false => distance(name, metric.name),
    };
    let nearest = catalog().min_by_key(|metric| away(metric)).filter(|metric| away(metric) <= NEAR);
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

/// Criteria made ready once, to score any number of cases.
pub struct Scorer {
    criteria: Vec<Scored>,
    /// The efficiency metrics that ADK adds to what was asked for.
    added: Vec<Scored>,
    /// Whether a declared session state is looked at without being asked for.
    watches_state: bool,
}

/// A criterion made ready.
pub(super) struct Scored {
    criterion: Criterion,
    direction: Direction,
    measure: Result<Box<dyn Measure>, Unusable>,
}

impl Scorer {
    /// The criteria, and the four efficiency metrics that ADK adds to every run of its own.
    pub fn new(criteria: &[Criterion]) -> Scorer {
        let named = |metric: &MetricInfo| criteria.iter().any(|criterion| criterion.metric == metric.name);
        let added = catalog().filter(|metric| metric.informational && !named(metric));
        let added: Vec<Criterion> = added.map(|metric| Criterion::new(metric.name, None)).collect();
        Scorer {
            criteria: criteria.iter().map(Scored::of).collect(),
            added: added.iter().map(Scored::of).collect(),
            watches_state: !criteria.iter().any(|criterion| criterion.name() == STATE),
        }
    }

    /// These criteria and no others: those of an attempt that is scored again.
    pub(super) fn again(criteria: &[Criterion]) -> Scorer {
        Scorer {
            criteria: criteria.iter().map(Scored::of).collect(),
            added: Vec::new(),
            watches_state: false,
        }
    }

    /// Whether the criterion at this position is computed here: a judge's or a program's is not.
    pub(super) fn is_computed(&self, at: usize) -> bool {
        self.criteria.get(at).is_some_and(|scored| scored.measure.is_ok())
    }

    /// The one way from an attempt to its results, of a run, of a what-if and after an edit: what is computed, or
    /// what is given for the criterion at a position (by a judge, by a program, or known already); then the allowed
    /// variants of the trajectory; then the status.
    pub fn evaluate(&self, attempt: &mut Attempt, given: impl FnMut(usize) -> Option<MetricResult>) {
        let evidence = Evidence::of(attempt);
        let mut metrics = self.results(&evidence, given);
        let criteria = self.criteria.iter().map(|scored| &scored.criterion);
        allow_variants(&mut metrics, criteria, &evidence, &attempt.variants);
        attempt.status = case_status(&metrics);
        attempt.adk_status = adk_status(&metrics);
        attempt.metrics = metrics;
    }

    /// Scores a case. A session state that the case declares is compared without being asked for, and
    /// decides nothing then.
    pub fn score(&self, evidence: &Evidence) -> Vec<MetricResult> {
        self.results(evidence, |_| None)
    }

    fn results(
        &self,
        evidence: &Evidence,
        mut given: impl FnMut(usize) -> Option<MetricResult>,
    ) -> Vec<MetricResult> {
        let own = self.criteria.iter().enumerate();
        let own = own.map(|(at, scored)| given(at).unwrap_or_else(|| scored.score(evidence)));
        let added = self.added.iter().filter(|_| was_watched(evidence)).map(|scored| scored.score(evidence));
        let mut results: Vec<MetricResult> = own.chain(added).collect();
        let told = evidence.actual_state.is_some() && evidence.expected_state.is_some_and(is_declared);
        if self.watches_state && told {
            results.push(score(&Criterion::new(STATE, None), evidence));
        }
        results
    }
}

const STATE: &str = "session_state_match";

/// Whether anyone watched the agent: rows of a data set tell neither events nor times, and what was not watched
/// costs nothing that could be told. Without any turn there is nothing that speaks against it.
fn was_watched(evidence: &Evidence) -> bool {
    let watched = |turn: &Invocation| {
        matches!(turn.trajectory, Trajectory::Events(_)) || turn.durations.total.is_some()
    };
    evidence.actual.is_empty() || evidence.actual.iter().any(watched)
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

/// Scores a case under its criteria, and under the four efficiency metrics that ADK always adds.
pub fn score_case(criteria: &[Criterion], evidence: &Evidence) -> Vec<MetricResult> {
    Scorer::new(criteria).score(evidence)
}

/// Scores a case under one criterion.
pub fn score(criterion: &Criterion, evidence: &Evidence) -> MetricResult {
    Scored::of(criterion).score(evidence)
}

/// What came of a score: at or beyond the threshold, in the metric's direction.
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
    let decided = unless_asked(criterion, status(outcome.score));
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

/// A metric without a threshold decides nothing, also when it has no score.
fn unless_asked(criterion: &Criterion, status: Status) -> Status {
    match (status, criterion.threshold) {
        (Status::NotEvaluated, None) => Status::Informational,
        (status, _) => status,
    }
}

/// The result of a criterion that could not be judged: never green, and it says why.
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
pub fn asks_judge(criterion: &Criterion) -> bool {
    match &criterion.custom {
        Some(custom) => matches!(custom, CustomMetric::Judged(_)),
        None => info(criterion.name()).is_some_and(|metric| !matches!(metric.build, Build::Computed(_))),
    }
}

/// Whether ADK knows the metric.
pub fn is_adk(name: &str) -> bool {
    info(name).is_some_and(|metric| metric.family == Family::Adk)
}

/// The criterion as ADK's result file shows it: as the user wrote it, or a plain threshold.
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

/// Under which key a result keeps the rules it was scored by.
pub(super) const RULES: &str = "match";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_adk_adds_is_told_of_agents_that_were_watched() {
        let criteria = [Criterion::new("response_match_score", Some(0.8))];
        let names = |trajectory: Trajectory| -> Vec<String> {
            let turn = Invocation { trajectory, ..Invocation::default() };
            let found = score_case(&criteria, &Evidence::turns(None, std::slice::from_ref(&turn)));
            found.into_iter().map(|metric| metric.metric).collect()
        };
        let row = Trajectory::Listed { calls: vec![], responses: vec![], texts: vec![] };
        assert_eq!(names(row), ["response_match_score"]);
        assert_eq!(names(Trajectory::Unknown), ["response_match_score"]);
        assert_eq!(names(Trajectory::Events(vec![])).len(), 5);
    }

    #[test]
    fn what_cannot_be_judged_says_why() {
        let why = |name: &str, threshold| usable(&Criterion::new(name, threshold)).unwrap_err().to_string();
        assert!(
            why("tool_trajectory_avg_scor", Some(1.0))
                .contains("did you mean \"tool_trajectory_avg_score\"?")
        );
        assert!(why("nonsense", Some(1.0)).ends_with("called \"nonsense\""));
        assert!(usable(&Criterion::new("hallucinations_v1", Some(0.5))).is_ok());
        assert!(usable(&Criterion::new("response_evaluation_score", Some(3.0))).is_ok());
        assert!(why("token_usage_v1", Some(3.0)).contains("takes no threshold"));
        assert!(why("trajectory_single_tool_use", None).contains("tool_name"));
        assert!(usable(&Criterion::new("response_match_score:again", Some(0.5))).is_ok());
        assert!(usable(&Criterion::new("trajectory_single_tool_use:search", None)).is_ok());
    }

    #[test]
    fn efficiency_is_always_measured() {
        let results = score_case(&[], &Evidence::turns(Some(&[]), &[]));
        assert_eq!(results.len(), 4);
    }

    #[test]
    fn lower_is_better_where_it_is() {
        let evidence = Evidence { latency_s: Some(2.0), ..Evidence::default() };
        let status = |threshold| score(&Criterion::new("latency_in_seconds", threshold), &evidence).status;
        assert_eq!(status(Some(2.0)), Status::Passed);
        assert_eq!(status(Some(1.9)), Status::Failed);
        assert_eq!(status(None), Status::Informational);
    }

    #[test]
    fn the_catalog_is_complete() {
        for metric in catalog() {
            assert!(!metric.summary.is_empty() && !metric.definition.is_empty(), "{}", metric.name);
            assert_eq!(catalog().filter(|other| other.name == metric.name).count(), 1, "{}", metric.name);
        }
    }
}
