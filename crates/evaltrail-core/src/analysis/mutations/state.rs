//! Another initial state of the session.

use super::mutation::{Mutation, turns_mut, with_calls_only};
use crate::domain::EvalCase;
use serde_json::Value;

/// The case without each entry of its initial state, and with an empty value of it.
pub(super) fn mutations(case: &EvalCase) -> Vec<Mutation> {
    let Some(input) = &case.session_input else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, value) in &input.state {
        let without = with_entry(case, key, None);
        found.push((format!("state without {key}"), without));
        if let Some(empty) = empty_value(value) {
            let change = format!("state with {key} = {empty}");
            found.push((change, with_entry(case, key, Some(empty))));
        }
    }
    let mutation = |(change, case)| Mutation {
        change,
        gap: None,
        case,
    };
    found.into_iter().map(mutation).collect()
}

/// The empty value of the same kind; `None` if the value is that.
fn empty_value(value: &Value) -> Option<Value> {
    let empty = match value {
        Value::String(_) => Value::from(""),
        Value::Number(_) => Value::from(0),
        Value::Bool(flag) => Value::from(!flag),
        Value::Array(_) => Value::Array(Vec::new()),
        Value::Object(_) => Value::Object(Default::default()),
        Value::Null => return None,
    };
    (empty != *value).then_some(empty)
}

/// The case with another value of an entry, or without it. What the agent answers then is not known.
fn with_entry(case: &EvalCase, key: &str, value: Option<Value>) -> EvalCase {
    let mut case = case.clone();
    if let Some(input) = &mut case.session_input {
        match value {
            Some(value) => drop(input.state.insert(key.to_string(), value)),
            None => drop(input.state.shift_remove(key)),
        }
    }
    for turn in turns_mut(&mut case) {
        with_calls_only(turn);
        turn.final_response = None;
    }
    case.final_session_state = None;
    case
}

#[cfg(test)]
mod tests {
    use super::super::tests::{case, turn};
    use super::*;
    use crate::domain::SessionInput;
    use serde_json::json;

    #[test]
    fn each_entry_is_removed_and_emptied() {
        let mut one = case("a", vec![turn("Hello", &[])]);
        one.session_input = Some(SessionInput {
            state: json!({"name": "Ann", "seen": true, "note": null, "count": 0})
                .as_object()
                .cloned()
                .unwrap(),
            ..SessionInput::default()
        });
        one.final_session_state = Some(json!({"name": "Ann"}));
        let found = mutations(&one);
        let changes: Vec<&str> = found.iter().map(|one| one.change.as_str()).collect();
        assert_eq!(
            changes,
            [
                "state without name",
                "state with name = \"\"",
                "state without seen",
                "state with seen = false",
                "state without note",
                "state without count",
            ]
        );
        let first = &found[0].case;
        assert!(
            !first
                .session_input
                .as_ref()
                .unwrap()
                .state
                .contains_key("name")
        );
        assert!(first.turns()[0].final_response.is_none() && first.final_session_state.is_none());
        assert!(mutations(&case("b", Vec::new())).is_empty());
    }
}
