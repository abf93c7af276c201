//! Metrics that the user declares in `evaltrail.toml` without a program.

use super::call_rules::miscounted;
use super::criterion_error::CriterionError;
use super::measure::{Evidence, Measure, Outcome, TurnScore, UNKNOWN_CALLS, by_actual_turn};
use crate::diff::values_equal;
use crate::domain::{CustomMetric, Finding, FindingRule, Invocation, ToolCall, value_text};
use regex::Regex;
use serde_json::Value;
use serde_json_path::JsonPath;
use wildmatch::WildMatch;

/// Builds a declared metric. A program is not pure, so a metric computed by one is refused.
pub(super) fn declared(metric: &CustomMetric) -> Result<Box<dyn Measure>, CriterionError> {
    Ok(match metric {
        CustomMetric::Tools { tools } => Box::new(UsedTools(
            tools.iter().map(|tool| WildMatch::new(tool)).collect(),
        )),
        CustomMetric::Response { pattern } => Box::new(Response(regex(pattern)?)),
        CustomMetric::Argument {
            tool,
            path,
            equals,
            pattern,
        } => Box::new(ArgumentValue {
            tool: WildMatch::new(tool),
            path: json_path(path)?,
            equals: equals.clone(),
            pattern: pattern.as_deref().map(regex).transpose()?,
        }),
        CustomMetric::MaxCalls { tool, max } => Box::new(MaxCalls {
            tool: WildMatch::new(tool.as_deref().unwrap_or("*")),
            max: *max as usize,
        }),
        CustomMetric::Unavailable { why } => return Err(CriterionError::Unavailable(why.clone())),
        CustomMetric::Judged(_) => return Err(CriterionError::NeedsJudge("this metric")),
        CustomMetric::Command(_) | CustomMetric::Python { .. } => {
            return Err(CriterionError::NeedsProgram);
        }
    })
}

fn wrong(option: &'static str, expected: &'static str, found: String) -> CriterionError {
    CriterionError::Option {
        option,
        expected,
        found,
    }
}

/// Parses a path that visits each value a bounded number of times: every `..` visits everything below a value again.
fn json_path(path: &str) -> Result<JsonPath, CriterionError> {
    if descents(path) > 1 {
        return Err(wrong(
            "path",
            "a JSON path with at most one \"..\"",
            path.to_string(),
        ));
    }
    JsonPath::parse(path)
        .map_err(|error| wrong("path", "a JSON path like $.city", error.to_string()))
}

/// Counts the `..` of a path, also in filters, but not in quotes.
fn descents(path: &str) -> usize {
    let (mut count, mut quote, mut before) = (0, None, ' ');
    for c in path.chars() {
        match quote {
            Some(_) if before == '\\' => {
                before = ' ';
                continue;
            }
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c == '.' && before == '.' => count += 1,
            None => {}
        }
        before = c;
    }
    count
}

fn regex(pattern: &str) -> Result<Regex, CriterionError> {
    Regex::new(pattern).map_err(|error| wrong("pattern", "a regular expression", error.to_string()))
}

/// The calls of all turns; `None` when those of a turn are unknown.
fn all_calls<'a>(evidence: &Evidence<'a>) -> Option<Vec<&'a ToolCall>> {
    let known = evidence
        .actual
        .iter()
        .all(|turn| turn.trajectory.is_known());
    known.then(|| evidence.actual.iter().flat_map(Invocation::calls).collect())
}

fn unknown_calls(evidence: &Evidence) -> Outcome {
    Outcome::none(UNKNOWN_CALLS, evidence.actual.len())
}

struct UsedTools(Vec<WildMatch>);

impl Measure for UsedTools {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        let Some(calls) = all_calls(evidence) else {
            return unknown_calls(evidence);
        };
        let missing: Vec<Finding> = self
            .0
            .iter()
            .filter(|tool| !calls.iter().any(|call| tool.matches(&call.name)))
            .map(|tool| miscounted(FindingRule::ToolCalledTooRarely, &tool.to_string(), 1, 0))
            .collect();
        let share = 1.0 - missing.len() as f64 / self.0.len().max(1) as f64;
        let turns = evidence.actual.len();
        match missing.is_empty() {
            true => Outcome::whole(Some(share), "every essential tool was called".into(), turns),
            false => Outcome::because(share, missing, turns),
        }
    }
}

struct Response(Regex);

impl Measure for Response {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        let turns = evidence.actual.len();
        let Some(last) = evidence.actual.last() else {
            return Outcome::none("there is no turn", turns);
        };
        let fits = self.0.is_match(&last.response_text());
        match fits {
            true => Outcome::whole(
                Some(1.0),
                format!("the response matches /{}/", self.0),
                turns,
            ),
            false => {
                let why = format!("the response does not match /{}/", self.0);
                let finding = Finding::text(FindingRule::PatternNotMatched, why);
                Outcome::because(0.0, vec![finding.in_turn(turns)], turns)
            }
        }
    }
}

struct ArgumentValue {
    tool: WildMatch,
    path: JsonPath,
    equals: Option<Value>,
    pattern: Option<Regex>,
}

impl ArgumentValue {
    fn takes(&self, value: &Value) -> bool {
        let text = || {
            value
                .as_str()
                .map_or_else(|| value_text(value), str::to_string)
        };
        self.equals
            .as_ref()
            .is_none_or(|wanted| values_equal(wanted, value))
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(&text()))
    }
}

impl Measure for ArgumentValue {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        let turns = evidence.actual.len();
        let Some(calls) = all_calls(evidence) else {
            return unknown_calls(evidence);
        };
        let args: Vec<Value> = calls
            .iter()
            .filter(|call| self.tool.matches(&call.name))
            .map(|call| Value::Object(call.args.clone().unwrap_or_default()))
            .collect();
        if args.is_empty() {
            let missing = miscounted(
                FindingRule::ToolCalledTooRarely,
                &self.tool.to_string(),
                1,
                0,
            );
            return Outcome::because(0.0, vec![missing], turns);
        }
        let found: Vec<&Value> = args
            .iter()
            .flat_map(|args| self.path.query(args).all())
            .collect();
        let why = match (found.iter().any(|value| self.takes(value)), found.first()) {
            (true, _) => {
                return Outcome::whole(Some(1.0), format!("{} is as expected", self.path), turns);
            }
            (false, Some(value)) => format!("{} is {}", self.path, value_text(value)),
            (false, None) => format!("no call of {} has {}", self.tool, self.path),
        };
        let finding = Finding {
            tool: Some(self.tool.to_string()),
            argument: Some(self.path.to_string()),
            expected: self.equals.clone(),
            actual: found.first().map(|value| (*value).clone()),
            ..Finding::text(FindingRule::PatternNotMatched, why)
        };
        Outcome::because(0.0, vec![finding], turns)
    }
}

struct MaxCalls {
    tool: WildMatch,
    max: usize,
}

impl Measure for MaxCalls {
    fn measure(&self, evidence: &Evidence, _: Option<f64>) -> Outcome {
        by_actual_turn(evidence, |turn| {
            if !turn.trajectory.is_known() {
                return TurnScore::unscored(UNKNOWN_CALLS);
            }
            let count = turn
                .calls()
                .iter()
                .filter(|call| self.tool.matches(&call.name))
                .count();
            if count <= self.max {
                let measured = format!(
                    "{count} calls of {}, at most {} allowed",
                    self.tool, self.max
                );
                return TurnScore::scored(1.0, measured);
            }
            let (rule, limit) = (
                FindingRule::ToolCalledTooOften,
                u32::try_from(self.max).unwrap_or(u32::MAX),
            );
            TurnScore::scored(0.0, "").because(vec![miscounted(
                rule,
                &self.tool.to_string(),
                limit,
                count,
            )])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Content;
    use crate::domain::Trajectory;
    use serde_json::json;

    fn score(metric: Value) -> Option<f64> {
        let metric: CustomMetric = serde_json::from_value(metric).unwrap();
        let call = |name: &str, args: Value| ToolCall::new(name, args.as_object().cloned());
        let calls = vec![
            call("search", json!({"q": {"city": "Oslo"}})),
            call("book", json!({"days": 3})),
        ];
        let actual = [Invocation {
            final_response: Some(Content::text("model", "Thank you, booked.")),
            trajectory: Trajectory::Listed {
                calls,
                responses: vec![],
                texts: vec![],
            },
            ..Invocation::default()
        }];
        declared(&metric)
            .ok()
            .unwrap()
            .measure(&Evidence::turns(None, &actual), None)
            .score
    }

    #[test]
    fn path_with_repeated_descents_is_refused() {
        assert_eq!(descents("$..city"), 1);
        assert_eq!(descents("$['a..b'][\"..\\\"..\"]"), 0);
        assert_eq!(
            descents("$['a..b']..c[\"d\"]..e"),
            2,
            "also after a quoted part"
        );
        assert_eq!(descents("$..*..*..*..*"), 4);
        assert_eq!(descents("$[?@..a == $..b]"), 2);
        assert!(json_path("$..city").is_ok());
        assert!(matches!(
            json_path("$..*..*"),
            Err(CriterionError::Option { option: "path", .. })
        ));
    }

    #[test]
    fn each_kind_passes_and_fails() {
        assert_eq!(
            score(json!({"kind": "tools", "tools": ["search", "b*", "pay"]})),
            Some(1.0 - 1.0 / 3.0)
        );
        assert_eq!(
            score(json!({"kind": "response", "pattern": "(?i)thank"})),
            Some(1.0)
        );
        assert_eq!(
            score(json!({"kind": "response", "pattern": "^no$"})),
            Some(0.0)
        );
        let argument = |path: &str, equals: Value| json!({"kind": "argument", "tool": "s*", "path": path, "equals": equals});
        assert_eq!(score(argument("$.q.city", json!("Oslo"))), Some(1.0));
        assert_eq!(score(argument("$.q.city", json!("Bergen"))), Some(0.0));
        assert_eq!(score(argument("$.nothing", json!(1))), Some(0.0));
        assert_eq!(score(json!({"kind": "max_calls", "max": 1})), Some(0.0));
        assert_eq!(
            score(json!({"kind": "max_calls", "tool": "book", "max": 1})),
            Some(1.0)
        );
    }

    #[test]
    fn a_broken_declaration_is_refused() {
        let bad = CustomMetric::Response {
            pattern: "(".into(),
        };
        assert!(
            declared(&bad)
                .err()
                .unwrap()
                .to_string()
                .contains("a regular expression")
        );
    }
}
