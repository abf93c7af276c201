//! What a planned case must contain, for a model.

use super::planned::PlannedGap;
use crate::analysis::coverage::ArgumentClass;
use serde_json::json;

/// What a case for a gap must contain, in words that name nothing from outside.
pub(super) fn requirement(gap: &PlannedGap) -> &'static str {
    match gap {
        PlannedGap::Tool(_) => include_str!("prompts/planned/tool.md"),
        PlannedGap::Argument { .. } => include_str!("prompts/planned/argument.md"),
        PlannedGap::Pair { .. } => include_str!("prompts/planned/pair.md"),
        PlannedGap::MissingArgument { .. } => include_str!("prompts/planned/missing_argument.md"),
        PlannedGap::OutOfScope(_) => include_str!("prompts/planned/out_of_scope.md"),
        PlannedGap::ChangeOfMind { .. } => include_str!("prompts/planned/change_of_mind.md"),
        PlannedGap::Transfer(_) => include_str!("prompts/planned/transfer.md"),
    }
}

/// The tools, arguments and agents of a gap, as JSON.
pub(super) fn planned_text(gap: &PlannedGap) -> String {
    let planned = match gap {
        PlannedGap::Tool(tool) => json!({ "tool": tool }),
        PlannedGap::Argument {
            tool,
            argument,
            class,
        } => json!({"tool": tool, "argument": argument, "value": class_text(class)}),
        PlannedGap::Pair { first, second } => json!({"first": first, "second": second}),
        PlannedGap::MissingArgument { tool, argument }
        | PlannedGap::ChangeOfMind { tool, argument } => {
            json!({"tool": tool, "argument": argument})
        }
        PlannedGap::OutOfScope(number) => json!({ "variant": number }),
        PlannedGap::Transfer(agent) => json!({ "agent": agent }),
    };
    planned.to_string()
}

/// The values of a class, for a model.
fn class_text(class: &ArgumentClass) -> String {
    match class {
        ArgumentClass::Absent => {
            "none: the user does not mention it, and the call does not have the argument".into()
        }
        ArgumentClass::Is(value) => format!("{value}, stated by the user"),
        ArgumentClass::OtherThan(value) => format!("another value than {value}"),
        ArgumentClass::Limit(limit) => format!("{limit}, which is a limit of what is allowed"),
        ArgumentClass::Zero => "0".into(),
        ArgumentClass::Negative => "a number below 0".into(),
        ArgumentClass::OtherNumber { apart_from } if apart_from.is_empty() => {
            "a number above 0".into()
        }
        ArgumentClass::OtherNumber { apart_from } => {
            let others: Vec<String> = apart_from.iter().map(f64::to_string).collect();
            format!("a number above 0 other than {}", others.join(", "))
        }
        ArgumentClass::NonAscii => {
            "a text with a character that is not ASCII, such as é, ß or 京".into()
        }
        ArgumentClass::Elements(0) => "an empty list".into(),
        ArgumentClass::Elements(1) => "a list with 1 element".into(),
        ArgumentClass::Elements(count) => format!("a list with {count} elements"),
        ArgumentClass::ElementsAtLeast(count) => format!("a list with {count} or more elements"),
        ArgumentClass::Given => "any value".into(),
        ArgumentClass::Text => "any text".into(),
        ArgumentClass::Null => "null".into(),
        ArgumentClass::EmptyText => "an empty text".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_data_name_tools_and_values() {
        let (tool, argument) = (|| "water".to_string(), || "bed".to_string());
        for (gap, text) in [
            (PlannedGap::Tool(tool()), r#"{"tool":"water"}"#),
            (
                PlannedGap::Argument {
                    tool: tool(),
                    argument: argument(),
                    class: ArgumentClass::Zero,
                },
                r#"{"tool":"water","argument":"bed","value":"0"}"#,
            ),
            (
                PlannedGap::MissingArgument {
                    tool: tool(),
                    argument: argument(),
                },
                r#"{"tool":"water","argument":"bed"}"#,
            ),
            (PlannedGap::OutOfScope(2), r#"{"variant":2}"#),
            (PlannedGap::Transfer("home".into()), r#"{"agent":"home"}"#),
        ] {
            assert_eq!(planned_text(&gap), text);
        }
    }

    #[test]
    fn classes_are_described_by_their_values() {
        let other = |apart_from| ArgumentClass::OtherNumber { apart_from };
        for (class, text) in [
            (ArgumentClass::Is(json!("en")), "\"en\", stated by the user"),
            (other(vec![1.0, 2.5]), "a number above 0 other than 1, 2.5"),
            (other(vec![]), "a number above 0"),
            (ArgumentClass::Elements(0), "an empty list"),
            (
                ArgumentClass::ElementsAtLeast(2),
                "a list with 2 or more elements",
            ),
        ] {
            assert_eq!(class_text(&class), text);
        }
    }
}
