//! The JSON object in a reply of a model.

use crate::domain::JsonKind;
use serde_json::{Map, Value};

/// The longest reply that is read, in bytes.
const MAX_REPLY: usize = 64 << 10;

/// The object of a reply: all of it, or in its only fenced block, or between its first and its last brace.
///
/// # Errors
///
/// The reply is too long, or has no such object.
pub(super) fn object_in_reply(reply: &str) -> Result<Map<String, Value>, String> {
    if reply.len() > MAX_REPLY {
        let length = reply.len();
        return Err(format!(
            "the reply has {length} bytes, and at most {MAX_REPLY} are read"
        ));
    }
    let candidates = [
        Some(reply.trim()),
        fenced_block(reply),
        between_braces(reply),
    ];
    let mut problem = "the reply has no JSON object".to_string();
    for text in candidates.into_iter().flatten() {
        match serde_json::from_str(text) {
            Ok(Value::Object(members)) => return Ok(members),
            Ok(_) => {}
            Err(error) if text.starts_with('{') => {
                problem = format!("the JSON object of the reply cannot be read: {error}");
            }
            Err(_) => {}
        }
    }
    Err(problem)
}

/// The text of the only fenced block, without the name of its language.
fn fenced_block(reply: &str) -> Option<&str> {
    let parts: Vec<&str> = reply.splitn(4, "```").collect();
    let [_, block, _] = parts[..] else {
        return None;
    };
    let block = block.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    Some(block.trim())
}

/// From the first opening brace to the last closing one.
fn between_braces(reply: &str) -> Option<&str> {
    let (first, last) = (reply.find('{')?, reply.rfind('}')?);
    reply.get(first..=last)
}

/// A member of an object that must have this type; the error says where it is missing or of another one.
pub(super) fn required_member<'a, T>(
    members: &'a Map<String, Value>,
    place: &str,
    key: &str,
    expected: JsonKind,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<T, String> {
    let value = members.get(key);
    value
        .and_then(read)
        .ok_or_else(|| type_problem(place, key, expected, value))
}

/// Like [`required_member`]; `None` if there is no such member, or null.
pub(super) fn optional_member<'a, T>(
    members: &'a Map<String, Value>,
    place: &str,
    key: &str,
    expected: JsonKind,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, String> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => required_member(members, place, key, expected, read).map(Some),
    }
}

/// That a member has another type than it must have.
fn type_problem(place: &str, key: &str, expected: JsonKind, found: Option<&Value>) -> String {
    let found = match found {
        None => "is missing".to_string(),
        Some(value) => format!("is {}", kind_text(value)),
    };
    format!("{place}: \"{key}\" {found}, and must be {expected}")
}

/// The kind of a value as text.
pub(super) fn kind_text(value: &Value) -> String {
    JsonKind::of_value(value).map_or("null".into(), |kind| kind.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reply: &str) -> Result<String, String> {
        object_in_reply(reply).map(|members| Value::Object(members).to_string())
    }

    #[test]
    fn object_is_found_in_each_form_of_reply() {
        for reply in [
            "{\"a\":{}}",
            " \n{\"a\":{}}\n",
            "```json\n{\"a\":{}}\n```",
            "```\n{\"a\":{}}```",
            "Here it is:\n```JSON\n{\"a\":{}}\n```\nIs it right, {user}?",
            "Here it is: {\"a\":{}} as requested",
        ] {
            assert_eq!(read(reply).as_deref(), Ok("{\"a\":{}}"), "{reply}");
        }
    }

    #[test]
    fn reply_without_one_object_is_refused() {
        for reply in ["", "none", "[1]", "} {", "```json\nnone\n```"] {
            assert!(read(reply).is_err(), "{reply}");
        }
        assert_eq!(read("[1]").unwrap_err(), "the reply has no JSON object");
        for reply in [
            "{\"a\": 1} and {\"b\": 2}",
            "{\"a\": ",
            "{a: 1}",
            "{\"a\": NaN}",
        ] {
            let error = read(reply);
            assert!(error.is_err(), "{reply}");
        }
        let error = read("{a: 1}").unwrap_err();
        assert!(
            error.starts_with("the JSON object of the reply cannot be read: "),
            "{error}"
        );
    }

    #[test]
    fn long_and_deep_replies_are_refused() {
        let with_length = |length: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(length - 8));
        assert!(read(&with_length(MAX_REPLY)).is_ok());
        let error = read(&with_length(MAX_REPLY + 1)).unwrap_err();
        assert_eq!(
            error,
            "the reply has 65537 bytes, and at most 65536 are read"
        );
        let deep = format!("{}{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
        assert!(read(&deep).is_err());
    }
}
