//! What the nodes of a graph add to its messages.

use super::message::{MESSAGES, StateMessage, is_pair};
use evaltrail_core::domain::Content;
use evaltrail_core::formats::MessageRole;
use evaltrail_core::formats::adk::Event;
use serde_json::Value;
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

/// Reads the messages in the updates of a graph's nodes. The update of a graph repeats the messages of its subgraphs, and
/// may repeat those of the whole thread: each message is read once, by its id, and only those after the user's last one.
#[derive(Debug, Default)]
pub(super) struct Updates {
    seen: HashSet<String>,
    /// Digests of the texts, calls and results that were read from messages without an id.
    anonymous: Vec<u64>,
    /// Whether a text of the agent was read in this turn.
    pub(super) has_response: bool,
    /// Whether the last text of the agent in this turn is a refusal.
    pub(super) is_refusal: bool,
    /// Whether a message of this turn was not understood.
    pub(super) has_unknown_call: bool,
}

impl Updates {
    pub(super) fn begin_turn(&mut self) {
        (self.has_response, self.is_refusal, self.has_unknown_call) = (false, false, false);
    }

    /// The events of an update that were not read before.
    pub(super) fn take(&mut self, update: &Value, namespace: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let subgraph = namespace.split(':').next().filter(|name| !name.is_empty());
        for (node, update) in update.as_object().into_iter().flatten() {
            let one = std::slice::from_ref(update);
            let updates = update.as_array().map_or(one, Vec::as_slice);
            for message in updates.iter().flat_map(after_user) {
                if self.is_new(&message) {
                    let is_anonymous = message.id.is_empty();
                    let found = message.events(subgraph.unwrap_or(node));
                    self.note(is_anonymous, &found);
                    events.extend(found);
                }
            }
        }
        events
    }

    fn is_new(&mut self, message: &StateMessage) -> bool {
        let is_new = message.id.is_empty() || self.seen.insert(message.id.clone());
        if is_new && message.content.role == MessageRole::Model {
            self.is_refusal = message.content.refuses;
            self.has_unknown_call |= message.content.has_unknown_call;
        }
        is_new
    }

    fn note(&mut self, is_anonymous: bool, events: &[Event]) {
        for (event, content) in events
            .iter()
            .filter_map(|event| Some((event, event.content.as_ref()?)))
        {
            let is_text = content.has_text() && content.calls().next().is_none();
            self.has_response |= is_text && !event.is_intermediate;
            if is_anonymous {
                self.anonymous.push(content_digest(content));
            }
        }
    }

    /// The events of the messages in a thread's state that were not read before. The server gives an id to messages that had
    /// none in the updates.
    pub(super) fn of_state(&mut self, values: &Value) -> Vec<Event> {
        let mut events = Vec::new();
        for message in after_user(values) {
            if !self.is_new(&message) {
                continue;
            }
            for event in message.events("agent") {
                let of_event = event.content.as_ref().map(content_digest);
                match self
                    .anonymous
                    .iter()
                    .position(|known| Some(*known) == of_event)
                {
                    Some(at) => drop(self.anonymous.remove(at)),
                    None => events.push(event),
                }
            }
        }
        events
    }
}

fn content_digest(content: &Content) -> u64 {
    xxh3_64(format!("{content:?}").as_bytes())
}

/// The messages of an update, a list or a single one, after the last one of the user.
fn after_user(update: &Value) -> Vec<StateMessage> {
    let messages: Vec<StateMessage> = match update.get(MESSAGES) {
        None | Some(Value::Null) => Vec::new(),
        Some(list @ Value::Array(messages)) if !is_pair(list) => {
            messages.iter().map(StateMessage::read).collect()
        }
        Some(one) => vec![StateMessage::read(one)],
    };
    let is_user = |message: &StateMessage| message.content.role == MessageRole::User;
    let from = messages.iter().rposition(is_user).map_or(0, |at| at + 1);
    messages.into_iter().skip(from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn message_repeated_by_parent_is_read_once() {
        let call = json!({"name": "t", "args": {"n": 1}, "id": "c"});
        let ai =
            json!({"type": "ai", "name": "clerk", "id": "m1", "content": "", "tool_calls": [call]});
        let human = json!({"type": "human", "id": "m0", "content": "hi"});
        let mut updates = Updates::default();
        let inner = updates.take(&json!({"model": {"messages": [ai]}}), "clerk:1");
        assert_eq!((inner.len(), inner[0].author.as_str()), (1, "clerk"));
        assert!(
            updates
                .take(&json!({"clerk": {"messages": [human, ai]}}), "")
                .is_empty()
        );
        // In a later turn the update contains the messages of the whole thread.
        let (later, answer) = (
            json!({"type": "human", "id": "m3", "content": "ho"}),
            json!({"type": "ai", "id": "m4", "content": "yes"}),
        );
        let unread = json!({"type": "ai", "content": "an earlier answer without an id"});
        let second = updates.take(
            &json!({"clerk": {"messages": [human, ai, unread, later, answer]}}),
            "",
        );
        assert_eq!(
            (
                second.len(),
                second[0].content.as_ref().unwrap().spoken_text().as_str()
            ),
            (1, "yes")
        );
        let tool = json!({"type": "tool", "name": "t", "id": "m2", "tool_call_id": "c", "content": "{\"ok\": true}"});
        let event = &updates.take(&json!({"tools": [{"messages": tool}]}), "clerk:1")[0];
        let response = event.content.as_ref().unwrap().responses().next().unwrap();
        assert_eq!(
            (response.response.clone(), event.author.as_str()),
            (json!({"ok": true}), "clerk")
        );
    }

    #[test]
    fn messages_are_read_in_every_form_of_a_node() {
        let said = |messages: Value| {
            let mut updates = Updates::default();
            let events = updates.take(&json!({"echo": {"messages": messages}}), "");
            let texts: Vec<String> = events
                .iter()
                .map(|event| event.content.as_ref().unwrap().spoken_text())
                .collect();
            (texts, updates.has_response)
        };
        for messages in [
            json!([{"role": "assistant", "content": "Echo hi"}]),
            json!({"role": "assistant", "content": "Echo hi"}),
            json!([["ai", "Echo hi"]]),
            json!(["assistant", "Echo hi"]),
            json!("Echo hi"),
            json!(["Echo hi"]),
            json!([{"type": "ai", "content": "Echo hi"}]),
            json!([["user", "hi"], ["ai", "Echo hi"]]),
            json!([{"role": "narrator", "content": "Echo hi"}]),
        ] {
            assert_eq!(
                said(messages.clone()),
                (vec!["Echo hi".to_string()], true),
                "{messages}"
            );
        }
        assert_eq!(said(json!([["human", "hi"]])), (vec![], false));
        assert_eq!(said(Value::Null), (vec![], false));
    }

    #[test]
    fn state_adds_only_unread_messages() {
        let mut updates = Updates::default();
        updates.take(&json!({"echo": {"messages": [["ai", "one"]]}}), "");
        let state = json!({"messages": [
            {"type": "human", "content": "hi", "id": "h"},
            {"type": "ai", "content": "one", "id": "a"},
            {"type": "ai", "content": "two", "id": "b"},
        ]});
        let texts: Vec<String> = updates
            .of_state(&state)
            .iter()
            .map(|event| event.content.as_ref().unwrap().spoken_text())
            .collect();
        assert_eq!(texts, ["two"]);
        assert!(updates.of_state(&state).is_empty(), "each is read once");
    }
}
