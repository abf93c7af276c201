//! Patterns for single tool calls, in the words of `[[match]]`.

use super::criterion_error::CriterionError;
use super::matching::Matcher;
use crate::diff::{Difference, DifferenceKind};
use crate::domain::{MatchRule, ToolCall};
use serde_json::{Map, Value};
use wildmatch::WildMatch;

/// A pattern for calls: tools by name with wildcards, and arguments by value or by rule.
pub struct CallPattern {
    tool: WildMatch,
    expected: ToolCall,
    matcher: Matcher,
    /// The arguments that are objects.
    objects: Vec<(String, Value)>,
}

impl std::fmt::Debug for CallPattern {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("CallPattern")
            .field(&self.expected)
            .finish()
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
    ) -> Result<CallPattern, CriterionError> {
        let mut rule = MatchRule::default();
        let mut expected = Map::new();
        for (name, value) in args.into_iter().flatten() {
            expected.insert(name.clone(), split(value, name, &mut rule.args));
        }
        if is_subset {
            // Without a rule of its own, a value would be one of the others.
            let leaves = expected
                .iter()
                .flat_map(|(name, value)| leaves(name, value))
                .collect::<Vec<_>>();
            for leaf in leaves {
                rule.args.entry(leaf).or_insert_with(|| "exact".into());
            }
        }
        if is_subset {
            rule.others = Some("ignore".into());
        }
        Ok(CallPattern {
            tool: WildMatch::new(tool),
            objects: expected
                .iter()
                .filter(|(_, value)| value.is_object())
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            expected: ToolCall::new(tool, args.map(|_| expected)),
            matcher: Matcher::compile(&[rule], args.is_none())?,
        })
    }

    /// Whether the pattern is about a tool of this name.
    pub fn is_about(&self, name: &str) -> bool {
        self.tool.matches(name)
    }

    /// How a call of the tool differs from the pattern; empty when it matches.
    pub fn differences(&self, call: &ToolCall) -> Vec<Difference> {
        let mut found = self.matcher.differences(&self.expected, call);
        // Where other arguments are ignored, the rules for the members of an object do not apply when it is absent.
        let absent = self
            .objects
            .iter()
            .filter(|(path, _)| !has(call.args.as_ref(), path));
        let missing = absent.map(|(path, value)| Difference {
            path: path.clone(),
            kind: DifferenceKind::Missing(value.clone()),
        });
        let missing: Vec<Difference> = missing
            .filter(|one| found.iter().all(|other| other.path != one.path))
            .collect();
        found.extend(missing);
        found
    }
}

fn has(args: Option<&Map<String, Value>>, name: &str) -> bool {
    args.is_some_and(|args| args.contains_key(name))
}

/// The paths of the values that are not objects with members.
fn leaves(path: &str, value: &Value) -> Vec<String> {
    match value.as_object().filter(|members| !members.is_empty()) {
        None => vec![path.to_string()],
        Some(members) => members
            .iter()
            .flat_map(|(key, member)| leaves(&format!("{path}.{key}"), member))
            .collect(),
    }
}

/// The expected value of an argument; rules in it are added to `rules` by path.
fn split(value: &Value, path: &str, rules: &mut Map<String, Value>) -> Value {
    if value == "ignore" {
        rules.insert(path.to_string(), value.clone());
        return Value::Null;
    }
    let Some(members) = value.as_object() else {
        return value.clone();
    };
    let has = |key: &str| members.contains_key(key);
    if members.len() == 1 && ["regex", "contains", "any_of"].into_iter().any(has) {
        rules.insert(path.to_string(), value.clone());
        return Value::Null;
    }
    if has("value")
        && members.len() > 1
        && members
            .keys()
            .all(|key| ["value", "tolerance", "relative"].contains(&key.as_str()))
    {
        let how = members.iter().filter(|(key, _)| *key != "value");
        rules.insert(
            path.to_string(),
            Value::Object(
                how.map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            ),
        );
        return members["value"].clone();
    }
    let below = |(key, value): (&String, &Value)| {
        (key.clone(), split(value, &format!("{path}.{key}"), rules))
    };
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
        assert!(matches(
            json!({"q": {"regex": "(?i)refund"}}),
            false,
            json!({"q": "a Refund"})
        ));
        assert!(!matches(
            json!({"q": {"regex": "(?i)refund"}}),
            false,
            json!({})
        ));
        assert!(matches(
            json!({"sql": "ignore"}),
            false,
            json!({"sql": "select 1"})
        ));
        assert!(matches(
            json!({"n": {"value": 20, "tolerance": 5}}),
            false,
            json!({"n": 24})
        ));
        assert!(!matches(
            json!({"n": {"value": 20, "tolerance": 5}}),
            false,
            json!({"n": 26})
        ));
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
        let nested = json!({"w": {"hour": "ignore", "day": 1}});
        assert!(matches(
            nested.clone(),
            true,
            json!({"w": {"hour": 9, "day": 1, "more": 2}, "x": 3})
        ));
        assert!(!matches(
            nested.clone(),
            true,
            json!({"w": {"hour": 9, "day": 2}})
        ));
        assert!(!matches(nested, true, json!({"x": 3})));
        assert!(matches(Value::Null, false, json!({"anything": 1})));
        assert!(CallPattern::new("t", json!({"q": {"regex": "("}}).as_object(), false).is_err());
    }
}
