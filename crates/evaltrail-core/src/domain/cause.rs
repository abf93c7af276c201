//! Why attempts did not pass, without what differs from case to case: equal causes make a group.

use super::model_error::reporter_of;
use super::{Attempt, Finding, FindingRule, MetricResult, ModelError, Status};
use serde::{Deserialize, Serialize};

/// Maximum number of causes of an attempt.
const MAX_CAUSES: usize = 8;
/// Maximum length of a normalised text, in characters.
const MAX_TEXT: usize = 160;

/// One reason why an attempt did not pass. It contains no values, positions or ids of the case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// The attempt errored with this message, normalised (see [`normalised`]).
    Error(Box<str>),
    /// A finding about calls of a tool.
    Call {
        /// The kind of the finding.
        rule: FindingRule,
        /// The tool's name, or the pattern of tool names that a rule applies to.
        tool: Box<str>,
        /// The path of the argument, with `*` for positions in lists.
        argument: Option<Box<str>>,
    },
    /// A rubric of a metric that is not met.
    Rubric {
        /// The criterion's metric, label included.
        metric: Box<str>,
        /// The id of the rubric.
        rubric: Box<str>,
    },
    /// Another finding of a metric.
    Other {
        /// The criterion's metric, label included.
        metric: Box<str>,
        /// The kind of the finding.
        rule: FindingRule,
        /// The path in the session state, with `*` for positions in lists, or the normalised text of the finding.
        text: Option<Box<str>>,
    },
    /// The spending limit of the judge was reached, whatever the metric.
    SpendingLimit,
    /// The model reported an error with this code, or with this message, normalised, if it has no code.
    ModelError(Box<str>),
}

impl Attempt {
    /// The causes: errors that the model reported, then the first divergence first; empty if the attempt passed. Causes of
    /// failed metrics count; if no metric failed, those of metrics that were not evaluated.
    pub fn causes(&self) -> Vec<Cause> {
        if let Some(error) = &self.error {
            // What the model reported may be the error itself.
            let in_model = self.causes_in_model(|one| one.text() != *error);
            let error = Cause::Error(normalised(error).into());
            return std::iter::once(error).chain(in_model).collect();
        }
        let of = |status| {
            self.metrics
                .iter()
                .filter(move |metric| metric.status == status)
        };
        let deciding = match self.status {
            Status::Failed => of(Status::Failed),
            Status::NotEvaluated => of(Status::NotEvaluated),
            Status::Errored => of(Status::Errored),
            Status::Passed | Status::Informational => return Vec::new(),
        };
        let findings =
            deciding.flat_map(|metric| metric.findings.iter().map(move |one| (metric, one)));
        let mut found: Vec<_> = findings
            .filter(|(_, one)| one.rule != FindingRule::VariantMatched)
            .collect();
        found.sort_by_key(|(_, one)| position(one));
        let mut causes = self.causes_in_model(|_| true);
        for cause in found
            .into_iter()
            .map(|(metric, finding)| cause_of(metric, finding))
        {
            if causes.len() < MAX_CAUSES && !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes
    }

    /// The kinds of the errors that the model reported and that count.
    fn causes_in_model(&self, counts: impl Fn(&ModelError) -> bool) -> Vec<Cause> {
        let mut causes = Vec::new();
        for (_, error) in self.model_errors().filter(|(_, error)| counts(error)) {
            let cause = Cause::ModelError(normalised_kind(error).into());
            if causes.len() < MAX_CAUSES / 2 && !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes
    }
}

fn normalised_kind(error: &ModelError) -> String {
    if error.code.is_empty() {
        normalised(&error.message)
    } else {
        error.code.clone()
    }
}

impl Cause {
    /// The cause without its detail, for instance without the name of the argument or the id of the rubric. `None` if
    /// there is no less specific cause.
    pub fn general(&self) -> Option<Cause> {
        use FindingRule::{
            ArgumentDiffers, ArgumentExtra, ArgumentMissing, ArgumentsExtra, ArgumentsMissing,
        };
        match self {
            Cause::Call {
                rule,
                tool,
                argument,
            } => {
                let is_about_arguments = matches!(
                    rule,
                    ArgumentDiffers
                        | ArgumentExtra
                        | ArgumentMissing
                        | ArgumentsExtra
                        | ArgumentsMissing
                );
                let is_general = (*rule, argument) == (ArgumentDiffers, &None);
                (is_about_arguments && !is_general).then(|| Cause::Call {
                    rule: ArgumentDiffers,
                    tool: tool.clone(),
                    argument: None,
                })
            }
            Cause::Rubric { metric, .. } => Some(Cause::Other {
                metric: metric.clone(),
                rule: FindingRule::RubricNotMet,
                text: None,
            }),
            Cause::Other {
                metric,
                rule,
                text: Some(_),
            } => {
                let rule = match rule {
                    FindingRule::StateMissing | FindingRule::StateExtra => {
                        FindingRule::StateDiffers
                    }
                    rule => *rule,
                };
                Some(Cause::Other {
                    metric: metric.clone(),
                    rule,
                    text: None,
                })
            }
            Cause::Other { text: None, .. }
            | Cause::Error(_)
            | Cause::SpendingLimit
            | Cause::ModelError(_) => None,
        }
    }

    /// The cause in words, for instance "set_light.level differs". Not cleaned for display.
    pub fn describe(&self) -> String {
        match self {
            Cause::Error(message) => format!("errored: {message}"),
            Cause::ModelError(kind) => format!("{} reported {kind}", reporter_of(kind)),
            Cause::SpendingLimit => "the spending limit of the judge is reached".into(),
            Cause::Call {
                rule,
                tool,
                argument,
            } => call_text(*rule, tool, argument.as_deref()),
            Cause::Rubric { metric, rubric } => format!("rubric {rubric} of {metric} is not met"),
            Cause::Other { metric, rule, text } => match (rule, text) {
                (FindingRule::ThresholdMissed, _) => {
                    format!("{metric} misses its threshold")
                }
                (FindingRule::OrderDiffers, _) => {
                    format!("{metric}: same calls in another order")
                }
                (FindingRule::StateDiffers, Some(path)) => {
                    format!("{path} of the session state differs")
                }
                (FindingRule::StateMissing, Some(path)) => {
                    format!("{path} is missing from the session state")
                }
                (FindingRule::StateExtra, Some(path)) => {
                    format!("{path} of the session state is not expected")
                }
                (FindingRule::StateDiffers, None) => "the session state differs".into(),
                (FindingRule::RubricNotMet, None) => format!("a rubric of {metric} is not met"),
                (FindingRule::ResponseDiffers, None) => format!("{metric}: the response differs"),
                (_, Some(text)) => format!("{metric}: {text}"),
                (_, None) => format!("{metric} did not pass"),
            },
        }
    }
}

fn call_text(rule: FindingRule, tool: &str, argument: Option<&str>) -> String {
    match (rule, argument) {
        (FindingRule::CallMissing, _) => format!("{tool} is not called"),
        (FindingRule::CallExtra, _) => format!("{tool} is called and not expected"),
        (FindingRule::CallMoved, _) => format!("{tool} is called at another position"),
        (FindingRule::ArgumentMissing, Some(path)) => format!("{tool}.{path} is missing"),
        (FindingRule::ArgumentExtra, Some(path)) => format!("{tool}.{path} is not expected"),
        (FindingRule::ArgumentsMissing, _) => format!("{tool} is called without arguments"),
        (FindingRule::ArgumentsExtra, _) => {
            format!("{tool} is called with arguments, expected none")
        }
        (FindingRule::ToolForbidden, _) => format!("{tool} is forbidden and called"),
        (FindingRule::SequenceForbidden, _) => format!("{tool} is called in a forbidden sequence"),
        (FindingRule::ToolCalledTooRarely, _) => format!("{tool} is called too rarely"),
        (FindingRule::ToolCalledTooOften, _) => format!("{tool} is called too often"),
        (FindingRule::PatternNotMatched, Some(path)) => format!("{tool}.{path} does not match"),
        (_, Some(path)) => format!("{tool}.{path} differs"),
        (FindingRule::ArgumentDiffers, None) => format!("arguments of {tool} differ"),
        (_, None) => format!("{tool} differs"),
    }
}

/// The order of findings: calls by turn and position, then other findings in the metrics' order, scores last.
fn position(finding: &Finding) -> (u8, u32, u32) {
    match finding.rule {
        FindingRule::ThresholdMissed => (2, 0, 0),
        _ if finding.tool.is_some() => (
            0,
            finding.turn.unwrap_or_default(),
            finding.call.unwrap_or(u32::MAX),
        ),
        _ => (1, 0, 0),
    }
}

fn cause_of(metric: &MetricResult, finding: &Finding) -> Cause {
    if finding.rule == FindingRule::SpendingLimitReached {
        return Cause::SpendingLimit;
    }
    let path = finding.argument.as_deref().map(without_positions);
    let name = || metric.metric.as_str().into();
    if let Some(tool) = &finding.tool {
        return Cause::Call {
            rule: finding.rule,
            tool: tool.as_str().into(),
            argument: path,
        };
    }
    if let Some(rubric) = &finding.rubric {
        return Cause::Rubric {
            metric: name(),
            rubric: rubric.as_str().into(),
        };
    }
    let text = || finding.text.as_deref().map(|text| normalised(text).into());
    Cause::Other {
        metric: name(),
        rule: finding.rule,
        text: path.or_else(text),
    }
}

/// A path with `*` for positions in lists.
fn without_positions(path: &str) -> Box<str> {
    let is_position =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = path
        .split('.')
        .map(|part| if is_position(part) { "*" } else { part })
        .collect();
    parts.join(".").into()
}

/// A message in which words with a digit are replaced by `…` and quoted texts by `"…"`, so that messages about
/// different cases are equal.
fn normalised(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let begins_word = out.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let quoted = matches!(first, '"' | '`' | '\'')
            .then(|| rest[1..].find(first))
            .flatten();
        if let Some(length) = quoted.filter(|_| begins_word) {
            out.push_str("\"…\"");
            rest = &rest[length + 2..];
        } else if first.is_alphanumeric() {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let word = &rest[..end];
            match word.contains(|c: char| c.is_ascii_digit()) {
                // The parts of a decimal number or an address are one word.
                true if out.ends_with("….") => drop(out.pop()),
                true => out.push('…'),
                false => out.push_str(word),
            }
            rest = &rest[end..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
        if out.len() > 4 * MAX_TEXT {
            break;
        }
    }
    out.chars().take(MAX_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Invocation;
    use crate::domain::{AttemptKey, Score};

    #[test]
    fn messages_about_different_cases_are_equal() {
        let same = [
            r#"session 41f0-9a of user "anna" timed out after 30.5 s"#,
            r#"session 7cc1-00 of user "bert" timed out after 12.0 s"#,
        ];
        assert_eq!(
            normalised(same[0]),
            r#"session … of user "…" timed out after … s"#
        );
        assert_eq!(normalised(same[0]), normalised(same[1]));
        assert_eq!(normalised("the agent's own words"), "the agent's own words");
        assert_eq!(normalised("an open \" quote"), "an open \" quote");
        assert_eq!(normalised(&"x ".repeat(10_000)).chars().count(), MAX_TEXT);
    }

    #[test]
    fn error_reported_twice_is_one_cause() {
        let with_model_error = |message: &str| {
            let error = ModelError {
                code: "RuntimeError".into(),
                message: message.into(),
                ..ModelError::default()
            };
            let turn = Invocation {
                reported_errors: vec![error],
                ..Invocation::default()
            };
            let key = AttemptKey {
                case: 0,
                attempt: 1,
            };
            Attempt {
                status: Status::Errored,
                error: Some("RuntimeError: it gave up".into()),
                actual: [turn].into(),
                ..Attempt::blank(key, "a")
            }
        };
        let (same, other) = (with_model_error("it gave up"), with_model_error("no quota"));
        assert_eq!((same.causes().len(), other.causes().len()), (1, 2));
        let reason = same.summary().reason_with_model_errors();
        assert_eq!(reason.matches("it gave up").count(), 1, "{reason}");
    }

    #[test]
    fn causes_are_ordered_by_divergence_and_unique() {
        let finding = |rule, turn, call, argument: Option<&str>| Finding {
            turn: Some(turn),
            call: Some(call),
            tool: Some("set".into()),
            argument: argument.map(str::to_string),
            ..Finding::new(rule)
        };
        let metric = |name: &str, findings| MetricResult {
            metric: name.into(),
            score: Some(Score::ZERO),
            threshold: Some(1.0),
            status: Status::Failed,
            explanation: String::new(),
            findings,
            per_invocation: Vec::new(),
            rubrics: Vec::new(),
            criterion: None,
            details: None,
            judgement: None,
        };
        let late = finding(FindingRule::CallMissing, 2, 1, None);
        let early = finding(FindingRule::ArgumentDiffers, 1, 2, Some("items.3.id"));
        let again = finding(FindingRule::ArgumentDiffers, 1, 3, Some("items.0.id"));
        let score = Finding::threshold_missed(Some(0.5), Some(1.0));
        let state = Finding {
            argument: Some("lamp".into()),
            ..Finding::new(FindingRule::StateDiffers)
        };
        let attempt = Attempt {
            status: Status::Failed,
            metrics: vec![
                metric("a", vec![score, state, late]),
                metric("b", vec![again, early]),
            ],
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "x",
            )
        };
        let call = |rule, argument: Option<&str>| Cause::Call {
            rule,
            tool: "set".into(),
            argument: argument.map(Into::into),
        };
        let other = |rule, text: Option<&str>| Cause::Other {
            metric: "a".into(),
            rule,
            text: text.map(Into::into),
        };
        let expected = [
            call(FindingRule::ArgumentDiffers, Some("items.*.id")),
            call(FindingRule::CallMissing, None),
            other(FindingRule::StateDiffers, Some("lamp")),
            other(FindingRule::ThresholdMissed, None),
        ];
        assert_eq!(attempt.causes(), expected);
        let many = (0..20)
            .map(|at| Finding::text(FindingRule::ReportedReason, "x".repeat(at + 1)))
            .collect();
        let verbose = Attempt {
            metrics: vec![metric("m", many)],
            ..attempt.clone()
        };
        assert_eq!(verbose.causes().len(), MAX_CAUSES);
        assert_eq!(
            Attempt {
                status: Status::Passed,
                ..attempt
            }
            .causes(),
            []
        );
    }

    #[test]
    fn spending_limit_is_one_cause_for_all_metrics() {
        let metric = |name: &str| MetricResult {
            metric: name.into(),
            score: None,
            threshold: Some(1.0),
            status: Status::NotEvaluated,
            explanation: String::new(),
            findings: vec![Finding::text(
                FindingRule::SpendingLimitReached,
                "the limit is reached",
            )],
            per_invocation: Vec::new(),
            rubrics: Vec::new(),
            criterion: None,
            details: None,
            judgement: None,
        };
        let attempt = |names: &[&str]| Attempt {
            status: Status::NotEvaluated,
            metrics: names.iter().map(|name| metric(name)).collect(),
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "x",
            )
        };
        assert_eq!(attempt(&["a", "b"]).causes(), [Cause::SpendingLimit]);
        assert_eq!(attempt(&["a", "b"]).causes(), attempt(&["b"]).causes());
        assert_eq!(Cause::SpendingLimit.general(), None);
    }

    #[test]
    fn general_cause_has_no_detail_and_no_parent() {
        let call = |rule, argument: Option<&str>| Cause::Call {
            rule,
            tool: "set".into(),
            argument: argument.map(Into::into),
        };
        let general = |cause: &Cause| cause.general().map(|cause| cause.describe());
        for rule in [FindingRule::ArgumentDiffers, FindingRule::ArgumentMissing] {
            assert_eq!(
                general(&call(rule, Some("level"))).as_deref(),
                Some("arguments of set differ")
            );
        }
        assert_eq!(general(&call(FindingRule::CallMissing, None)), None);
        let rubric = Cause::Rubric {
            metric: "quality".into(),
            rubric: "short".into(),
        };
        assert_eq!(
            general(&rubric).as_deref(),
            Some("a rubric of quality is not met")
        );
        let state = Cause::Other {
            metric: "m".into(),
            rule: FindingRule::StateExtra,
            text: Some("lamp".into()),
        };
        assert_eq!(
            general(&state).as_deref(),
            Some("the session state differs")
        );
        for cause in [
            call(FindingRule::ArgumentDiffers, Some("level")),
            rubric,
            state,
        ] {
            assert_eq!(cause.general().unwrap().general(), None);
        }
    }
}
