//! Structured reasons for scores. Explanations for the user and groups of failures are computed from them.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// One reason why a metric gave its score. Turns, calls and samples count from 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// The kind of problem.
    pub rule: FindingRule,
    /// The turn of the attempt, if the finding refers to one; 1 in an attempt that ran only one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The position of the call among the expected calls of the turn; for an extra call, among the actual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// The tool's name, or the pattern of tool names that a rule applies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The path of the argument, or of the value in the session state: keys and positions from 0, joined by dots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The expected value; absent if nothing is expected, and for responses, which are stored in the turn.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// The actual value; absent if there is none, and for responses.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    /// The id of the rubric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rubric: Option<String>,
    /// The first sample of the judge that supports the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<u32>,
    /// Other information: why nothing was evaluated, the name of a variant, or the message of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The kind of a finding. The names are part of the formats of journals and reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingRule {
    /// An expected call was not made.
    CallMissing,
    /// A call was made that is not expected.
    CallExtra,
    /// A call was made at another position; `expected` and `actual` are the positions.
    CallMoved,
    /// An argument has a different value.
    ArgumentDiffers,
    /// An expected argument is absent.
    ArgumentMissing,
    /// An argument is present that is not expected.
    ArgumentExtra,
    /// The call has no arguments object, but one is expected.
    ArgumentsMissing,
    /// The call has an arguments object, but none is expected.
    ArgumentsExtra,
    /// The expected calls were made in a different order.
    OrderDiffers,
    /// A forbidden tool was called.
    ToolForbidden,
    /// A tool was called after calls after which it is forbidden; `text` says which.
    SequenceForbidden,
    /// A tool was called less often than required; `expected` and `actual` are the counts.
    ToolCalledTooRarely,
    /// A tool was called more often than allowed; `expected` and `actual` are the counts.
    ToolCalledTooOften,
    /// A value in the session state is different.
    StateDiffers,
    /// An expected value is absent from the session state.
    StateMissing,
    /// The session state contains a value that is not expected.
    StateExtra,
    /// The response differs from the expected one.
    ResponseDiffers,
    /// The response, or the argument at `argument`, does not match a pattern or a value.
    PatternNotMatched,
    /// The judge answered no to a rubric.
    RubricNotMet,
    /// The judge decided that a turn is not valid.
    JudgedInvalid,
    /// The judge gave no verdict on a turn or a rubric.
    NoVerdict,
    /// A request to the judge failed, or its response could not be read.
    JudgeFailed,
    /// Responses of the judge were not requested, because the spending limit was reached.
    SpendingLimitReached,
    /// A reason that a scoring program or service reported.
    ReportedReason,
    /// The scoring program failed.
    ProgramFailed,
    /// Another allowed trajectory, named by `text`, matched.
    VariantMatched,
    /// The score is on the wrong side of the threshold: `expected` is the threshold, `actual` the score.
    ThresholdMissed,
    /// There is no score.
    #[default]
    NotEvaluated,
    /// A rule from a newer version of evaltrail.
    #[serde(other)]
    Unknown,
}

impl Finding {
    /// A finding with this rule and no other fields.
    pub fn new(rule: FindingRule) -> Finding {
        Finding {
            rule,
            ..Finding::default()
        }
    }

    /// A finding with this rule and text.
    pub fn text(rule: FindingRule, text: impl Into<String>) -> Finding {
        Finding {
            rule,
            text: Some(text.into()),
            ..Finding::default()
        }
    }

    /// The finding for a failed score without a more specific reason.
    pub fn threshold_missed(score: Option<f64>, threshold: Option<f64>) -> Finding {
        Finding {
            expected: threshold.map(Value::from),
            actual: score.map(Value::from),
            ..Finding::new(FindingRule::ThresholdMissed)
        }
    }

    /// Sets the turn, from 1.
    pub fn in_turn(self, turn: usize) -> Finding {
        Finding {
            turn: Some(turn as u32),
            ..self
        }
    }
}

/// Deserializes a present value as `Some`, also if it is null.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_value_and_newer_rule_are_read() {
        let finding = Finding {
            turn: Some(1),
            call: Some(2),
            expected: Some(Value::Null),
            ..Finding::new(FindingRule::ArgumentMissing)
        };
        let text = serde_json::to_string(&finding).unwrap();
        assert_eq!(
            text,
            r#"{"rule":"argument_missing","turn":1,"call":2,"expected":null}"#
        );
        assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), finding);
        let newer: Finding = serde_json::from_str(r#"{"rule":"of_tomorrow","more":1}"#).unwrap();
        assert_eq!(newer.rule, FindingRule::Unknown);
    }
}
