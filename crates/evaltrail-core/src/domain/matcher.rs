//! Rules for comparing tool calls, configured under `[[match]]`. Data only; `metrics` applies them.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// How calls of some tools are compared, and how often the tools may be called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchRule {
    /// The tools that the rule applies to, with the wildcards `*` and `?`.
    #[serde(default = "every_tool")]
    pub tool: String,
    /// How each argument is compared, by its name; dots separate the keys of nested objects, `*` matches any name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
    /// How arguments that are not listed are compared: exactly when `None` or `"exact"`, not at all when `"ignore"`; with
    /// `"superset"` the call may have more than the expected one, with `"subset"` fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<String>,
    /// Arguments that may be absent when they have this value.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub defaults: Map<String, Value>,
    /// Whether an expected call of the tool may be absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Whether the tool must not be called. `args` limits this to calls with these arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forbidden: bool,
    /// The calls after which a call is forbidden, in order, with wildcards; one name or a list. If absent, every call is.
    #[serde(
        default,
        deserialize_with = "one_or_more",
        skip_serializing_if = "Option::is_none"
    )]
    pub after: Option<Vec<String>>,
    /// Whether a call is forbidden only directly after those of `after`, with no calls between.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directly: bool,
    /// Whether the tool must be called in each turn. With `args`, only calls with these arguments count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Minimum number of calls per turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<u32>,
    /// Maximum number of calls per turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

/// Reads a name, or a list of names.
fn one_or_more<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected the name of a tool, or a list of names"
    )]
    enum Names {
        One(String),
        More(Vec<String>),
    }
    Ok(Some(match Names::deserialize(value)? {
        Names::One(name) => vec![name],
        Names::More(names) => names,
    }))
}

fn every_tool() -> String {
    "*".into()
}

impl Default for MatchRule {
    fn default() -> Self {
        MatchRule {
            tool: every_tool(),
            args: Map::new(),
            others: None,
            defaults: Map::new(),
            optional: false,
            forbidden: false,
            after: None,
            directly: false,
            required: false,
            min: None,
            max: None,
        }
    }
}

impl MatchRule {
    /// A rule for one argument.
    pub fn about(tool: &str, argument: &str, how: Value) -> MatchRule {
        let args = [(argument.to_string(), how)].into_iter().collect();
        MatchRule {
            tool: tool.into(),
            args,
            ..MatchRule::default()
        }
    }

    /// A rule for one argument that may be absent when it has this value.
    pub fn with_default(tool: &str, argument: &str, value: Value) -> MatchRule {
        let defaults = [(argument.to_string(), value)].into_iter().collect();
        MatchRule {
            tool: tool.into(),
            defaults,
            ..MatchRule::default()
        }
    }

    /// The argument, if the rule is about a single one and nothing else.
    pub fn argument(&self) -> Option<&str> {
        let mut paths = self.args.keys().chain(self.defaults.keys());
        let path = paths.next().filter(|_| paths.next().is_none())?;
        let has_more = self.others.is_some() || self.optional || self.is_about_calls();
        let is_counting = self.min.is_some() || self.max.is_some();
        (!has_more && !is_counting).then_some(path)
    }

    /// Whether the rule forbids or requires calls: its arguments then say which calls.
    pub fn is_about_calls(&self) -> bool {
        self.forbidden || self.required
    }

    /// The calls after which a call is forbidden, as text; `None` if every call is.
    pub fn sequence(&self) -> Option<String> {
        let directly = if self.directly { "directly " } else { "" };
        self.after
            .as_ref()
            .map(|names| format!("{directly}after {}", names.join(", ")))
    }

    /// The rules for arguments as text.
    pub fn arguments(&self) -> String {
        let rules = self
            .args
            .iter()
            .map(|(name, how)| format!("{name} {}", how_text(how)));
        rules.collect::<Vec<_>>().join(", ")
    }

    /// Whether an argument is compared as a number with an absolute tolerance.
    pub fn has_tolerance(&self) -> bool {
        self.args.values().any(|how| how.get("tolerance").is_some())
    }

    /// Parses a rule that the user typed: `TOOL ARGUMENT HOW [VALUE]`, or
    /// `TOOL optional|forbidden|required|forbidden after TOOL …|max N|min N`. A rule about one thing is also accepted as
    /// [`MatchRule::describe`] writes it: with a colon after the tool.
    pub fn parse(text: &str) -> Result<MatchRule, String> {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        if let [tool, _, ..] = &mut words[..] {
            *tool = tool.strip_suffix(':').unwrap_or(tool);
        }
        let rule = |tool: &str| MatchRule {
            tool: tool.into(),
            ..MatchRule::default()
        };
        let count = |text: &str| {
            text.parse::<u32>()
                .map_err(|_| format!("not a number of calls: {text:?}"))
        };
        let how = |key: &str, value: Value| {
            Value::Object([(key.to_string(), value)].into_iter().collect())
        };
        let number = |text: &str| {
            let number: f64 = text
                .parse()
                .map_err(|_| format!("not a number: {text:?}"))?;
            if !number.is_finite() {
                return Err(format!("not a finite number: {text:?}"));
            }
            // Written without a fraction, it is an integer in a file, too.
            Ok::<Value, String>(text.parse::<i64>().map_or(number.into(), Value::from))
        };
        match words.as_slice() {
            [tool, "optional"] => Ok(MatchRule { optional: true, ..rule(tool) }),
            [tool, "forbidden"] => Ok(MatchRule { forbidden: true, ..rule(tool) }),
            [tool, "required"] => Ok(MatchRule { required: true, ..rule(tool) }),
            [tool, "forbidden", "after", names @ ..] if !names.is_empty() => {
                Ok(MatchRule { forbidden: true, after: Some(names_of(names)?), ..rule(tool) })
            }
            [tool, "forbidden", "directly", "after", names @ ..] if !names.is_empty() => {
                Ok(MatchRule { forbidden: true, after: Some(names_of(names)?), directly: true, ..rule(tool) })
            }
            [tool, "others", how @ ("ignore" | "superset" | "subset")]
            | [tool, "other", "arguments", how @ ("ignore" | "superset" | "subset")] => {
                Ok(MatchRule { others: Some((*how).into()), ..rule(tool) })
            }
            [tool, "max", most] | [tool, "at", "most", most] => Ok(MatchRule { max: Some(count(most)?), ..rule(tool) }),
            [tool, "min", least] | [tool, "at", "least", least] => Ok(MatchRule { min: Some(count(least)?), ..rule(tool) }),
            [tool, name, word] if COMPARISONS.contains(word) => {
                Ok(MatchRule::about(tool, name, (*word).into()))
            }
            [tool, name, "default", value @ ..] if !value.is_empty() => {
                let value = value_of(&value.join(" "));
                if has_null(&value) {
                    return Err("null cannot be written as a default: write TOOL ARGUMENT nullable".into());
                }
                Ok(MatchRule::with_default(tool, name, value))
            }
            [tool, name, key @ ("tolerance" | "relative"), value] => {
                Ok(MatchRule::about(tool, name, how(key, number(value)?)))
            }
            [tool, name, key @ ("regex" | "contains"), value @ ..] if !value.is_empty() => {
                Ok(MatchRule::about(tool, name, how(key, value.join(" ").into())))
            }
            [tool, name, "any_of", values @ ..] if !values.is_empty() => {
                let values = values.iter().map(|text| value_of(text)).collect();
                Ok(MatchRule::about(tool, name, how("any_of", values)))
            }
            _ => Err(
                "write TOOL ARGUMENT ignore, or tolerance 5, regex …, contains …, any_of …; or TOOL optional"
                    .into(),
            ),
        }
    }

    /// The rule as short text.
    pub fn describe(&self) -> String {
        let mut said: Vec<String> = (!self.args.is_empty())
            .then(|| self.arguments())
            .into_iter()
            .collect();
        said.extend(
            self.others
                .as_ref()
                .map(|how| format!("other arguments {how}")),
        );
        let defaults = self.defaults.iter();
        said.extend(defaults.map(|(name, value)| format!("{name} default {}", value_text(value))));
        said.extend(self.optional.then(|| "optional".to_string()));
        let sequence = self
            .sequence()
            .map(|words| format!(" {words}"))
            .unwrap_or_default();
        said.extend(self.forbidden.then(|| format!("forbidden{sequence}")));
        said.extend(self.required.then(|| "required".to_string()));
        said.extend(self.min.map(|min| format!("at least {min}")));
        said.extend(self.max.map(|max| format!("at most {max}")));
        format!("{}: {}", self.tool, said.join(", "))
    }
}

/// The comparisons of an argument that take no value.
pub const COMPARISONS: &[&str] = &[
    "ignore",
    "exact",
    "case",
    "spaces",
    "case_and_spaces",
    "contains",
    "subset",
    "superset",
    "unordered",
    "nullable",
];

/// Names that are typed with spaces or commas between them. Errors: there is none.
fn names_of(words: &[&str]) -> Result<Vec<String>, String> {
    let names = words.iter().flat_map(|word| word.split(','));
    let names: Vec<String> = names
        .filter(|name| !name.is_empty())
        .map(str::to_string)
        .collect();
    match names.is_empty() {
        true => Err("name a tool after \"after\"".into()),
        false => Ok(names),
    }
}

/// A typed value: JSON, or else text.
fn value_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// A value as it is typed: text without quotes unless it would be read as another value.
fn value_text(value: &Value) -> String {
    let plain = value.as_str().filter(|text| value_of(text) == *value);
    plain.map_or_else(|| value.to_string(), str::to_string)
}

/// How an argument is compared, as it is typed.
fn how_text(how: &Value) -> String {
    match how.as_object() {
        Some(settings) => {
            let words = settings.iter().map(|(key, value)| match value.as_array() {
                Some(values) if key == "any_of" => {
                    let values: Vec<String> = values.iter().map(value_text).collect();
                    format!("{key} {}", values.join(" "))
                }
                _ => format!(
                    "{key} {}",
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_string)
                ),
            });
            words.collect::<Vec<_>>().join(" ")
        }
        None => value_text(how),
    }
}

/// Whether a value is or contains null, which TOML cannot represent.
pub fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rule_is_typed_as_it_is_shown() {
        for typed in [
            "throw_die foo ignore",
            "search_* a.b tolerance 5",
            "t q regex ^a b$",
            "t n any_of 1 x",
            "t unit default C",
            "t others ignore",
            "t other arguments ignore",
            "t optional",
            "t required",
            "t forbidden",
            "t forbidden after a b_*",
            "t forbidden directly after a",
            "t max 3",
            "t min 2",
        ] {
            let rule = MatchRule::parse(typed).unwrap();
            assert_eq!(MatchRule::parse(&rule.describe()), Ok(rule), "{typed}");
        }
        let rule = MatchRule::parse("throw_die: foo ignore").unwrap();
        assert_eq!(rule, MatchRule::about("throw_die", "foo", "ignore".into()));
    }

    #[test]
    fn commas_between_names_are_no_names() {
        let after = |text: &str| MatchRule::parse(text).map(|rule| rule.after);
        for typed in ["a b", "a, b", "a,b", "a , b ,", ",a,,b"] {
            let names = Some(vec!["a".to_string(), "b".to_string()]);
            assert_eq!(
                after(&format!("t forbidden after {typed}")),
                Ok(names),
                "{typed}"
            );
        }
        for bad in ["t forbidden after ,", "t forbidden directly after , ,"] {
            let why = after(bad).unwrap_err();
            assert!(why.contains("name a tool"), "{bad}: {why}");
        }
    }

    #[test]
    fn rules_are_typed_in_a_line() {
        let words = |text: &str| MatchRule::parse(text).map(|rule| rule.describe());
        assert_eq!(
            words("search_* query ignore").unwrap(),
            "search_*: query ignore"
        );
        assert_eq!(
            words("* limit tolerance 5").unwrap(),
            "*: limit tolerance 5"
        );
        assert_eq!(
            MatchRule::parse("t n any_of 1 x").unwrap().args["n"],
            json!({"any_of": [1, "x"]})
        );
        assert_eq!(
            MatchRule::parse("t q regex a b").unwrap().args["q"],
            json!({"regex": "a b"})
        );
        assert_eq!(words("t max 3").unwrap(), "t: at most 3");
        assert_eq!(words("t n any_of 1 x").unwrap(), "t: n any_of 1 x");
        assert_eq!(words("t unit default C").unwrap(), "t: unit default C");
        assert_eq!(words("t n default \"1\"").unwrap(), "t: n default \"1\"");
        assert_eq!(words("t required").unwrap(), "t: required");
        assert_eq!(
            words("t forbidden after a b_*").unwrap(),
            "t: forbidden after a, b_*"
        );
        for word in COMPARISONS {
            assert_eq!(
                words(&format!("t n {word}")).unwrap(),
                format!("t: n {word}")
            );
        }
        for bad in [
            "",
            "t",
            "t:",
            "t q",
            "t after",
            "t q sometimes",
            "t q tolerance much",
            "t max few",
            "t q default [null]",
        ] {
            assert!(MatchRule::parse(bad).is_err(), "{bad}");
        }
    }
}
