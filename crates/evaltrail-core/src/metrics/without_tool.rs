//! Whether the criteria of a case notice that a tool is not called.

use super::scorer::Scorer;
use super::variants::configured;
use crate::domain::{Attempt, Criterion, Status};

/// Whether an attempt that passed would pass as well if its agent had not called a tool, and had done and said all the
/// rest. `None` if that cannot be computed: a judge or a program decides, or the final state of the session.
pub fn passes_without_tool(attempt: &Attempt, tool: &str) -> Option<bool> {
    let (own, criteria): (Vec<usize>, Vec<Criterion>) =
        configured(&attempt.metrics).into_iter().unzip();
    let scorer = Scorer::without_added_metrics(&criteria);
    let is_open = |at: usize| criteria[at].threshold.is_some() && !scorer.is_computed(at);
    if attempt.expected_state.is_some() || (0..criteria.len()).any(is_open) {
        return None;
    }
    let mut turns = attempt.actual.to_vec();
    for turn in &mut turns {
        turn.trajectory.remove_calls_of(tool);
    }
    let mut without = Attempt {
        actual: turns.into(),
        ..attempt.clone()
    };
    scorer.evaluate(&mut without, |at| {
        let known = &attempt.metrics[own[at]];
        (!scorer.is_computed(at)).then(|| known.clone())
    });
    Some(without.status == Status::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptKey, Content, Invocation, ToolCall, Trajectory};
    use crate::metrics::{Evidence, score_case};

    fn attempt(criterion: Criterion) -> Attempt {
        let turn = Invocation {
            final_response: Some(Content::text("model", "done")),
            trajectory: Trajectory::Listed {
                calls: ["look", "water", "look"]
                    .map(|name| ToolCall::new(name, None))
                    .into(),
                responses: Vec::new(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        };
        let turns = [turn];
        let metrics = score_case(&[criterion], &Evidence::turns(Some(&turns), &turns));
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        Attempt {
            status: Status::Passed,
            metrics,
            expected: turns.clone().into(),
            actual: turns.into(),
            ..Attempt::blank(key, "a")
        }
    }

    #[test]
    fn only_criteria_of_calls_notice_a_missing_tool() {
        let response = attempt(Criterion::new("response_match_score", Some(0.8)));
        assert_eq!(passes_without_tool(&response, "look"), Some(true));
        let calls = attempt(Criterion::new("tool_trajectory_avg_score", Some(1.0)));
        assert_eq!(passes_without_tool(&calls, "look"), Some(false));
        assert_eq!(passes_without_tool(&calls, "never called"), Some(true));
    }

    #[test]
    fn judged_attempts_are_left_open() {
        let mut judged = attempt(Criterion::new("response_match_score", Some(0.8)));
        judged.metrics[0].metric = "final_response_match_v2".into();
        assert_eq!(passes_without_tool(&judged, "look"), None);
        let mut stated = attempt(Criterion::new("response_match_score", Some(0.8)));
        stated.expected_state = Some(serde_json::json!({"dry": false}));
        assert_eq!(passes_without_tool(&stated, "look"), None);
    }
}
