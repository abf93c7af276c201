//! The only path from evidence to results: what is computed, judged or given by a program, then the allowed variants,
//! then the status.

use super::catalog::{MetricInfo, catalog};
use super::criterion_error::CriterionError;
use super::judged::JudgedMetric;
use super::measure::Evidence;
use super::registry::build_measure;
use super::results::BuiltCriterion;
use super::state::{is_declared, standard_comparison, with_state_threshold};
use super::variants::allow_variants;
use crate::domain::{
    Attempt, Criterion, Invocation, MetricResult, SESSION_STATE_MATCH, VerdictParsing, adk_status,
    case_status,
};

/// Checks that a criterion can be evaluated, by a judge if necessary.
pub fn usable(criterion: &Criterion) -> Result<(), CriterionError> {
    if JudgedMetric::new(criterion, VerdictParsing::default(), None)?.is_some() {
        return Ok(());
    }
    build_measure(criterion).map(|_| ())
}

/// Criteria with their metrics built once, to score any number of cases.
pub struct Scorer {
    criteria: Vec<BuiltCriterion>,
    /// The efficiency metrics that ADK adds to the requested ones.
    added: Vec<BuiltCriterion>,
    /// Compares a declared session state; `None` if one of the criteria does.
    state: Option<BuiltCriterion>,
}

impl Scorer {
    /// The criteria, and the four efficiency metrics that ADK adds to every run of its own.
    pub fn new(criteria: &[Criterion]) -> Scorer {
        let named = |metric: &MetricInfo| {
            criteria
                .iter()
                .any(|criterion| criterion.metric == metric.name)
        };
        let added = catalog().filter(|metric| metric.informational && !named(metric));
        let added: Vec<Criterion> = added
            .map(|metric| Criterion::new(metric.name, None))
            .collect();
        Scorer {
            added: added.iter().map(BuiltCriterion::new).collect(),
            ..Scorer::without_added_metrics(criteria)
        }
    }

    /// Only these criteria, and the declared session state: those of an attempt that is scored again.
    pub(super) fn without_added_metrics(criteria: &[Criterion]) -> Scorer {
        let compares_state = criteria
            .iter()
            .any(|criterion| criterion.name() == SESSION_STATE_MATCH);
        let scored = |criterion: &Criterion| BuiltCriterion::new(&with_state_threshold(criterion));
        Scorer {
            criteria: criteria.iter().map(scored).collect(),
            added: Vec::new(),
            state: (!compares_state).then(|| BuiltCriterion::new(&standard_comparison())),
        }
    }

    /// The metrics that an attempt is scored by, with those that are added for agents that are observed.
    pub fn names(&self, is_observed: bool) -> Vec<String> {
        let added = self.added.iter().filter(|_| is_observed);
        self.criteria
            .iter()
            .chain(added)
            .map(|scored| scored.criterion.metric.clone())
            .collect()
    }

    /// Whether the criterion at this index is computed here, not by a judge or a program.
    pub(super) fn is_computed(&self, at: usize) -> bool {
        self.criteria
            .get(at)
            .is_some_and(|scored| scored.measure.is_ok())
    }

    /// Evaluates an attempt, for a run, for a what-if and after an edit. The result of the criterion at an index is
    /// `given` (by a judge, by a program, or known already), or computed. Then the allowed variants of the trajectory
    /// are applied, and the status is set.
    pub fn evaluate(
        &self,
        attempt: &mut Attempt,
        given: impl FnMut(usize) -> Option<MetricResult>,
    ) {
        let evidence = Evidence::from_attempt(attempt);
        let mut metrics = self.results(&evidence, given);
        let criteria = self.criteria.iter().map(|scored| &scored.criterion);
        allow_variants(&mut metrics, criteria, &evidence, &attempt.variants);
        attempt.status = case_status(&metrics);
        attempt.adk_status = adk_status(&metrics);
        attempt.metrics = metrics;
    }

    /// Scores a case. A session state that the case declares is compared even if no criterion requests it. That result
    /// has no criterion, since nobody wrote one.
    pub fn score(&self, evidence: &Evidence) -> Vec<MetricResult> {
        self.results(evidence, |_| None)
    }

    fn results(
        &self,
        evidence: &Evidence,
        mut given: impl FnMut(usize) -> Option<MetricResult>,
    ) -> Vec<MetricResult> {
        let own = self.criteria.iter().enumerate();
        let own = own.map(|(at, scored)| match given(at) {
            Some(result) => result,
            None => scored.score(evidence),
        });
        let added = self
            .added
            .iter()
            .filter(|_| was_observed(evidence))
            .map(|scored| scored.score(evidence));
        let mut results: Vec<MetricResult> = own.chain(added).collect();
        if evidence.expected_state.is_some_and(is_declared) {
            let compared = self.state.iter().map(|state| state.score(evidence));
            results.extend(compared.map(|result| MetricResult {
                criterion: None,
                ..result
            }));
        }
        results
    }
}

/// Whether the agent was observed. Rows of a data set contain neither events nor times, so the efficiency metrics
/// would have nothing to measure. A case without turns counts as observed.
fn was_observed(evidence: &Evidence) -> bool {
    let watched =
        |turn: &Invocation| turn.trajectory.events().is_some() || turn.durations.total.is_some();
    evidence.actual.is_empty() || evidence.actual.iter().any(watched)
}

/// Scores a case under its criteria, and under the four efficiency metrics that ADK always adds.
pub fn score_case(criteria: &[Criterion], evidence: &Evidence) -> Vec<MetricResult> {
    Scorer::new(criteria).score(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptKey, Content, Status, Trajectory};
    use crate::metrics::score;
    use serde_json::{Value, json};
    use std::sync::Arc;

    #[test]
    fn adk_added_metrics_require_recorded_events() {
        let criteria = [Criterion::new("response_match_score", Some(0.8))];
        let names = |trajectory: Trajectory| -> Vec<String> {
            let turn = Invocation {
                trajectory,
                ..Invocation::default()
            };
            let found = score_case(
                &criteria,
                &Evidence::turns(None, std::slice::from_ref(&turn)),
            );
            found.into_iter().map(|metric| metric.metric).collect()
        };
        let row = Trajectory::Listed {
            calls: vec![],
            responses: vec![],
            texts: vec![],
        };
        assert_eq!(names(row), ["response_match_score"]);
        assert_eq!(names(Trajectory::Unknown), ["response_match_score"]);
        assert_eq!(names(Trajectory::Events(vec![])).len(), 5);
    }

    #[test]
    fn unusable_criterion_has_a_reason() {
        let why = |name: &str, threshold| {
            usable(&Criterion::new(name, threshold))
                .unwrap_err()
                .to_string()
        };
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

    /// An attempt whose response matches, with this expected and this actual session state.
    fn with_state(expected: Value, actual: Option<Value>, criteria: &[Criterion]) -> Attempt {
        let turn = Invocation {
            final_response: Some(Content::text("model", "Sunny.")),
            ..Invocation::default()
        };
        let turns: Arc<[Invocation]> = [turn].into();
        let mut attempt = Attempt {
            expected: turns.clone(),
            actual: turns,
            expected_state: Some(expected),
            actual_state: actual,
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "weather",
            )
        };
        Scorer::new(criteria).evaluate(&mut attempt, |_| None);
        attempt
    }

    /// Further entries do not matter: the initial state stays in the session, and agents store more than a case names.
    #[test]
    fn a_declared_session_state_decides() {
        let criteria = [Criterion::new("response_match_score", Some(0.8))];
        let expected = json!({"last_city": "Oslo"});
        let table = [
            (
                Some(json!({"preferred_units": "celsius", "last_city": "Oslo"})),
                Status::Passed,
            ),
            (
                Some(json!({"preferred_units": "celsius", "last_city": "Rome"})),
                Status::Failed,
            ),
            (Some(json!({"preferred_units": "celsius"})), Status::Failed),
            (None, Status::NotEvaluated),
        ];
        for (actual, status) in table {
            let attempt = with_state(expected.clone(), actual.clone(), &criteria);
            assert_eq!(
                (attempt.status, attempt.adk_status),
                (status, Status::Passed),
                "{actual:?}"
            );
        }
        let none = with_state(json!({}), Some(json!({"a": 1})), &criteria);
        assert_eq!(none.status, Status::Passed, "the case declares no state");
        assert!(
            none.metrics
                .iter()
                .all(|metric| metric.metric != SESSION_STATE_MATCH)
        );
    }

    #[test]
    fn a_criterion_sets_how_states_are_compared() {
        let response = Criterion::new("response_match_score", Some(0.8));
        let mut exact = Criterion::new(SESSION_STATE_MATCH, None);
        exact.options.insert("mode".into(), "exact".into());
        let status = |actual: Value, criteria: &[Criterion]| {
            with_state(json!({"last_city": "Oslo"}), Some(actual), criteria).status
        };
        let more = json!({"last_city": "Oslo", "units": "celsius"});
        let plain = Criterion::new(SESSION_STATE_MATCH, None);
        assert_eq!(
            status(more.clone(), &[response.clone(), plain]),
            Status::Passed
        );
        assert_eq!(
            status(more.clone(), &[response.clone(), exact.clone()]),
            Status::Failed
        );
        let ignored = Criterion::new(SESSION_STATE_MATCH, Some(0.0));
        assert_eq!(
            status(json!({}), &[response.clone(), ignored]),
            Status::Passed
        );
        let undeclared = with_state(json!({}), Some(more), &[response, exact]);
        assert_eq!(
            undeclared.status,
            Status::Passed,
            "{:?}",
            undeclared.metrics
        );
    }

    #[test]
    fn lower_is_better_where_it_is() {
        let evidence = Evidence {
            latency_s: Some(2.0),
            ..Evidence::default()
        };
        let status =
            |threshold| score(&Criterion::new("latency_in_seconds", threshold), &evidence).status;
        assert_eq!(status(Some(2.0)), Status::Passed);
        assert_eq!(status(Some(1.9)), Status::Failed);
        assert_eq!(status(None), Status::Informational);
    }

    #[test]
    fn the_catalog_is_complete() {
        for metric in catalog() {
            assert!(
                !metric.summary.is_empty() && !metric.definition.is_empty(),
                "{}",
                metric.name
            );
            assert_eq!(
                catalog().filter(|other| other.name == metric.name).count(),
                1,
                "{}",
                metric.name
            );
        }
    }
}
