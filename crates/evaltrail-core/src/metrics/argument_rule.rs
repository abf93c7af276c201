//! How a rule of `[[match]]` compares the values of one argument.

use crate::diff::values_equal;
use crate::domain::{finite_number, float_of, value_text};
use regex::Regex;
use serde_json::Value;

/// What a rule accepts. An absent argument is accepted only by `Ignore` and `Nullable`.
pub(super) enum ArgumentRule {
    Ignore,
    Exact,
    /// Equal except for letter case.
    IgnoreCase,
    /// Equal except for white space at the ends and the length of white space between words.
    IgnoreSpaces,
    IgnoreCaseAndSpaces,
    /// The actual text contains the expected one.
    ContainsExpected,
    Contains(String),
    /// The actual value is a part of the expected one.
    Subset,
    /// The expected value is a part of the actual one.
    Superset,
    /// The elements of lists may be in any order.
    Unordered,
    /// Null and absent are equal.
    Nullable,
    Regex(Regex),
    AnyOf(Vec<Value>),
    Tolerance {
        absolute: f64,
        relative: f64,
    },
}

/// What can be written as the rule for an argument.
pub(super) const ACCEPTED: &str = "\"ignore\", \"exact\", \"subset\", \"superset\", \"contains\", \"case\", \"spaces\", \
     \"case_and_spaces\", \"unordered\", \"nullable\", or one of { regex = \"…\" }, { contains = \"…\" }, \
     { tolerance = 5 }, { relative = 0.01 }, { any_of = […] }";

impl ArgumentRule {
    /// The rule as written in a configuration; `None` if it is not one.
    pub(super) fn parse(how: &Value) -> Option<ArgumentRule> {
        if let Value::String(word) = how {
            return Some(match word.as_str() {
                "ignore" => ArgumentRule::Ignore,
                "exact" => ArgumentRule::Exact,
                "case" => ArgumentRule::IgnoreCase,
                "spaces" => ArgumentRule::IgnoreSpaces,
                "case_and_spaces" => ArgumentRule::IgnoreCaseAndSpaces,
                "contains" => ArgumentRule::ContainsExpected,
                "subset" => ArgumentRule::Subset,
                "superset" => ArgumentRule::Superset,
                "unordered" => ArgumentRule::Unordered,
                "nullable" => ArgumentRule::Nullable,
                _ => return None,
            });
        }
        let map = how.as_object()?;
        let known = ["regex", "contains", "any_of", "tolerance", "relative"];
        if map.is_empty() || map.keys().any(|key| !known.contains(&key.as_str())) {
            return None;
        }
        let is_number_rule = map
            .keys()
            .all(|key| key == "tolerance" || key == "relative");
        if map.len() > 1 && !is_number_rule {
            return None;
        }
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        let number = |key: &str| map.get(key).and_then(finite_number);
        if let Some(pattern) = text("regex") {
            return Regex::new(pattern).ok().map(ArgumentRule::Regex);
        }
        if let Some(part) = text("contains") {
            return Some(ArgumentRule::Contains(part.to_string()));
        }
        if let Some(values) = map.get("any_of") {
            return values.as_array().cloned().map(ArgumentRule::AnyOf);
        }
        let (absolute, relative) = (number("tolerance"), number("relative"));
        (absolute.is_some() || relative.is_some()).then(|| ArgumentRule::Tolerance {
            absolute: absolute.unwrap_or(0.0),
            relative: relative.unwrap_or(0.0),
        })
    }

    /// Whether the rule decides without an expected value.
    pub(super) fn needs_no_expected_value(&self) -> bool {
        matches!(
            self,
            ArgumentRule::Regex(_) | ArgumentRule::Contains(_) | ArgumentRule::AnyOf(_)
        )
    }

    /// Whether the rule accepts the actual value in place of the expected one; `None` is an absent argument.
    pub(super) fn accepts(&self, expected: Option<&Value>, actual: Option<&Value>) -> bool {
        match (self, expected, actual) {
            (ArgumentRule::Ignore, ..) => true,
            (ArgumentRule::Nullable, e, a) => {
                let null = Value::Null;
                values_equal(e.unwrap_or(&null), a.unwrap_or(&null))
            }
            (_, _, None) => false,
            (ArgumentRule::Regex(regex), _, Some(a)) => {
                text(a).is_some_and(|text| regex.is_match(&text))
            }
            (ArgumentRule::Contains(part), _, Some(a)) => {
                text(a).is_some_and(|text| text.contains(part.as_str()))
            }
            (ArgumentRule::AnyOf(values), _, Some(a)) => {
                values.iter().any(|value| values_equal(value, a))
            }
            (_, None, _) => false,
            (rule, Some(e), Some(a)) => rule.accepts_both(e, a),
        }
    }

    /// The rules that compare an expected with an actual value.
    fn accepts_both(&self, e: &Value, a: &Value) -> bool {
        match self {
            ArgumentRule::IgnoreCase => {
                texts_match(e, a, |e, a| e.to_lowercase() == a.to_lowercase())
            }
            ArgumentRule::IgnoreSpaces => {
                texts_match(e, a, |e, a| spaced_once(e) == spaced_once(a))
            }
            ArgumentRule::IgnoreCaseAndSpaces => texts_match(e, a, |e, a| {
                spaced_once(e).to_lowercase() == spaced_once(a).to_lowercase()
            }),
            ArgumentRule::ContainsExpected => texts_match(e, a, |e, a| a.contains(e)),
            ArgumentRule::Subset => holds(e, a),
            ArgumentRule::Superset => holds(a, e),
            ArgumentRule::Unordered => equal_in_any_order(e, a),
            ArgumentRule::Tolerance { absolute, relative } => {
                match (finite_number(e), finite_number(a)) {
                    (Some(e), Some(a)) => (e - a).abs() <= absolute.max(relative * e.abs()),
                    _ => values_equal(e, a),
                }
            }
            _ => values_equal(e, a),
        }
    }
}

/// A value as text; `None` if it contains NaN, which is different from everything.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        value => (!has_nan(value)).then(|| value_text(value)),
    }
}

fn has_nan(value: &Value) -> bool {
    match value {
        Value::Number(number) => float_of(number).is_some_and(f64::is_nan),
        Value::Array(items) => items.iter().any(has_nan),
        Value::Object(members) => members.values().any(has_nan),
        _ => false,
    }
}

fn texts_match(e: &Value, a: &Value, matches: impl Fn(&str, &str) -> bool) -> bool {
    text(e).zip(text(a)).is_some_and(|(e, a)| matches(&e, &a))
}

fn spaced_once(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether two values are equal where the elements of each list may be in any order.
pub(super) fn equal_in_any_order(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let is_in_b = |(key, value): (&String, &Value)| {
                b.get(key).is_some_and(|b| equal_in_any_order(value, b))
            };
            a.len() == b.len() && a.iter().all(is_in_b)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && each_has_a_distinct_match(a, b, equal_in_any_order)
        }
        _ => values_equal(a, b),
    }
}

/// Whether `whole` contains everything in `part`: keys of objects, elements of lists.
pub(super) fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(key, value)| whole.get(key).is_some_and(|other| holds(other, value))),
        (Value::Array(whole), Value::Array(part)) => {
            each_has_a_distinct_match(part, whole, |part, whole| holds(whole, part))
        }
        (whole, part) => values_equal(whole, part),
    }
}

/// Whether each value has another element of `others`.
fn each_has_a_distinct_match(
    values: &[Value],
    others: &[Value],
    is_like: impl Fn(&Value, &Value) -> bool,
) -> bool {
    let mut left: Vec<&Value> = others.iter().collect();
    values.iter().all(
        |value| match left.iter().position(|other| is_like(value, other)) {
            Some(at) => {
                left.remove(at);
                true
            }
            None => false,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_rule_rejects_nan_numbers() {
        let nan = Value::Number(crate::domain::special_number("NaN").unwrap());
        for rule in [
            "case",
            "spaces",
            "case_and_spaces",
            "contains",
            "unordered",
            "subset",
            "superset",
        ] {
            let rule = ArgumentRule::parse(&rule.into()).unwrap();
            for value in [nan.clone(), json!([1, nan])] {
                assert!(!rule.accepts(Some(&value), Some(&value)), "{value}");
            }
            assert!(rule.accepts(Some(&json!("NaN")), Some(&json!("NaN"))));
        }
        for rule in [
            json!({"contains": "N"}),
            json!({"regex": "."}),
            json!({"tolerance": 5}),
        ] {
            assert!(
                !ArgumentRule::parse(&rule)
                    .unwrap()
                    .accepts(Some(&nan), Some(&nan)),
                "{rule}"
            );
        }
    }

    #[test]
    fn keywords_accept_only_their_values() {
        let accepts = |how: Value, e: Value, a: Value| {
            ArgumentRule::parse(&how)
                .unwrap()
                .accepts(e.get("v"), a.get("v"))
        };
        let table = [
            (
                "spaces",
                json!({"v": "New  York"}),
                json!({"v": " New York\n"}),
                true,
            ),
            (
                "spaces",
                json!({"v": "New York"}),
                json!({"v": "new York"}),
                false,
            ),
            (
                "spaces",
                json!({"v": "New York"}),
                json!({"v": "NewYork"}),
                false,
            ),
            (
                "case_and_spaces",
                json!({"v": "New York"}),
                json!({"v": "new  york "}),
                true,
            ),
            (
                "case_and_spaces",
                json!({"v": "New York"}),
                json!({"v": "york new"}),
                false,
            ),
            (
                "unordered",
                json!({"v": [1, "a", 1]}),
                json!({"v": [1, 1, "a"]}),
                true,
            ),
            (
                "unordered",
                json!({"v": [1, "a", "a"]}),
                json!({"v": [1, 1, "a"]}),
                false,
            ),
            ("unordered", json!({"v": [1]}), json!({"v": [1, 1]}), false),
            (
                "unordered",
                json!({"v": {"x": [[1, 2], 3]}}),
                json!({"v": {"x": [3, [2, 1]]}}),
                true,
            ),
            ("unordered", json!({"v": [1]}), json!({}), false),
            ("nullable", json!({"v": null}), json!({}), true),
            ("nullable", json!({}), json!({"v": null}), true),
            ("nullable", json!({}), json!({"v": 0}), false),
            ("nullable", json!({"v": 1}), json!({"v": 1.0}), true),
            ("nullable", json!({"v": 1}), json!({}), false),
        ];
        for (word, expected, actual, is_accepted) in table {
            assert_eq!(
                accepts(word.into(), expected.clone(), actual.clone()),
                is_accepted,
                "{word} {expected} {actual}"
            );
        }
    }
}
