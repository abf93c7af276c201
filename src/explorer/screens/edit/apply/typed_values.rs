//! Values in the text that is typed into a field. What is wrong with a text is an error with a message for the user.

use evaltrail_core::domain::{Part, special_number};
use evaltrail_core::formats::json;
use serde_json::{Map, Value};

/// Why an input or a change is invalid; a message for the user.
pub(super) type FieldError = String;

pub(super) fn nonempty(typed: &str, what: &str) -> Result<String, FieldError> {
    let typed = typed.trim();
    if typed.is_empty() {
        Err(format!("{what} is missing"))
    } else {
        Ok(typed.to_string())
    }
}

pub(super) fn parse_authored_text(typed: &str) -> Result<(String, Vec<Part>), FieldError> {
    let (author, words) = typed.split_once(':').ok_or("type it as author: words")?;
    Ok((
        nonempty(author, "the author")?,
        vec![Part::text(words.trim())],
    ))
}

/// Parses typed JSON. For a word without quotes the error shows it in quotes.
pub(super) fn json_value(typed: &str) -> Result<Value, FieldError> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Err(
            "a value is missing: JSON, such as 3, true, \"text\", [1, 2], {\"a\": 1}".into(),
        );
    }
    json::parse(typed)
        .map(|parsed| parsed.value)
        .map_err(|mut error| {
            // What is typed is a value, although files are parsed in the same way.
            for part in [&mut error.expected, &mut error.found] {
                *part = part.replace("the end of the file", "the end of the value");
            }
            let is_word = typed
                .chars()
                .all(|c| c.is_alphanumeric() || " _-.".contains(c))
                && special_number(typed).is_none();
            match is_word {
                true => format!("text needs quotes: {}", Value::from(typed)),
                false => format!(
                    "at character {}: {error}",
                    typed[..error.offset.min(typed.len())].chars().count() + 1
                ),
            }
        })
}

pub(super) fn json_object(typed: &str) -> Result<Map<String, Value>, FieldError> {
    match json_value(if typed.trim().is_empty() { "{}" } else { typed })? {
        Value::Object(map) => Ok(map),
        _ => Err("expected an object: {\"key\": value}".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_typed_json_are_about_a_value() {
        let error = |typed| json_value(typed).unwrap_err();
        assert_eq!(
            error("{} x"),
            "at character 4: expected the end of the value, found 'x'"
        );
        assert!(
            error("[1").ends_with("found the end of the value"),
            "{}",
            error("[1")
        );
    }
}
