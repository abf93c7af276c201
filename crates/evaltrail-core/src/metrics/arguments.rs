//! The arguments of calls by their paths, as rules of `[[match]]` name them.

use crate::domain::{MatchRule, ToolCall};
use serde_json::{Map, Value};
use wildmatch::WildMatch;

/// Whether a rule applies to a call: it matches the tool and, if it names arguments, one that the call has.
pub fn is_about(rule: &MatchRule, call: &ToolCall) -> bool {
    if !WildMatch::new(&rule.tool).matches(&call.name) {
        return false;
    }
    let names: Vec<WildMatch> = rule.args.keys().map(|name| WildMatch::new(name)).collect();
    let paths = call.args.as_ref().map(argument_paths).unwrap_or_default();
    names.is_empty()
        || paths
            .iter()
            .any(|path| names.iter().any(|name| name.matches(path)))
}

/// The paths of all arguments, including nested ones, as rules name them: keys and indices joined by dots.
pub fn argument_paths(args: &Map<String, Value>) -> Vec<String> {
    arguments(args).into_iter().map(|(path, _)| path).collect()
}

/// All arguments, including nested ones, with their paths. Members come before the objects and lists that contain them.
pub(super) fn arguments(args: &Map<String, Value>) -> Vec<(String, &Value)> {
    fn below<'a>(path: String, value: &'a Value, found: &mut Vec<(String, &'a Value)>) {
        let children: Vec<(String, &'a Value)> = match value {
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| (key.clone(), value))
                .collect(),
            Value::Array(list) => list
                .iter()
                .enumerate()
                .map(|(at, value)| (at.to_string(), value))
                .collect(),
            _ => Vec::new(),
        };
        for (key, value) in children {
            below(format!("{path}.{key}"), value, found);
        }
        found.push((path, value));
    }
    let mut found = Vec::new();
    args.iter()
        .for_each(|(key, value)| below(key.clone(), value, &mut found));
    found
}
