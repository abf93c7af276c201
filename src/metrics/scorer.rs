//! The only path from evidence to results: what is computed, judged or given by a program, then the allowed variants,
//! then the status.

use super::catalog::{MetricInfo, catalog};
use super::judged::JudgedMetric;
use super::measure::Evidence;
use super::registry::{Scored, ready, score};
use super::state::is_declared;
use super::unusable::Unusable;
use super::variants::allow_variants;
use crate::domain::{Attempt, Criterion, Invocation, MetricResult, Reading, adk_status, case_status};

/// Checks that a criterion can be evaluated, by a judge if necessary.
pub fn usable(criterion: &Criterion) -> Result<(), Unusable> {
    if JudgedMetric::of(criterion, Reading::default(), None)?.is_some() {
        return Ok(());
    }
    ready(criterion).map(|_| ())
}

/// Criteria with their metrics built once, to score any number of cases.
pub struct Scorer {
    criteria: Vec<Scored>,
    /// The efficiency metrics that ADK adds to the requested ones.
    added: Vec<Scored>,
    /// Whether a declared session state is compared although no criterion requests it.
    compares_state: bool,
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
            compares_state: !criteria.iter().any(|criterion| criterion.name() == STATE),
        }
    }

    /// Only these criteria: those of an attempt that is scored again.
    pub(super) fn again(criteria: &[Criterion]) -> Scorer {
        Scorer {
            criteria: criteria.iter().map(Scored::of).collect(),
            added: Vec::new(),
            compares_state: false,
        }
    }

    /// Whether the criterion at this index is computed here, not by a judge or a program.
    pub(super) fn is_computed(&self, at: usize) -> bool {
        self.criteria.get(at).is_some_and(|scored| scored.measure.is_ok())
    }

    /// Evaluates an attempt, for a run, for a what-if and after an edit. The result of the criterion at an index is
    /// `given` (by a judge, by a program, or known already), or computed. Then the allowed variants of the trajectory
    /// are applied, and the status is set.
    pub fn evaluate(&self, attempt: &mut Attempt, given: impl FnMut(usize) -> Option<MetricResult>) {
        let evidence = Evidence::of(attempt);
        let mut metrics = self.results(&evidence, given);
        let criteria = self.criteria.iter().map(|scored| &scored.criterion);
        allow_variants(&mut metrics, criteria, &evidence, &attempt.variants);
        attempt.status = case_status(&metrics);
        attempt.adk_status = adk_status(&metrics);
        attempt.metrics = metrics;
    }

    /// Scores a case. A session state that the case declares is compared even if no criterion requests it; that
    /// result is informational.
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
        let added = self.added.iter().filter(|_| was_observed(evidence)).map(|scored| scored.score(evidence));
        let mut results: Vec<MetricResult> = own.chain(added).collect();
        let told = evidence.actual_state.is_some() && evidence.expected_state.is_some_and(is_declared);
        if self.compares_state && told {
            results.push(score(&Criterion::new(STATE, None), evidence));
        }
        results
    }
}

const STATE: &str = "session_state_match";

/// Whether the agent was observed. Rows of a data set contain neither events nor times, so the efficiency metrics
/// would have nothing to measure. A case without turns counts as observed.
fn was_observed(evidence: &Evidence) -> bool {
    let watched = |turn: &Invocation| turn.trajectory.events().is_some() || turn.durations.total.is_some();
    evidence.actual.is_empty() || evidence.actual.iter().any(watched)
}

/// Scores a case under its criteria, and under the four efficiency metrics that ADK always adds.
pub fn score_case(criteria: &[Criterion], evidence: &Evidence) -> Vec<MetricResult> {
    Scorer::new(criteria).score(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Status;
    use crate::domain::Trajectory;

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
