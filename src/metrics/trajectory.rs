//! `tool_trajectory_avg_score` (ADK `trajectory_evaluator.py`, 2.13): did the turn's tool calls
//! match the expected ones? 1 or 0 a turn; the case's score is the mean.

use super::measure::{Evidence, Measure, Outcome, Turn, by_every_turn, flag};
use super::options::{flag_option, number};
use super::registry::Unusable;
use crate::diff::{Difference, DifferenceKind, PairKind, align, calls_equal, differences};
use crate::domain::{Criterion, MatchType, ToolCall, value_text};
use serde_json::Value;

/// The options of the metric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrajectoryOptions {
    /// How the two lists are compared.
    pub match_type: MatchType,
    /// Whether names alone count.
    pub ignore_args: bool,
}

impl TrajectoryOptions {
    /// Reads the options as ADK does: names in any case with `-` or space for `_`, or 0, 1, 2.
    pub fn of(criterion: &Criterion) -> Result<Self, Unusable> {
        let match_type = match criterion.option("match_type", "matchType") {
            None => MatchType::Exact,
            Some(value) => match_type(value).ok_or_else(|| Unusable::Option {
                option: "match_type",
                expected: "EXACT, IN_ORDER, ANY_ORDER or 0, 1, 2",
                found: value.to_string(),
            })?,
        };
        let ignore_args = flag_option(criterion, "ignore_args", "ignoreArgs")?;
        Ok(TrajectoryOptions { match_type, ignore_args })
    }

    fn label(self) -> String {
        let names = if self.ignore_args { ", arguments ignored" } else { "" };
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
pub fn trajectory_matches(options: TrajectoryOptions, expected: &[&ToolCall], actual: &[&ToolCall]) -> bool {
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
            expected.iter().all(|e| match rest.iter().position(|a| equal(e, a)) {
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
        let outcome = by_every_turn(evidence, |expected, actual| {
            let (expected, actual) = (expected.calls(), actual.calls());
            let fits = trajectory_matches(*self, &expected, &actual);
            (Some(flag(fits)), explain_turn(*self, fits, &expected, &actual))
        });
        let Some(score) = outcome.score else { return outcome };
        let explanation = explain(*self, &outcome.per_invocation, score, threshold);
        Outcome { explanation, ..outcome }
    }
}

fn explain(options: TrajectoryOptions, turns: &[Turn], score: f64, threshold: Option<f64>) -> String {
    let wrong: Vec<usize> = (0..turns.len()).filter(|&at| turns[at].0 == Some(0.0)).collect();
    match (wrong.as_slice(), turns.len()) {
        ([], 0 | 1) => format!("{}: {}", options.label(), turns.first().map_or("", |(_, why)| why)),
        ([], count) => format!("{}: all {count} turns match", options.label()),
        ([_], 1) => format!("{}: {}", options.label(), turns[0].1),
        ([first, ..], count) => {
            let needed = threshold.map(|t| format!(", {t} needed")).unwrap_or_default();
            let right = count - wrong.len();
            format!(
                "{}: {right} of {count} turns match ({score:.2}{needed}); turn {}: {}",
                options.label(),
                first + 1,
                turns[*first].1
            )
        }
    }
}

/// Why one turn matches or does not: the step, the argument, the value.
pub(super) fn explain_turn(
    options: TrajectoryOptions,
    fits: bool,
    expected: &[&ToolCall],
    actual: &[&ToolCall],
) -> String {
    if fits {
        return match (expected.len(), actual.len()) {
            (0, 0) => "no calls, as expected".into(),
            (0, n) => format!("nothing is expected, so {} count for nothing", calls(n)),
            (n, m) if m > n => format!("{} as expected, among {}", calls(n), calls(m)),
            (n, _) => format!("{} as expected", calls(n)),
        };
    }
    let alignment = align(expected, actual);
    let mut said = Vec::new();
    for pair in &alignment.pairs {
        match (pair.kind, pair.expected, pair.actual) {
            (PairKind::Changed, Some(e), Some(a)) if !options.ignore_args => {
                said.push(changed(e, expected[e], actual[a]));
            }
            (PairKind::Moved, Some(e), Some(a)) if options.match_type != MatchType::AnyOrder => {
                said.push(format!("call {} {} came as call {}", e + 1, expected[e].name, a + 1));
            }
            (PairKind::Missing, Some(e), _) => {
                said.push(format!("call {} {} is missing", e + 1, expected[e].name));
            }
            (PairKind::Extra, _, Some(a)) if options.match_type == MatchType::Exact => {
                said.push(format!("call {} {} is extra", a + 1, actual[a].name));
            }
            _ => {}
        }
    }
    shorten(said)
}

fn calls(count: usize) -> String {
    if count == 1 { "1 call".into() } else { format!("{count} calls") }
}

/// The first three things, and how many more there are.
pub(super) fn shorten(said: Vec<String>) -> String {
    const MOST: usize = 3;
    match said.len() {
        0 => "the calls do not match".into(),
        n if n <= MOST => said.join("; "),
        n => format!("{}; and {} more", said[..MOST].join("; "), n - MOST),
    }
}

fn changed(at: usize, expected: &ToolCall, actual: &ToolCall) -> String {
    let call = format!("call {} {}", at + 1, expected.name);
    match (&expected.args, &actual.args) {
        (None, Some(_)) => return format!("{call} has arguments and none at all are expected"),
        (Some(_), None) => return format!("{call} has no arguments at all"),
        _ => {}
    }
    let found = differences(expected.args.as_ref(), actual.args.as_ref());
    let Some(first) = found.first() else { return format!("{call} differs") };
    let more = match found.len() - 1 {
        0 => String::new(),
        1 => " and 1 more argument".into(),
        n => format!(" and {n} more arguments"),
    };
    format!("{call} differs in {}{more}", argument(first))
}

pub(super) fn argument(difference: &Difference) -> String {
    let what = match &difference.kind {
        DifferenceKind::Changed(a, b) => {
            format!("{} (expected {}, got {})", difference.path, short(a), short(b))
        }
        DifferenceKind::Missing(a) => format!("{} (expected {}, got nothing)", difference.path, short(a)),
        DifferenceKind::Extra(b) => format!("{} (not expected, got {})", difference.path, short(b)),
    };
    match difference.lookalike() {
        Some(note) => format!("{what}: {note}"),
        None => what,
    }
}

fn short(value: &Value) -> String {
    const MOST: usize = 48;
    let text = value_text(value);
    if text.chars().count() <= MOST {
        return text;
    }
    format!("{}…", text.chars().take(MOST).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn calls(spec: &[(&str, Value)]) -> Vec<ToolCall> {
        spec.iter().map(|(name, args)| ToolCall::new(*name, args.as_object().cloned())).collect()
    }

    fn said(match_type: MatchType, expected: &[(&str, Value)], actual: &[(&str, Value)]) -> String {
        let options = TrajectoryOptions { match_type, ignore_args: false };
        let (e, a) = (calls(expected), calls(actual));
        let (e, a): (Vec<_>, Vec<_>) = (e.iter().collect(), a.iter().collect());
        explain_turn(options, trajectory_matches(options, &e, &a), &e, &a)
    }

    #[test]
    fn of_several_turns_no_single_one_is_told() {
        let options = TrajectoryOptions::default();
        let turns =
            [(Some(1.0), "no calls, as expected".to_string()), (Some(1.0), "1 call as expected".to_string())];
        assert_eq!(explain(options, &turns, 1.0, None), "EXACT: all 2 turns match");
        assert_eq!(explain(options, &turns[1..], 1.0, None), "EXACT: 1 call as expected");
    }

    #[test]
    fn the_explanation_names_the_step_the_argument_and_the_value() {
        let expected = [("get", json!({})), ("set", json!({"id": "d2"}))];
        let actual = [("get", json!({})), ("set", json!({"id": "d3"})), ("log", json!({}))];
        assert_eq!(
            said(MatchType::Exact, &expected, &actual),
            "call 2 set differs in id (expected \"d2\", got \"d3\"); call 3 log is extra"
        );
        assert_eq!(
            said(MatchType::InOrder, &expected, &actual),
            "call 2 set differs in id (expected \"d2\", got \"d3\")"
        );
        let swapped = [("set", json!({"id": "d2"})), ("get", json!({}))];
        assert!(said(MatchType::InOrder, &expected, &swapped).contains("came as call"));
        assert_eq!(said(MatchType::AnyOrder, &expected, &swapped), "2 calls as expected");
        assert!(
            said(MatchType::Exact, &[("t", json!({"n": 3}))], &[("t", json!({"n": "3"}))])
                .ends_with("the text \"3\" is not the number 3")
        );
    }
}
