//! What a result of ADK does not record: the parts of the case that are unknown, and the reasons for its scores.

use super::measure::Evidence;
use super::results::{BuiltCriterion, criterion_of};
use super::scorer::Scorer;
use super::state::is_declared;
use super::variants::configured;
use crate::domain::{
    Attempt, Conversation, Criterion, EvalCase, Invocation, MetricResult, SESSION_STATE_MATCH,
    Status, compared_texts,
};

/// The parts of a case that the record of an attempt does not contain. They are unknown, not empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotRecorded {
    /// The expected turns.
    pub expected: bool,
    /// The rubrics of the case and of its turns.
    pub rubrics: bool,
    /// The expected final session state.
    pub state: bool,
    /// The scenario that a simulated user played.
    pub scenario: bool,
}

/// The attempt with the unknown parts as the case has them now. A session state that the case declares is compared if the
/// attempt contains the actual one.
pub fn completed_attempt(attempt: &Attempt, unknown: NotRecorded, case: &EvalCase) -> Attempt {
    let mut whole = attempt.clone();
    if let (true, Conversation::Scenario(scenario)) = (unknown.scenario, &case.conversation) {
        whole.scenario = Some(scenario.clone());
    }
    if unknown.expected {
        whole.expected = case.turns().into();
    }
    if unknown.rubrics {
        whole.rubrics.clone_from(&case.rubrics);
        let turns = whole.expected.iter().enumerate().map(|(at, turn)| {
            let rubrics = case
                .turns()
                .get(at)
                .map(|turn| turn.rubrics.clone())
                .unwrap_or_default();
            Invocation {
                rubrics,
                ..turn.clone()
            }
        });
        whole.expected = turns.collect::<Vec<_>>().into();
    }
    if unknown.state {
        whole.expected_state.clone_from(&case.final_session_state);
        compare_state(&mut whole);
    }
    whole
}

fn compare_state(attempt: &mut Attempt) {
    let declares_state = attempt.expected_state.as_ref().is_some_and(is_declared);
    let is_compared = attempt
        .metrics
        .iter()
        .any(|metric| Criterion::new(&metric.metric, None).name() == SESSION_STATE_MATCH);
    if attempt.error.is_some() || attempt.actual_state.is_none() || !declares_state || is_compared {
        return;
    }
    let (own, criteria): (Vec<usize>, Vec<Criterion>) =
        configured(&attempt.metrics).into_iter().unzip();
    let (known, adk_status) = (attempt.metrics.clone(), attempt.adk_status);
    Scorer::without_added_metrics(&criteria).evaluate(attempt, |at| Some(known[own[at]].clone()));
    attempt.adk_status = adk_status;
}

/// The attempt with a reason for each metric that did not pass and has none. If the metric is computed here with the same
/// result, the reason is that of the computation.
pub fn explained_attempt(mut attempt: Attempt) -> Attempt {
    let mut metrics = std::mem::take(&mut attempt.metrics);
    let evidence = Evidence::from_attempt(&attempt);
    for metric in &mut metrics {
        let has_failed = matches!(metric.status, Status::Failed | Status::NotEvaluated);
        if has_failed && metric.explanation.is_empty() {
            explain(metric, &evidence);
        }
    }
    attempt.metrics = metrics;
    attempt
}

fn explain(metric: &mut MetricResult, evidence: &Evidence) {
    let scored = BuiltCriterion::new(&criterion_of(metric));
    if scored.measure.is_ok() {
        let computed = scored.score(evidence);
        let is_same = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-9,
            (a, b) => a.is_none() && b.is_none(),
        };
        if computed.status == metric.status && is_same(computed.score(), metric.score()) {
            metric.explanation = computed.explanation;
            metric.findings = computed.findings;
            for (turn, again) in metric
                .per_invocation
                .iter_mut()
                .zip(computed.per_invocation)
            {
                turn.explanation = again.explanation;
            }
        }
    }
    if metric.explanation.is_empty() {
        metric.explanation = recorded_reason(metric);
    }
}

/// What a result records beside a score: the rubrics that were not met, with the judge's rationales.
fn recorded_reason(metric: &MetricResult) -> String {
    if metric.status == Status::NotEvaluated {
        return "not evaluated; ADK does not record why".into();
    }
    let unmet = metric
        .rubrics
        .iter()
        .filter(|rubric| rubric.score().is_none_or(|score| score < 1.0));
    let words = unmet.map(|rubric| {
        let sign = if rubric.score.is_some() { "✗" } else { "?" };
        match rubric
            .rationale
            .as_deref()
            .map(str::trim)
            .filter(|rationale| !rationale.is_empty())
        {
            Some(rationale) => format!("{sign} {}: {rationale}", rubric.rubric_id),
            None => format!("{sign} {}", rubric.rubric_id),
        }
    });
    let words = words.collect::<Vec<_>>().join("  ");
    match (words.is_empty(), metric.score().zip(metric.threshold)) {
        (true, Some((score, threshold))) => {
            let (score, threshold) = compared_texts(score, threshold);
            format!("{score}, {threshold} needed")
        }
        _ => words,
    }
}
