//! Findings as text. Every sentence about a finding is written here.

use crate::diff::{Difference, DifferenceKind};
use crate::domain::{Finding, FindingRule, value_text};
use serde_json::Value;

/// Further reasons are only counted.
const MAX_REASONS: usize = 3;
/// Longer values are cut, in characters.
const MAX_VALUE: usize = 48;
/// How much of the text before the first difference is shown, in characters.
const EQUAL_BEFORE: usize = 12;
/// In the place of a value that does not exist.
const ABSENT: &str = "(absent)";

/// The first reasons, and how many more there are.
pub(super) fn reasons(findings: &[Finding]) -> String {
    let groups: Vec<&[Finding]> = findings.chunk_by(are_of_one_call).collect();
    let first: Vec<String> = groups
        .iter()
        .take(MAX_REASONS)
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
        1 => "; 1 more argument differs".into(),
        n => format!("; {n} more arguments differ"),
    };
    format!("{}{}{more}", argument_differs(first), call_number(first))
}

/// `search.query: expected "a", got "b"`.
fn argument_differs(finding: &Finding) -> String {
    format!("{}.{}", tool(finding), value_at(finding))
}

fn sentence(finding: &Finding) -> String {
    let (name, call) = (tool(finding), call_number(finding));
    let text = || finding.text.clone().unwrap_or_default();
    let shown = |value: &Option<Value>| value.as_ref().map(value_text).unwrap_or_default();
    let (expected, actual) = (shown(&finding.expected), shown(&finding.actual));
    match finding.rule {
        FindingRule::CallMissing => format!("{name}: missing{call}"),
        FindingRule::CallExtra => format!("{name}: not expected{call}"),
        FindingRule::CallMoved => {
            let (wanted, made) = (ordinal(&expected), ordinal(&actual));
            format!("{name}: called {made}, expected {wanted}")
        }
        FindingRule::ArgumentDiffers
        | FindingRule::ArgumentMissing
        | FindingRule::ArgumentExtra => argument_differs(finding) + &call,
        FindingRule::ArgumentsMissing => {
            format!("{name}: called without arguments, expected some{call}")
        }
        FindingRule::ArgumentsExtra => {
            format!("{name}: called with arguments, expected none{call}")
        }
        FindingRule::OrderDiffers => "same calls in another order".into(),
        FindingRule::ToolForbidden => format!("{name} is forbidden and was called"),
        FindingRule::SequenceForbidden => {
            format!("{name} was called {}, which is forbidden", text())
        }
        FindingRule::ToolCalledTooRarely if actual == "0" && expected == "1" => {
            format!("{name} was not called{}", with_text(finding))
        }
        FindingRule::ToolCalledTooRarely => {
            let times = times_called(finding, &actual);
            format!("{times}, at least {expected} needed")
        }
        FindingRule::ToolCalledTooOften => {
            let times = times_called(finding, &actual);
            format!("{times}, at most {expected} allowed")
        }
        FindingRule::StateDiffers | FindingRule::StateMissing | FindingRule::StateExtra => {
            value_at(finding)
        }
        FindingRule::RubricNotMet => rubric_not_met(finding),
        FindingRule::VariantMatched => format!("matches the variant {}", Value::from(text())),
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

/// `search was called 3 times with q contains x`.
fn times_called(finding: &Finding, actual: &str) -> String {
    format!(
        "{} was called {actual} times{}",
        tool(finding),
        with_text(finding)
    )
}

fn rubric_not_met(finding: &Finding) -> String {
    format!(
        "rubric {} is not met",
        finding.rubric.as_deref().unwrap_or("?")
    )
}

/// The text of a finding after a space; empty if there is none.
fn with_text(finding: &Finding) -> String {
    finding
        .text
        .as_ref()
        .map(|text| format!(" {text}"))
        .unwrap_or_default()
}

fn tool(finding: &Finding) -> &str {
    let name = finding.tool.as_deref().unwrap_or_default();
    if name.is_empty() { "(no name)" } else { name }
}

/// ` (call 2)`; empty for the first call of a turn.
fn call_number(finding: &Finding) -> String {
    match finding.call {
        None | Some(0 | 1) => String::new(),
        Some(number) => format!(" (call {number})"),
    }
}

/// `2nd` for `2`.
fn ordinal(number: &str) -> String {
    let is_teen = number.len() > 1 && number.as_bytes()[number.len() - 2] == b'1';
    let suffix = match number.as_bytes().last() {
        Some(b'1') if !is_teen => "st",
        Some(b'2') if !is_teen => "nd",
        Some(b'3') if !is_teen => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// The path with both values.
fn value_at(finding: &Finding) -> String {
    let path = finding.argument.as_deref().unwrap_or_default();
    let text = |value: &Option<Value>| value.as_ref().map_or(ABSENT.to_string(), value_text);
    let what = match (&finding.expected, &finding.actual) {
        (None, None) => path.to_string(),
        (expected, actual) => {
            let (expected, actual) = excerpts(&text(expected), &text(actual));
            format!("{path}: expected {expected}, got {actual}")
        }
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

/// Both texts, or the part of each around the first difference if one of them is long.
fn excerpts(expected: &str, actual: &str) -> (String, String) {
    let pairs = expected.chars().zip(actual.chars());
    let equal = pairs.take_while(|(e, a)| e == a).count();
    let start = match equal + MAX_VALUE / 3 {
        end if end <= MAX_VALUE => 0,
        _ => equal - EQUAL_BEFORE,
    };
    (excerpt(expected, start), excerpt(actual, start))
}

/// At most [`MAX_VALUE`] characters of a text, a long one from this character.
fn excerpt(text: &str, start: usize) -> String {
    let length = text.chars().count();
    if length <= MAX_VALUE {
        return text.to_string();
    }
    let part: String = text.chars().skip(start).take(MAX_VALUE).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if start + MAX_VALUE < length {
        "…"
    } else {
        ""
    };
    format!("{before}{part}{after}")
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

    /// What a long prompt or address ends with, or has in the middle, is what differs.
    #[test]
    fn long_values_are_cut_at_first_difference() {
        let address = format!("https://example.com/{}", "x".repeat(300));
        let finding = Finding {
            call: Some(1),
            tool: Some("fetch".into()),
            argument: Some("url".into()),
            expected: Some(format!("{address}XYZ").into()),
            actual: Some(format!("{address}{}", "y".repeat(100)).into()),
            ..Finding::new(FindingRule::ArgumentDiffers)
        };
        let ys = "y".repeat(MAX_VALUE - EQUAL_BEFORE);
        assert_eq!(
            sentence(&finding),
            format!("fetch.url: expected …xxxxxxxxxxxxXYZ\", got …xxxxxxxxxxxx{ys}…")
        );
        let short = ("a".repeat(40) + "1", "a".repeat(40) + "2");
        assert_eq!(excerpts(&short.0, &short.1), short);
        let prefix = "b".repeat(200);
        let (_, longer) = excerpts(&prefix, &format!("{prefix} and more"));
        assert_eq!(longer, "…bbbbbbbbbbbb and more");
    }

    #[test]
    fn positions_are_ordinal_numbers() {
        let numbers = ["1", "2", "3", "4", "11", "12", "13", "21", "112"];
        let expected = [
            "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th",
        ];
        assert_eq!(numbers.map(ordinal), expected);
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
        assert!(one.ends_with("; 1 more argument differs"), "{one}");
        let two = reasons(&[of(1, "id"), of(2, "id")]);
        assert!(two.ends_with("; set.id (call 2)"), "{two}");
    }
}
