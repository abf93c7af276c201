//! What attempts tell about a draft: whether the agent does what the draft expects.

use crate::analysis::coverage::{CallOutcome, CoverageCollector, CoveredCase};
use crate::domain::{Attempt, DraftVerdict, EvalCase, Invocation, TurnEnd};
use crate::metrics::{TrajectoryOptions, trajectory_matches};
use std::sync::Arc;

/// What attempts of a draft tell about it. Calls are compared as the trajectory metric compares them with EXACT, turn by turn. An error
/// of the agent or of a tool in all attempts comes first: calls that are as expected verify nothing if they fail. `None` if no attempt
/// is finished, or if the agent does not report all its calls.
pub fn classify_draft(expected: &EvalCase, attempts: &[Arc<Attempt>]) -> Option<DraftVerdict> {
    let finished: Vec<&Arc<Attempt>> = attempts
        .iter()
        .filter(|attempt| is_errored(attempt) || !attempt.actual.is_empty())
        .collect();
    let first = finished.first()?;
    if finished
        .iter()
        .all(|attempt| is_errored(attempt) || has_failed_call(attempt))
    {
        return Some(DraftVerdict::Unanswerable);
    }
    if finished.iter().any(|attempt| is_errored(attempt)) {
        return Some(DraftVerdict::Unsteady);
    }
    let turns = finished.iter().flat_map(|attempt| attempt.actual.iter());
    if !turns.clone().all(|turn| turn.trajectory.is_known()) {
        return None;
    }
    let are_same = finished
        .iter()
        .all(|attempt| have_same_calls(&first.actual, &attempt.actual));
    let (has_calls, is_expected) = (
        turns.clone().any(|turn| !turn.calls().is_empty()),
        have_same_calls(expected.turns(), &first.actual),
    );
    let expects_calls = expected.turns().iter().any(|turn| !turn.calls().is_empty());
    let all_ask = finished.iter().all(|attempt| asks(attempt));
    Some(match (are_same, is_expected) {
        (false, _) => DraftVerdict::Unsteady,
        (true, true) => DraftVerdict::Verified,
        (true, false) if expects_calls && !has_calls && all_ask => DraftVerdict::Underspecified,
        (true, false) => DraftVerdict::Disputed,
    })
}

fn is_errored(attempt: &Attempt) -> bool {
    attempt.error.is_some()
}

/// Whether a tool answered a call with an error.
fn has_failed_call(attempt: &Arc<Attempt>) -> bool {
    let mut collector = CoverageCollector::default();
    collector.add_case(CoveredCase {
        name: "",
        case: &EvalCase::default(),
        attempts: std::slice::from_ref(attempt),
    });
    let coverage = collector.finish();
    let mut tools = coverage.tools.values();
    tools.any(|tool| tool.outcomes.contains_key(&CallOutcome::Error))
}

/// Whether two conversations have the same calls in each turn.
fn have_same_calls(one: &[Invocation], other: &[Invocation]) -> bool {
    let options = TrajectoryOptions::default();
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| trajectory_matches(options, &one.calls(), &other.calls()))
}

/// Whether the agent asks the user a question.
fn asks(attempt: &Attempt) -> bool {
    attempt.actual.iter().any(|turn| {
        let has_mark = turn.response_text().contains(['?', '？', '؟']);
        has_mark || turn.end == TurnEnd::InputRequired
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{attempt, case, turn};
    use super::*;
    use crate::domain::{AttemptKey, Content, ToolResponse, Trajectory};
    use serde_json::{Value, json};

    fn look(bed: &str) -> Invocation {
        turn("Look", &[("look", json!({"bed": bed}))])
    }

    /// The verdict about a draft that expects a look at the bed `a`.
    fn verdict(attempts: &[Arc<Attempt>]) -> Option<DraftVerdict> {
        classify_draft(&case("a", vec![look("a")]), attempts)
    }

    /// An attempt that makes no calls and answers with a text.
    fn answered(text: &str) -> Arc<Attempt> {
        attempt(vec![Invocation {
            final_response: Some(Content::text("model", text)),
            ..turn("Look", &[])
        }])
    }

    /// An attempt that looks at a bed, and whose tool answers with this.
    fn looked(bed: &str, response: Value) -> Arc<Attempt> {
        let mut made = look(bed);
        if let Trajectory::Listed { responses, .. } = &mut made.trajectory {
            responses.push(ToolResponse {
                name: "look".into(),
                response,
                ..ToolResponse::default()
            });
        }
        attempt(vec![made])
    }

    fn errored() -> Arc<Attempt> {
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        let mut attempt = Attempt::blank(key, "a");
        attempt.set_errored("no connection".into());
        Arc::new(attempt)
    }

    #[test]
    fn expected_calls_in_all_attempts_verify() {
        let made = || attempt(vec![look("a")]);
        assert_eq!(verdict(&[made(), made()]), Some(DraftVerdict::Verified));
        let nothing = case("a", vec![turn("Hi", &[])]);
        let found = classify_draft(&nothing, &[answered("Which bed?")]);
        assert_eq!(found, Some(DraftVerdict::Verified), "no calls are expected");
    }

    #[test]
    fn same_other_calls_are_disputed() {
        let made = || attempt(vec![look("b")]);
        assert_eq!(verdict(&[made(), made()]), Some(DraftVerdict::Disputed));
        assert_eq!(
            verdict(&[answered("No."), answered("No.")]),
            Some(DraftVerdict::Disputed)
        );
        let two_turns = attempt(vec![look("a"), look("a")]);
        assert_eq!(verdict(&[two_turns]), Some(DraftVerdict::Disputed));
    }

    #[test]
    fn calls_in_another_turn_or_order_differ() {
        let look_and_water =
            |order: [&'static str; 2]| turn("Go", &order.map(|name| (name, json!({"bed": "a"}))));
        let expected = case(
            "a",
            vec![look_and_water(["look", "water"]), turn("Thanks", &[])],
        );
        let found = |turns: Vec<Invocation>| classify_draft(&expected, &[attempt(turns)]);
        let none = || turn("Thanks", &[]);
        let same = look_and_water(["look", "water"]);
        assert_eq!(
            found(vec![same.clone(), none()]),
            Some(DraftVerdict::Verified)
        );
        assert_eq!(found(vec![none(), same]), Some(DraftVerdict::Disputed));
        let reversed = look_and_water(["water", "look"]);
        assert_eq!(found(vec![reversed, none()]), Some(DraftVerdict::Disputed));
    }

    #[test]
    fn different_calls_are_unsteady() {
        let attempts = [attempt(vec![look("a")]), attempt(vec![look("b")])];
        assert_eq!(verdict(&attempts), Some(DraftVerdict::Unsteady));
        let attempts = [attempt(vec![look("a")]), errored()];
        assert_eq!(verdict(&attempts), Some(DraftVerdict::Unsteady));
    }

    #[test]
    fn question_instead_of_calls_is_underspecified() {
        let asked = || answered("Which bed?");
        assert_eq!(
            verdict(&[asked(), asked()]),
            Some(DraftVerdict::Underspecified)
        );
        assert_eq!(
            verdict(&[asked(), answered("No.")]),
            Some(DraftVerdict::Disputed)
        );
        let waits = attempt(vec![
            turn("Look", &[]).with_end(TurnEnd::InputRequired, true),
        ]);
        assert_eq!(verdict(&[waits]), Some(DraftVerdict::Underspecified));
        let mut after_call = look("b");
        after_call.final_response = Some(Content::text("model", "More?"));
        assert_eq!(
            verdict(&[attempt(vec![after_call])]),
            Some(DraftVerdict::Disputed)
        );
    }

    #[test]
    fn errors_in_all_attempts_are_unanswerable() {
        let failed = || looked("a", json!({"error": "no such bed"}));
        assert_eq!(
            verdict(&[errored(), errored()]),
            Some(DraftVerdict::Unanswerable)
        );
        assert_eq!(
            verdict(&[failed(), failed()]),
            Some(DraftVerdict::Unanswerable)
        );
        assert_eq!(
            verdict(&[failed(), errored()]),
            Some(DraftVerdict::Unanswerable)
        );
        let works = || looked("a", json!({"result": "dry"}));
        assert_eq!(verdict(&[works(), works()]), Some(DraftVerdict::Verified));
        assert_eq!(verdict(&[failed(), works()]), Some(DraftVerdict::Verified));
    }

    #[test]
    fn nothing_is_known_without_finished_attempts() {
        assert_eq!(verdict(&[]), None);
        assert_eq!(verdict(&[attempt(Vec::new())]), None);
        let partial = attempt(vec![Invocation {
            trajectory: Trajectory::Partial(Vec::new()),
            ..Invocation::default()
        }]);
        assert_eq!(verdict(&[attempt(vec![look("a")]), partial]), None);
    }
}
