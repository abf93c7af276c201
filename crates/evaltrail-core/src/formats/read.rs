//! Reading of values by key in either spelling, with errors that contain the path.

use crate::domain::{float_of, most_similar};
use crate::formats::json::{JsonPath, Step};
use serde_json::{Map, Value};

/// A value in a file that cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{path}: expected {expected}, found {found}")]
pub struct ReadError {
    /// The path from the top of the value that was read.
    pub path: JsonPath,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

pub(in crate::formats) type Read<T> = Result<T, ReadError>;

/// A value and its path. The path is built only when an error needs it.
#[derive(Clone, Copy)]
pub(in crate::formats) struct JsonNode<'a> {
    pub(in crate::formats) value: &'a Value,
    way: PathSegment<'a>,
}

#[derive(Clone, Copy)]
enum PathSegment<'a> {
    Root,
    Key(&'a JsonNode<'a>, &'a str),
    Index(&'a JsonNode<'a>, usize),
    /// A member of the topmost value.
    Member(&'a str),
}

impl<'a> JsonNode<'a> {
    pub(in crate::formats) fn top(value: &'a Value) -> Self {
        JsonNode {
            value,
            way: PathSegment::Root,
        }
    }

    pub(in crate::formats) fn path(&self) -> JsonPath {
        let mut steps = Vec::new();
        let mut node = *self;
        loop {
            match node.way {
                PathSegment::Root => break,
                PathSegment::Member(key) => {
                    steps.push(Step::Key(key.to_string()));
                    break;
                }
                PathSegment::Key(parent, key) => {
                    steps.push(Step::Key(key.to_string()));
                    node = *parent;
                }
                PathSegment::Index(parent, index) => {
                    steps.push(Step::Index(index));
                    node = *parent;
                }
            }
        }
        steps.reverse();
        JsonPath(steps)
    }

    pub(in crate::formats) fn wrong(&self, expected: &str) -> ReadError {
        ReadError {
            path: self.path(),
            expected: expected.into(),
            found: describe(self.value),
        }
    }

    pub(in crate::formats) fn missing(&self, key: &str) -> ReadError {
        ReadError {
            path: self.path(),
            expected: format!("a key {key:?}"),
            found: match self.value.as_object() {
                Some(members) => match most_similar(key, members.keys()) {
                    Some(similar) => format!("{similar:?}"),
                    None => "none".into(),
                },
                None => "none".into(),
            },
        }
    }

    pub(in crate::formats) fn object(&self) -> Read<&'a Map<String, Value>> {
        self.value
            .as_object()
            .ok_or_else(|| self.wrong("an object"))
    }

    /// A member by its snake_case name, in either spelling; if both are present, the camelCase one wins.
    /// A null is treated as missing.
    pub(in crate::formats) fn get(&'a self, snake: &'a str) -> Option<JsonNode<'a>> {
        let map = self.value.as_object()?;
        let (key, value) = lookup(map, snake)?;
        (!value.is_null()).then_some(JsonNode {
            value,
            way: PathSegment::Key(self, key),
        })
    }

    /// A member that the caller has already found, with its whole path.
    pub(in crate::formats) fn below(&'a self, key: &'a str, value: &'a Value) -> JsonNode<'a> {
        JsonNode {
            value,
            way: PathSegment::Key(self, key),
        }
    }

    /// A member that the caller has already found.
    pub(in crate::formats) fn member(self, key: &'a str, value: &'a Value) -> JsonNode<'a> {
        // The path is only used in errors, where one step is enough to name the column.
        JsonNode {
            value,
            way: PathSegment::Member(key),
        }
    }

    pub(in crate::formats) fn need(&'a self, snake: &'a str) -> Read<JsonNode<'a>> {
        self.get(snake).ok_or_else(|| self.missing(snake))
    }

    pub(in crate::formats) fn items(&'a self) -> Read<impl Iterator<Item = JsonNode<'a>>> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        Ok(items.iter().enumerate().map(|(at, value)| JsonNode {
            value,
            way: PathSegment::Index(self, at),
        }))
    }

    pub(in crate::formats) fn str(&self) -> Read<String> {
        self.value
            .as_str()
            .map(str::to_string)
            .ok_or_else(|| self.wrong("a string"))
    }

    pub(in crate::formats) fn opt_str(&self, snake: &str) -> Read<Option<String>> {
        self.get(snake).map(|node| node.str()).transpose()
    }

    pub(in crate::formats) fn number(&self) -> Read<f64> {
        lax_float(self.value).ok_or_else(|| self.wrong("a number"))
    }

    pub(in crate::formats) fn opt_number(&self, snake: &str) -> Read<Option<f64>> {
        self.get(snake).map(|node| node.number()).transpose()
    }

    pub(in crate::formats) fn list<T>(
        &self,
        snake: &str,
        read: impl Fn(JsonNode) -> Read<T>,
    ) -> Read<Vec<T>> {
        match self.get(snake) {
            None => Ok(Vec::new()),
            Some(node) => node.items()?.map(read).collect(),
        }
    }

    /// The members whose keys are not in `known`, in either spelling.
    pub(in crate::formats) fn others(&self, known: &[&str]) -> Map<String, Value> {
        let Some(map) = self.value.as_object() else {
            return Map::new();
        };
        map.iter()
            .filter(|(key, _)| !known.iter().any(|snake| same_name(key, snake)))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}

/// The member with this name in either spelling; the camelCase one wins.
pub(in crate::formats) fn lookup<'m>(
    map: &'m Map<String, Value>,
    snake: &str,
) -> Option<(&'m String, &'m Value)> {
    let camel = || map.iter().find(|(key, _)| is_camel_of(key, snake));
    let camel = snake.contains('_').then(camel).flatten();
    camel.or_else(|| member(map, snake))
}

/// The member with exactly this name.
fn member<'m>(map: &'m Map<String, Value>, name: &str) -> Option<(&'m String, &'m Value)> {
    /// In maps up to this number of members, comparing all keys is faster than a hash.
    const FEW: usize = 16;
    match map.len() {
        0..=FEW => map.iter().find(|(key, _)| *key == name),
        _ => map.get_key_value(name),
    }
}

/// The value at a path of snake_case keys, each in either spelling.
pub(in crate::formats) fn below<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| {
        lookup(value.as_object()?, key).map(|(_, value)| value)
    })
}

/// Whether a key is this snake_case name, in snake_case or in camelCase.
pub(in crate::formats) fn same_name(key: &str, snake: &str) -> bool {
    key == snake || is_camel_of(key, snake)
}

fn is_camel_of(key: &str, snake: &str) -> bool {
    if key.len() >= snake.len() {
        return false;
    }
    let mut key = key.bytes();
    let mut up = false;
    for c in snake.bytes() {
        if c == b'_' {
            up = true;
            continue;
        }
        let want = if up { c.to_ascii_uppercase() } else { c };
        up = false;
        if key.next() != Some(want) {
            return false;
        }
    }
    key.next().is_none()
}

/// A snake_case name in camelCase.
pub(in crate::formats) fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let mut out = words.next().unwrap_or_default().to_string();
    for word in words {
        let mut chars = word.chars();
        out.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        out.push_str(chars.as_str());
    }
    out
}

/// A float as pydantic accepts it: numbers, true and false, and strings that contain a number.
pub(in crate::formats) fn lax_float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => float_of(number),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A short description of a value for an error message.
pub(in crate::formats) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() > 40 => {
            format!("the text {:?}…", text.chars().take(40).collect::<String>())
        }
        Value::String(text) => format!("the text {text:?}"),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(map) if map.len() == 1 => "an object with 1 key".into(),
        Value::Object(map) => format!("an object with {} keys", map.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_one_name() {
        assert!(same_name("toolUses", "tool_uses") && same_name("tool_uses", "tool_uses"));
        assert!(!same_name("tooluses", "tool_uses") && !same_name("toolUse", "tool_uses"));
        assert_eq!(camel("final_session_state"), "finalSessionState");
    }

    #[test]
    fn a_path_is_known_when_it_is_needed() {
        let value = serde_json::json!({"a": [{"b_c": 1}, {"bC": true}]});
        let top = JsonNode::top(&value);
        let list = top.get("a").unwrap();
        let last = list.items().unwrap().last().unwrap();
        let node = last.get("b_c").unwrap();
        assert_eq!(
            node.str().unwrap_err().to_string(),
            "$.a[1].bC: expected a string, found true"
        );
    }
}
