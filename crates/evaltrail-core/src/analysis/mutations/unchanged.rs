//! Where a case still has the old value of an argument after a mutation.

use super::stated::{text_of_value, whole_word_positions};
use crate::diff::values_equal;
use crate::domain::{EvalCase, Invocation};
use serde_json::Value;

/// At most as many places are named; the others are counted.
const MAX_NAMED: usize = 4;

/// "; not changed: add_up.values, the message of turn 2". Empty if no expected argument, message, response, rubric or initial state
/// has the old value.
pub(super) fn unchanged_text(case: &EvalCase, old: &Value, new: &Value) -> String {
    let old = &OldValue { old, new };
    let mut places: Vec<String> = Vec::new();
    let several = case.turns().len() > 1;
    for (at, turn) in case.turns().iter().enumerate() {
        let suffix = match several {
            true => format!(" of turn {}", at + 1),
            false => String::new(),
        };
        places.extend(places_in_turn(turn, old).map(|place| format!("{place}{suffix}")));
    }
    let state = case.session_input.as_ref().map(|input| &input.state);
    let mut entries = state.into_iter().flatten();
    if entries.any(|(key, value)| old.is_in_text(key) || old.is_in_value(value)) {
        places.push("the initial state".into());
    }
    let mut seen = std::collections::HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    let more = places.len().saturating_sub(MAX_NAMED);
    places.truncate(MAX_NAMED);
    match (places.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!("; not changed: {}", places.join(", ")),
        (false, more) => format!("; not changed: {} and {more} more", places.join(", ")),
    }
}

/// The parts of a turn that have a value.
fn places_in_turn(turn: &Invocation, old: &OldValue) -> impl Iterator<Item = String> {
    let mut places = Vec::new();
    if old.is_in_text(&turn.user.scored_text()) {
        places.push("the message".to_string());
    }
    for call in turn.calls() {
        let args = call.args.iter().flatten();
        let having = args.filter(|(_, value)| old.is_in_value(value));
        places.extend(having.map(|(name, _)| format!("{}.{name}", call.name)));
    }
    let response = turn.final_response.as_ref();
    if response.is_some_and(|response| old.is_in_text(&response.scored_text())) {
        places.push("the response".into());
    }
    let mut rubrics = turn.rubrics.iter();
    if rubrics.any(|rubric| {
        let mut texts = [&rubric.text, &rubric.description].into_iter().flatten();
        texts.any(|text| old.is_in_text(text))
    }) {
        places.push("a rubric".into());
    }
    places.into_iter()
}

/// A value that was replaced, and the value in its place, which may contain it.
struct OldValue<'a> {
    old: &'a Value,
    new: &'a Value,
}

impl OldValue<'_> {
    /// Whether a value is the old one, or has it as an element, a member, a key or a whole word of a text.
    fn is_in_value(&self, value: &Value) -> bool {
        match value {
            value if values_equal(value, self.new) => false,
            Value::Array(elements) => elements.iter().any(|element| self.is_in_value(element)),
            Value::Object(members) => members
                .iter()
                .any(|(key, member)| self.is_in_text(key) || self.is_in_value(member)),
            Value::String(text) => values_equal(value, self.old) || self.is_in_text(text),
            value => values_equal(value, self.old),
        }
    }

    /// Whether a text has the old value as a whole word outside of the new one.
    fn is_in_text(&self, text: &str) -> bool {
        let count = |text: &str, value: &Value| {
            text_of_value(value).map_or(0, |word| whole_word_positions(text, &word).len())
        };
        let in_new = text_of_value(self.new).map_or(0, |new| count(&new, self.old));
        count(text, self.old) > count(text, self.new) * in_new
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{case, turn};
    use super::*;
    use crate::domain::SessionInput;
    use serde_json::json;

    #[test]
    fn old_value_elsewhere_is_named_by_place() {
        let (nested, note) = (
            json!({"values": [4, {"of": 6}]}),
            json!({"text": "6 litres"}),
        );
        let turns = vec![
            turn("Roll", &[("roll", json!({"sides": 8, "count": 66}))]),
            turn("Add up 6", &[("add_up", nested), ("note", note)]),
        ];
        let mut one = case("a", turns);
        assert_eq!(
            unchanged_text(&one, &json!(6), &json!("new")),
            "; not changed: the message of turn 2, add_up.values of turn 2, note.text of turn 2"
        );
        one.session_input = Some(SessionInput {
            state: json!({"last": 8}).as_object().cloned().unwrap(),
            ..SessionInput::default()
        });
        assert_eq!(
            unchanged_text(&one, &json!(8), &json!("new")),
            "; not changed: roll.sides of turn 1, the initial state"
        );
        assert_eq!(unchanged_text(&one, &json!(5), &json!("new")), "");
    }

    #[test]
    fn many_places_are_counted() {
        let args = json!({"a": 6, "b": 6, "c": 6, "d": 6, "e": 6});
        let one = case("a", vec![turn("Go", &[("f", args)])]);
        assert_eq!(
            unchanged_text(&one, &json!(6), &json!("new")),
            "; not changed: f.a, f.b, f.c, f.d and 1 more"
        );
    }

    #[test]
    fn old_value_inside_the_new_one_is_changed() {
        let (old, new) = (json!("beans"), json!("green beans"));
        let unchanged = |message| {
            let args = json!({"bed": "green beans"});
            let one = case("a", vec![turn(message, &[("water", args)])]);
            unchanged_text(&one, &old, &new)
        };
        assert_eq!(unchanged("Water the green beans"), "");
        let of_both = unchanged("Water the green beans and the beans");
        assert_eq!(of_both, "; not changed: the message");
    }
}
