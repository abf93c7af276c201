//! Interrupts: questions at which a graph waits for a decision of the user.

use crate::agents::messages::{text_of, value_in};
use evaltrail_core::domain::Part;
use serde_json::{Map, Value, json};

/// A question of a graph, at which it waits for a decision.
#[derive(Debug, PartialEq)]
pub(super) struct Interrupt {
    /// `None` from servers that give it none.
    pub(super) id: Option<String>,
    pub(super) value: Value,
}

impl Interrupt {
    pub(super) fn read(value: &Value) -> Interrupt {
        let id = value["id"].as_str().or(value["interrupt_id"].as_str());
        Interrupt {
            id: id.map(str::to_string),
            value: value["value"].clone(),
        }
    }

    /// The message to the user: the text of the question if the value has one, then the value as JSON if it has other members,
    /// such as the action to decide about; otherwise the value. The value is also the part's metadata.
    pub(super) fn part(&self) -> Part {
        match question_in(&self.value) {
            Some(text) => {
                let is_all = self
                    .value
                    .as_object()
                    .is_some_and(|members| members.len() == 1)
                    && self.value.get("action_requests").is_none();
                let text = if is_all {
                    text
                } else {
                    format!("{text}\n{}", self.value)
                };
                let metadata = json!({"interrupt": self.value});
                Part {
                    rest: Map::from_iter([("part_metadata".to_string(), metadata)]),
                    ..Part::text(text)
                }
            }
            None => Part::text(text_of(&self.value)),
        }
    }
}

/// The usual keys of the text of a question, as in `assets/worker/libraries/langgraph.py`.
const QUESTIONS: [&str; 5] = ["question", "message", "prompt", "text", "description"];

/// The text of a question that is an object with one of [`QUESTIONS`], one with the `action_requests` of LangChain's middleware, or a
/// list of such objects, all of which have a text.
fn question_in(value: &Value) -> Option<String> {
    match value {
        Value::Object(members) => {
            let text = |key: &&str| {
                members
                    .get(*key)?
                    .as_str()
                    .filter(|text| !text.trim().is_empty())
            };
            let question = QUESTIONS.iter().find_map(text).map(str::to_string);
            question.or_else(|| question_in(members.get("action_requests")?))
        }
        Value::Array(items) if !items.is_empty() => {
            let questions: Option<Vec<String>> = items.iter().map(question_in).collect();
            Some(questions?.join("\n"))
        }
        _ => None,
    }
}

/// The value that resumes a graph: the decision, or one for each interrupt by its id if there are several.
pub(super) fn resume(interrupts: &[Interrupt], text: &str) -> Value {
    let by_id = |of: &Interrupt| Some((of.id.clone()?, decision(text)));
    match interrupts {
        [_] => decision(text),
        several => {
            let all: Option<Map<_, _>> = several.iter().map(by_id).collect();
            all.map_or_else(|| decision(text), Value::from)
        }
    }
}

/// The user's message as a decision: an object or a list if it is one as JSON, else the text.
fn decision(text: &str) -> Value {
    match value_in(text) {
        value @ (Value::Object(_) | Value::Array(_)) => value,
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interrupt_receives_the_decision() {
        let read = |values: &[Value]| values.iter().map(Interrupt::read).collect::<Vec<_>>();
        let (a, b) = (
            json!({"id": "a", "value": "A?"}),
            json!({"interrupt_id": "b", "value": "B?"}),
        );
        assert_eq!(resume(&read(std::slice::from_ref(&a)), "yes"), json!("yes"));
        assert_eq!(
            resume(&read(&[json!({"value": "A?"})]), "{\"n\": 1}"),
            json!({"n": 1})
        );
        assert_eq!(
            resume(&read(&[a, b]), "yes"),
            json!({"a": "yes", "b": "yes"})
        );
        let without_ids = read(&[json!({"value": "A?"}), json!({"value": "B?"})]);
        assert_ne!(without_ids[0], without_ids[1], "both questions are shown");
        assert_eq!(resume(&without_ids, "yes"), json!("yes"));
    }

    #[test]
    fn interrupt_shows_question_and_value() {
        let part = |value: Value| Interrupt::read(&json!({"id": "a", "value": value})).part();
        let action =
            json!({"action_request": {"action": "pay", "args": {"n": 1}}, "description": "Pay 1?"});
        let middleware = json!({"action_requests": [{"name": "pay", "args": {"n": 1}, "description": "Pay 1?"}]});
        for (value, text) in [
            (json!({"question": "Which colour?"}), "Which colour?"),
            (
                json!({"kind": "x", "prompt": "Go on?", "message": " "}),
                "Go on?",
            ),
            (
                json!({"question": "Approve?", "action": "transfer", "amount": 9000}),
                "Approve?",
            ),
            (json!([action, action]), "Pay 1?\nPay 1?"),
            (middleware, "Pay 1?"),
        ] {
            let part = part(value.clone());
            let is_all = value == json!({"question": "Which colour?"});
            let shown = if is_all {
                text.to_string()
            } else {
                format!("{text}\n{value}")
            };
            assert_eq!(
                part.text,
                Some(shown),
                "other members of the value are shown"
            );
            assert_eq!(part.rest["part_metadata"]["interrupt"], value);
            assert!(!part.is_blank());
        }
        for value in [
            json!({"tool": "pay", "n": 1}),
            json!([action, {"n": 1}]),
            json!([]),
            json!({"text": 1}),
        ] {
            let part = part(value.clone());
            assert_eq!((part.text, part.rest.len()), (Some(value.to_string()), 0));
        }
        assert_eq!(part(json!("Which?")), Part::text("Which?"));
    }
}
