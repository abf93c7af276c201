//! The classes of arguments that a user can state in words.

use crate::analysis::coverage::ArgumentClass;
use serde_json::Value;

/// A user does not state limits above it: they are those of a number format.
const MAX_STATED_LIMIT: f64 = 1e9;

/// Whether a user can state a value of a class, so that it is worth a case of its own.
pub(super) fn can_be_stated(class: &ArgumentClass, is_required: bool) -> bool {
    match class {
        ArgumentClass::Absent
        | ArgumentClass::OtherThan(_)
        | ArgumentClass::Zero
        | ArgumentClass::Negative
        | ArgumentClass::OtherNumber { .. }
        | ArgumentClass::NonAscii
        | ArgumentClass::Elements(_)
        | ArgumentClass::ElementsAtLeast(_) => true,
        ArgumentClass::Is(Value::String(text)) => !text.trim().is_empty(),
        ArgumentClass::Is(value) => value.is_number() || value.is_boolean(),
        ArgumentClass::Limit(limit) => limit.abs() <= MAX_STATED_LIMIT,
        // Every call has a required argument.
        ArgumentClass::Given | ArgumentClass::Text => !is_required,
        ArgumentClass::Null | ArgumentClass::EmptyText => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn classes_nobody_states_are_left_out() {
        let can = |class, is_required| can_be_stated(&class, is_required);
        assert!(!can(ArgumentClass::Null, false) && !can(ArgumentClass::EmptyText, false));
        assert!(can(ArgumentClass::Text, false) && !can(ArgumentClass::Text, true));
        assert!(can(ArgumentClass::Limit(10.0), true) && !can(ArgumentClass::Limit(1e18), true));
        for (value, expected) in [
            (json!("en"), true),
            (json!(2), true),
            (json!(false), true),
            (json!(" "), false),
            (json!([]), false),
            (json!({}), false),
            (json!(null), false),
        ] {
            assert_eq!(
                can(ArgumentClass::Is(value.clone()), true),
                expected,
                "{value}"
            );
        }
    }
}
