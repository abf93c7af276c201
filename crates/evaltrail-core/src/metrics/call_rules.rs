//! Rules of `[[match]]` about the calls of a turn: forbidden and required calls, forbidden sequences, numbers of calls.

use super::argument_rule::ArgumentRule;
use super::arguments::arguments;
use super::criterion_error::CriterionError;
use crate::domain::{Finding, FindingRule, MatchRule, ToolCall, value_text};
use serde_json::Value;
use wildmatch::WildMatch;

/// A compiled rule about calls.
pub(super) struct CallRule {
    tool: WildMatch,
    /// Arguments that limit the rule to some calls of the tool.
    args: Vec<(WildMatch, ArgumentRule)>,
    /// The calls before a forbidden one, in order.
    after: Vec<WildMatch>,
    written: MatchRule,
}

impl CallRule {
    /// Compiles the part of a rule that is about calls. Errors: settings that contradict each other.
    pub(super) fn compile(rule: &MatchRule) -> Result<CallRule, CriterionError> {
        contradiction(rule)?;
        let mut args = Vec::new();
        if rule.is_about_calls() {
            for (name, how) in &rule.args {
                args.push((WildMatch::new(name), argument(how)?));
            }
        }
        let after = rule
            .after
            .iter()
            .flatten()
            .map(|name| WildMatch::new(name))
            .collect();
        Ok(CallRule {
            tool: WildMatch::new(&rule.tool),
            args,
            after,
            written: rule.clone(),
        })
    }

    /// Whether it depends on unknown arguments if the calls of a turn violate the rule.
    pub(super) fn is_undecided(&self, calls: &[&ToolCall]) -> bool {
        let is_unknown = |call: &&&ToolCall| call.args_unknown && self.tool.matches(&call.name);
        let unknown = calls.iter().filter(is_unknown).count();
        if self.args.is_empty() || unknown == 0 {
            return false;
        }
        if self.written.forbidden {
            return self.forbidden_call(calls).is_none();
        }
        let count = calls.iter().filter(|call| self.accepts(call)).count();
        let (least, most) = (
            self.least().unwrap_or(0) as usize,
            self.written.max.map(|max| max as usize),
        );
        let is_kept = count >= least && most.is_none_or(|most| count + unknown <= most);
        let is_violated = count + unknown < least || most.is_some_and(|most| count > most);
        self.written.required && !is_kept && !is_violated
    }

    /// The smallest number of calls.
    fn least(&self) -> Option<u32> {
        self.written.min.or(self.written.required.then_some(1))
    }

    /// Adds a finding for each way in which the calls of a turn violate the rule; none if that is undecided.
    pub(super) fn check(&self, calls: &[&ToolCall], found: &mut Vec<Finding>) {
        let MatchRule {
            tool,
            forbidden,
            required,
            max,
            ..
        } = &self.written;
        if self.is_undecided(calls) {
            return;
        }
        if *forbidden {
            found.extend(self.forbidden_call(calls));
        }
        let is_counted = |call: &&&ToolCall| match required {
            true => self.accepts(call),
            false => self.tool.matches(&call.name),
        };
        let count = calls.iter().filter(is_counted).count();
        let arguments = (*required && !self.args.is_empty())
            .then(|| format!("with {}", self.written.arguments()));
        let miscounted = |rule, limit| Finding {
            text: arguments.clone(),
            ..miscounted(rule, tool, limit, count)
        };
        if let Some(min) = self.least().filter(|min| count < *min as usize) {
            found.push(miscounted(FindingRule::ToolCalledTooRarely, min));
        }
        if let Some(max) = max.filter(|max| count > *max as usize) {
            found.push(miscounted(FindingRule::ToolCalledTooOften, max));
        }
    }

    fn forbidden_call(&self, calls: &[&ToolCall]) -> Option<Finding> {
        if self.after.is_empty() {
            calls.iter().find(|call| self.accepts(call))?;
            let tool = Some(self.written.tool.clone());
            return Some(Finding {
                tool,
                ..Finding::new(FindingRule::ToolForbidden)
            });
        }
        let at = match self.written.directly {
            true => self.directly_after(calls),
            false => self.later(calls),
        }?;
        Some(Finding {
            tool: Some(calls[at].name.clone()),
            text: self.written.sequence(),
            ..Finding::new(FindingRule::SequenceForbidden)
        })
    }

    /// The index of the first call of the rule that directly follows the other calls of the sequence.
    fn directly_after(&self, calls: &[&ToolCall]) -> Option<usize> {
        let are_before = |before: &[&ToolCall]| {
            before
                .iter()
                .zip(&self.after)
                .all(|(call, name)| name.matches(&call.name))
        };
        let length = self.after.len();
        (length..calls.len())
            .find(|&at| are_before(&calls[at - length..at]) && self.accepts(calls[at]))
    }

    /// The index of the first call of the rule after the other calls of the sequence.
    fn later(&self, calls: &[&ToolCall]) -> Option<usize> {
        let mut rest = calls.iter().enumerate();
        for name in &self.after {
            rest.find(|(_, call)| name.matches(&call.name))?;
        }
        rest.find(|(_, call)| self.accepts(call)).map(|(at, _)| at)
    }

    /// Whether the rule is about a call: each call of its tools, or only those with its arguments.
    fn accepts(&self, call: &ToolCall) -> bool {
        let is_accepted = |(name, rule): &(WildMatch, ArgumentRule)| {
            let mut values = call.args.iter().flat_map(|args| arguments(args));
            values.any(|(path, value)| name.matches(&path) && rule.accepts(None, Some(value)))
        };
        self.tool.matches(&call.name) && self.args.iter().all(is_accepted)
    }
}

/// A finding for a tool, or a pattern of tools, that was called too often or too rarely.
pub(super) fn miscounted(rule: FindingRule, tool: &str, limit: u32, count: usize) -> Finding {
    Finding {
        tool: Some(tool.to_string()),
        expected: Some(limit.into()),
        actual: Some(count.into()),
        ..Finding::new(rule)
    }
}

/// The rule for an argument of a forbidden or required call.
fn argument(how: &Value) -> Result<ArgumentRule, CriterionError> {
    let rule = ArgumentRule::parse(how)
        .filter(|rule| rule.needs_no_expected_value() && !has_empty_pattern(how));
    rule.ok_or_else(|| CriterionError::Option {
        option: "match",
        expected: "regex, contains or any_of with a value that is not empty, because a forbidden or required call has \
                   no expected one",
        found: value_text(how),
    })
}

fn has_empty_pattern(how: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        _ => false,
    };
    how.as_object()
        .is_some_and(|settings| settings.values().any(is_empty))
}

/// Refuses settings of a rule that contradict each other.
fn contradiction(rule: &MatchRule) -> Result<(), CriterionError> {
    let about_comparison = rule.others.is_some() || !rule.defaults.is_empty();
    let is_empty_name =
        |names: &Vec<String>| names.is_empty() || names.iter().any(String::is_empty);
    let wrong = [
        (
            rule.forbidden && rule.required,
            "forbidden or required",
            "both",
        ),
        (
            rule.required && rule.optional,
            "required or optional",
            "both",
        ),
        (
            rule.required && rule.min == Some(0),
            "min of at least 1 for a required call",
            "min = 0",
        ),
        (
            rule.required && rule.max == Some(0),
            "max of at least 1 for a required call",
            "max = 0",
        ),
        (
            rule.forbidden
                && rule.args.is_empty()
                && rule.after.is_none()
                && rule.min.is_some_and(|min| min > 0),
            "forbidden or min",
            "both",
        ),
        (
            rule.after.is_some() && !rule.forbidden,
            "after together with forbidden = true",
            "after alone",
        ),
        (
            rule.directly && rule.after.is_none(),
            "directly together with after",
            "directly alone",
        ),
        (
            rule.after.as_ref().is_some_and(is_empty_name),
            "after = the name of a tool, a pattern as login_*, or a list of them",
            "an empty one",
        ),
        (
            rule.is_about_calls() && about_comparison,
            "others and defaults in a rule of their own, because they compare a call with the expected one",
            "them in a rule for forbidden or required calls",
        ),
    ];
    match wrong.into_iter().find(|(is_wrong, ..)| *is_wrong) {
        Some((_, expected, found)) => Err(CriterionError::Option {
            option: "match",
            expected,
            found: found.into(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::matching::{Matcher, wrong_rule};
    use super::*;
    use serde_json::json;

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall::new(name, args.as_object().cloned())
    }

    fn rule(text: &str) -> MatchRule {
        toml::from_str(text).unwrap()
    }

    fn violations(text: &str, calls: &[&ToolCall]) -> Vec<Finding> {
        Matcher::compile(&[rule(text)], false)
            .unwrap()
            .violations(calls)
    }

    /// Whether calls without arguments violate a rule.
    fn is_violated(text: &str, names: &[&str]) -> bool {
        let calls: Vec<ToolCall> = names.iter().map(|name| call(name, json!({}))).collect();
        !violations(text, &calls.iter().collect::<Vec<_>>()).is_empty()
    }

    #[test]
    fn forbidden_calls_are_limited_by_arguments() {
        let is_violated = |args: &str, call: &ToolCall| {
            let text = format!("tool = \"delete_*\"\nforbidden = true\nargs = {{ {args} }}\n");
            !violations(&text, &[call]).is_empty()
        };
        let call = call(
            "delete_file",
            json!({"at": {"path": "/etc/hosts"}, "force": true}),
        );
        assert!(
            is_violated("", &call) && is_violated("\"at.path\" = { regex = \"^/etc/\" }", &call)
        );
        assert!(is_violated(
            "\"*path\" = { contains = \"etc\" }, force = { any_of = [true] }",
            &call
        ));
        assert!(!is_violated("\"at.path\" = { regex = \"^/tmp/\" }", &call));
        assert!(!is_violated(
            "\"at.path\" = { regex = \"^/etc/\" }, force = { any_of = [false] }",
            &call
        ));
        assert!(!is_violated("other = { contains = \"etc\" }", &call));
    }

    #[test]
    fn required_call_matches_name_and_arguments() {
        let required = "tool = \"search_*\"\nrequired = true\nargs = { \"q.city\" = { regex = \"^Oslo$\" } }\n";
        let (oslo, rome) = (
            json!({"q": {"city": "Oslo"}}),
            json!({"q": {"city": "Rome"}}),
        );
        let (fits, other) = (call("search_web", oslo.clone()), call("search_web", rome));
        assert!(violations(required, &[&other, &fits]).is_empty());
        assert!(
            !violations(required, &[]).is_empty()
                && !violations(required, &[&call("find", oslo)]).is_empty()
        );
        let found = violations(required, &[&other]);
        assert_eq!(found[0].rule, FindingRule::ToolCalledTooRarely);
        assert_eq!(found[0].text.as_deref(), Some("with q.city regex ^Oslo$"));
        let twice = format!("min = 2\nmax = 2\n{required}");
        assert!(violations(&twice, &[&fits, &other, &fits]).is_empty());
        assert!(!violations(&twice, &[&fits, &other]).is_empty());
        assert!(!violations(&twice, &[&fits, &fits, &fits]).is_empty());
    }

    #[test]
    fn required_arguments_do_not_affect_comparison() {
        let rule = rule("tool = \"t\"\nrequired = true\nargs = { n = { any_of = [1, 2] } }\n");
        let matcher = Matcher::compile(&[rule], false).unwrap();
        assert!(!matcher.same(&call("t", json!({"n": 3})), &call("t", json!({"n": 1}))));
    }

    #[test]
    fn a_sequence_of_calls_is_forbidden() {
        let later = "tool = \"delete_*\"\nforbidden = true\nafter = \"login_failed\"\n";
        assert!(is_violated(later, &["login_failed", "read", "delete_all"]));
        assert!(!is_violated(later, &["delete_all", "login_failed", "read"]));
        assert!(!is_violated(later, &["delete_all"]) && !is_violated(later, &[]));
        let directly = format!("directly = true\n{later}");
        assert!(is_violated(
            &directly,
            &["read", "login_failed", "delete_all"]
        ));
        assert!(!is_violated(
            &directly,
            &["login_failed", "read", "delete_all"]
        ));
        let long = "tool = \"pay\"\nforbidden = true\nafter = [\"login_*\", \"quote\"]\n";
        assert!(is_violated(long, &["login_user", "x", "quote", "x", "pay"]));
        assert!(!is_violated(long, &["quote", "login_user", "pay"]));
        let directly = format!("directly = true\n{long}");
        assert!(is_violated(
            &directly,
            &["login_a", "login_b", "quote", "pay"]
        ));
        assert!(!is_violated(&directly, &["login_a", "x", "quote", "pay"]));
        let twice = "tool = \"pay\"\nforbidden = true\nafter = \"pay\"\n";
        assert!(is_violated(twice, &["pay", "pay"]) && !is_violated(twice, &["pay"]));
    }

    #[test]
    fn forbidden_sequence_is_limited_by_arguments() {
        let text = "tool = \"delete_*\"\nforbidden = true\nafter = [\"login_failed\"]\n\
                    args = { path = { regex = \"^/etc/\" } }\n";
        let failed = call("login_failed", json!({}));
        assert!(
            violations(
                text,
                &[&failed, &call("delete_file", json!({"path": "/tmp/a"}))]
            )
            .is_empty()
        );
        let found = violations(
            text,
            &[&failed, &call("delete_file", json!({"path": "/etc/a"}))],
        );
        assert_eq!(found[0].rule, FindingRule::SequenceForbidden);
        assert_eq!(found[0].tool.as_deref(), Some("delete_file"));
        assert_eq!(found[0].text.as_deref(), Some("after login_failed"));
    }

    #[test]
    fn unknown_arguments_leave_rules_undecided() {
        let (unknown, oslo) = (
            ToolCall::named("find"),
            call("find", json!({"city": "Oslo"})),
        );
        let is_undecided = |text: &str, calls: &[&ToolCall]| {
            let rule = rule(&format!(
                "tool = \"find\"\n{text}\nargs = {{ city = {{ contains = \"Oslo\" }} }}\n"
            ));
            let matcher = Matcher::compile(&[rule], false).unwrap();
            (
                matcher.is_undecided(calls),
                !matcher.violations(calls).is_empty(),
            )
        };
        let (undecided, kept, violated) = ((true, false), (false, false), (false, true));
        assert_eq!(is_undecided("forbidden = true", &[&unknown]), undecided);
        assert_eq!(
            is_undecided("forbidden = true", &[&unknown, &oslo]),
            violated
        );
        assert_eq!(is_undecided("required = true", &[&unknown]), undecided);
        assert_eq!(is_undecided("required = true", &[&unknown, &oslo]), kept);
        assert_eq!(
            is_undecided("required = true\nmin = 3", &[&unknown, &oslo]),
            violated
        );
        assert_eq!(
            is_undecided("required = true\nmax = 1", &[&unknown, &oslo]),
            undecided
        );
        assert_eq!(
            is_undecided("required = true", &[&call("other", json!({}))]),
            violated
        );
    }

    #[test]
    fn contradicting_rules_are_refused() {
        for (text, part) in [
            (
                "forbidden = true\nargs = { a = \"exact\" }",
                "any_of with a value",
            ),
            (
                "required = true\nargs = { a = { tolerance = 1 } }",
                "any_of with a value",
            ),
            (
                "required = true\nargs = { a = { regex = \"\" } }",
                "any_of with a value",
            ),
            (
                "required = true\nargs = { a = { any_of = [] } }",
                "any_of with a value",
            ),
            (
                "required = true\nargs = { a = { regex = \"(\" } }",
                "any_of with a value",
            ),
            ("required = true\nforbidden = true", "forbidden or required"),
            ("required = true\noptional = true", "required or optional"),
            ("required = true\nmin = 0", "at least 1"),
            ("required = true\nmax = 0", "at least 1"),
            ("forbidden = true\nmin = 1", "forbidden or min"),
            (
                "forbidden = true\nargs = { a = { regex = \"x\", contains = \"y\" } }",
                "any_of with a value",
            ),
            (
                "required = true\nothers = \"ignore\"",
                "a rule of their own",
            ),
            (
                "forbidden = true\ndefaults = { a = 1 }",
                "a rule of their own",
            ),
            ("after = \"a\"", "forbidden = true"),
            ("required = true\nafter = \"a\"", "forbidden = true"),
            (
                "forbidden = true\ndirectly = true",
                "directly together with after",
            ),
            ("forbidden = true\nafter = \"\"", "the name of a tool"),
            ("forbidden = true\nafter = []", "the name of a tool"),
            (
                "forbidden = true\nafter = [\"a\", \"\"]",
                "the name of a tool",
            ),
        ] {
            let why = wrong_rule(&rule(&format!("tool = \"t\"\n{text}\n"))).unwrap_or_default();
            assert!(why.contains(part), "{text}: {why}");
        }
        assert!(wrong_rule(&rule("tool = \"\"\nrequired = true\n")).is_some());
        assert!(toml::from_str::<MatchRule>("forbidden = true\nafter = 3\n").is_err());
    }
}
