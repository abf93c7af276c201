//! `NaN`, `Infinity` and `-Infinity`, which Python's JSON supports and standard JSON does not.
//!
//! They are represented by numbers that are valid JSON, so that a value can always be written and read back: the
//! infinities by literals that overflow to them, NaN by an unusual literal for zero.

use serde_json::{Map, Number, Value};
use std::borrow::Cow;

const NAN: &str = "-0e+9999";
const INFINITY: &str = "1e+9999";
const MINUS_INFINITY: &str = "-1e+9999";

/// The number that represents one of Python's three words; `None` for other text.
pub fn special_number(word: &str) -> Option<Number> {
    let spelt = match word {
        "NaN" => NAN,
        "Infinity" => INFINITY,
        "-Infinity" => MINUS_INFINITY,
        _ => return None,
    };
    Some(Number::from_string_unchecked(spelt.to_string()))
}

/// A number as Python reads it, including NaN and the infinities.
pub fn float_of(number: &Number) -> Option<f64> {
    match number.to_string().as_str() {
        NAN => Some(f64::NAN),
        spelt => spelt.parse().ok(),
    }
}

/// A number that is neither NaN nor infinite; `None` for these and for values that are not numbers.
pub fn finite_number(value: &Value) -> Option<f64> {
    float_of(value.as_number()?).filter(|float| float.is_finite())
}

/// A value as Python's JSON on one line, with NaN and Infinity.
pub fn value_text(value: &Value) -> String {
    python_json(value.to_string())
}

/// Converts serialized JSON to Python's JSON, with NaN and Infinity.
pub fn python_json(text: String) -> String {
    match text.contains("e+9999") {
        true => text
            .replace(NAN, "NaN")
            .replace(MINUS_INFINITY, "-Infinity")
            .replace(INFINITY, "Infinity"),
        false => text,
    }
}

/// A duration in seconds; `None` for numbers that cannot be one: negative, not finite, or above 30 years.
pub fn plausible_seconds(seconds: f64) -> Option<f64> {
    const MAX_SECONDS: f64 = 1e9;
    // The absolute value has no sign of a zero.
    (0.0..=MAX_SECONDS)
        .contains(&seconds)
        .then_some(seconds.abs())
}

/// A number of tokens or calls; `None` for numbers that cannot be one: negative or not finite.
pub fn plausible_count(count: f64) -> Option<f64> {
    // The absolute value has no sign of a zero.
    (count.is_finite() && count >= 0.0).then_some(count.abs())
}

/// Deserializes a duration in seconds; `None` for null and for a number that cannot be one.
pub(super) fn known_seconds<'de, D: serde::Deserializer<'de>>(
    seconds: D,
) -> Result<Option<f64>, D::Error> {
    use serde::Deserialize;
    Ok(Option::<f64>::deserialize(seconds)?.and_then(plausible_seconds))
}

/// A value for readers of standard JSON: NaN and the infinities become strings.
pub fn plain_json(value: Value) -> Value {
    match value {
        Value::Number(number) => match float_of(&number) {
            Some(float) if !float.is_finite() && number.to_string().ends_with("e+9999") => {
                Value::String(value_text(&Value::Number(number)))
            }
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(plain_json).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, plain_json(value)))
            .collect(),
        other => other,
    }
}

/// Applies [`plain_json`] to an object. Returns the object itself if it contains no special number.
pub fn plain_members(object: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    match object.values().all(is_plain) {
        true => Cow::Borrowed(object),
        false => Cow::Owned(
            object
                .iter()
                .map(|(key, value)| (key.clone(), plain_json(value.clone())))
                .collect(),
        ),
    }
}

/// Whether a value contains none of the special numbers.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.as_str().ends_with("e+9999"),
        Value::Array(items) => items.iter().all(is_plain),
        Value::Object(map) => map.values().all(is_plain),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_writing_and_reading() {
        let words = ["NaN", "Infinity", "-Infinity"];
        let value: Value = words
            .iter()
            .map(|word| Value::Number(special_number(word).unwrap()))
            .collect();
        assert_eq!(value_text(&value), "[NaN,Infinity,-Infinity]");
        let again: Value = serde_json::from_str(&value.to_string()).unwrap();
        assert_eq!(again, value);
        assert_eq!(serde_json::to_value(&value).unwrap(), value);
        let plain = serde_json::json!(["NaN", "Infinity", "-Infinity"]);
        assert_eq!(plain_json(value.clone()), plain);
        let object = |value: Value| Map::from_iter([("a".to_string(), Value::Array(vec![value]))]);
        assert_eq!(*plain_members(&object(value)), object(plain));
        assert!(matches!(
            plain_members(&object(1.5.into())),
            Cow::Borrowed(_)
        ));
        assert!(float_of(&special_number("NaN").unwrap()).unwrap().is_nan());
        for word in words {
            assert_eq!(
                finite_number(&Value::Number(special_number(word).unwrap())),
                None,
                "{word}"
            );
        }
        assert_eq!(finite_number(&1.5.into()), Some(1.5));
    }

    #[test]
    fn some_numbers_are_no_durations() {
        for number in [-5.0, -1e-9, 1e308, f64::NAN, f64::INFINITY] {
            assert_eq!(plausible_seconds(number), None, "{number}");
        }
        let zero = plausible_seconds(-0.0).unwrap();
        assert!(zero == 0.0 && zero.is_sign_positive());
        assert_eq!(
            (plausible_seconds(0.0), plausible_seconds(86_400.0)),
            (Some(0.0), Some(86_400.0))
        );
    }
}
