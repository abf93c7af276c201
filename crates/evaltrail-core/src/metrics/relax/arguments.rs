//! Rules that explain the differences between the arguments of aligned calls.

use super::super::argument_rule::{ArgumentRule, equal_in_any_order};
use super::super::matching::Matcher;
use crate::diff::{PairKind, align, compared_args, values_equal};
use crate::domain::{Attempt, MatchRule, ToolCall, finite_number, has_null};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Lists with more elements are not compared in any order, since that takes quadratic time.
const MAX_UNORDERED: usize = 1000;

/// The values of one argument in two aligned calls; `None` is absent.
#[derive(Debug, Clone, PartialEq)]
struct Values {
    expected: Option<Value>,
    actual: Option<Value>,
}

/// A tool and the path of one of its arguments.
type ToolArgument = (String, String);

/// The differences between the arguments of some aligned calls.
pub(super) struct ArgumentDifferences {
    /// By argument, at the path of the smallest part that differs.
    parts: BTreeMap<ToolArgument, Vec<Values>>,
    /// By argument of a call, as a whole.
    whole: BTreeMap<ToolArgument, Vec<Values>>,
    /// The tools of the calls.
    tools: BTreeSet<String>,
}

impl ArgumentDifferences {
    /// The differences within attempts that existing rules do not accept. `rules` are those of each attempt.
    pub(super) fn within<'a>(
        attempts: impl Iterator<Item = (&'a Attempt, Vec<MatchRule>)>,
    ) -> ArgumentDifferences {
        let mut calls: Vec<ChangedCall> = Vec::new();
        for (attempt, rules) in attempts {
            // Rules that cannot be compiled accept nothing.
            let Some(matcher) = Matcher::compile(&rules, false)
                .or_else(|_| Matcher::compile(&[], false))
                .ok()
            else {
                continue;
            };
            changed_calls(attempt, &matcher, &mut calls);
        }
        let paths: BTreeSet<ToolArgument> = calls
            .iter()
            .flat_map(|call| call.paths(&|_| false))
            .collect();
        let is_within = |(tool, path): &ToolArgument| {
            let outer = path
                .match_indices('.')
                .map(|(at, _)| path[..at].to_string());
            outer
                .into_iter()
                .any(|outer| paths.contains(&(tool.clone(), outer)))
        };
        let outermost: BTreeSet<&ToolArgument> =
            paths.iter().filter(|path| !is_within(path)).collect();
        let mut found = ArgumentDifferences {
            parts: BTreeMap::new(),
            whole: BTreeMap::new(),
            tools: calls.iter().map(|call| call.tool.clone()).collect(),
        };
        for call in &calls {
            let is_outermost =
                |path: &str| outermost.contains(&(call.tool.clone(), path.to_string()));
            call.collect(&is_outermost, &mut found.parts);
            call.collect(&|path| !path.contains('.'), &mut found.whole);
        }
        found
    }

    /// The smallest rule for each part of an argument that differs.
    pub(super) fn rules_for_parts(&self) -> Vec<MatchRule> {
        rules_for(&self.parts)
    }

    /// The smallest rule for each argument that differs, as a whole.
    pub(super) fn rules_for_whole_arguments(&self) -> Vec<MatchRule> {
        rules_for(&self.whole)
    }

    /// Rules that ignore all arguments of each tool.
    pub(super) fn rules_for_tools(&self) -> Vec<MatchRule> {
        let ignored = |tool: &String| MatchRule {
            tool: tool.clone(),
            others: Some("ignore".into()),
            ..MatchRule::default()
        };
        self.tools.iter().map(ignored).collect()
    }
}

/// Whether a rule turns a comparison off.
pub(super) fn ignores(rule: &MatchRule) -> bool {
    rule.others.as_deref() == Some("ignore") || rule.args.values().any(|how| how == "ignore")
}

/// Two calls of one tool that are aligned and differ in their arguments.
struct ChangedCall {
    tool: String,
    expected: Map<String, Value>,
    actual: Map<String, Value>,
    /// The paths that differ under the existing rules.
    counted: Vec<String>,
}

/// Adds the changed calls of an attempt.
fn changed_calls(attempt: &Attempt, matcher: &Matcher, found: &mut Vec<ChangedCall>) {
    for (expected, actual) in attempt.expected.iter().zip(attempt.actual.iter()) {
        let (expected, actual) = (expected.calls(), actual.calls());
        let pairs = align(&expected, &actual).pairs;
        for pair in &pairs {
            if let (PairKind::Changed, Some(e), Some(a)) = (pair.kind, pair.expected, pair.actual) {
                found.push(ChangedCall::new(expected[e], actual[a], matcher));
            }
        }
        let missing = pairs.iter().filter(|pair| pair.kind == PairKind::Missing);
        let missing = missing.filter_map(|pair| pair.expected.map(|at| expected[at]));
        let extra = pairs.iter().filter(|pair| pair.kind == PairKind::Extra);
        let extra = extra.filter_map(|pair| pair.actual.map(|at| actual[at]));
        moved_calls(missing.collect(), extra.collect(), matcher, found);
    }
}

/// Adds the calls that were made in another place with other arguments: each missing call with the extra one of the same
/// tool that differs in the fewest arguments.
fn moved_calls(
    missing: Vec<&ToolCall>,
    mut extra: Vec<&ToolCall>,
    matcher: &Matcher,
    found: &mut Vec<ChangedCall>,
) {
    /// More calls are not paired, since that takes quadratic time.
    const MAX: usize = 100;
    for expected in missing.into_iter().take(MAX) {
        let same_tool = extra
            .iter()
            .enumerate()
            .take(MAX)
            .filter(|(_, call)| call.name == expected.name);
        let changed = same_tool.map(|(at, call)| (at, ChangedCall::new(expected, call, matcher)));
        if let Some((at, changed)) = changed.min_by_key(|(_, changed)| changed.counted.len()) {
            extra.remove(at);
            found.push(changed);
        }
    }
}

impl ChangedCall {
    fn new(expected: &ToolCall, actual: &ToolCall, matcher: &Matcher) -> ChangedCall {
        let args = |call: &ToolCall, other: &ToolCall| {
            compared_args(call, other)
                .map(|args| args.into_owned())
                .unwrap_or_default()
        };
        ChangedCall {
            tool: expected.name.clone(),
            expected: args(expected, actual),
            actual: args(actual, expected),
            counted: matcher
                .differences(expected, actual)
                .into_iter()
                .map(|one| one.path)
                .collect(),
        }
    }

    /// Adds the values of the differing arguments. Values at paths for which `is_whole` is true are not divided.
    fn collect(
        &self,
        is_whole: &dyn Fn(&str) -> bool,
        found: &mut BTreeMap<ToolArgument, Vec<Values>>,
    ) {
        let mut add = |path: &str, values: Values| {
            if self.counts(path) {
                found
                    .entry((self.tool.clone(), path.to_string()))
                    .or_default()
                    .push(values);
            }
        };
        members(&self.expected, &self.actual, "", is_whole, &mut add);
    }

    fn paths(&self, is_whole: &dyn Fn(&str) -> bool) -> Vec<ToolArgument> {
        let mut found = BTreeMap::new();
        self.collect(is_whole, &mut found);
        found.into_keys().collect()
    }

    /// Whether the values at a path differ under the existing rules.
    fn counts(&self, path: &str) -> bool {
        let is_below = |path: &str, outer: &str| {
            path.strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.counted
            .iter()
            .any(|counted| is_below(counted, path) || is_below(path, counted))
    }
}

fn members(
    e: &Map<String, Value>,
    a: &Map<String, Value>,
    outer: &str,
    is_whole: &dyn Fn(&str) -> bool,
    add: &mut dyn FnMut(&str, Values),
) {
    let extra = a.keys().filter(|key| !e.contains_key(*key));
    for key in e.keys().chain(extra) {
        let path = if outer.is_empty() {
            key.clone()
        } else {
            format!("{outer}.{key}")
        };
        differing(e.get(key), a.get(key), &path, is_whole, add);
    }
}

/// Reports the smallest parts of two values that differ. Lists with the same elements in another order differ as a
/// whole.
fn differing(
    e: Option<&Value>,
    a: Option<&Value>,
    path: &str,
    is_whole: &dyn Fn(&str) -> bool,
    add: &mut dyn FnMut(&str, Values),
) {
    match (e, a) {
        (Some(e), Some(a)) if values_equal(e, a) => {}
        (Some(Value::Object(e)), Some(Value::Object(a))) if !is_whole(path) => {
            members(e, a, path, is_whole, add);
        }
        (Some(Value::Array(e)), Some(Value::Array(a)))
            if !is_whole(path) && e.len() == a.len() && !are_reordered(e, a) =>
        {
            for (at, (e, a)) in e.iter().zip(a).enumerate() {
                differing(Some(e), Some(a), &format!("{path}.{at}"), is_whole, add);
            }
        }
        (e, a) => add(
            path,
            Values {
                expected: e.cloned(),
                actual: a.cloned(),
            },
        ),
    }
}

fn are_reordered(e: &[Value], a: &[Value]) -> bool {
    let unordered = |list: &[Value]| Value::Array(list.to_vec());
    e.len() <= MAX_UNORDERED && equal_in_any_order(&unordered(e), &unordered(a))
}

fn rules_for(differences: &BTreeMap<ToolArgument, Vec<Values>>) -> Vec<MatchRule> {
    differences
        .iter()
        .map(|((tool, path), values)| smallest_rule(tool, path, values))
        .collect()
}

/// The rule that accepts the least among those that accept all of these values.
fn smallest_rule(tool: &str, path: &str, values: &[Values]) -> MatchRule {
    if let Some(default) = default_of(values) {
        return MatchRule::with_default(tool, path, default.clone());
    }
    let fits = |how: &Value| {
        let rule = ArgumentRule::parse(how);
        rule.is_some_and(|rule| {
            values
                .iter()
                .all(|of| rule.accepts(of.expected.as_ref(), of.actual.as_ref()))
        })
    };
    let how = candidates(values)
        .into_iter()
        .find(fits)
        .unwrap_or_else(|| "ignore".into());
    MatchRule::about(tool, path, how)
}

/// The rules that can explain values of their kind, smallest first.
fn candidates(values: &[Values]) -> Vec<Value> {
    let all = |is_of_kind: fn(&Value, &Value) -> bool| {
        let is = |of: &Values| match (&of.expected, &of.actual) {
            (Some(e), Some(a)) => is_of_kind(e, a),
            _ => false,
        };
        values.iter().all(is)
    };
    let mut found: Vec<Value> = vec!["nullable".into()];
    if all(|e, a| e.is_string() && a.is_string()) {
        found.extend(["case", "spaces", "case_and_spaces"].map(Value::from));
        // Every text contains an empty one.
        if all(|e, _| e.as_str().is_some_and(|text| !text.trim().is_empty())) {
            found.push("contains".into());
        }
    } else if all(|e, a| is_short_list(e) && is_short_list(a)) {
        found.push("unordered".into());
        found.push("subset".into());
        if all(|e, _| e.as_array().is_some_and(|list| !list.is_empty())) {
            found.push("superset".into());
        }
    } else if all(|e, a| e.is_object() && a.is_object()) {
        found.extend(["unordered", "subset"].map(Value::from));
        if all(|e, _| e.as_object().is_some_and(|members| !members.is_empty())) {
            found.push("superset".into());
        }
    } else if let Some(tolerance) = tolerance_of(values) {
        found.push(tolerance);
    }
    found
}

fn is_short_list(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|list| list.len() <= MAX_UNORDERED)
}

/// The value that one side has wherever the other has none. Null is none, because `nullable` explains it.
fn default_of(values: &[Values]) -> Option<&Value> {
    let alone = |of: &'_ Values| match (&of.expected, &of.actual) {
        (Some(_), Some(_)) | (None, None) => None,
        _ => Some(()),
    };
    let value = |of| -> Option<&Value> {
        let of: &Values = of;
        alone(of).and(of.expected.as_ref().or(of.actual.as_ref()))
    };
    let first = value(values.first()?)?;
    let is_same = values
        .iter()
        .all(|of| value(of).is_some_and(|other| values_equal(first, other)));
    (is_same && !has_null(first)).then_some(first)
}

/// The smallest absolute tolerance that accepts all of these numbers. `None` if one is not a finite number, and for
/// numbers that are not near each other: if one is more than twice the other, or they have different signs.
fn tolerance_of(values: &[Values]) -> Option<Value> {
    let distance = |of: &Values| {
        let (e, a) = (
            finite_number(of.expected.as_ref()?)?,
            finite_number(of.actual.as_ref()?)?,
        );
        let distance = (e - a).abs();
        (distance <= e.abs().max(a.abs()) / 2.0).then_some(distance)
    };
    let distances: Vec<f64> = values.iter().map(distance).collect::<Option<_>>()?;
    let largest = distances.into_iter().fold(0.0, f64::max);
    let tolerance = match largest.fract() == 0.0 && largest < 1e15 {
        true => Value::from(largest as u64),
        false => Value::from(shortest_not_below(largest)),
    };
    Some(Value::Object(
        [("tolerance".to_string(), tolerance)].into_iter().collect(),
    ))
}

/// The number with the fewest digits that is at least this one and exceeds it by no more than the error of floating
/// point arithmetic: 0.1 for 0.09999999999999998.
fn shortest_not_below(number: f64) -> f64 {
    let rounded = (0..17).filter_map(|digits| format!("{number:.digits$e}").parse::<f64>().ok());
    let is_close = |rounded: &f64| *rounded >= number && *rounded <= number * (1.0 + 1e-9);
    { rounded }.find(is_close).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(values: &[(Value, Value)]) -> String {
        let of = |(expected, actual): &(Value, Value)| Values {
            expected: expected.get("v").cloned(),
            actual: actual.get("v").cloned(),
        };
        smallest_rule("t", "v", &values.iter().map(of).collect::<Vec<_>>()).describe()
    }

    #[test]
    fn suggested_rule_fits_argument_difference() {
        let one = |expected: Value, actual: Value| {
            rule(&[(json!({"v": expected}), json!({"v": actual}))])
        };
        assert_eq!(one(json!("Oslo"), json!("OSLO")), "t: v case");
        assert_eq!(one(json!("New York"), json!("New  York ")), "t: v spaces");
        assert_eq!(
            one(json!("New York"), json!("new york ")),
            "t: v case_and_spaces"
        );
        assert_eq!(one(json!("Oslo"), json!("Oslo, Norway")), "t: v contains");
        assert_eq!(one(json!("Oslo"), json!("Bergen")), "t: v ignore");
        assert_eq!(
            one(json!(""), json!("Bergen")),
            "t: v ignore",
            "every text contains an empty one"
        );
        assert_eq!(one(json!([1, 2]), json!([2, 1])), "t: v unordered");
        assert_eq!(one(json!([1, 2]), json!([1])), "t: v subset");
        assert_eq!(one(json!([1, 2]), json!([1, 2, 3])), "t: v superset");
        assert_eq!(
            one(json!([]), json!([3])),
            "t: v ignore",
            "every list contains an empty one"
        );
        assert_eq!(one(json!(10), json!(15)), "t: v tolerance 5");
        assert_eq!(one(json!(0.3), json!(0.2)), "t: v tolerance 0.1");
        assert_eq!(
            one(json!(3), json!(120)),
            "t: v ignore",
            "they are not near each other"
        );
        assert_eq!(one(json!(3), json!("3")), "t: v ignore");
        assert_eq!(one(json!(true), json!(false)), "t: v ignore");
        assert_eq!(rule(&[(json!({"v": "en"}), json!({}))]), "t: v default en");
        assert_eq!(rule(&[(json!({}), json!({"v": "en"}))]), "t: v default en");
        assert_eq!(rule(&[(json!({}), json!({"v": null}))]), "t: v nullable");
    }

    #[test]
    fn one_rule_explains_all_values_of_an_argument() {
        let present = |value: Value| json!({ "v": value });
        let pair = |e: Value, a: Value| (present(e), present(a));
        assert_eq!(
            rule(&[pair(json!(1), json!(2)), pair(json!(9), json!(5))]),
            "t: v tolerance 4"
        );
        assert_eq!(
            rule(&[
                pair(json!("a"), json!("A")),
                pair(json!("b c"), json!("b  c"))
            ]),
            "t: v case_and_spaces"
        );
        assert_eq!(
            rule(&[
                (present(json!(1)), json!({})),
                (json!({}), present(json!(2)))
            ]),
            "t: v ignore"
        );
        assert_eq!(
            rule(&[
                pair(json!("a"), json!("A")),
                (present(json!("b")), json!({}))
            ]),
            "t: v ignore"
        );
    }
}
