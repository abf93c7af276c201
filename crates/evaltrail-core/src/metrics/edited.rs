//! Re-evaluates an attempt whose case was edited after the run. Computed metrics are computed again from what the
//! agent did; results of a judge or a program are not carried over, because they are about the old case.

use super::results::unscored;
use super::rules::trajectory_options;
use super::scorer::Scorer;
use super::variants::configured;
use crate::diff::{json_equal, same_calls};
use crate::domain::{
    Attempt, Conversation, Criterion, EvalCase, Invocation, MetricResult, Status, Variant,
    is_allowed_trajectory,
};
use serde_json::Value;

/// The attempt as it would be evaluated against the case as it is now; `None` when nothing changes.
pub fn reevaluated_attempt(
    attempt: &Attempt,
    case: &EvalCase,
    variants: &[Variant],
) -> Option<Attempt> {
    let mut again = Attempt {
        eval_id: case.eval_id.clone(),
        expected: case.turns().into(),
        expected_state: case.final_session_state.clone(),
        rubrics: case.rubrics.clone(),
        variants: variants.to_vec(),
        ..attempt.clone()
    };
    if let Conversation::Scenario(scenario) = &case.conversation {
        again.scenario = Some(scenario.clone());
    }
    let same = is_unchanged(attempt, &again);
    let decided_here = !variants.is_empty()
        || attempt
            .metrics
            .iter()
            .any(|metric| is_allowed_trajectory(&metric.metric));
    if same && !decided_here {
        return None;
    }
    if attempt.status == Status::Errored {
        return (!same).then_some(again);
    }
    let asked_else =
        asks(&attempt.expected) != asks(&again.expected) || attempt.scenario != again.scenario;
    let (own, criteria): (Vec<usize>, Vec<Criterion>) =
        configured(&attempt.metrics).into_iter().unzip();
    let scorer = Scorer::without_added_metrics(&criteria);
    let turns = again.actual.len();
    scorer.evaluate(&mut again, |at| {
        let (known, criterion) = (&attempt.metrics[own[at]], &criteria[at]);
        if same && trajectory_options(criterion).is_none() {
            return Some(known.clone());
        }
        let unknown = if criterion.threshold.is_some() {
            Status::NotEvaluated
        } else {
            known.status
        };
        match (asked_else, scorer.is_computed(at)) {
            (true, _) => Some(unscored(criterion, turns, unknown, INPUT_CHANGED)),
            (false, true) => None,
            (false, false) => Some(unscored(criterion, turns, unknown, NEEDS_REEVALUATION)),
        }
    });
    (!same || !are_alike(&again.metrics, &attempt.metrics)).then_some(again)
}

/// Whether two lists of results agree in everything but their texts.
fn are_alike(a: &[MetricResult], b: &[MetricResult]) -> bool {
    let gist = |metric: &MetricResult| {
        (
            metric.metric.clone(),
            metric.score,
            metric.threshold,
            metric.status,
        )
    };
    a.iter().map(gist).eq(b.iter().map(gist))
}

const INPUT_CHANGED: &str =
    "the case's user messages or scenario changed since it was run; run it again";
const NEEDS_REEVALUATION: &str = "the case was edited since this was evaluated; re-evaluate it";

fn asks(turns: &[Invocation]) -> Vec<String> {
    turns.iter().map(|turn| turn.user.scored_text()).collect()
}

/// Whether two attempts have the same expectations. Ids and other details that no metric compares are ignored, and numbers
/// are compared by value: ADK writes `1e5` as `100000.0`.
fn is_unchanged(a: &Attempt, b: &Attempt) -> bool {
    let rubrics = |attempt: &Attempt| {
        let turns = attempt
            .expected
            .iter()
            .flat_map(|turn| turn.rubrics.clone());
        attempt
            .rubrics
            .iter()
            .cloned()
            .chain(turns)
            .collect::<Vec<_>>()
    };
    let state = |attempt: &Attempt| {
        attempt
            .expected_state
            .clone()
            .filter(|state| state.as_object().is_none_or(|map| !map.is_empty()))
    };
    a.eval_id == b.eval_id
        && a.expected.len() == b.expected.len()
        && a.expected
            .iter()
            .zip(b.expected.iter())
            .all(|(a, b)| is_same_turn(a, b))
        && rubrics(a) == rubrics(b)
        && are_same(state(a).as_ref(), state(b).as_ref())
        && are_same(a.scenario.as_ref(), b.scenario.as_ref())
}

fn is_same_turn(a: &Invocation, b: &Invocation) -> bool {
    a.user.scored_text() == b.user.scored_text()
        && a.response_text() == b.response_text()
        && same_calls(&a.calls(), &b.calls())
}

fn are_same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => json_equal(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        AttemptKey, Content, MatchRule, Rubric, ToolCall, Trajectory, case_status,
    };
    use crate::metrics::{Evidence, score_case, with_rules};

    fn turn(user: &str, tool: &str) -> Invocation {
        Invocation {
            user: Content::text("user", user),
            trajectory: way(&[tool]),
            ..Invocation::default()
        }
    }

    fn way(tools: &[&str]) -> Trajectory {
        let calls = tools
            .iter()
            .map(|tool| ToolCall::new(*tool, None))
            .collect();
        Trajectory::Listed {
            calls,
            responses: Vec::new(),
            texts: Vec::new(),
        }
    }

    fn case(turn: Invocation) -> EvalCase {
        EvalCase {
            eval_id: "c".into(),
            conversation: Conversation::Turns(vec![turn]),
            ..EvalCase::default()
        }
    }

    fn ran() -> Attempt {
        let criteria = [
            Criterion::new("tool_trajectory_avg_score", Some(1.0)),
            Criterion::new("final_response_match_v2", Some(0.5)),
        ];
        let mut attempt = Attempt {
            expected: vec![turn("hi", "a")].into(),
            actual: vec![turn("hi", "b")].into(),
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "c",
            )
        };
        attempt.metrics = score_case(&criteria, &Evidence::from_attempt(&attempt));
        attempt.metrics[1].status = Status::Passed;
        attempt.status = Status::Failed;
        attempt
    }

    #[test]
    fn computed_metrics_are_rescored() {
        let attempt = ran();
        assert_eq!(
            reevaluated_attempt(&attempt, &case(turn("hi", "a")), &[]),
            None
        );
        let again = reevaluated_attempt(&attempt, &case(turn("hi", "b")), &[]).unwrap();
        assert_eq!(again.metrics[0].status, Status::Passed);
        assert_eq!(
            again.metrics[1].status,
            Status::NotEvaluated,
            "the judge saw the old case"
        );
        assert_eq!(again.status, Status::NotEvaluated, "so it does not pass");
        let asked = reevaluated_attempt(&attempt, &case(turn("ho", "b")), &[]).unwrap();
        assert!(
            asked.metrics[0]
                .explanation
                .contains("user messages or scenario changed")
        );
        assert_eq!(asked.status, Status::NotEvaluated);
    }

    /// ADK writes the numbers of a set in its own notation.
    #[test]
    fn the_notation_of_a_number_is_no_edit() {
        let turn = |number: &str| {
            let args = serde_json::from_str(&format!(r#"{{"amount": [{number}]}}"#)).unwrap();
            let calls = vec![ToolCall::new("pay", Some(args))];
            let trajectory = Trajectory::Listed {
                calls,
                responses: Vec::new(),
                texts: Vec::new(),
            };
            Invocation {
                trajectory,
                ..Invocation::default()
            }
        };
        let ran = |number: &str| Attempt {
            expected: vec![turn(number)].into(),
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "c",
            )
        };
        for (spelled, written) in [
            ("1e5", "100000.0"),
            ("1E+2", "100"),
            ("1e16", "10000000000000000"),
            ("1.0E7", "1e7"),
        ] {
            assert_eq!(
                reevaluated_attempt(&ran(written), &case(turn(spelled)), &[]),
                None,
                "{spelled}"
            );
        }
        assert!(
            reevaluated_attempt(&ran("1"), &case(turn("true")), &[]).is_some(),
            "true is not 1"
        );
        assert!(reevaluated_attempt(&ran("1e5"), &case(turn("1e6")), &[]).is_some());
    }

    /// Under rules ADK's metric is informational, also when its criterion has options, and stays so after an edit.
    #[test]
    fn informational_metric_is_ignored_after_edit() {
        let mut criterion = Criterion::new("tool_trajectory_avg_score", Some(1.0));
        criterion.options.insert("threshold".into(), 1.0.into());
        criterion
            .options
            .insert("match_type".into(), "EXACT".into());
        let rule = MatchRule {
            tool: "a".into(),
            optional: true,
            ..MatchRule::default()
        };
        let mut attempt = ran();
        attempt.actual = vec![Invocation {
            trajectory: way(&[]),
            ..turn("hi", "b")
        }]
        .into();
        attempt.metrics = score_case(
            &with_rules(vec![criterion], &[rule]),
            &Evidence::from_attempt(&attempt),
        );
        attempt.status = case_status(&attempt.metrics);
        assert_eq!(attempt.status, Status::Passed);
        let edited = EvalCase {
            rubrics: vec![Rubric::default()],
            ..case(turn("hi", "a"))
        };
        let again = reevaluated_attempt(&attempt, &edited, &[]).unwrap();
        assert_eq!(again.status, Status::Passed, "{:?}", again.metrics);
    }

    /// Variants that were allowed or removed since the case was run.
    #[test]
    fn variants_that_came_or_went_decide() {
        let way = Variant {
            name: "the other way".into(),
            turns: vec![turn("hi", "b").trajectory],
        };
        let same = case(turn("hi", "a"));
        let mut attempt = ran();
        attempt.metrics.truncate(1);
        let allowed = reevaluated_attempt(&attempt, &same, std::slice::from_ref(&way)).unwrap();
        assert_eq!((allowed.status, allowed.metrics.len()), (Status::Passed, 2));
        assert_eq!(
            reevaluated_attempt(&allowed, &same, &[way]),
            None,
            "nothing changed"
        );
        let no_more = reevaluated_attempt(&allowed, &same, &[]).unwrap();
        assert_eq!((no_more.status, no_more.metrics.len()), (Status::Failed, 1));
        assert_eq!(no_more.metrics[0].threshold, Some(1.0));
    }
}
