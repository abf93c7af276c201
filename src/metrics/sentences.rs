//! Findings as text. Every sentence about a finding is written here.

use crate::diff::{Difference, DifferenceKind};
use crate::domain::{Finding, FindingRule, value_text};
use serde_json::Value;

/// Further reasons are only counted.
const REASONS_AT_MOST: usize = 3;
/// Longer values are cut, in characters.
const VALUE_AT_MOST: usize = 48;

/// The first reasons, and how many more there are.
pub(super) fn reasons(findings: &[Finding]) -> String {
    let groups: Vec<&[Finding]> = findings.chunk_by(are_of_one_call).collect();
    let first: Vec<String> = groups
        .iter()
        .take(REASONS_AT_MOST)
        .map(|group| reason(group))
        .collect();
    match groups.len() - first.len() {
        0 => first.join("; "),
        more => format!("{}; and {more} more", first.join("; ")),
    }
}

fn is_argument(finding: &Finding) -> bool {
    use FindingRule::{ArgumentDiffers, ArgumentExtra, ArgumentMissing};
    matches!(
        finding.rule,
        ArgumentDiffers | ArgumentMissing | ArgumentExtra
    )
}

fn are_of_one_call(a: &Finding, b: &Finding) -> bool {
    is_argument(a) && is_argument(b) && (a.turn, a.call) == (b.turn, b.call)
}

/// One sentence for the findings about one call, or for one other finding.
fn reason(group: &[Finding]) -> String {
    let Some(first) = group.first() else {
        return String::new();
    };
    if !is_argument(first) {
        return sentence(first);
    }
    let more = match group.len() - 1 {
        0 => String::new(),
        1 => " and 1 more argument".into(),
        n => format!(" and {n} more arguments"),
    };
    format!("{} differs in {}{more}", call(first), value_at(first))
}

fn sentence(finding: &Finding) -> String {
    let text = || finding.text.clone().unwrap_or_default();
    let tool = finding.tool.as_deref().unwrap_or_default();
    let number = |value: &Option<Value>| value.as_ref().map(value_text).unwrap_or_default();
    let (expected, actual) = (number(&finding.expected), number(&finding.actual));
    match finding.rule {
        FindingRule::CallMissing => format!("{} is missing", call(finding)),
        FindingRule::CallExtra => format!("{} is extra", call(finding)),
        FindingRule::CallMoved => format!("{} came as call {actual}", call(finding)),
        FindingRule::ArgumentDiffers
        | FindingRule::ArgumentMissing
        | FindingRule::ArgumentExtra => {
            format!("{} differs in {}", call(finding), value_at(finding))
        }
        FindingRule::ArgumentsMissing => format!("{} has no arguments at all", call(finding)),
        FindingRule::ArgumentsExtra => {
            format!(
                "{} has arguments and none at all are expected",
                call(finding)
            )
        }
        FindingRule::OrderDiffers => "the same calls in another order".into(),
        FindingRule::ToolForbidden => format!("{tool} is forbidden and was called"),
        FindingRule::SequenceForbidden => {
            format!("{tool} was called {}, which is forbidden", text())
        }
        FindingRule::ToolCalledTooRarely if actual == "0" && expected == "1" => {
            format!("{tool} was not called{}", with_text(finding))
        }
        FindingRule::ToolCalledTooRarely => {
            format!(
                "{tool} was called {actual} times{}, at least {expected} needed",
                with_text(finding)
            )
        }
        FindingRule::ToolCalledTooOften => {
            format!(
                "{tool} was called {actual} times{}, at most {expected} allowed",
                with_text(finding)
            )
        }
        FindingRule::StateDiffers | FindingRule::StateMissing | FindingRule::StateExtra => {
            value_at(finding)
        }
        FindingRule::RubricNotMet => {
            format!(
                "rubric {} is not met",
                finding.rubric.as_deref().unwrap_or("?")
            )
        }
        FindingRule::VariantMatched => {
            let name = Value::from(finding.text.clone().unwrap_or_default());
            format!("matches the variant {name}")
        }
        FindingRule::ThresholdMissed => format!("{actual}, {expected} needed"),
        FindingRule::ResponseDiffers
        | FindingRule::PatternNotMatched
        | FindingRule::JudgedInvalid
        | FindingRule::NoVerdict
        | FindingRule::JudgeFailed
        | FindingRule::SpendingLimitReached
        | FindingRule::ReportedReason
        | FindingRule::ProgramFailed
        | FindingRule::NotEvaluated
        | FindingRule::Unknown => text(),
    }
}

/// The text of a finding after a space; empty if there is none.
fn with_text(finding: &Finding) -> String {
    finding
        .text
        .as_ref()
        .map(|text| format!(" {text}"))
        .unwrap_or_default()
}

fn call(finding: &Finding) -> String {
    let name = finding
        .tool
        .as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or("(no name)");
    format!("call {} {name}", finding.call.unwrap_or_default())
}

/// The path with both values.
fn value_at(finding: &Finding) -> String {
    let path = finding.argument.as_deref().unwrap_or_default();
    let what = match (&finding.expected, &finding.actual) {
        (Some(e), Some(a)) => format!("{path} (expected {}, got {})", short(e), short(a)),
        (Some(e), None) => format!("{path} (expected {}, got nothing)", short(e)),
        (None, Some(a)) => format!("{path} (not expected, got {})", short(a)),
        (None, None) => path.to_string(),
    };
    let kind = match (finding.expected.clone(), finding.actual.clone()) {
        (Some(expected), Some(actual)) => DifferenceKind::Changed(expected, actual),
        (Some(expected), None) => DifferenceKind::Missing(expected),
        (None, actual) => DifferenceKind::Extra(actual.unwrap_or(Value::Bool(false))),
    };
    match (Difference {
        path: String::new(),
        kind,
    })
    .lookalike()
    {
        Some(note) => format!("{what}: {note}"),
        None => what,
    }
}

fn short(value: &Value) -> String {
    let text = value_text(value);
    match text.char_indices().nth(VALUE_AT_MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_about_calls_contains_its_text() {
        let of = |rule, text: &str| Finding {
            tool: Some("t".into()),
            expected: Some(1.into()),
            actual: Some(0.into()),
            ..Finding::text(rule, text)
        };
        let sequence = sentence(&of(FindingRule::SequenceForbidden, "directly after a, b"));
        assert_eq!(
            sequence,
            "t was called directly after a, b, which is forbidden"
        );
        let missing = sentence(&of(FindingRule::ToolCalledTooRarely, "with q contains x"));
        assert_eq!(missing, "t was not called with q contains x");
    }

    #[test]
    fn arguments_of_one_call_are_one_reason() {
        let of = |call, argument: &str| Finding {
            turn: Some(1),
            call: Some(call),
            tool: Some("set".into()),
            argument: Some(argument.into()),
            ..Finding::new(FindingRule::ArgumentDiffers)
        };
        let one = reasons(&[of(1, "id"), of(1, "on")]);
        assert!(one.ends_with(" and 1 more argument"), "{one}");
        let two = reasons(&[of(1, "id"), of(2, "id")]);
        assert_eq!(two.split("; ").count(), 2, "{two}");
    }
}
