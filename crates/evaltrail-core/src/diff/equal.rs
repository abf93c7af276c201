//! Equality of arguments as in ADK, which uses Python's: `1 == 1.0 == true`, integers are exact at any size, `NaN` is
//! not equal to itself, the order of keys is ignored, the order of lists is not.

use crate::domain::{ToolCall, float_of};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;

/// Whether two calls have the same name and, unless they are ignored or not known, equal arguments. No arguments and empty
/// arguments differ.
pub fn calls_equal(a: &ToolCall, b: &ToolCall, ignore_args: bool) -> bool {
    a.name == b.name
        && (ignore_args
            || args_equal(
                compared_args(a, b).as_deref(),
                compared_args(b, a).as_deref(),
            ))
}

/// The arguments of a call as they are compared with those of the other call. If a server rounded the integers of one of
/// them, those of both are rounded; every other number stays as it is. Unknown arguments are taken to be those of the other
/// call.
pub fn compared_args<'a>(
    call: &'a ToolCall,
    other: &'a ToolCall,
) -> Option<Cow<'a, Map<String, Value>>> {
    let args = if call.args_unknown {
        &other.args
    } else {
        &call.args
    }
    .as_ref()?;
    Some(match call.rounded || other.rounded {
        true => Cow::Owned(
            args.iter()
                .map(|(key, value)| (key.clone(), rounded(value)))
                .collect(),
        ),
        false => Cow::Borrowed(args),
    })
}

/// The largest number up to which every integer is a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) => match float_of(number) {
            Some(float) if float.abs() >= EXACT => {
                Number::from_f64(float).map_or(value.clone(), Value::Number)
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(rounded).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| (key.clone(), rounded(member)))
            .collect(),
        _ => value.clone(),
    }
}

fn args_equal(a: Option<&Map<String, Value>>, b: Option<&Map<String, Value>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => maps_equal(a, b),
        _ => false,
    }
}

fn maps_equal(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len()
        && a.iter()
            .all(|(key, x)| b.get(key).is_some_and(|y| values_equal(x, y)))
}

/// Python's `==` on parsed JSON.
pub fn values_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        // Numbers with the same notation are equal, except NaN.
        (Value::Number(a), Value::Number(b)) if a == b => !is_nan(a),
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => maps_equal(a, b),
        _ => match (numeric(a), numeric(b)) {
            (Some(a), Some(b)) => numbers_equal(&a, &b),
            _ => false,
        },
    }
}

fn is_nan(number: &Number) -> bool {
    number.as_str().starts_with("-0e") && float_of(number).is_some_and(f64::is_nan)
}

/// Equality of JSON values: like Python's, but `true` is not 1. Vertex's metrics are assumed to compare this way.
pub fn json_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Bool(_), _) | (_, Value::Bool(_)) => false,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| json_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, x)| b.get(key).is_some_and(|y| json_equal(x, y)))
        }
        _ => values_equal(a, b),
    }
}

fn same_call(a: &ToolCall, b: &ToolCall) -> bool {
    let is_same = a.args_unknown == b.args_unknown
        && match (&a.args, &b.args) {
            (None, None) => true,
            (Some(a), Some(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .all(|(key, x)| b.get(key).is_some_and(|y| json_equal(x, y)))
            }
            _ => false,
        };
    a.name == b.name && is_same
}

/// Whether two lists of calls are the same in two versions of a case: by name and arguments, numbers by their values.
/// Unlike in scores, `true` is not 1.
pub fn same_calls(a: &[&ToolCall], b: &[&ToolCall]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_call(a, b))
}

/// A number as in Python: an integer of any size (its digits), or a float.
enum Numeric {
    Whole(String),
    Float(f64),
}

fn numeric(value: &Value) -> Option<Numeric> {
    match value {
        Value::Bool(flag) => Some(Numeric::Whole(u8::from(*flag).to_string())),
        Value::Number(number) => number_of(number),
        _ => None,
    }
}

fn number_of(number: &Number) -> Option<Numeric> {
    let text = number.to_string();
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        let whole = if text == "-0" { "0".into() } else { text };
        return Some(Numeric::Whole(whole));
    }
    float_of(number).map(Numeric::Float)
}

fn numbers_equal(a: &Numeric, b: &Numeric) -> bool {
    match (a, b) {
        (Numeric::Whole(a), Numeric::Whole(b)) => a == b,
        (Numeric::Float(a), Numeric::Float(b)) => a == b,
        (Numeric::Whole(whole), Numeric::Float(float))
        | (Numeric::Float(float), Numeric::Whole(whole)) => {
            // `+ 0.0` removes the sign of a negative zero; `{:.0}` formats all digits of a float exactly.
            float.is_finite() && float.fract() == 0.0 && format!("{:.0}", float + 0.0) == *whole
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_match_after_server_rounding() {
        let call = |text: &str, rounded| {
            let args: Map<String, Value> = serde_json::from_str(text).unwrap();
            ToolCall {
                rounded,
                ..ToolCall::new("t", Some(args))
            }
        };
        let expected = call(r#"{"a": [9007199254740993], "b": 3}"#, false);
        let as_float = r#"{"a": [9007199254740992.0], "b": 3}"#;
        assert!(!calls_equal(&expected, &call(as_float, false), false));
        assert!(calls_equal(&expected, &call(as_float, true), false));
        assert!(!calls_equal(
            &expected,
            &call(r#"{"a": [9007199254740994.0], "b": 3}"#, true),
            false
        ));
        assert!(!calls_equal(
            &expected,
            &call(r#"{"a": [9007199254740992.0], "b": 4}"#, true),
            false
        ));
    }

    fn equal(a: &str, b: &str) -> bool {
        let read = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        values_equal(&read(a), &read(b))
    }

    #[test]
    fn numbers_are_equal_by_value() {
        assert!(
            equal("1", "1.0") && equal("1", "true") && equal("false", "-0.0") && equal("0", "-0")
        );
        assert!(equal("[1, 2.0]", "[1.0, 2]") && equal("100", "1e2"));
        assert!(!equal("1", "\"1\"") && !equal("9007199254740993", "9007199254740992.0"));
        assert!(equal("9007199254740992", "9007199254740992.0"));
        assert!(equal(
            "123456789012345678901234567890",
            "123456789012345678901234567890"
        ));
        assert!(!equal("0.3", "0.30000000000000004"));
    }

    #[test]
    fn null_is_not_missing() {
        assert!(
            !equal("{\"a\": null}", "{}") && equal("{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}")
        );
        let none = ToolCall::new("t", None);
        let empty = ToolCall::new("t", Some(Map::new()));
        assert!(!calls_equal(&none, &empty, false) && calls_equal(&none, &empty, true));
    }
}
