//! Differences between the arguments of two calls, by path.

use super::values_equal;
use crate::domain::float_of;
use serde_json::{Map, Value};

/// One difference between two values.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The path to the difference, such as `rooms.1.name`.
    pub path: String,
    /// What differs.
    pub kind: DifferenceKind,
}

/// The kind of a difference, with the values.
#[derive(Clone, Debug, PartialEq)]
pub enum DifferenceKind {
    /// The values differ: expected, actual.
    Changed(Value, Value),
    /// Expected, but absent.
    Missing(Value),
    /// Present, but not expected.
    Extra(Value),
}

/// The differences between the arguments of two calls, in the order of the expected ones. `None` counts as empty.
pub fn differences(
    expected: Option<&Map<String, Value>>,
    actual: Option<&Map<String, Value>>,
) -> Vec<Difference> {
    let empty = Map::new();
    let mut found = Vec::new();
    maps(
        expected.unwrap_or(&empty),
        actual.unwrap_or(&empty),
        "",
        &mut found,
    );
    found
}

fn maps(a: &Map<String, Value>, b: &Map<String, Value>, path: &str, found: &mut Vec<Difference>) {
    for (key, x) in a {
        let path = join(path, key);
        match b.get(key) {
            None => found.push(Difference {
                path,
                kind: DifferenceKind::Missing(x.clone()),
            }),
            Some(y) => values(x, y, path, found),
        }
    }
    for (key, y) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
        found.push(Difference {
            path: join(path, key),
            kind: DifferenceKind::Extra(y.clone()),
        });
    }
}

fn values(a: &Value, b: &Value, path: String, found: &mut Vec<Difference>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => maps(a, b, &path, found),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (x, y)) in a.iter().zip(b).enumerate() {
                values(x, y, format!("{path}.{at}"), found);
            }
        }
        _ if values_equal(a, b) => {}
        _ => found.push(Difference {
            path,
            kind: DifferenceKind::Changed(a.clone(), b.clone()),
        }),
    }
}

/// The number of differences. An alignment needs it for every pair of calls, so the differences are not collected.
pub(super) fn count_differences(a: &Map<String, Value>, b: &Map<String, Value>) -> usize {
    let of = |(key, x): (&String, &Value)| b.get(key).map_or(1, |y| count_between(x, y));
    a.iter().map(of).sum::<usize>() + b.keys().filter(|key| !a.contains_key(*key)).count()
}

fn count_between(a: &Value, b: &Value) -> usize {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => count_differences(a, b),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).map(|(a, b)| count_between(a, b)).sum()
        }
        (a, b) => usize::from(!values_equal(a, b)),
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_string()
    } else {
        format!("{path}.{key}")
    }
}

impl Difference {
    /// A warning about values that look alike but differ.
    pub fn lookalike(&self) -> Option<String> {
        let (a, b) = match &self.kind {
            DifferenceKind::Changed(a, b) => (a, b),
            DifferenceKind::Missing(Value::Null) => {
                return Some("null is expected; an absent value is not equal to null".into());
            }
            DifferenceKind::Extra(Value::Null) => {
                return Some("null is not equal to an absent value".into());
            }
            _ => return None,
        };
        match (a, b) {
            (Value::String(text), other) | (other, Value::String(text)) if !other.is_string() => {
                spells(text, other)
                    .then(|| format!("the text {text:?} is not {}", kind_name(other)))
            }
            (Value::String(a), Value::String(b)) => alike_texts(a, b),
            (Value::Number(a), Value::Number(b)) => alike_numbers(float_of(a)?, float_of(b)?),
            _ => None,
        }
    }
}

fn spells(text: &str, value: &Value) -> bool {
    let spelt = value.to_string();
    text == spelt
}

fn kind_name(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("the number {number}"),
        other => other.to_string(),
    }
}

fn alike_texts(a: &str, b: &str) -> Option<String> {
    use unicode_normalization::UnicodeNormalization;
    if a.trim() == b.trim() {
        return Some("they differ in leading or trailing white space".into());
    }
    if a.to_lowercase() == b.to_lowercase() {
        return Some("they differ in upper and lower case".into());
    }
    let visible = |text: &str| -> String {
        text.nfkc()
            .filter(|&c| !crate::domain::is_hidden(c) && !c.is_control())
            .collect()
    };
    (visible(a) == visible(b)).then(|| "they look alike but consist of different characters".into())
}

fn alike_numbers(a: f64, b: f64) -> Option<String> {
    let close = (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    close.then(|| "they differ only in the last digits; ADK has no tolerance".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn difference_count_equals_listed_differences() {
        for (a, b) in [
            (json!({"x": 1, "y": 2}), json!({"x": 1, "z": 3, "w": 4})),
            (
                json!({"x": {"a": 1, "b": [1, 2]}}),
                json!({"x": {"b": [1, 3], "c": 2}}),
            ),
            (json!({"x": [1, 2]}), json!({"x": [1]})),
            (json!({}), json!({"x": null})),
            (
                json!({"x": [{"a": 1}, {"b": 1}]}),
                json!({"x": [{"a": 2}, {"c": 1}]}),
            ),
        ] {
            let (a, b) = (a.as_object().unwrap(), b.as_object().unwrap());
            assert_eq!(
                count_differences(a, b),
                differences(Some(a), Some(b)).len(),
                "{a:?} {b:?}"
            );
            assert_eq!(count_differences(a, a), 0);
        }
    }

    fn diff(a: Value, b: Value) -> Vec<Difference> {
        differences(a.as_object(), b.as_object())
    }

    #[test]
    fn paths_point_to_differences() {
        let found = diff(
            json!({"room": {"name": "A", "ids": [1, 2]}, "on": true, "x": null}),
            json!({"room": {"name": "A", "ids": [1, 3]}, "on": 1, "y": 2}),
        );
        let paths: Vec<&str> = found.iter().map(|d| d.path.as_str()).collect();
        assert_eq!(paths, ["room.ids.1", "x", "y"]);
    }

    #[test]
    fn lookalike_values_are_explained() {
        let note = |a, b| diff(json!({"v": a}), json!({"v": b}))[0].lookalike();
        assert_eq!(
            note(json!(3), json!("3")).unwrap(),
            "the text \"3\" is not the number 3"
        );
        assert!(note(json!("on"), json!("On")).unwrap().contains("case"));
        assert!(
            note(json!("é"), json!("e\u{301}"))
                .unwrap()
                .contains("look alike")
        );
        assert!(
            note(json!("a\u{200b}"), json!("a"))
                .unwrap()
                .contains("look alike")
        );
        assert!(
            note(json!(0.3), json!(0.1 + 0.2))
                .unwrap()
                .contains("last digits")
        );
        assert_eq!(note(json!(3), json!(4)), None);
        assert!(
            diff(json!({"v": null}), json!({}))[0]
                .lookalike()
                .unwrap()
                .contains("absent")
        );
    }
}
