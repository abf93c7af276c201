//! Which differences made metrics fail. The others are allowed by a match type or a rule, or only informational metrics see them.

use crate::explorer::shared::case_lines::{ComparedTurn, FailureReason, PieceLine};
use evaltrail_core::diff::AcceptablePart;
use evaltrail_core::domain::{Finding, FindingRule, Invocation};
use wildmatch::WildMatch;

/// The metric that compares intermediate responses. A criterion may add a label after a colon.
const INTERMEDIATE: &str = "intermediate_response_match";

/// Marks the differences that made a metric fail.
pub(super) fn mark_reasons(pieces: &mut [PieceLine], turns: &[ComparedTurn]) {
    for piece in pieces {
        let turn = turns.iter().find(|turn| turn.turn == piece.turn);
        piece.is_reason = turn.is_some_and(|turn| {
            let mut reasons = turn.reasons.iter();
            reasons.any(|reason| is_about(reason, &piece.piece, turn))
        });
    }
}

/// Whether a failed metric found this part of a turn.
fn is_about(reason: &FailureReason, part: &AcceptablePart, turn: &ComparedTurn) -> bool {
    let finding = &reason.finding;
    let is_intermediate = reason.metric.split(':').next() == Some(INTERMEDIATE);
    match part {
        AcceptablePart::Argument {
            expected,
            actual,
            key,
        } => {
            is_about_argument(finding, *expected, key)
                || is_about_tool_of(finding, Some(*expected), Some(*actual), turn)
        }
        AcceptablePart::Call { expected, actual } => {
            let at = match finding.rule {
                FindingRule::CallExtra => *actual,
                _ => *expected,
            };
            at.is_some_and(|at| is_call(finding, at))
                || is_about_tool_of(finding, *expected, *actual, turn)
        }
        AcceptablePart::Calls => finding.call.is_some() || is_about_calls(finding),
        AcceptablePart::Response => is_about_texts(finding) && !is_intermediate,
        AcceptablePart::Intermediate => is_about_texts(finding) && is_intermediate,
        AcceptablePart::Turn => true,
    }
}

/// Whether a finding names the call at this position, from 0.
fn is_call(finding: &Finding, at: usize) -> bool {
    finding.call == Some(at as u32 + 1)
}

/// Whether a finding names this argument of an expected call, or a value in it.
fn is_about_argument(finding: &Finding, call: usize, name: &str) -> bool {
    let rest = finding
        .argument
        .as_deref()
        .and_then(|path| path.strip_prefix(name));
    is_call(finding, call) && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a finding is about calls, and not about a certain one.
fn is_about_calls(finding: &Finding) -> bool {
    matches!(
        finding.rule,
        FindingRule::OrderDiffers
            | FindingRule::ToolForbidden
            | FindingRule::SequenceForbidden
            | FindingRule::ToolCalledTooRarely
            | FindingRule::ToolCalledTooOften
    )
}

/// Whether a finding about calls is about the tool of this difference, by the positions of its expected and actual call. The
/// finding names a pattern, or no tool if it is about all.
fn is_about_tool_of(
    finding: &Finding,
    expected: Option<usize>,
    actual: Option<usize>,
    turn: &ComparedTurn,
) -> bool {
    let name = |side: &Option<Invocation>, at: Option<usize>| {
        let call = side.as_ref()?.calls().get(at?).copied()?;
        Some(call.name.clone())
    };
    let names = [name(&turn.expected, expected), name(&turn.actual, actual)];
    let is_named = |tool: &String| {
        let pattern = WildMatch::new(tool);
        names.iter().flatten().any(|name| pattern.matches(name))
    };
    is_about_calls(finding) && finding.tool.as_ref().is_none_or(is_named)
}

/// Whether a finding is about the text of a response.
fn is_about_texts(finding: &Finding) -> bool {
    let is_text_rule = matches!(
        finding.rule,
        FindingRule::ResponseDiffers
            | FindingRule::PatternNotMatched
            | FindingRule::RubricNotMet
            | FindingRule::JudgedInvalid
    );
    is_text_rule && finding.call.is_none() && finding.argument.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{ToolCall, Trajectory};

    fn finding(rule: FindingRule, call: Option<u32>, argument: Option<&str>) -> Finding {
        Finding {
            call,
            argument: argument.map(str::to_string),
            ..Finding::new(rule)
        }
    }

    /// A turn whose agent logged something and formatted a disk, while only a note was expected.
    fn turn() -> ComparedTurn {
        let calls = |names: &[&str]| Invocation {
            trajectory: Trajectory::Listed {
                calls: names
                    .iter()
                    .map(|name| ToolCall::new(*name, None))
                    .collect(),
                responses: Vec::new(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        };
        ComparedTurn {
            expected: Some(calls(&["note"])),
            actual: Some(calls(&["log", "format_disk"])),
            ..ComparedTurn::default()
        }
    }

    fn is_reason(metric: &str, finding: &Finding, part: &AcceptablePart) -> bool {
        let reason = FailureReason {
            metric: metric.into(),
            finding: finding.clone(),
        };
        is_about(&reason, part, &turn())
    }

    fn argument(expected: usize, key: &str) -> AcceptablePart {
        AcceptablePart::Argument {
            expected,
            actual: 0,
            key: key.into(),
        }
    }

    fn call(expected: Option<usize>, actual: Option<usize>) -> AcceptablePart {
        AcceptablePart::Call { expected, actual }
    }

    #[test]
    fn finding_is_about_its_own_part() {
        let is_reason = |finding: &Finding, part: &AcceptablePart| is_reason("m", finding, part);
        let differs = finding(FindingRule::ArgumentDiffers, Some(2), Some("query.text"));
        assert!(is_reason(&differs, &argument(1, "query")));
        assert!(is_reason(&differs, &call(Some(1), Some(0))));
        for other in [
            argument(0, "query"),
            argument(1, "que"),
            argument(1, "text"),
        ] {
            assert!(!is_reason(&differs, &other), "{other:?}");
        }
        assert!(!is_reason(&differs, &AcceptablePart::Response));
        let extra = finding(FindingRule::CallExtra, Some(3), None);
        assert!(is_reason(&extra, &call(None, Some(2))));
        assert!(!is_reason(&extra, &call(Some(2), None)));
        assert!(is_reason(&extra, &AcceptablePart::Calls));
        let order = finding(FindingRule::OrderDiffers, None, None);
        assert!(is_reason(&order, &argument(0, "bed")));
        let response = finding(FindingRule::ResponseDiffers, None, None);
        assert!(!is_reason(&response, &call(Some(0), Some(0))));
        assert!(!is_reason(&response, &AcceptablePart::Calls));
    }

    #[test]
    fn rule_about_a_tool_is_about_its_calls() {
        let forbidden = Finding {
            tool: Some("format_*".into()),
            ..Finding::new(FindingRule::ToolForbidden)
        };
        assert!(is_reason("m", &forbidden, &call(None, Some(1))));
        assert!(!is_reason("m", &forbidden, &call(None, Some(0))));
        assert!(!is_reason("m", &forbidden, &call(Some(0), None)));
    }

    #[test]
    fn final_and_intermediate_texts_are_told_apart() {
        let differs = finding(FindingRule::ResponseDiffers, None, None);
        for (metric, part, other) in [
            (
                "response_match_score",
                AcceptablePart::Response,
                AcceptablePart::Intermediate,
            ),
            (
                "intermediate_response_match:de",
                AcceptablePart::Intermediate,
                AcceptablePart::Response,
            ),
        ] {
            assert!(is_reason(metric, &differs, &part), "{metric}");
            assert!(!is_reason(metric, &differs, &other), "{metric}");
        }
    }
}
