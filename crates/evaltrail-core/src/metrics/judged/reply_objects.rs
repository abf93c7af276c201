//! The JSON objects in a judge's reply.

use serde_json::Value;

/// An outermost object of a text: its start, its end and its value.
pub(super) type Object = (usize, usize, Value);

/// The outermost JSON objects of a text.
pub(super) fn objects(text: &str) -> Vec<Object> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|found| at + found) {
        let mut values = serde_json::Deserializer::from_str(&text[open..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value @ Value::Object(_))) => {
                let end = open + values.byte_offset();
                found.push((open, end, value));
                at = end;
            }
            _ => at = open + 1,
        }
    }
    found
}

/// A text without these objects.
pub(super) fn without_objects(text: &str, objects: &[Object]) -> String {
    let mut rest = text.to_string();
    for (start, end, _) in objects
        .iter()
        .rev()
        .filter(|(_, end, _)| *end <= text.len())
    {
        rest.replace_range(*start..*end, "");
    }
    rest
}
