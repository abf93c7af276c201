//! Compiled rules for comparing calls: which differences between two calls count. The rules about calls are in `call_rules`.
//! Also the largest one-to-one pairing of two lists of calls.

use super::argument_rule::{ACCEPTED, ArgumentRule};
use super::arguments::argument_paths;
use super::call_rules::CallRule;
use super::criterion_error::CriterionError;
use super::vertex_trajectory::same_call;
use crate::diff::{
    Difference, DifferenceKind, calls_equal, compared_args, json_equal, values_equal,
};
use crate::domain::{Finding, MatchRule, ToolCall, value_text};
use serde_json::{Map, Value};
use std::borrow::Cow;
use wildmatch::WildMatch;

/// With more calls than this on either side, calls are paired first come, first served.
const MAX_PAIRED: usize = 1000;

/// When two calls and two values are equal where no rule says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CallEquality {
    /// As `tool_trajectory_avg_score` compares: `true` is 1, and absent arguments are not empty ones.
    #[default]
    Adk,
    /// As Vertex AI's metrics compare: `true` is not 1, and absent arguments are empty ones.
    Vertex,
}

/// Compiled rules. Calls that no rule is about are the same if they are equal.
pub(super) struct Matcher {
    rules: Vec<Rule>,
    ignore_args: bool,
    equality: CallEquality,
}

struct Rule {
    tool: WildMatch,
    args: Vec<(WildMatch, ArgumentRule)>,
    others: OtherArguments,
    calls: CallRule,
    written: MatchRule,
}

/// How arguments without a rule of their own are compared, and their members.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OtherArguments {
    /// They are equal.
    Exact,
    /// They do not matter.
    Ignore,
    /// The expected ones are equal; there may be more.
    Superset,
    /// There are no others than the expected ones; some may be missing.
    Subset,
}

impl OtherArguments {
    const ACCEPTED: &str = "others = \"ignore\", \"exact\", \"superset\" or \"subset\"";

    fn parse(how: Option<&str>) -> Option<OtherArguments> {
        match how {
            None | Some("exact") => Some(OtherArguments::Exact),
            Some("ignore") => Some(OtherArguments::Ignore),
            Some("superset") => Some(OtherArguments::Superset),
            Some("subset") => Some(OtherArguments::Subset),
            Some(_) => None,
        }
    }

    /// Whether a difference does not matter; `None` is an absent argument.
    fn accepts(self, expected: Option<&Value>, actual: Option<&Value>) -> bool {
        match self {
            OtherArguments::Exact => false,
            OtherArguments::Ignore => true,
            OtherArguments::Superset => expected.is_none(),
            OtherArguments::Subset => actual.is_none(),
        }
    }
}

impl Rule {
    /// Whether the rule says how some argument of a call is compared.
    fn is_about_arguments(&self, call: &ToolCall) -> bool {
        // The arguments of a rule about calls say which calls it is about, not how calls are compared.
        if self.written.is_about_calls() || !self.tool.matches(&call.name) {
            return false;
        }
        let is_named = |path: &String| {
            let mut named = self.args.iter();
            named.any(|(name, _)| name.matches(path)) || self.written.defaults.contains_key(path)
        };
        self.others != OtherArguments::Exact
            || call
                .args
                .as_ref()
                .is_some_and(|args| argument_paths(args).iter().any(is_named))
    }
}

impl Matcher {
    /// Compiles rules; the error contains the value that is not accepted.
    pub(super) fn compile(
        rules: &[MatchRule],
        ignore_args: bool,
    ) -> Result<Matcher, CriterionError> {
        let rules = rules.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Matcher {
            rules,
            ignore_args,
            equality: CallEquality::default(),
        })
    }

    /// The same rules, with another equality where no rule says otherwise.
    pub(super) fn with_equality(self, equality: CallEquality) -> Matcher {
        Matcher { equality, ..self }
    }

    /// Whether a call matches the expected one under the rules.
    pub(super) fn same(&self, expected: &ToolCall, actual: &ToolCall) -> bool {
        self.are_equal(expected, actual)
            || (expected.name == actual.name
                && !self.rules.is_empty()
                && self.differences(expected, actual).is_empty()
                && self.compares_arguments(expected, actual))
    }

    /// Whether two calls are equal without any rule.
    fn are_equal(&self, expected: &ToolCall, actual: &ToolCall) -> bool {
        match self.equality {
            CallEquality::Adk => calls_equal(expected, actual, self.ignore_args),
            CallEquality::Vertex if self.ignore_args => expected.name == actual.name,
            CallEquality::Vertex => same_call(expected, actual),
        }
    }

    /// Whether a rule says how some argument of two calls of one tool is compared.
    fn compares_arguments(&self, expected: &ToolCall, actual: &ToolCall) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.is_about_arguments(expected) || rule.is_about_arguments(actual))
    }

    /// Whether a rule says how one of these calls is compared, or that it may be missing.
    pub(super) fn compares_any(&self, expected: &[&ToolCall], actual: &[&ToolCall]) -> bool {
        let is_compared = |call: &&ToolCall| {
            self.is_optional(call) || self.rules.iter().any(|rule| rule.is_about_arguments(call))
        };
        expected.iter().chain(actual).any(is_compared)
    }

    /// Whether a rule says which calls must be made, or how often.
    pub(super) fn counts_calls(&self) -> bool {
        let counts =
            |rule: &MatchRule| rule.is_about_calls() || rule.min.is_some() || rule.max.is_some();
        self.rules.iter().any(|rule| counts(&rule.written))
    }

    /// The arguments of a call as they are compared with those of the other call.
    fn compared<'a>(
        &self,
        call: &'a ToolCall,
        other: &'a ToolCall,
    ) -> Option<Cow<'a, Map<String, Value>>> {
        match self.equality {
            CallEquality::Vertex if !call.args_unknown => call.args.as_ref().map(Cow::Borrowed),
            _ => compared_args(call, other),
        }
    }

    /// The differences that count between two calls of one tool.
    pub(super) fn differences(&self, expected: &ToolCall, actual: &ToolCall) -> Vec<Difference> {
        let mut found = Vec::new();
        if self.ignore_args {
            return found;
        }
        // The arguments of a rule about calls say which calls it is about, not how calls are compared.
        let is_about_calls = |rule: &&Rule| rule.written.is_about_calls();
        let rules = self
            .about(&expected.name)
            .filter(|rule| !is_about_calls(rule))
            .collect::<Vec<_>>();
        let none = Map::new();
        let (e, a) = (
            self.compared(expected, actual),
            self.compared(actual, expected),
        );
        let (e, a) = (e.as_deref().unwrap_or(&none), a.as_deref().unwrap_or(&none));
        let equal = match self.equality {
            CallEquality::Adk => values_equal,
            CallEquality::Vertex => json_equal,
        };
        let compared = ArgumentComparison {
            rules: &rules,
            equal,
        };
        compared.maps(e, a, "", &mut found);
        found
    }

    /// Whether an expected call may be missing.
    pub(super) fn is_optional(&self, call: &ToolCall) -> bool {
        self.about(&call.name).any(|rule| rule.written.optional)
    }

    fn about(&self, name: &str) -> impl Iterator<Item = &Rule> {
        self.rules
            .iter()
            .filter(move |rule| rule.tool.matches(name))
    }

    /// Findings for rules that the calls of a turn violate: forbidden calls and sequences, too few or too many calls.
    pub(super) fn violations(&self, actual: &[&ToolCall]) -> Vec<Finding> {
        let mut found = Vec::new();
        self.rules
            .iter()
            .for_each(|rule| rule.calls.check(actual, &mut found));
        found
    }

    /// Whether it depends on unknown arguments if the calls of a turn violate a rule.
    pub(super) fn is_undecided(&self, actual: &[&ToolCall]) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.calls.is_undecided(actual))
    }

    /// The largest one-to-one pairing: for each expected call, the index of the actual one that it is paired with.
    pub(super) fn pairing(
        &self,
        expected: &[&ToolCall],
        actual: &[&ToolCall],
    ) -> Vec<Option<usize>> {
        if expected.len() > MAX_PAIRED || actual.len() > MAX_PAIRED {
            return self.first_come(expected, actual);
        }
        let fits: Vec<Vec<usize>> = expected
            .iter()
            .map(|e| {
                (0..actual.len())
                    .filter(|&at| self.same(e, actual[at]))
                    .collect()
            })
            .collect();
        let mut taken: Vec<Option<usize>> = vec![None; actual.len()];
        for at in 0..expected.len() {
            augment(at, &fits, &mut taken, &mut vec![false; actual.len()]);
        }
        let mut pairing = vec![None; expected.len()];
        for (actual, expected) in taken.into_iter().enumerate() {
            if let Some(expected) = expected {
                pairing[expected] = Some(actual);
            }
        }
        pairing
    }

    fn first_come(&self, expected: &[&ToolCall], actual: &[&ToolCall]) -> Vec<Option<usize>> {
        let mut free = vec![true; actual.len()];
        let mut find = |e: &&ToolCall| {
            let at = (0..actual.len()).find(|&at| free[at] && self.same(e, actual[at]))?;
            free[at] = false;
            Some(at)
        };
        expected.iter().map(&mut find).collect()
    }
}

/// Finds a partner for an expected call, moving other calls to another partner where possible (Kuhn's algorithm).
fn augment(at: usize, fits: &[Vec<usize>], taken: &mut [Option<usize>], seen: &mut [bool]) -> bool {
    for &candidate in &fits[at] {
        if std::mem::replace(&mut seen[candidate], true) {
            continue;
        }
        if taken[candidate].is_none_or(|other| augment(other, fits, taken, seen)) {
            taken[candidate] = Some(at);
            return true;
        }
    }
    false
}

/// Why a rule of `[[match]]` cannot be applied, as a message; `None` if it can.
pub fn wrong_rule(rule: &MatchRule) -> Option<String> {
    compile(rule).err().map(|why| why.to_string())
}

fn compile(rule: &MatchRule) -> Result<Rule, CriterionError> {
    let wrong = |expected, found: &Value| CriterionError::Option {
        option: "match",
        expected,
        found: value_text(found),
    };
    let others = OtherArguments::parse(rule.others.as_deref()).ok_or_else(|| {
        wrong(
            OtherArguments::ACCEPTED,
            &rule.others.as_deref().unwrap_or_default().into(),
        )
    })?;
    if rule.tool.is_empty() {
        return Err(wrong(
            "the name of a tool, or a pattern as search_*",
            &"".into(),
        ));
    }
    if let Some(name) = rule
        .args
        .keys()
        .chain(rule.defaults.keys())
        .find(|name| name.is_empty())
    {
        return Err(wrong(
            "the name of an argument, or * for any",
            &name.as_str().into(),
        ));
    }
    if let (Some(min), Some(max)) = (rule.min, rule.max)
        && min > max
    {
        let found = format!("min = {min} and max = {max}, which no number of calls satisfies");
        return Err(wrong("min at most max", &found.into()));
    }
    let argument = |how| ArgumentRule::parse(how).ok_or_else(|| wrong(ACCEPTED, how));
    let args = rule
        .args
        .iter()
        .map(|(name, how)| Ok((WildMatch::new(name), argument(how)?)));
    Ok(Rule {
        tool: WildMatch::new(&rule.tool),
        calls: CallRule::compile(rule)?,
        args: args.collect::<Result<_, CriterionError>>()?,
        others,
        written: rule.clone(),
    })
}

/// The comparison of two values.
struct ArgumentComparison<'a> {
    /// The rules about the tool.
    rules: &'a [&'a Rule],
    /// Whether two values are equal without a rule.
    equal: fn(&Value, &Value) -> bool,
}

impl ArgumentComparison<'_> {
    fn maps(
        &self,
        e: &Map<String, Value>,
        a: &Map<String, Value>,
        path: &str,
        found: &mut Vec<Difference>,
    ) {
        let extra = a.keys().filter(|key| !e.contains_key(*key));
        for key in e.keys().chain(extra) {
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            self.values(e.get(key), a.get(key), path, found);
        }
    }

    fn values(
        &self,
        e: Option<&Value>,
        a: Option<&Value>,
        path: String,
        found: &mut Vec<Difference>,
    ) {
        let rules = self.rules;
        // The last rule for the path takes precedence.
        let about = |rule: &&Rule| rule.args.iter().rposition(|(name, _)| name.matches(&path));
        let rule = rules
            .iter()
            .rev()
            .find_map(|rule| about(rule).map(|at| &rule.args[at].1));
        let is_absent_default = (e.is_none() || a.is_none()) && is_default(rules, &path, e.or(a));
        if is_absent_default || rule.is_some_and(|rule| rule.accepts(e, a)) {
            return;
        }
        let kind = match (e, a, rule) {
            (Some(Value::Object(e)), Some(Value::Object(a)), None) => {
                return self.maps(e, a, &path, found);
            }
            (Some(Value::Array(e)), Some(Value::Array(a)), None) if e.len() == a.len() => {
                for (at, (e, a)) in e.iter().zip(a).enumerate() {
                    self.values(Some(e), Some(a), format!("{path}.{at}"), found);
                }
                return;
            }
            (Some(e), Some(a), None) if (self.equal)(e, a) => return,
            _ if rule.is_none() && rules.iter().any(|rule| rule.others.accepts(e, a)) => return,
            (Some(e), Some(a), _) => DifferenceKind::Changed(e.clone(), a.clone()),
            (Some(e), None, _) => DifferenceKind::Missing(e.clone()),
            (None, Some(a), _) => DifferenceKind::Extra(a.clone()),
            (None, None, _) => return,
        };
        found.push(Difference { path, kind });
    }
}

/// Whether a value that only one side has is a default and may be left out.
fn is_default(rules: &[&Rule], path: &str, value: Option<&Value>) -> bool {
    let defaults = rules
        .iter()
        .filter_map(|rule| rule.written.defaults.get(path));
    value.is_some_and(|value| {
        defaults
            .into_iter()
            .any(|default| values_equal(default, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall::new(name, args.as_object().cloned())
    }

    fn same(rules: &str, expected: Value, actual: Value) -> bool {
        #[derive(serde::Deserialize)]
        struct File {
            r#match: Vec<MatchRule>,
        }
        let file: File = toml::from_str(rules).unwrap();
        let matcher = Matcher::compile(&file.r#match, false).unwrap();
        matcher.same(&call("search_web", expected), &call("search_web", actual))
    }

    #[test]
    fn arguments_are_compared_as_the_rules_say() {
        let rule = |args: &str| format!("[[match]]\ntool = \"search_*\"\nargs = {{ {args} }}\n");
        let table = [
            (
                "query = \"ignore\"",
                json!({"query": "a", "n": 1}),
                json!({"query": "b", "n": 1}),
                true,
            ),
            (
                "query = \"ignore\"",
                json!({"query": "a", "n": 1}),
                json!({"query": "b", "n": 2}),
                false,
            ),
            ("query = \"ignore\"", json!({"query": "a"}), json!({}), true),
            (
                "q = \"case\"",
                json!({"q": "Oslo"}),
                json!({"q": "OSLO"}),
                true,
            ),
            (
                "q = \"contains\"",
                json!({"q": "Oslo"}),
                json!({"q": "in Oslo"}),
                true,
            ),
            (
                "q = { contains = \"in\" }",
                json!({"q": "x"}),
                json!({"q": "in Oslo"}),
                true,
            ),
            (
                "q = { regex = \"^\\\\d+$\" }",
                json!({"q": "x"}),
                json!({"q": "42"}),
                true,
            ),
            (
                "q = { regex = \"^\\\\d+$\" }",
                json!({"q": "x"}),
                json!({"q": "4x"}),
                false,
            ),
            (
                "n = { tolerance = 5 }",
                json!({"n": 10}),
                json!({"n": 15}),
                true,
            ),
            (
                "n = { tolerance = 5 }",
                json!({"n": 10}),
                json!({"n": 15.1}),
                false,
            ),
            (
                "n = { relative = 0.1 }",
                json!({"n": 100}),
                json!({"n": 91}),
                true,
            ),
            (
                "n = { any_of = [1, 2] }",
                json!({"n": 3}),
                json!({"n": 2.0}),
                true,
            ),
            (
                "o = \"superset\"",
                json!({"o": {"a": 1}}),
                json!({"o": {"a": 1, "b": 2}}),
                true,
            ),
            (
                "o = \"subset\"",
                json!({"o": {"a": 1}}),
                json!({"o": {"a": 1, "b": 2}}),
                false,
            ),
            (
                "o = \"subset\"",
                json!({"o": [1, 2]}),
                json!({"o": [2]}),
                true,
            ),
            (
                "\"o.at\" = \"ignore\"",
                json!({"o": {"at": 1, "b": 2}}),
                json!({"o": {"at": 9, "b": 2}}),
                true,
            ),
            (
                "\"*.id\" = \"ignore\"",
                json!({"l": [{"id": 1}]}),
                json!({"l": [{"id": 2}]}),
                true,
            ),
        ];
        for (args, expected, actual, fits) in table {
            assert_eq!(
                same(&rule(args), expected.clone(), actual.clone()),
                fits,
                "{args} {expected} {actual}"
            );
        }
    }

    #[test]
    fn tolerance_rejects_non_finite_numbers() {
        let special = |word| Value::Number(crate::domain::special_number(word).unwrap());
        let rule = "[[match]]\ntool = \"*\"\nargs = { n = { tolerance = 5 } }\n";
        for word in ["NaN", "Infinity", "-Infinity"] {
            assert!(
                !same(rule, json!({"n": 0}), json!({"n": special(word)})),
                "{word}"
            );
            assert!(
                !same(rule, json!({"n": special(word)}), json!({"n": 0})),
                "{word}"
            );
        }
    }

    #[test]
    fn defaults_and_ignored_keys_are_equal() {
        let rule = "[[match]]\ntool = \"*\"\ndefaults = { unit = \"C\" }\n";
        assert!(
            same(rule, json!({"unit": "C"}), json!({}))
                && same(rule, json!({}), json!({"unit": "C"}))
        );
        assert!(!same(rule, json!({"unit": "F"}), json!({})));
        let rule =
            "[[match]]\ntool = \"search_*\"\nothers = \"ignore\"\nargs = { id = \"exact\" }\n";
        assert!(same(
            rule,
            json!({"id": 1, "x": 1}),
            json!({"id": 1, "y": 2})
        ));
        assert!(!same(rule, json!({"id": 1}), json!({"id": 2})));
    }

    #[test]
    fn other_arguments_are_a_superset_or_subset() {
        let rule = |others: &str| format!("[[match]]\ntool = \"*\"\nothers = \"{others}\"\n");
        let (less, more) = (
            json!({"o": {"a": 1}}),
            json!({"n": 2, "o": {"a": 1, "b": 2}}),
        );
        for (others, expected, actual, fits) in [
            ("superset", &less, &more, true),
            ("superset", &more, &less, false),
            ("subset", &more, &less, true),
            ("subset", &less, &more, false),
            ("superset", &json!({"o": {"a": 2}}), &more, false),
            ("subset", &more, &json!({"n": 3}), false),
        ] {
            assert_eq!(
                same(&rule(others), expected.clone(), actual.clone()),
                fits,
                "{others} {expected} {actual}"
            );
        }
        assert!(
            wrong_rule(&toml::from_str("tool = \"*\"\nothers = \"some\"\n").unwrap())
                .unwrap()
                .contains("superset")
        );
    }

    #[test]
    fn pairing_is_maximum_where_greedy_fails() {
        let rules = [MatchRule::about("t", "n", json!({"tolerance": 1}))];
        let matcher = Matcher::compile(&rules, false).unwrap();
        let (two, one, three) = (
            call("t", json!({"n": 2})),
            call("t", json!({"n": 1})),
            call("t", json!({"n": 3})),
        );
        // 2 fits 1 and 3; 0 fits 1 only.
        let zero = call("t", json!({"n": 0}));
        let pairing = matcher.pairing(&[&two, &zero], &[&one, &three]);
        assert_eq!(pairing, [Some(1), Some(0)]);
        assert_eq!(
            matcher.first_come(&[&two, &zero], &[&one, &three]),
            [Some(0), None]
        );
    }

    #[test]
    fn error_of_a_rule_lists_valid_ones() {
        let rules = [MatchRule::about("t", "n", json!("sometimes"))];
        let error = Matcher::compile(&rules, false).err().unwrap().to_string();
        assert!(
            error.contains("ignore") && error.contains("sometimes"),
            "{error}"
        );
    }
}
