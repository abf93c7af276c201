//! Accepting what the agent did as the new expectation: parts of a turn, or a complete turn.

use super::{PairKind, align, values_equal};
use crate::domain::{
    Attempt, Content, Conversation, EvalCase, Invocation, Status, ToolCall, ToolResponse,
    Trajectory,
};

/// A part of a turn in which expected and actual differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AcceptablePart {
    /// One argument of a call that is on both sides.
    Argument {
        /// Position of the expected call.
        expected: usize,
        /// Position of the actual call.
        actual: usize,
        /// The argument's name.
        key: String,
    },
    /// A complete call: changed, moved, missing or extra.
    Call {
        /// Position of the expected call.
        expected: Option<usize>,
        /// Position of the actual call.
        actual: Option<usize>,
    },
    /// All calls of the turn.
    Calls,
    /// The intermediate responses.
    Intermediate,
    /// The response.
    Response,
    /// Calls, intermediate responses if some are expected, and response.
    Turn,
}

impl AcceptablePart {
    /// A description to display.
    pub fn describe(&self, expected: &Invocation, actual: &Invocation) -> String {
        let name = |turn: &Invocation, at: &usize| {
            turn.calls()
                .get(*at)
                .map(|call| call.name.clone())
                .unwrap_or_default()
        };
        match self {
            AcceptablePart::Argument {
                expected: at, key, ..
            } => {
                format!("{key} of call {} {}", at + 1, name(expected, at))
            }
            AcceptablePart::Call {
                expected: Some(at),
                actual: None,
            } => {
                format!("removal of call {} {}", at + 1, name(expected, at))
            }
            AcceptablePart::Call {
                actual: Some(at), ..
            } => format!("call {} {}", at + 1, name(actual, at)),
            AcceptablePart::Call {
                expected: None,
                actual: None,
            } => "nothing".into(),
            AcceptablePart::Calls => "the calls of the turn".into(),
            AcceptablePart::Intermediate => "the intermediate responses".into(),
            AcceptablePart::Response => "the response".into(),
            AcceptablePart::Turn => "the turn".into(),
        }
    }
}

/// The expected turn with a part of it replaced by that of the actual turn.
pub fn accept(expected: &Invocation, actual: &Invocation, piece: &AcceptablePart) -> Invocation {
    let mut meant = expected.clone();
    match piece {
        AcceptablePart::Argument {
            expected: e,
            actual: a,
            key,
        } => accept_argument(&mut meant.trajectory, actual, *e, *a, key),
        AcceptablePart::Call {
            expected: e,
            actual: a,
        } => accept_call(&mut meant, expected, actual, *e, *a),
        AcceptablePart::Calls => accept_calls(&mut meant.trajectory, expected, actual),
        AcceptablePart::Intermediate => meant
            .trajectory
            .set_intermediate(&actual.intermediate_responses()),
        AcceptablePart::Response => meant.final_response = response_of(expected, actual),
        AcceptablePart::Turn => {
            accept_calls(&mut meant.trajectory, expected, actual);
            if !expected.intermediate_responses().is_empty() {
                meant
                    .trajectory
                    .set_intermediate(&actual.intermediate_responses());
            }
            if expected.response_text() != actual.response_text() {
                meant.final_response = response_of(expected, actual);
            }
        }
    }
    meant
}

/// Why nothing of an attempt can be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    /// The agent or the connection to it failed.
    #[error("the agent did not finish; there is no complete turn to accept")]
    Errored,
    /// The model reported an error, or stopped early.
    #[error("the model reported an error: what the agent did then is not what is expected of it")]
    ModelError,
    /// The case is a scenario and has no expected turns.
    #[error("a simulated user plays this case; it has no expected turns")]
    Scenario,
    /// The user messages of the case have changed since the attempt.
    #[error("the user messages of this case have changed since the run; run it again")]
    MessagesChanged,
}

/// The case with parts of an attempt accepted. `piece` returns which part to accept of a turn, from 0.
pub fn accept_in_case(
    case: &EvalCase,
    ran: &Attempt,
    piece: impl Fn(usize) -> Option<AcceptablePart>,
) -> Result<EvalCase, AcceptError> {
    if ran.status == Status::Errored {
        return Err(AcceptError::Errored);
    }
    if ran.model_errors().next().is_some() {
        return Err(AcceptError::ModelError);
    }
    let mut meant = case.clone();
    let Conversation::Turns(turns) = &mut meant.conversation else {
        return Err(AcceptError::Scenario);
    };
    if let Some(turn) = ran.turn {
        let at = turn.saturating_sub(1) as usize;
        let (Some(expected), Some(actual)) = (turns.get_mut(at), ran.actual.first()) else {
            return Err(AcceptError::MessagesChanged);
        };
        if let Some(piece) = piece(at) {
            *expected = accept(expected, actual, &piece);
        }
        return Ok(meant);
    }
    let asked = |turn: &Invocation| turn.user.scored_text();
    let same = turns.len() == ran.actual.len()
        && turns
            .iter()
            .zip(ran.actual.iter())
            .all(|(a, b)| asked(a) == asked(b));
    if !same {
        return Err(AcceptError::MessagesChanged);
    }
    for (at, (turn, actual)) in turns.iter_mut().zip(ran.actual.iter()).enumerate() {
        if let Some(piece) = piece(at) {
            *turn = accept(turn, actual, &piece);
        }
    }
    Ok(meant)
}

/// Accepts the argument `key` of the actual call at `a` for the expected call at `e`.
fn accept_argument(meant: &mut Trajectory, actual: &Invocation, e: usize, a: usize, key: &str) {
    let Some(done) = actual.calls().get(a).map(|call| (*call).clone()) else {
        return;
    };
    meant.change_call(e, |call| {
        call.args_unknown = done.args_unknown;
        match (&mut call.args, &done.args) {
            (Some(args), Some(done)) => match done.get(key) {
                Some(value) => drop(args.insert(key.to_string(), value.clone())),
                None => drop(args.shift_remove(key)),
            },
            (args, done) => *args = done.clone(),
        }
    });
}

/// Accepts the actual call at `a` in the place of the expected one at `e`.
fn accept_call(
    meant: &mut Invocation,
    expected: &Invocation,
    actual: &Invocation,
    e: Option<usize>,
    a: Option<usize>,
) {
    let done = a.and_then(|a| actual.calls().get(a).map(|call| (*call).clone()));
    match (e, a, done) {
        (Some(e), None, _) => drop(meant.trajectory.remove_call(e)),
        (Some(e), Some(a), Some(done)) => {
            copy_call(&mut meant.trajectory, e, &done);
            let to = position_for(expected, actual, a, Some(e));
            meant.trajectory.move_call(e, to);
        }
        (None, Some(a), Some(done)) => {
            let to = position_for(expected, actual, a, None);
            meant.trajectory.insert_call(to, done, answer_to(actual, a));
        }
        _ => {}
    }
}

/// Copies name and arguments. The id is not changed, because it pairs the call with its response.
fn copy_call(meant: &mut Trajectory, at: usize, done: &ToolCall) {
    meant.change_call(at, |call| {
        call.name = done.name.clone();
        // Equal values keep their original notation.
        let before = call.args.take();
        call.args = done.args.clone();
        call.args_unknown = done.args_unknown;
        for (key, value) in call.args.iter_mut().flatten() {
            let same = before.as_ref().and_then(|args| args.get(key));
            if let Some(same) = same.filter(|same| values_equal(same, value)) {
                *value = same.clone();
            }
        }
    });
}

fn answer_to(actual: &Invocation, at: usize) -> Option<ToolResponse> {
    actual.trajectory.response_to(at).cloned()
}

/// The position among the expected calls where an actual one is inserted: after the counterpart of the call before it.
/// A call that is removed first (`without`) does not count.
fn position_for(
    expected: &Invocation,
    actual: &Invocation,
    at: usize,
    without: Option<usize>,
) -> usize {
    let (left, right) = (expected.calls(), actual.calls());
    let alignment = align(&left, &right);
    let staying = |e: &usize| Some(*e) != without;
    let before = alignment.pairs.iter().filter(|pair| {
        pair.kind != PairKind::Moved
            && pair.actual.is_some_and(|a| a < at)
            && pair.expected.is_some()
    });
    let last = before
        .filter_map(|pair| pair.expected)
        .filter(staying)
        .max();
    match (last, without) {
        (Some(last), Some(out)) if out < last => last,
        (Some(last), _) => last + 1,
        (None, _) => 0,
    }
}

/// Replaces the calls by those of the actual turn, in its order. Calls with a counterpart keep their id and response.
fn accept_calls(meant: &mut Trajectory, expected: &Invocation, actual: &Invocation) {
    if !actual.trajectory.is_known() {
        return;
    }
    let (left, right) = (expected.calls(), actual.calls());
    if left.is_empty() && right.is_empty() && *meant == Trajectory::Unknown {
        *meant = Trajectory::Listed {
            calls: Vec::new(),
            responses: Vec::new(),
            texts: Vec::new(),
        };
    }
    let partner_of = |a: usize| {
        let pairs = &align(&left, &right).pairs;
        pairs
            .iter()
            .find(|pair| pair.actual == Some(a))
            .and_then(|pair| pair.expected)
    };
    let partners: Vec<Option<usize>> = (0..right.len()).map(partner_of).collect();
    // The original positions of the current calls; `None` for inserted ones.
    let mut there: Vec<Option<usize>> = (0..left.len()).map(Some).collect();
    for e in (0..left.len())
        .rev()
        .filter(|e| !partners.contains(&Some(*e)))
    {
        meant.remove_call(e);
        there.remove(e);
    }
    for (a, partner) in partners.iter().enumerate() {
        match partner.and_then(|e| there.iter().position(|at| *at == Some(e))) {
            Some(from) => {
                meant.move_call(from, a);
                let moved = there.remove(from);
                there.insert(a, moved);
                copy_call(meant, a, right[a]);
            }
            None => {
                meant.insert_call(a, right[a].clone(), answer_to(actual, a));
                there.insert(a, None);
            }
        }
    }
}

/// The accepted response. If the expected response is a single text, a text stays a single part.
fn response_of(expected: &Invocation, actual: &Invocation) -> Option<Content> {
    let done = actual.final_response.as_ref()?;
    let only_text = |content: &Content| {
        content
            .parts
            .iter()
            .all(|part| part.text.is_some() && part.rest.is_empty() && !part.thought)
    };
    match &expected.final_response {
        Some(before) if before.parts.len() == 1 && only_text(before) && only_text(done) => {
            let mut meant = before.clone();
            meant.parts[0].text = Some(done.scored_text());
            Some(meant)
        }
        _ => Some(done.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::calls_equal;
    use crate::domain::{AttemptKey, ModelError, Part};
    use proptest::prelude::*;
    use serde_json::json;

    fn turn(calls: &[(&str, i32)], response: &str) -> Invocation {
        let call = |(name, n): &(&str, i32)| {
            ToolCall::new(*name, json!({"n": n, "m": 0}).as_object().cloned())
        };
        Invocation {
            final_response: Some(Content::text("model", response)),
            trajectory: Trajectory::Listed {
                calls: calls.iter().map(call).collect(),
                responses: Vec::new(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        }
    }

    fn summary(turn: &Invocation) -> String {
        let call = |call: &&ToolCall| {
            format!(
                "{}{}",
                call.name,
                call.args
                    .as_ref()
                    .map_or("-".into(), |args| args["n"].to_string())
            )
        };
        turn.calls().iter().map(call).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn nothing_is_accepted_after_a_model_error() {
        let with_errors = |reported_errors: Vec<ModelError>| Invocation {
            reported_errors,
            ..turn(&[("a", 2)], "")
        };
        let case = EvalCase {
            eval_id: "a".into(),
            conversation: Conversation::Turns(vec![turn(&[("a", 1)], "done")]),
            session_input: None,
            rubrics: Vec::new(),
            final_session_state: None,
            created: 0.0,
            saved: None,
            recorded: Vec::new(),
            extra: serde_json::Map::new(),
        };
        let accepted = |errors| {
            let key = AttemptKey {
                case: 0,
                attempt: 1,
            };
            let attempt = Attempt {
                actual: [with_errors(errors)].into(),
                ..Attempt::blank(key, "a")
            };
            accept_in_case(&case, &attempt, |_| Some(AcceptablePart::Turn)).map(drop)
        };
        assert_eq!(accepted(Vec::new()), Ok(()));
        let error = ModelError {
            code: "RESOURCE_EXHAUSTED".into(),
            ..ModelError::default()
        };
        assert_eq!(accepted(vec![error]), Err(AcceptError::ModelError));
    }

    #[test]
    fn pieces_are_taken_over_one_by_one() {
        let expected = turn(&[("a", 1), ("b", 1), ("c", 1)], "no");
        let actual = turn(&[("a", 2), ("c", 1), ("x", 1)], "yes");
        let after = |piece| accept(&expected, &actual, &piece);
        let argument = AcceptablePart::Argument {
            expected: 0,
            actual: 0,
            key: "n".into(),
        };
        assert_eq!(summary(&after(argument)), "a2 b1 c1");
        assert_eq!(
            summary(&after(AcceptablePart::Call {
                expected: Some(1),
                actual: None
            })),
            "a1 c1"
        );
        assert_eq!(
            summary(&after(AcceptablePart::Call {
                expected: None,
                actual: Some(2)
            })),
            "a1 b1 c1 x1"
        );
        assert_eq!(summary(&after(AcceptablePart::Calls)), "a2 c1 x1");
        let taken = after(AcceptablePart::Response);
        assert_eq!(
            (summary(&taken), taken.response_text()),
            ("a1 b1 c1".into(), "yes".into())
        );
        assert_eq!(after(AcceptablePart::Turn).response_text(), "yes");
        let moved = turn(&[("b", 1), ("c", 1), ("a", 1)], "no");
        let back = accept(
            &expected,
            &moved,
            &AcceptablePart::Call {
                expected: Some(0),
                actual: Some(2),
            },
        );
        assert_eq!(summary(&back), "b1 c1 a1");
    }

    #[test]
    fn response_of_several_parts_is_kept() {
        let picture = || Part {
            rest: json!({"inline_data": {}}).as_object().cloned().unwrap(),
            ..Part::default()
        };
        let said = |parts: Vec<Part>| Invocation {
            final_response: Some(Content {
                parts,
                ..Content::default()
            }),
            ..Invocation::default()
        };
        let text = |words: &str| Part {
            text: Some(words.into()),
            ..Part::default()
        };
        for (expected, actual) in [
            (vec![picture()], vec![text("yes")]),
            (vec![text("no")], vec![picture()]),
            (vec![text("no"), text("no")], vec![text("yes")]),
        ] {
            let (expected, actual) = (said(expected), said(actual));
            assert_eq!(
                accept(&expected, &actual, &AcceptablePart::Response).final_response,
                actual.final_response
            );
        }
        let meant = accept(
            &said(vec![text("no")]),
            &said(vec![text("y"), text("es")]),
            &AcceptablePart::Response,
        );
        assert_eq!(
            meant.final_response.unwrap().parts.len(),
            1,
            "one text stays one"
        );
    }

    #[test]
    fn nothing_done_is_known_then() {
        let unknown = Invocation::default();
        let meant = accept(&unknown, &turn(&[], ""), &AcceptablePart::Calls);
        assert!(matches!(meant.trajectory, Trajectory::Listed { .. }));
    }

    proptest! {
        #[test]
        fn accepted_case_expects_the_actual_turn(
            expected in prop::collection::vec(("[abc]", 0..3i32), 0..6),
            actual in prop::collection::vec(("[abc]", 0..3i32), 0..6),
        ) {
            let side = |calls: &[(String, i32)]| {
                turn(&calls.iter().map(|(name, n)| (name.as_str(), *n)).collect::<Vec<_>>(), "")
            };
            let (expected, actual) = (side(&expected), side(&actual));
            let meant = accept(&expected, &actual, &AcceptablePart::Turn);
            prop_assert_eq!(meant.calls().len(), actual.calls().len());
            for (a, b) in meant.calls().iter().zip(actual.calls()) {
                prop_assert!(calls_equal(a, b, false), "{} for {}", summary(&meant), summary(&actual));
            }
        }
    }
}
