//! Vertex AI's metrics for a response that is itself a tool call: the response and the reference are JSON texts
//! `{"content": "", "tool_calls": [{"name": …, "arguments": {…}}]}`. If the text is not of this form and the calls of
//! the turn are known (an agent ran), those calls are used.

use super::criterion_error::CriterionError;
use super::measure::{Evidence, Measure, Outcome, TurnScore, by_turn, flag};
use super::options::flag_option;
use crate::diff::json_equal;
use crate::domain::counted;
use crate::domain::{Criterion, Invocation, ToolCall, value_text};
use serde_json::Value;
use std::borrow::Cow;

/// The part of a call that is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Aspect {
    Valid,
    Name,
    Keys,
    Values,
}

/// One of the four metrics.
pub(super) struct ToolCallMetric {
    aspect: Aspect,
    /// Whether values are compared as text.
    strict: bool,
}

impl ToolCallMetric {
    pub(super) fn new(aspect: Aspect, criterion: &Criterion) -> Result<Self, CriterionError> {
        let strict = flag_option(criterion, "use_strict_string_match", "useStrictStringMatch")?;
        Ok(ToolCallMetric { aspect, strict })
    }
}

impl Measure for ToolCallMetric {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        by_turn(evidence, |expected, actual| {
            let answer = calls_of(actual);
            if self.aspect == Aspect::Valid {
                return match answer {
                    Ok(calls) => TurnScore::scored(
                        1.0,
                        format!("a valid answer with {}", counted(calls.len(), "call")),
                    ),
                    Err(why) => TurnScore::of_response(0.0, why),
                };
            }
            match (calls_of(expected), answer) {
                (Err(why), _) => {
                    TurnScore::unscored(format!("the reference is not a tool call: {why}"))
                }
                (Ok(_), Err(why)) => TurnScore::of_response(0.0, why),
                (Ok(reference), Ok(answer)) => self.compare(&reference, &answer),
            }
        })
    }
}

impl ToolCallMetric {
    fn compare(&self, reference: &[Cow<ToolCall>], answer: &[Cow<ToolCall>]) -> TurnScore {
        if self.aspect == Aspect::Name {
            let names = |calls: &[Cow<ToolCall>]| -> Vec<String> {
                calls.iter().map(|c| c.name.clone()).collect()
            };
            let same = names(reference) == names(answer);
            return TurnScore::of_response(
                flag(same),
                if same {
                    "the names are equal"
                } else {
                    "the names differ"
                },
            );
        }
        let wanted: usize = reference.iter().map(|call| args(call).count()).sum();
        let paired = reference
            .iter()
            .zip(answer)
            .filter(|(r, a)| r.name == a.name);
        let found: usize = paired
            .map(|(r, a)| {
                args(r)
                    .filter(|(key, value)| self.holds(a, key, value))
                    .count()
            })
            .sum();
        if wanted == 0 {
            let same = reference.len() == answer.len()
                && reference.iter().zip(answer).all(|(r, a)| r.name == a.name);
            return TurnScore::of_response(
                flag(same),
                "the reference has no arguments: the names decide",
            );
        }
        let what = if self.aspect == Aspect::Keys {
            "keys"
        } else {
            "keys with their values"
        };
        TurnScore::of_response(
            found as f64 / wanted as f64,
            format!("{found} of {wanted} {what} are present"),
        )
    }

    fn holds(&self, answer: &ToolCall, key: &str, value: &Value) -> bool {
        let found = answer.args.as_ref().and_then(|args| args.get(key));
        found.is_some_and(|found| match (self.aspect, self.strict) {
            (Aspect::Keys, _) => true,
            (_, true) => text_of(found) == text_of(value),
            (_, false) => json_equal(found, value),
        })
    }
}

fn args(call: &ToolCall) -> impl Iterator<Item = (&String, &Value)> {
    call.args.iter().flatten()
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value_text(value), str::to_string)
}

/// The calls in the text of a turn's response, else those that the agent made.
fn calls_of(turn: &Invocation) -> Result<Vec<Cow<'_, ToolCall>>, String> {
    let made = turn.calls();
    match parse(&turn.response_text()) {
        Ok(calls) => Ok(calls.into_iter().map(Cow::Owned).collect()),
        Err(_) if !made.is_empty() => Ok(made.into_iter().map(Cow::Borrowed).collect()),
        Err(why) => Err(why),
    }
}

fn parse(text: &str) -> Result<Vec<ToolCall>, String> {
    if text.trim().is_empty() {
        return Err("there is no answer".into());
    }
    let value: Value =
        serde_json::from_str(text).map_err(|_| "the answer is not JSON".to_string())?;
    let calls = value.get("tool_calls").and_then(Value::as_array);
    let calls = calls.ok_or("the answer has no list \"tool_calls\"")?;
    if calls.is_empty() {
        return Err("the answer's \"tool_calls\" is empty".into());
    }
    calls.iter().map(call).collect()
}

fn call(value: &Value) -> Result<ToolCall, String> {
    let name = value
        .get("name")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty());
    let name = name.ok_or("a call in the answer has no name")?;
    match value.get("arguments") {
        Some(Value::Object(args)) => Ok(ToolCall::new(name, Some(args.clone()))),
        _ => Err(format!(
            "the call {name} in the answer has no object \"arguments\""
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Content;

    fn turn(text: &str) -> Invocation {
        Invocation {
            final_response: Some(Content::text("model", text)),
            ..Invocation::default()
        }
    }

    fn score(aspect: Aspect, reference: &str, answer: &str) -> Option<f64> {
        let (expected, actual) = ([turn(reference)], [turn(answer)]);
        let metric = ToolCallMetric {
            aspect,
            strict: false,
        };
        metric
            .measure(&Evidence::turns(Some(&expected), &actual), None)
            .score
    }

    const SET: &str =
        r#"{"content": "", "tool_calls": [{"name": "set", "arguments": {"id": 1, "on": true}}]}"#;
    const OTHER: &str =
        r#"{"content": "", "tool_calls": [{"name": "set", "arguments": {"id": 1.0, "at": 3}}]}"#;

    #[test]
    fn names_keys_and_values_are_counted() {
        assert_eq!(score(Aspect::Valid, "", SET), Some(1.0));
        assert_eq!(score(Aspect::Valid, SET, "set(1)"), Some(0.0));
        assert_eq!(score(Aspect::Name, SET, OTHER), Some(1.0));
        assert_eq!(score(Aspect::Keys, SET, OTHER), Some(0.5));
        assert_eq!(score(Aspect::Values, SET, OTHER), Some(0.5));
        assert_eq!(score(Aspect::Values, SET, "no"), Some(0.0));
        assert_eq!(score(Aspect::Name, "no", SET), None);
    }

    #[test]
    fn the_reason_counts_the_calls() {
        let metric = ToolCallMetric {
            aspect: Aspect::Valid,
            strict: false,
        };
        let of = |answer: &str| {
            let (expected, actual) = ([turn("")], [turn(answer)]);
            metric
                .measure(&Evidence::turns(Some(&expected), &actual), None)
                .explanation
        };
        let two =
            r#"{"tool_calls": [{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}]}"#;
        assert_eq!(
            (of(SET), of(two)),
            (
                "a valid answer with 1 call".into(),
                "a valid answer with 2 calls".into()
            )
        );
    }

    #[test]
    fn an_agents_own_calls_are_its_answer() {
        let call = ToolCall::new(
            "set",
            serde_json::json!({"id": 1, "on": true})
                .as_object()
                .cloned(),
        );
        let trajectory = crate::domain::Trajectory::Listed {
            calls: vec![call],
            responses: vec![],
            texts: vec![],
        };
        let actual = [Invocation {
            trajectory,
            ..turn("done")
        }];
        let expected = [turn(SET)];
        let metric = ToolCallMetric {
            aspect: Aspect::Values,
            strict: true,
        };
        assert_eq!(
            metric
                .measure(&Evidence::turns(Some(&expected), &actual), None)
                .score,
            Some(1.0)
        );
    }

    /// Where the reference has no arguments, the names decide, one by one.
    #[test]
    fn names_decide_when_there_are_no_arguments() {
        let calls = |names: &[&str]| -> Vec<Cow<ToolCall>> {
            names
                .iter()
                .map(|name| Cow::Owned(ToolCall::new(*name, None)))
                .collect()
        };
        let keys = ToolCallMetric {
            aspect: Aspect::Keys,
            strict: false,
        };
        let score = |reference: &[&str], answer: &[&str]| {
            keys.compare(&calls(reference), &calls(answer)).score
        };
        assert_eq!(score(&["a", "b"], &["a", "b"]), Some(1.0));
        assert_eq!(score(&["a", "b"], &["a", "c"]), Some(0.0));
        assert_eq!(score(&["a"], &["a", "a"]), Some(0.0));
    }
}
