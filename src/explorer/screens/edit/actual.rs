//! What the agent did, beside the fields of a case: the values of a field in the attempts, and taking one of them.

use crate::explorer::shared::case_field::CaseField;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::CaseOutcome;
use evaltrail_core::diff::{AcceptablePart, Alignment, PairKind, accept, accept_in_case, align};
use evaltrail_core::domain::{
    Attempt, Conversation, EvalCase, Invocation, Status, ToolCall, value_text,
};
use std::sync::Arc;

/// The maximum number of attempts that are read when the editor opens.
const MAX_ATTEMPTS: usize = 20;

/// The attempts of a case whose values can be taken, as far as they are read without a noticeable wait: not those of a foreign
/// run or of a single turn, nor those that errored or had other user messages.
pub(super) fn usable_attempts(model: &Model, at: CaseRef, case: &EvalCase) -> Vec<Arc<Attempt>> {
    let own = |outcome: &&CaseOutcome| !outcome.is_foreign();
    let outcome = model.view.outcomes.get(at).filter(own);
    let attempts = outcome.map(|outcome| &outcome.attempts[..]);
    let whole = attempts
        .unwrap_or_default()
        .iter()
        .filter(|attempt| attempt.turn.is_none() && !attempt.is_slow());
    whole
        .take(MAX_ATTEMPTS)
        .filter_map(|attempt| attempt.read().ok())
        .filter(|attempt| accept_in_case(case, attempt, |_| None).is_ok())
        .collect()
}

/// A value of a field in one or more attempts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ActualValue {
    /// The value, as one line.
    pub(super) text: String,
    /// How many attempts have it.
    pub(super) count: usize,
    /// The first of these attempts, as a position among those that were read.
    attempt: usize,
    /// The part of the expected turn that it replaces.
    piece: AcceptablePart,
}

/// The values of a field in the attempts, the most frequent first. Empty for a field that no attempt has.
pub(super) fn actual_values(
    draft: &EvalCase,
    field: &CaseField,
    attempts: &[Arc<Attempt>],
) -> Vec<ActualValue> {
    let mut values: Vec<ActualValue> = Vec::new();
    let Some(turn) = field.turn() else {
        return values;
    };
    let Some(expected) = draft.turns().get(turn) else {
        return values;
    };
    for (at, attempt) in attempts.iter().enumerate() {
        let found = attempt.actual.get(turn);
        let Some((text, piece)) = found.and_then(|actual| value_in(expected, actual, field)) else {
            continue;
        };
        match values.iter_mut().find(|value| value.text == text) {
            Some(known) => known.count += 1,
            None => values.push(ActualValue {
                text,
                count: 1,
                attempt: at,
                piece,
            }),
        }
    }
    values.sort_by_key(|value| std::cmp::Reverse(value.count));
    values
}

/// The draft with a value of an attempt in the place of a field.
pub(super) fn take_value(
    draft: &EvalCase,
    field: &CaseField,
    value: &ActualValue,
    attempts: &[Arc<Attempt>],
) -> Option<EvalCase> {
    let turn = field.turn()?;
    let actual = attempts.get(value.attempt)?.actual.get(turn)?;
    let mut taken = draft.clone();
    let Conversation::Turns(turns) = &mut taken.conversation else {
        return None;
    };
    let expected = turns.get_mut(turn)?;
    *expected = accept(expected, actual, &value.piece);
    Some(taken)
}

/// The first call or argument in which the first attempt that did not pass differs, else the first response. `None` for a case with
/// too many calls to compare all of them without a noticeable wait.
pub(super) fn first_difference(draft: &EvalCase, attempts: &[Arc<Attempt>]) -> Option<CaseField> {
    const MAX_CALLS: usize = 200;
    let mut attempts = attempts.iter();
    let failing = attempts.find(|attempt| attempt.status != Status::Passed)?;
    let turns = || draft.turns().iter().zip(failing.actual.iter()).enumerate();
    let calls =
        turns().map(|(_, (expected, actual))| expected.calls().len() + actual.calls().len());
    if calls.sum::<usize>() > MAX_CALLS {
        return None;
    }
    let in_calls = turns().find_map(|(turn, (expected, actual))| {
        let is_known = expected.trajectory.is_known() && actual.trajectory.is_known();
        is_known
            .then(|| first_different_call(turn, expected, actual))
            .flatten()
    });
    let differs = |expected: &Invocation, actual: &Invocation| {
        let stated = expected.final_response.as_ref();
        stated.is_some() && expected.response_text() != actual.response_text()
    };
    in_calls.or_else(|| {
        let mut turns = turns();
        let found = turns.find(|(_, (expected, actual))| differs(expected, actual))?;
        Some(CaseField::Response(found.0))
    })
}

/// The field of the first difference between the calls of a turn.
fn first_different_call(
    turn: usize,
    expected: &Invocation,
    actual: &Invocation,
) -> Option<CaseField> {
    let (left, right) = (expected.calls(), actual.calls());
    let alignment = align(&left, &right);
    let pair = alignment
        .pairs
        .iter()
        .find(|pair| pair.kind != PairKind::Same)?;
    let Some(call) = pair.expected else {
        return Some(CaseField::Calls(turn));
    };
    let made = pair.actual.map(|at| right[at]);
    let argument = made
        .filter(|made| made.name == left[call].name)
        .and_then(|made| {
            let args = left[call].args.iter().flatten();
            let mut differing = args.filter(|(key, value)| {
                made.args.as_ref().and_then(|args| args.get(*key)) != Some(value)
            });
            differing.next().map(|(key, _)| key.clone())
        });
    Some(match argument {
        Some(key) => CaseField::Argument(turn, call, key),
        None => CaseField::Call(turn, call),
    })
}

/// The field of a difference; its turn is counted from 0.
pub(super) fn field_of_piece(turn: usize, piece: &AcceptablePart, draft: &EvalCase) -> CaseField {
    let has_argument = |call: usize, key: &str| {
        let calls = draft.turns().get(turn).map(Invocation::calls);
        let args = calls.and_then(|calls| calls.get(call)?.args.clone());
        args.is_some_and(|args| args.contains_key(key))
    };
    match piece {
        AcceptablePart::Argument { expected, key, .. } if has_argument(*expected, key) => {
            CaseField::Argument(turn, *expected, key.clone())
        }
        AcceptablePart::Argument { expected, .. } => CaseField::Call(turn, *expected),
        AcceptablePart::Call {
            expected: Some(call),
            ..
        } => CaseField::Call(turn, *call),
        AcceptablePart::Call { expected: None, .. }
        | AcceptablePart::Calls
        | AcceptablePart::Intermediate => CaseField::Calls(turn),
        AcceptablePart::Response => CaseField::Response(turn),
        AcceptablePart::Turn => CaseField::Turn(turn),
    }
}

/// A call with its arguments, as one line.
pub(super) fn call_text(call: &ToolCall) -> String {
    let args = call.args.iter().flatten();
    let args: Vec<String> = args
        .map(|(key, value)| format!("{key}: {}", value_text(value)))
        .collect();
    format!("{}({})", call.name, args.join(", "))
}

/// The value of a field in an actual turn, and the part of the expected turn that it replaces.
fn value_in(
    expected: &Invocation,
    actual: &Invocation,
    field: &CaseField,
) -> Option<(String, AcceptablePart)> {
    let (left, right) = (expected.calls(), actual.calls());
    if !actual.trajectory.is_known() && !matches!(field, CaseField::Response(_)) {
        return None;
    }
    match field {
        CaseField::Response(_) => Some((actual.response_text(), AcceptablePart::Response)),
        CaseField::Calls(_) => {
            let calls: Vec<String> = right.iter().map(|call| call_text(call)).collect();
            let text = match calls.is_empty() {
                true => "no calls".to_string(),
                false => calls.join(", "),
            };
            Some((text, AcceptablePart::Calls))
        }
        CaseField::Call(_, call) => {
            let piece = |actual| AcceptablePart::Call {
                expected: Some(*call),
                actual,
            };
            let alignment = align(&left, &right);
            let actual = partner(&alignment, *call).or_else(|| nearest_extra(&alignment, *call));
            Some(match actual {
                Some(at) => (call_text(right[at]), piece(Some(at))),
                None => ("no such call".into(), piece(None)),
            })
        }
        CaseField::Argument(_, call, key) => {
            let at = partner(&align(&left, &right), *call)?;
            let value = right[at].args.as_ref().and_then(|args| args.get(key));
            let text = value.map_or("(absent)".into(), value_text);
            let piece = AcceptablePart::Argument {
                expected: *call,
                actual: at,
                key: key.clone(),
            };
            Some((text, piece))
        }
        _ => None,
    }
}

/// The actual call that is aligned with an expected one.
fn partner(alignment: &Alignment, call: usize) -> Option<usize> {
    let mut pairs = alignment.pairs.iter();
    pairs.find(|pair| pair.expected == Some(call))?.actual
}

/// The actual call without an expected one that is nearest to the position of an expected call.
fn nearest_extra(alignment: &Alignment, call: usize) -> Option<usize> {
    let extra = alignment
        .pairs
        .iter()
        .filter(|pair| pair.expected.is_none());
    extra
        .filter_map(|pair| pair.actual)
        .min_by_key(|at| at.abs_diff(call))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{AttemptKey, Content, Trajectory};
    use serde_json::{Value, json};

    fn turn(calls: &[(&str, Value)], response: &str) -> Invocation {
        let calls = calls
            .iter()
            .map(|(name, args)| ToolCall::new(*name, args.as_object().cloned()));
        Invocation {
            trajectory: Trajectory::Listed {
                calls: calls.collect(),
                responses: Vec::new(),
                texts: Vec::new(),
            },
            final_response: Some(Content::text("model", response)),
            ..Invocation::default()
        }
    }

    fn attempt(turn: Invocation) -> Arc<Attempt> {
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        Arc::new(Attempt {
            actual: vec![turn].into(),
            ..Attempt::blank(key, "a")
        })
    }

    #[test]
    fn most_frequent_value_is_first_and_taken() {
        let draft = EvalCase {
            conversation: Conversation::Turns(vec![turn(
                &[
                    ("read", json!({})),
                    ("water", json!({"bed": "a", "litres": 6})),
                ],
                "six",
            )]),
            ..EvalCase::default()
        };
        let watered = |litres: u32| {
            let args = json!({"bed": "a", "litres": litres});
            attempt(turn(&[("read", json!({})), ("water", args)], "done"))
        };
        let attempts = [watered(7), watered(5), watered(5)];
        let field = CaseField::Argument(0, 1, "litres".into());
        let values = actual_values(&draft, &field, &attempts);
        let shown: Vec<_> = values
            .iter()
            .map(|one| (one.text.as_str(), one.count))
            .collect();
        assert_eq!(shown, [("5", 2), ("7", 1)]);
        let taken = take_value(&draft, &field, &values[0], &attempts).unwrap();
        let litres =
            |case: &EvalCase| case.turns()[0].calls()[1].args.clone().unwrap()["litres"].clone();
        assert_eq!((litres(&taken), litres(&draft)), (json!(5), json!(6)));
        let response = actual_values(&taken, &CaseField::Response(0), &attempts);
        let taken = take_value(&taken, &CaseField::Response(0), &response[0], &attempts).unwrap();
        assert_eq!(taken.turns()[0].response_text(), "done");
        assert_eq!(actual_values(&draft, &CaseField::EvalId, &attempts), []);
    }

    #[test]
    fn first_difference_of_failing_attempt_is_found() {
        let draft = EvalCase {
            conversation: Conversation::Turns(vec![
                turn(&[], "hello"),
                turn(
                    &[
                        ("read", json!({})),
                        ("water", json!({"bed": "a", "litres": 6})),
                    ],
                    "done",
                ),
            ]),
            ..EvalCase::default()
        };
        let attempt = |calls: &[(&str, Value)], status| {
            let actual = vec![turn(&[], "hi"), turn(calls, "ready")];
            Arc::new(Attempt {
                actual: actual.into(),
                status,
                ..Attempt::blank(
                    AttemptKey {
                        case: 0,
                        attempt: 1,
                    },
                    "a",
                )
            })
        };
        let first = |attempts: &[Arc<Attempt>]| first_difference(&draft, attempts);
        let watered = |litres: u32| {
            [
                ("read", json!({})),
                ("water", json!({"bed": "a", "litres": litres})),
            ]
        };
        let litres = CaseField::Argument(1, 1, "litres".into());
        assert_eq!(first(&[attempt(&watered(5), Status::Failed)]), Some(litres));
        assert_eq!(first(&[attempt(&watered(5), Status::Passed)]), None);
        let missing = attempt(&watered(6)[1..], Status::Failed);
        assert_eq!(first(&[missing]), Some(CaseField::Call(1, 0)));
        let wording = attempt(&watered(6), Status::Failed);
        assert_eq!(first(&[wording]), Some(CaseField::Response(0)));
    }

    #[test]
    fn differences_have_fields() {
        let draft = EvalCase {
            conversation: Conversation::Turns(vec![turn(&[("water", json!({"litres": 6}))], "")]),
            ..EvalCase::default()
        };
        let argument = |key: &str| AcceptablePart::Argument {
            expected: 0,
            actual: 0,
            key: key.into(),
        };
        let field = |piece: &AcceptablePart| field_of_piece(0, piece, &draft);
        assert_eq!(
            field(&argument("litres")),
            CaseField::Argument(0, 0, "litres".into())
        );
        assert_eq!(field(&argument("extra")), CaseField::Call(0, 0));
        assert_eq!(field(&AcceptablePart::Response), CaseField::Response(0));
    }
}
