//! Small changes of a document's text: all other bytes stay the same.

use super::cursor::Cursor;
use super::locate::locate;
use super::path::JsonPath;
use super::{SyntaxError, parse};
use serde_json::Value;

/// Sets a member of the object at a path: its value is replaced in place, or the member is added at the
/// object's end in the object's own style. The text must be JSON and contain the object.
pub fn set_member(
    text: &str,
    object: &JsonPath,
    key: &str,
    value: &Value,
) -> Result<String, SyntaxError> {
    let at = locate(text, object);
    let spelt = value.to_string();
    if value_at(text, object).is_some_and(|found| found.get(key).is_some()) {
        let start = locate(text, &object.key(key));
        let mut cursor = Cursor::new(text);
        cursor.at = start;
        cursor.skip_value()?;
        return Ok(format!("{}{spelt}{}", &text[..start], &text[cursor.at..]));
    }
    let mut cursor = Cursor::new(text);
    cursor.at = at;
    cursor.skip_value()?;
    let close = cursor.at - 1;
    let inside = &text[at + 1..close];
    let member = format!("{}: {spelt}", Value::from(key));
    if inside.trim().is_empty() {
        return Ok(format!("{}{member}{}", &text[..at + 1], &text[close..]));
    }
    // The new member gets the same white space before it as the first member.
    let blank = &inside[..inside.len() - inside.trim_start().len()];
    let blank = if blank.is_empty() { " " } else { blank };
    let end = at + 1 + inside.trim_end().len();
    Ok(format!("{},{blank}{member}{}", &text[..end], &text[end..]))
}

/// Removes a member from the object at a path, with the comma that separates it from the others.
pub fn remove_member(text: &str, object: &JsonPath, key: &str) -> Result<String, SyntaxError> {
    let mut cursor = Cursor::new(text);
    cursor.at = locate(text, object);
    cursor.expect(b'{', "an object")?;
    let mut before = cursor.at;
    while cursor.peek().is_some_and(|byte| byte != b'}') {
        cursor.skip_space();
        let found = cursor.string()?;
        cursor.expect(b':', "a colon after the key")?;
        cursor.skip_space();
        cursor.skip_value()?;
        let end = cursor.at;
        let more = cursor.take(b',');
        if found == key {
            // The last member is removed with the comma before it.
            return Ok(match more {
                true => format!("{}{}", &text[..before], &text[cursor.at..]),
                false => format!("{}{}", text[..before].trim_end_matches(','), &text[end..]),
            });
        }
        before = cursor.at;
        cursor.skip_space();
    }
    Ok(text.to_string())
}

fn value_at(text: &str, path: &JsonPath) -> Option<Value> {
    let parsed = parse(text).ok()?.value;
    path.0.iter().try_fold(parsed, |value, step| match step {
        super::Step::Key(key) => value.get(key).cloned(),
        super::Step::Index(index) => value.get(index).cloned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_member_changes() {
        let text = "{\n  \"a\" : 1.0,\n  \"b\": {\"x\": [1, 2], \"y\": 3}\n}\n";
        let top = JsonPath::default();
        let set = |object: &JsonPath, key: &str, value: Value| {
            set_member(text, object, key, &value).unwrap()
        };
        assert_eq!(set(&top, "a", json!(0.5)), text.replace("1.0", "0.5"));
        assert_eq!(
            set(&top.key("b"), "x", json!(null)),
            text.replace("[1, 2]", "null")
        );
        assert_eq!(
            set(&top, "c", json!(true)),
            text.replace("3}\n}", "3},\n  \"c\": true\n}")
        );
        assert_eq!(
            set(&top.key("b"), "z", json!(1)),
            text.replace("\"y\": 3}", "\"y\": 3, \"z\": 1}")
        );
        let gone = |key: &str| remove_member(text, &top, key).unwrap();
        assert_eq!(gone("a"), text.replace("\n  \"a\" : 1.0,", ""));
        assert_eq!(
            gone("b"),
            text.replace(",\n  \"b\": {\"x\": [1, 2], \"y\": 3}", "")
        );
        assert_eq!(gone("c"), text);
        assert_eq!(remove_member("{\"a\": 1}", &top, "a").unwrap(), "{}");
        assert_eq!(
            set_member("{}", &top, "a", &json!(1)).unwrap(),
            "{\"a\": 1}"
        );
    }
}
