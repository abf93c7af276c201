//! Independent turns in another order.

use super::mutation::{Mutation, turns_mut};
use super::stated::{lower_case_tokens, text_of_value, whole_word_positions};
use crate::analysis::coverage::Declarations;
use crate::diff::values_equal;
use crate::domain::{EvalCase, Invocation, ToolCall};
use serde_json::Value;
use std::collections::BTreeSet;

/// Words by which a request refers to what was said or done before it. A request in another language is not recognised by them,
/// which is why its turns must also state all arguments.
const REFERENCES: [&str; 41] = [
    "again",
    "all",
    "also",
    "another",
    "back",
    "before",
    "both",
    "everything",
    "first",
    "former",
    "he",
    "her",
    "him",
    "his",
    "instead",
    "it",
    "its",
    "last",
    "latter",
    "more",
    "next",
    "now",
    "one",
    "other",
    "others",
    "previous",
    "rest",
    "same",
    "she",
    "that",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "too",
    "undo",
    "us",
];

/// Each pair of neighbouring turns that do not depend on each other, in the opposite order.
pub(super) fn mutations(case: &EvalCase, declared: &Declarations) -> Vec<Mutation> {
    let turns = case.turns();
    let pairs = (1..turns.len()).filter(|second| {
        let (one, other) = (&turns[second - 1], &turns[*second]);
        are_independent(one, other, declared)
    });
    let swapped = pairs.map(|second| {
        let mut case = case.clone();
        turns_mut(&mut case).swap(second - 1, second);
        Mutation {
            change: format!("turn {} before turn {second}", second + 1),
            gap: None,
            case,
        }
    });
    swapped.collect()
}

/// Whether each turn states all arguments of its calls, which have some, refers to nothing before it, shares no value with the
/// other one, and calls a tool of the other one only for something else.
fn are_independent(one: &Invocation, other: &Invocation, declared: &Declarations) -> bool {
    let turns = [one, other];
    let are_complete = turns.iter().all(|turn| {
        let text = turn.user.scored_text();
        let refers = lower_case_tokens(&text)
            .iter()
            .any(|word| REFERENCES.contains(&word.as_str()));
        let states = |call: &&ToolCall| states_arguments(&text, call, declared);
        let calls = turn.calls();
        !turn.history
            && !refers
            && turn.trajectory.is_known()
            && !calls.is_empty()
            && calls.iter().all(states)
    });
    let [of_one, of_other] = turns.map(values_of);
    let (one, other) = (one.calls(), other.calls());
    let mut same_tool = one.iter().flat_map(|call| {
        let of_tool = other.iter().filter(|other| other.name == call.name);
        of_tool.map(move |other| (*call, *other))
    });
    are_complete
        && of_one.is_disjoint(&of_other)
        && same_tool.all(|(one, other)| is_of_another(one, other))
}

/// Whether two calls of a tool name different things: a text argument of both differs. Otherwise the second one may replace what
/// the first one did.
fn is_of_another(one: &ToolCall, other: &ToolCall) -> bool {
    one.args.iter().flatten().any(|(name, value)| {
        let of_other = other.args.as_ref().and_then(|args| args.get(name));
        value.is_string() && of_other.is_some_and(|other| other.is_string() && other != value)
    })
}

/// Whether a call has arguments, and a text contains each that is not the default.
fn states_arguments(text: &str, call: &ToolCall, declared: &Declarations) -> bool {
    let schema = declared.tools.get(&call.name).and_then(Option::as_ref);
    let is_default = |name: &str, value: &Value| {
        let mut parameters = schema.iter().flat_map(|schema| &schema.parameters);
        let parameter = parameters.find(|parameter| parameter.name == name);
        let default = parameter.and_then(|parameter| parameter.default.as_ref());
        default.is_some_and(|default| values_equal(default, value))
    };
    let is_stated = |value: &Value| {
        text_of_value(value).is_some_and(|word| !whole_word_positions(text, &word).is_empty())
    };
    let mut arguments = call.args.iter().flatten().peekable();
    arguments.peek().is_some()
        && arguments.all(|(name, value)| match value {
            Value::Array(elements) if !elements.is_empty() => elements.iter().all(is_stated),
            value => is_stated(value) || is_default(name, value),
        })
}

/// The texts and numbers among the arguments of a turn, as they are written, in lower case.
fn values_of(turn: &Invocation) -> BTreeSet<String> {
    let calls = turn.calls();
    let values = calls.iter().flat_map(|call| call.args.iter().flatten());
    let elements = values.flat_map(|(_, value)| match value {
        Value::Array(elements) => elements.iter().collect(),
        value => vec![value],
    });
    elements
        .filter_map(text_of_value)
        .map(|word| word.to_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{case, declared, turn};
    use super::*;
    use serde_json::json;

    fn swaps(first: (&str, Value), second: (&str, Value)) -> usize {
        let turns = [first, second].map(|(text, args)| turn(text, &[("water", args)]));
        mutations(&case("a", turns.into()), &declared()).len()
    }

    #[test]
    fn independent_turns_change_places() {
        let beans = ("Water the beans", json!({"bed": "beans", "litres": 4}));
        let roses = (
            "Water the roses with 2 litres",
            json!({"bed": "roses", "litres": 2}),
        );
        assert_eq!(swaps(beans.clone(), roses.clone()), 1);
        let turns = [beans, roses].map(|(text, args)| turn(text, &[("water", args)]));
        let swapped = mutations(&case("a", turns.into()), &declared()).remove(0);
        assert_eq!(swapped.change, "turn 2 before turn 1");
        let first = &swapped.case.turns()[0];
        assert_eq!(first.user.shown_text(), "Water the roses with 2 litres");
        assert!(
            first.final_response.is_some(),
            "the expectation is that of the source"
        );
    }

    #[test]
    fn turns_that_depend_on_each_other_stay() {
        let beans = || ("Water the beans", json!({"bed": "beans"}));
        for (text, args) in [
            ("Then water the roses", json!({"bed": "roses"})),
            ("Water the roses", json!({"bed": "roses", "litres": 9})),
            ("Water beans", json!({"bed": "beans"})),
            ("Water", json!({"bed": "roses"})),
            ("Water all", json!({})),
            ("Water Beans", json!({"bed": "Beans"})),
        ] {
            assert_eq!(swaps(beans(), (text, args)), 0, "{text}");
        }
        // Equal numbers may name the same thing, and the second level replaces the first.
        for (first, second) in [
            (
                json!({"bed": "beans", "litres": 7}),
                json!({"bed": "roses", "litres": 7}),
            ),
            (json!({"litres": 7}), json!({"litres": 8})),
        ] {
            let text = |args: &Value| {
                format!(
                    "Water {} {}",
                    args["bed"].as_str().unwrap_or_default(),
                    args["litres"]
                )
            };
            let turns = [first, second].map(|args| turn(&text(&args), &[("water", args)]));
            assert!(mutations(&case("a", turns.into()), &declared()).is_empty());
        }
        let talk = vec![turn("Hello", &[]), turn("Bye", &[])];
        assert!(mutations(&case("a", talk), &declared()).is_empty());
    }
}
