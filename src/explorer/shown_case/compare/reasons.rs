//! Which differences made metrics fail. The others are allowed by a match type or a rule, or only informational metrics see them.

use crate::explorer::shared::case_lines::{ComparedTurn, PieceLine};
use evaltrail_core::diff::AcceptablePart;
use evaltrail_core::domain::{Finding, FindingRule};

/// Marks the differences that made a metric fail.
pub(super) fn mark_reasons(pieces: &mut [PieceLine], turns: &[ComparedTurn]) {
    for piece in pieces {
        let turn = turns.iter().find(|turn| turn.turn == piece.turn);
        let mut reasons = turn.iter().flat_map(|turn| &turn.reasons);
        piece.is_reason = reasons.any(|finding| is_about(finding, &piece.piece));
    }
}

/// Whether a finding is about this part of its turn.
fn is_about(finding: &Finding, part: &AcceptablePart) -> bool {
    let is_call = |at: &usize| finding.call == Some(*at as u32 + 1);
    match part {
        AcceptablePart::Argument { expected, key, .. } => {
            let path = finding.argument.as_deref().unwrap_or_default();
            let is_inside = |rest: &str| rest.is_empty() || rest.starts_with('.');
            // Exchanged calls of one tool differ in their arguments.
            let is_exchanged = finding.rule == FindingRule::OrderDiffers;
            let is_own = path.strip_prefix(key.as_str()).is_some_and(is_inside);
            is_exchanged || is_call(expected) && is_own
        }
        AcceptablePart::Call { expected, actual } => match finding.rule {
            FindingRule::CallExtra => actual.as_ref().is_some_and(is_call),
            _ if is_about_all_calls(finding) => true,
            _ => expected.as_ref().is_some_and(is_call),
        },
        AcceptablePart::Calls => finding.call.is_some() || is_about_all_calls(finding),
        AcceptablePart::Response | AcceptablePart::Intermediate => {
            let is_about_texts = matches!(
                finding.rule,
                FindingRule::ResponseDiffers
                    | FindingRule::PatternNotMatched
                    | FindingRule::RubricNotMet
                    | FindingRule::JudgedInvalid
            );
            is_about_texts && finding.call.is_none() && finding.argument.is_none()
        }
        AcceptablePart::Turn => true,
    }
}

/// Whether a finding is about the calls of a turn, and not about one of them.
fn is_about_all_calls(finding: &Finding) -> bool {
    matches!(
        finding.rule,
        FindingRule::OrderDiffers
            | FindingRule::ToolForbidden
            | FindingRule::SequenceForbidden
            | FindingRule::ToolCalledTooRarely
            | FindingRule::ToolCalledTooOften
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: FindingRule, call: Option<u32>, argument: Option<&str>) -> Finding {
        Finding {
            call,
            argument: argument.map(str::to_string),
            ..Finding::new(rule)
        }
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
        let differs = finding(FindingRule::ArgumentDiffers, Some(2), Some("query.text"));
        assert!(is_about(&differs, &argument(1, "query")));
        assert!(is_about(&differs, &call(Some(1), Some(0))));
        for other in [
            argument(0, "query"),
            argument(1, "que"),
            argument(1, "text"),
        ] {
            assert!(!is_about(&differs, &other), "{other:?}");
        }
        assert!(!is_about(&differs, &AcceptablePart::Response));
        let extra = finding(FindingRule::CallExtra, Some(3), None);
        assert!(is_about(&extra, &call(None, Some(2))));
        assert!(!is_about(&extra, &call(Some(2), None)));
        let response = finding(FindingRule::ResponseDiffers, None, None);
        assert!(is_about(&response, &AcceptablePart::Response));
        assert!(!is_about(&response, &call(Some(0), Some(0))));
        assert!(is_about(&extra, &AcceptablePart::Calls));
        assert!(!is_about(&response, &AcceptablePart::Calls));
    }
}
