//! Patterns for single tool calls, in the words of `[[match]]`.

use super::matching::Matcher;
use super::unusable::Unusable;
use crate::diff::Difference;
use crate::domain::{MatchRule, ToolCall};
use serde_json::{Map, Value};
use wildmatch::WildMatch;

/// A pattern for calls: tools by name with wildcards, and arguments by value or by rule.
pub struct CallPattern {
    tool: WildMatch,
    expected: ToolCall,
    matcher: Matcher,
}

impl std::fmt::Debug for CallPattern {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("CallPattern").field(&self.expected).finish()
    }
}

impl CallPattern {
    /// A pattern for calls of a tool. Each argument is a value, `"ignore"`, or one of `{"regex": …}`, `{"contains": …}`,
    /// `{"any_of": […]}`, `{"value": 20, "tolerance": 5}` or `{"value": 20, "relative": 0.01}`. Without `args`, any
    /// arguments match. With `is_subset`, a call may have further arguments. Errors: a rule that is not accepted.
    pub fn new(
        tool: &str,
        args: Option<&Map<String, Value>>,
        is_subset: bool,
    ) -> Result<CallPattern, Unusable> {
        let mut rule = MatchRule::default();
        let mut expected = Map::new();
        for (name, value) in args.into_iter().flatten() {
            expected.insert(name.clone(), split(value, name, &mut rule.args));
            if is_subset && !rule.args.keys().any(|path| path.split('.').next() == Some(name.as_str())) {
                rule.args.insert(name.clone(), "exact".into());
            }
        }
        if is_subset {
            rule.others = Some("ignore".into());
        }
        Ok(CallPattern {
            tool: WildMatch::new(tool),
            expected: ToolCall::new(tool, args.map(|_| expected)),
            matcher: Matcher::of(&[rule], args.is_none())?,
        })
    }

    /// Whether the pattern is about a tool of this name.
    pub fn is_about(&self, name: &str) -> bool {
        self.tool.matches(name)
    }

    /// How a call of the tool differs from the pattern; empty when it matches.
    pub fn differences(&self, call: &ToolCall) -> Vec<Difference> {
        self.matcher.differences(&self.expected, call)
    }
}

/// The expected value of an argument; rules in it are added to `rules` by path.
fn split(value: &Value, path: &str, rules: &mut Map<String, Value>) -> Value {
    if value == "ignore" {
        rules.insert(path.to_string(), value.clone());
        return Value::Null;
    }
    let Some(members) = value.as_object() else { return value.clone() };
    let has = |key: &str| members.contains_key(key);
    if members.len() == 1 && ["regex", "contains", "any_of"].into_iter().any(has) {
        rules.insert(path.to_string(), value.clone());
        return Value::Null;
    }
    if has("value")
        && members.len() > 1
        && members.keys().all(|key| ["value", "tolerance", "relative"].contains(&key.as_str()))
    {
        let how = members.iter().filter(|(key, _)| *key != "value");
        rules.insert(
            path.to_string(),
            Value::Object(how.map(|(key, value)| (key.clone(), value.clone())).collect()),
        );
        return members["value"].clone();
    }
    let below =
        |(key, value): (&String, &Value)| (key.clone(), split(value, &format!("{path}.{key}"), rules));
    Value::Object(members.iter().map(below).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn matches(args: Value, is_subset: bool, call: Value) -> bool {
        let pattern = CallPattern::new("get_*", args.as_object(), is_subset).unwrap();
        let call = ToolCall::new("get_x", call.as_object().cloned());
        pattern.is_about(&call.name) && pattern.differences(&call).is_empty()
    }

    #[test]
    fn arguments_match_by_value_or_by_rule() {
        assert!(matches(json!({"a": 3}), false, json!({"a": 3.0})));
        assert!(!matches(json!({"a": 3}), false, json!({"a": 3, "b": 1})));
        assert!(matches(json!({"a": 3}), true, json!({"a": 3, "b": 1})));
        assert!(!matches(json!({"a": 3, "b": 1}), true, json!({"a": 3})));
        assert!(matches(json!({"q": {"regex": "(?i)refund"}}), false, json!({"q": "a Refund"})));
        assert!(!matches(json!({"q": {"regex": "(?i)refund"}}), false, json!({})));
        assert!(matches(json!({"sql": "ignore"}), false, json!({"sql": "select 1"})));
        assert!(matches(json!({"n": {"value": 20, "tolerance": 5}}), false, json!({"n": 24})));
        assert!(!matches(json!({"n": {"value": 20, "tolerance": 5}}), false, json!({"n": 26})));
        assert!(matches(
            json!({"w": {"hour": "ignore", "day": 1}}),
            false,
            json!({"w": {"hour": 9, "day": 1}})
        ));
        assert!(!matches(
            json!({"w": {"hour": "ignore", "day": 1}}),
            false,
            json!({"w": {"hour": 9, "day": 2}})
        ));
        assert!(matches(Value::Null, false, json!({"anything": 1})));
        assert!(CallPattern::new("t", json!({"q": {"regex": "("}}).as_object(), false).is_err());
    }
}
