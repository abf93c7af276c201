//! Reading a criterion's options as pydantic reads them.

use super::criterion_error::CriterionError;
use crate::domain::{Criterion, float_of};
use serde_json::Value;

/// A boolean option; false when absent.
pub(super) fn flag_option(
    criterion: &Criterion,
    snake: &'static str,
    camel: &str,
) -> Result<bool, CriterionError> {
    match criterion.option(snake, camel) {
        None => Ok(false),
        Some(value) => flag(value).ok_or_else(|| CriterionError::Option {
            option: snake,
            expected: "true or false",
            found: value.to_string(),
        }),
    }
}

/// An option with one of several words, in any letter case, with `-` or space for `_`.
pub(super) fn word_option<T: Copy>(
    criterion: &Criterion,
    option: &'static str,
    words: &[(&str, T)],
    expected: &'static str,
) -> Result<Option<T>, CriterionError> {
    let Some(value) = criterion.options.get(option) else {
        return Ok(None);
    };
    let spelt = value
        .as_str()
        .map(|word| word.trim().to_lowercase().replace(['-', ' '], "_"));
    let found = spelt
        .and_then(|spelt| words.iter().find(|(word, _)| *word == spelt))
        .map(|(_, is)| *is);
    found.map(Some).ok_or_else(|| CriterionError::Option {
        option,
        expected,
        found: value.to_string(),
    })
}

pub(super) fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::String(text) => match text.to_lowercase().as_str() {
            "true" | "yes" | "on" | "y" | "t" | "1" => Some(true),
            "false" | "no" | "off" | "n" | "f" | "0" => Some(false),
            _ => None,
        },
        other => match number(other)? {
            0.0 => Some(false),
            1.0 => Some(true),
            _ => None,
        },
    }
}

pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Number(number) => float_of(number),
        _ => None,
    }
}
