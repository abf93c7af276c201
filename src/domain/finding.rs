//! Structured reasons for scores: what people read and what programs group by is computed from them.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// One reason why a metric gave its score. Turns, calls and samples count from 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// What is the matter.
    pub rule: FindingRule,
    /// The turn of the attempt, where it is about one; 1 in an attempt of one turn alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The position of the call among the expected calls of the turn; of a call that is extra, among the actual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// The tool's name, or the pattern of tool names that a rule is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The path of the argument, or of the value in the session state: keys and positions from 0, joined by dots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The expected value; absent where nothing is expected, and for responses, which stand in the turn.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// The actual value; absent where there is none, and for responses.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    /// The id of the rubric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rubric: Option<String>,
    /// The first sample of the judge that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<u32>,
    /// What has no field of its own: why nothing was evaluated, the name of a variant, the message of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What a finding says. The names stand in journals and reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingRule {
    /// An expected call was not made.
    CallMissing,
    /// A call was made that is not expected.
    CallExtra,
    /// A call was made at another position; `expected` and `actual` are the positions.
    CallMoved,
    /// An argument has another value.
    ArgumentDiffers,
    /// An expected argument is not there.
    ArgumentMissing,
    /// An argument is there that is not expected.
    ArgumentExtra,
    /// The call has no arguments at all, and some are expected.
    ArgumentsMissing,
    /// The call has arguments, and none at all are expected.
    ArgumentsExtra,
    /// The calls are as expected, in another order.
    OrderDiffers,
    /// A forbidden tool was called.
    ToolForbidden,
    /// A tool was called less often than it must be; `expected` and `actual` are the counts.
    ToolCalledTooRarely,
    /// A tool was called more often than it may be; `expected` and `actual` are the counts.
    ToolCalledTooOften,
    /// A value of the session state is another one.
    StateDiffers,
    /// An expected value is not in the session state.
    StateMissing,
    /// A value is in the session state that is not expected.
    StateExtra,
    /// The response is not the expected one.
    ResponseDiffers,
    /// The response, or the argument at `argument`, does not match a pattern or a value.
    PatternNotMatched,
    /// The judge says no to a rubric.
    RubricNotMet,
    /// The judge decided that a turn is not valid.
    JudgedInvalid,
    /// The judge gave no verdict on a turn or a rubric.
    NoVerdict,
    /// The judge could not be asked, or its answer could not be read.
    JudgeFailed,
    /// A program or a service that scores gave this reason.
    ReportedReason,
    /// The program that scores failed.
    ProgramFailed,
    /// Another allowed trajectory, named by `text`, matches.
    VariantMatched,
    /// The score is on the wrong side of the threshold: `expected` is the threshold, `actual` the score.
    ThresholdMissed,
    /// There is no score.
    #[default]
    NotEvaluated,
    /// A rule of a newer version.
    #[serde(other)]
    Unknown,
}

impl Finding {
    /// A finding of this rule, about nothing yet.
    pub fn of(rule: FindingRule) -> Finding {
        Finding { rule, ..Finding::default() }
    }

    /// A finding that is a text.
    pub fn text(rule: FindingRule, text: impl Into<String>) -> Finding {
        Finding { rule, text: Some(text.into()), ..Finding::default() }
    }

    /// The finding where nothing else tells why a score failed.
    pub fn threshold_missed(score: Option<f64>, threshold: Option<f64>) -> Finding {
        Finding {
            expected: threshold.map(Value::from),
            actual: score.map(Value::from),
            ..Finding::of(FindingRule::ThresholdMissed)
        }
    }

    /// Adds the turn, from 1.
    pub fn in_turn(self, turn: usize) -> Finding {
        Finding { turn: Some(turn as u32), ..self }
    }
}

/// A value that is there, also when it is null.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_is_a_value_and_a_rule_of_a_newer_version_is_read() {
        let finding = Finding {
            turn: Some(1),
            call: Some(2),
            expected: Some(Value::Null),
            ..Finding::of(FindingRule::ArgumentMissing)
        };
        let text = serde_json::to_string(&finding).unwrap();
        assert_eq!(text, r#"{"rule":"argument_missing","turn":1,"call":2,"expected":null}"#);
        assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), finding);
        let newer: Finding = serde_json::from_str(r#"{"rule":"of_tomorrow","more":1}"#).unwrap();
        assert_eq!(newer.rule, FindingRule::Unknown);
    }
}
