//! Causes as text.

use crate::domain::{Cause, FindingRule};

/// A cause in words, for instance "`id` of set_light differs". Not cleaned for display.
pub fn cause_words(cause: &Cause) -> String {
    match cause {
        Cause::Error(message) => format!("errored: {message}"),
        Cause::Call { rule, tool, argument } => call_words(*rule, tool, argument.as_deref()),
        Cause::Rubric { rubric, .. } => format!("rubric {rubric} is not met"),
        Cause::Other { metric, rule, text } => match (rule, text) {
            (FindingRule::ThresholdMissed, _) => format!("{metric} is on the wrong side of its threshold"),
            (FindingRule::OrderDiffers, _) => "the calls come in another order".into(),
            (FindingRule::StateDiffers, Some(path)) => format!("{path} of the session state differs"),
            (FindingRule::StateMissing, Some(path)) => format!("{path} is missing from the session state"),
            (FindingRule::StateExtra, Some(path)) => format!("{path} of the session state is not expected"),
            (_, Some(text)) => format!("{metric}: {text}"),
            (_, None) => format!("{metric} did not pass"),
        },
    }
}

fn call_words(rule: FindingRule, tool: &str, argument: Option<&str>) -> String {
    match (rule, argument) {
        (FindingRule::CallMissing, _) => format!("{tool} is not called"),
        (FindingRule::CallExtra, _) => format!("{tool} is called and not expected"),
        (FindingRule::CallMoved, _) => format!("{tool} is called at another position"),
        (FindingRule::ArgumentMissing, Some(path)) => format!("{path} of {tool} is missing"),
        (FindingRule::ArgumentExtra, Some(path)) => format!("{path} of {tool} is not expected"),
        (FindingRule::ArgumentsMissing, _) => format!("{tool} has no arguments"),
        (FindingRule::ArgumentsExtra, _) => format!("{tool} has arguments that are not expected"),
        (FindingRule::ToolForbidden, _) => format!("{tool} is forbidden and called"),
        (FindingRule::ToolCalledTooRarely, _) => format!("{tool} is called too rarely"),
        (FindingRule::ToolCalledTooOften, _) => format!("{tool} is called too often"),
        (FindingRule::PatternNotMatched, Some(path)) => format!("{path} of {tool} does not match"),
        (_, Some(path)) => format!("{path} of {tool} differs"),
        (_, None) => format!("{tool} differs"),
    }
}
