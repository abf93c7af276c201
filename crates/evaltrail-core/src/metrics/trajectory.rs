//! `tool_trajectory_avg_score` (ADK `trajectory_evaluator.py`, 2.13): whether the turn's tool calls match the
//! expected ones. 1 or 0 for a turn; the case's score is the mean.

use super::criterion_error::CriterionError;
use super::measure::{
    Evidence, Measure, Outcome, TurnScore, by_every_turn, unknown_calls, with_threshold,
};
use super::options::{flag_option, number};
use crate::diff::{
    Difference, DifferenceKind, PairKind, align, calls_equal, compared_args, differences,
    json_equal,
};
use crate::domain::counted;
use crate::domain::{Criterion, Finding, FindingRule, Invocation, MatchType, ToolCall, Trajectory};
use serde_json::Value;

/// Why a turn of an agent that does not report all its calls has no score, and what to do.
const NOT_REPORTED: &str = "the agent does not report its tool calls; score it by criteria of the response, without this one";

/// The options of the metric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrajectoryOptions {
    /// How the two lists are compared.
    pub match_type: MatchType,
    /// Whether only tool names are compared.
    pub ignore_args: bool,
}

impl TrajectoryOptions {
    /// Reads the options as ADK does: names in any case with `-` or space for `_`, or 0, 1, 2.
    pub fn new(criterion: &Criterion) -> Result<Self, CriterionError> {
        let match_type = match criterion.option("match_type", "matchType") {
            None => MatchType::Exact,
            Some(value) => match_type(value).ok_or_else(|| CriterionError::Option {
                option: "match_type",
                expected: "EXACT, IN_ORDER, ANY_ORDER or 0, 1, 2",
                found: value.to_string(),
            })?,
        };
        let ignore_args = flag_option(criterion, "ignore_args", "ignoreArgs")?;
        Ok(TrajectoryOptions {
            match_type,
            ignore_args,
        })
    }

    /// The score of a turn.
    pub(super) fn turn(self, expected: &Invocation, actual: &Invocation) -> TurnScore {
        // An agent may not report its calls, which ADK does not know. A case of ADK without calls is read as ADK
        // reads it; ADK does not read data sets.
        if matches!(actual.trajectory, Trajectory::Partial(_)) {
            return TurnScore::unscored(NOT_REPORTED);
        }
        if let (true, Some(why)) = (expected.is_data, unknown_calls(expected, actual)) {
            return TurnScore::unscored(why);
        }
        let (expected, actual) = (expected.calls(), actual.calls());
        match trajectory_matches(self, &expected, &actual) {
            true => TurnScore::scored(1.0, matching_text(expected.len(), actual.len())),
            false => TurnScore::scored(0.0, "").because(findings_of(self, &expected, &actual)),
        }
    }

    fn label(self) -> String {
        let names = if self.ignore_args {
            ", arguments ignored"
        } else {
            ""
        };
        format!("{}{names}", self.match_type.name())
    }
}

fn match_type(value: &Value) -> Option<MatchType> {
    if let Value::String(name) = value {
        let name = name.trim().to_uppercase().replace(['-', ' '], "_");
        let types = [MatchType::Exact, MatchType::InOrder, MatchType::AnyOrder];
        return types.into_iter().find(|kind| kind.name() == name);
    }
    match number(value)? {
        0.0 => Some(MatchType::Exact),
        1.0 => Some(MatchType::InOrder),
        2.0 => Some(MatchType::AnyOrder),
        _ => None,
    }
}

/// Whether one turn's calls match.
pub fn trajectory_matches(
    options: TrajectoryOptions,
    expected: &[&ToolCall],
    actual: &[&ToolCall],
) -> bool {
    let equal = |e: &ToolCall, a: &ToolCall| calls_equal(e, a, options.ignore_args);
    match options.match_type {
        MatchType::Exact => {
            expected.len() == actual.len() && expected.iter().zip(actual).all(|(e, a)| equal(e, a))
        }
        MatchType::InOrder => {
            let mut rest = actual.iter();
            expected.iter().all(|e| rest.any(|a| equal(e, a)))
        }
        MatchType::AnyOrder => {
            let mut rest: Vec<&ToolCall> = actual.to_vec();
            expected
                .iter()
                .all(|e| match rest.iter().position(|a| equal(e, a)) {
                    Some(at) => {
                        rest.remove(at);
                        true
                    }
                    None => false,
                })
        }
    }
}

impl Measure for TrajectoryOptions {
    fn measure(&self, evidence: &Evidence, threshold: Option<f64>) -> Outcome {
        let outcome = by_every_turn(evidence, |expected, actual| self.turn(expected, actual));
        let Some(score) = outcome.score else {
            return outcome;
        };
        let explanation = explain(*self, &outcome.per_invocation, score, threshold);
        Outcome {
            explanation,
            ..outcome
        }
    }
}

fn explain(
    options: TrajectoryOptions,
    turns: &[TurnScore],
    score: f64,
    threshold: Option<f64>,
) -> String {
    let wrong: Vec<usize> = (0..turns.len())
        .filter(|&at| turns[at].score == Some(0.0))
        .collect();
    match (wrong.as_slice(), turns.len()) {
        ([], 0 | 1) => format!(
            "{}: {}",
            options.label(),
            turns.first().map_or(String::new(), TurnScore::describe)
        ),
        ([], count) => format!("{}: all {count} turns match", options.label()),
        ([_], 1) => turns[0].describe(),
        ([first, ..], count) => {
            let score = with_threshold(score, threshold);
            let right = count - wrong.len();
            format!(
                "turn {}: {}; {right} of {count} turns match ({score})",
                first + 1,
                turns[*first].describe()
            )
        }
    }
}

/// How many calls of a matching turn are as expected, as text.
fn matching_text(expected: usize, actual: usize) -> String {
    match (expected, actual) {
        (0, 0) => "no calls, as expected".into(),
        (0, n) => format!(
            "no calls are expected, so {} are ignored",
            counted(n, "call")
        ),
        (n, m) if m > n => format!(
            "{} as expected, among {}",
            counted(n, "call"),
            counted(m, "call")
        ),
        (n, _) => format!("{} as expected", counted(n, "call")),
    }
}

/// Why the calls of a turn do not match: the call, the argument, both values. Never empty.
pub(super) fn findings_of(
    options: TrajectoryOptions,
    expected: &[&ToolCall],
    actual: &[&ToolCall],
) -> Vec<Finding> {
    let mut found = Vec::new();
    let pairs = align(expected, actual).pairs;
    let has_changed = pairs.iter().any(|pair| pair.kind == PairKind::Changed);
    if has_changed && !options.ignore_args && are_same_calls(expected, actual) {
        // Calls of one tool that were exchanged do not differ in their arguments.
        return vec![Finding::new(FindingRule::OrderDiffers)];
    }
    for pair in &pairs {
        match (pair.kind, pair.expected, pair.actual) {
            (PairKind::Changed, Some(e), Some(a)) if !options.ignore_args => {
                found.extend(changed_call(e, expected[e], actual[a]));
            }
            (PairKind::Moved, Some(e), Some(a)) if options.match_type != MatchType::AnyOrder => {
                found.push(Finding {
                    expected: Some((e + 1).into()),
                    actual: Some((a + 1).into()),
                    ..about_call(FindingRule::CallMoved, e, expected[e])
                });
            }
            (PairKind::Missing, Some(e), _) => {
                found.push(about_call(FindingRule::CallMissing, e, expected[e]));
            }
            (PairKind::Extra, _, Some(a)) if options.match_type == MatchType::Exact => {
                found.push(about_call(FindingRule::CallExtra, a, actual[a]));
            }
            _ => {}
        }
    }
    if found.is_empty() {
        found = unlike_as_json(expected, actual);
    }
    found
}

/// Whether both lists have the same calls, in any order.
fn are_same_calls(expected: &[&ToolCall], actual: &[&ToolCall]) -> bool {
    let options = TrajectoryOptions {
        match_type: MatchType::AnyOrder,
        ignore_args: false,
    };
    expected.len() == actual.len() && trajectory_matches(options, expected, actual)
}

/// Differences between calls that are equal as Python compares them, where `true` is 1; without any, their order.
fn unlike_as_json(expected: &[&ToolCall], actual: &[&ToolCall]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, (e, a)) in expected
        .iter()
        .zip(actual)
        .enumerate()
        .filter(|(_, (e, a))| e.name == a.name)
    {
        let (Some(wanted), Some(made)) = (&e.args, &a.args) else {
            continue;
        };
        let unlike = wanted
            .iter()
            .filter_map(|(key, value)| Some((key, value, made.get(key)?)));
        let unlike = unlike.filter(|(_, value, other)| !json_equal(value, other));
        found.extend(unlike.map(|(key, value, other)| Finding {
            argument: Some(key.clone()),
            expected: Some(value.clone()),
            actual: Some(other.clone()),
            ..about_call(FindingRule::ArgumentDiffers, at, e)
        }));
    }
    if found.is_empty() {
        found.push(Finding::new(FindingRule::OrderDiffers));
    }
    found
}

/// A finding about a call of a turn, at this index from 0.
pub(super) fn about_call(rule: FindingRule, at: usize, call: &ToolCall) -> Finding {
    Finding {
        call: Some(at as u32 + 1),
        tool: Some(call.name.clone()),
        ..Finding::new(rule)
    }
}

/// How a call differs from the expected one of the same tool.
pub(super) fn changed_call(at: usize, expected: &ToolCall, actual: &ToolCall) -> Vec<Finding> {
    let rule = match (&expected.args, &actual.args) {
        (None, Some(_)) => FindingRule::ArgumentsExtra,
        (Some(_), None) => FindingRule::ArgumentsMissing,
        _ => {
            let (e, a) = (
                compared_args(expected, actual),
                compared_args(actual, expected),
            );
            let found = differences(e.as_deref(), a.as_deref());
            return changed_arguments(at, expected, found);
        }
    };
    vec![about_call(rule, at, expected)]
}

/// A finding for each difference between the arguments of a call and the expected ones.
pub(super) fn changed_arguments(
    at: usize,
    call: &ToolCall,
    found: Vec<Difference>,
) -> Vec<Finding> {
    let rules = [
        FindingRule::ArgumentDiffers,
        FindingRule::ArgumentMissing,
        FindingRule::ArgumentExtra,
    ];
    let about = |difference| Finding {
        call: Some(at as u32 + 1),
        tool: Some(call.name.clone()),
        ..difference_found(rules, difference)
    };
    found.into_iter().map(about).collect()
}

/// A difference between two JSON values, under the rule for a changed, a missing or an extra one.
pub(super) fn difference_found(
    [changed, missing, extra]: [FindingRule; 3],
    difference: Difference,
) -> Finding {
    let (rule, expected, actual) = match difference.kind {
        DifferenceKind::Changed(e, a) => (changed, Some(e), Some(a)),
        DifferenceKind::Missing(e) => (missing, Some(e), None),
        DifferenceKind::Extra(a) => (extra, None, Some(a)),
    };
    Finding {
        argument: Some(difference.path),
        expected,
        actual,
        ..Finding::new(rule)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sentences::reasons;
    use super::*;
    use serde_json::json;

    fn calls(spec: &[(&str, Value)]) -> Vec<ToolCall> {
        spec.iter()
            .map(|(name, args)| ToolCall::new(*name, args.as_object().cloned()))
            .collect()
    }

    fn explanation(
        match_type: MatchType,
        expected: &[(&str, Value)],
        actual: &[(&str, Value)],
    ) -> String {
        let options = TrajectoryOptions {
            match_type,
            ignore_args: false,
        };
        let (e, a) = (calls(expected), calls(actual));
        let (e, a): (Vec<_>, Vec<_>) = (e.iter().collect(), a.iter().collect());
        match trajectory_matches(options, &e, &a) {
            true => matching_text(e.len(), a.len()),
            false => reasons(&findings_of(options, &e, &a)),
        }
    }

    #[test]
    fn reason_of_several_turns_names_no_turn() {
        let options = TrajectoryOptions::default();
        let turns = [
            TurnScore::scored(1.0, "no calls, as expected"),
            TurnScore::scored(1.0, "1 call as expected"),
        ];
        assert_eq!(
            explain(options, &turns, 1.0, None),
            "EXACT: all 2 turns match"
        );
        assert_eq!(
            explain(options, &turns[1..], 1.0, None),
            "EXACT: 1 call as expected"
        );
    }

    #[test]
    fn explanation_has_step_argument_and_value() {
        let expected = [("get", json!({})), ("set", json!({"id": "d2"}))];
        let actual = [
            ("get", json!({})),
            ("set", json!({"id": "d3"})),
            ("log", json!({})),
        ];
        assert_eq!(
            explanation(MatchType::Exact, &expected, &actual),
            "set.id: expected \"d2\", got \"d3\" (call 2); log: not expected (call 3)"
        );
        assert_eq!(
            explanation(MatchType::InOrder, &expected, &actual),
            "set.id: expected \"d2\", got \"d3\" (call 2)"
        );
        let swapped = [("set", json!({"id": "d2"})), ("get", json!({}))];
        assert_eq!(
            explanation(MatchType::InOrder, &expected, &swapped),
            "get: called 2nd, expected 1st"
        );
        assert_eq!(
            explanation(MatchType::AnyOrder, &expected, &swapped),
            "2 calls as expected"
        );
        let towns = [
            ("weather", json!({"town": "Oslo"})),
            ("weather", json!({"town": "Bergen"})),
        ];
        let exchanged = [towns[1].clone(), towns[0].clone()];
        for kind in [MatchType::Exact, MatchType::InOrder] {
            assert_eq!(
                explanation(kind, &towns, &exchanged),
                "same calls in another order"
            );
        }
        assert_eq!(
            explanation(MatchType::AnyOrder, &towns, &exchanged),
            "2 calls as expected"
        );
        assert!(
            explanation(
                MatchType::Exact,
                &[("t", json!({"n": 3}))],
                &[("t", json!({"n": "3"}))]
            )
            .ends_with("the text \"3\" is not the number 3")
        );
    }
}
