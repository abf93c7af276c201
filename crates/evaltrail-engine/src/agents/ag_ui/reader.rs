//! Reads the events of a run.

use crate::agents::messages::{
    call_part, content_text, event_with, partial_text, response_part, text_of, value_in,
};
use evaltrail_core::domain::{Part, ToolCall};
use evaltrail_core::formats::adk::Event;
use serde_json::{Value, json};
use std::collections::HashMap;

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending {
    Finished,
    Error(String),
    /// The agent stopped for decisions: their ids, and what it says about them.
    Interrupted {
        ids: Vec<String>,
        words: String,
    },
}

/// The state that an agent and its client share.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SharedState {
    pub(super) value: Value,
    /// Whether all changes that the agent made were applied.
    pub(super) is_known: bool,
}

/// Collects the events of a run.
#[derive(Debug)]
pub(super) struct AgUiReader {
    streams: bool,
    state: SharedState,
    /// The texts that are not complete, by the id of their message, in their order.
    texts: Vec<(String, PartialItem)>,
    /// The message and the call to which a chunk without an id belongs.
    open_text: String,
    open_call: String,
    /// The calls that are not complete, by id, in their order.
    calls: Vec<(String, PartialItem)>,
    /// The reasoning before the next text.
    thought: String,
    /// The names of subagents, by the id of their run.
    subagents: HashMap<String, String>,
    /// The calls that are complete, and whether they were answered.
    made: Vec<(ToolCall, bool)>,
    /// The messages of the run, for the next one.
    messages: Vec<Value>,
    ending: Option<Ending>,
}

/// A text, or the arguments of a call, that arrive in pieces.
#[derive(Debug, Default)]
struct PartialItem {
    name: String,
    author: String,
    text: String,
}

impl AgUiReader {
    pub(super) fn new(state: SharedState, streams: bool) -> AgUiReader {
        AgUiReader {
            streams,
            state,
            texts: Vec::new(),
            open_text: String::new(),
            open_call: String::new(),
            calls: Vec::new(),
            thought: String::new(),
            subagents: HashMap::new(),
            made: Vec::new(),
            messages: Vec::new(),
            ending: None,
        }
    }

    pub(super) fn ending(&self) -> Option<Ending> {
        self.ending.clone()
    }

    pub(super) fn state(&mut self) -> SharedState {
        std::mem::take(&mut self.state)
    }

    pub(super) fn messages(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.messages)
    }

    /// The calls without a response.
    pub(super) fn open_calls(&mut self) -> Vec<ToolCall> {
        let made = std::mem::take(&mut self.made);
        made.into_iter()
            .filter(|(_, answered)| !answered)
            .map(|(call, _)| call)
            .collect()
    }

    /// Reads an event of the protocol, and returns what it completes.
    pub(super) fn take(&mut self, value: &Value) -> Vec<Event> {
        let text = |key: &str| text_at(value, key);
        let author = self
            .subagents
            .get(&text("subagentRunId"))
            .cloned()
            .unwrap_or_else(|| "agent".into());
        match value["type"].as_str().unwrap_or_default() {
            "TEXT_MESSAGE_CONTENT" => self.add_text(text("messageId"), text("delta"), &author),
            "TEXT_MESSAGE_CHUNK" => self.add_text_chunk(text("messageId"), text("delta"), &author),
            "TEXT_MESSAGE_END" => self.end_text(&text("messageId")).into_iter().collect(),
            "TOOL_CALL_START" | "TOOL_CALL_ARGS" => {
                let (id, name) = (text("toolCallId"), text("toolCallName"));
                self.add_to_call(id, name, &text("delta"), author);
                Vec::new()
            }
            "TOOL_CALL_CHUNK" => {
                let (id, name) = (text("toolCallId"), text("toolCallName"));
                let ended = self.add_call_chunk(id, name, &text("delta"), author);
                ended.into_iter().collect()
            }
            "TOOL_CALL_END" => self.end_call(&text("toolCallId")).into_iter().collect(),
            "TOOL_CALL_RESULT" => {
                let id = text("toolCallId");
                let mut events: Vec<Event> = self.end_call(&id).into_iter().collect();
                events.push(self.result(&id, &value["content"], &author));
                events
            }
            kind => {
                self.update(kind, value);
                Vec::new()
            }
        }
    }

    /// Reads an event that completes no message: reasoning, the shared state, subagents, and the end of the run.
    fn update(&mut self, kind: &str, value: &Value) {
        let text = |key: &str| text_at(value, key);
        match kind {
            "REASONING_MESSAGE_CONTENT"
            | "REASONING_MESSAGE_CHUNK"
            | "THINKING_TEXT_MESSAGE_CONTENT" => self.thought.push_str(&text("delta")),
            "STATE_SNAPSHOT" => {
                self.state = SharedState {
                    value: value["snapshot"].clone(),
                    is_known: true,
                }
            }
            "STATE_DELTA" => self.patch(&value["delta"]),
            "SUBAGENT_STARTED" => {
                self.subagents.insert(text("subagentRunId"), text("name"));
            }
            "RUN_ERROR" => {
                let code = value["code"]
                    .as_str()
                    .map(|code| format!(" ({code})"))
                    .unwrap_or_default();
                self.ending = Some(Ending::Error(format!("{}{code}", text("message"))));
            }
            // An error is not taken back.
            "RUN_FINISHED" if self.ending.is_none() => {
                self.ending = Some(ending_of(&value["outcome"]))
            }
            _ => {}
        }
    }

    /// What was not ended by an event of its own.
    pub(super) fn rest(&mut self) -> Vec<Event> {
        let calls: Vec<String> = self.calls.iter().map(|(id, _)| id.clone()).collect();
        let texts: Vec<String> = self.texts.iter().map(|(id, _)| id.clone()).collect();
        let mut events: Vec<Event> = calls.iter().filter_map(|id| self.end_call(id)).collect();
        events.extend(texts.iter().filter_map(|id| self.end_text(id)));
        events
    }

    /// Adds a piece of a text. Returns it as a partial event, if those are wanted.
    fn add_text(&mut self, id: String, delta: String, author: &str) -> Vec<Event> {
        let at = self.texts.iter().position(|(known, _)| *known == id);
        let at = at.unwrap_or_else(|| {
            self.texts.push((
                id,
                PartialItem {
                    author: author.to_string(),
                    ..PartialItem::default()
                },
            ));
            self.texts.len() - 1
        });
        self.texts[at].1.text.push_str(&delta);
        let heard = (self.streams && !delta.is_empty()).then(|| partial_text(author, delta));
        heard.into_iter().collect()
    }

    /// Adds a chunk of a text. One without an id continues the message, and one with another id ends it.
    fn add_text_chunk(&mut self, id: String, delta: String, author: &str) -> Vec<Event> {
        let before = std::mem::take(&mut self.open_text);
        let id = id_or(id, &before);
        let mut events = Vec::new();
        if id != before {
            events.extend(self.end_text(&before));
        }
        self.open_text.clone_from(&id);
        events.extend(self.add_text(id, delta, author));
        events
    }

    fn end_text(&mut self, id: &str) -> Option<Event> {
        let at = self.texts.iter().position(|(known, _)| known == id)?;
        let (_, piece) = self.texts.remove(at);
        // Some servers open an empty message around calls.
        if piece.text.is_empty() {
            return None;
        }
        self.messages
            .push(json!({"id": id, "role": "assistant", "content": piece.text}));
        let thought = std::mem::take(&mut self.thought);
        let thought = (!thought.is_empty()).then(|| Part {
            thought: true,
            ..Part::text(thought)
        });
        Some(event_with(
            &piece.author,
            thought
                .into_iter()
                .chain([Part::text(piece.text)])
                .collect(),
        ))
    }

    fn add_to_call(&mut self, id: String, name: String, delta: &str, author: String) {
        let at = self.calls.iter().position(|(known, _)| *known == id);
        let at = at.unwrap_or_else(|| {
            self.calls.push((
                id,
                PartialItem {
                    author,
                    ..PartialItem::default()
                },
            ));
            self.calls.len() - 1
        });
        let piece = &mut self.calls[at].1;
        if !name.is_empty() {
            piece.name = name;
        }
        piece.text.push_str(delta);
    }

    /// Adds a chunk of a call. One without an id continues the call; one with another id ends it, and the call is returned.
    fn add_call_chunk(
        &mut self,
        id: String,
        name: String,
        delta: &str,
        author: String,
    ) -> Option<Event> {
        let before = std::mem::take(&mut self.open_call);
        let id = id_or(id, &before);
        let ended = if id != before {
            self.end_call(&before)
        } else {
            None
        };
        self.open_call.clone_from(&id);
        self.add_to_call(id, name, delta, author);
        ended
    }

    fn end_call(&mut self, id: &str) -> Option<Event> {
        let at = self.calls.iter().position(|(known, _)| known == id)?;
        let (id, piece) = self.calls.remove(at);
        let function = json!({"name": piece.name, "arguments": piece.text});
        let written = json!({"id": id, "type": "function", "function": function});
        // Calls without results between them belong to one message.
        match self
            .messages
            .last_mut()
            .and_then(|message| message["toolCalls"].as_array_mut())
        {
            Some(calls) => calls.push(written),
            None => {
                let message = uuid::Uuid::new_v4().to_string();
                self.messages
                    .push(json!({"id": message, "role": "assistant", "toolCalls": [written]}));
            }
        }
        let part = call_part(&piece.name, Some(&id), &piece.text.into());
        self.made
            .extend(part.call.clone().map(|call| (call, false)));
        Some(event_with(&piece.author, vec![part]))
    }

    fn result(&mut self, id: &str, content: &Value, author: &str) -> Event {
        let call = self
            .made
            .iter_mut()
            .find(|(call, _)| call.id.as_deref() == Some(id));
        let name = call.map_or(String::new(), |(call, answered)| {
            *answered = true;
            call.name.clone()
        });
        let text = content_text(content);
        let message = uuid::Uuid::new_v4().to_string();
        self.messages
            .push(json!({"id": message, "role": "tool", "toolCallId": id, "content": text}));
        event_with(
            author,
            vec![response_part(&name, Some(id), value_in(&text))],
        )
    }

    /// Applies a JSON Patch to the state. After one that cannot be applied, the state is not known until the next snapshot.
    fn patch(&mut self, delta: &Value) {
        let patch = serde_json::from_value::<json_patch::Patch>(delta.clone());
        let is_applied =
            patch.is_ok_and(|patch| json_patch::patch(&mut self.state.value, &patch).is_ok());
        self.state.is_known &= is_applied;
    }
}

/// A member of an event as text; empty if it is none.
fn text_at(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_string()
}

/// The id of a chunk: its own, or that of the chunk before it.
fn id_or(id: String, before: &str) -> String {
    match id.is_empty() {
        true => before.to_string(),
        false => id,
    }
}

fn ending_of(outcome: &Value) -> Ending {
    if outcome["type"] != "interrupt" {
        return Ending::Finished;
    }
    let interrupts = outcome["interrupts"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let words = |one: &Value| {
        let said = [text_at(one, "message"), text_at(one, "reason")]
            .into_iter()
            .find(|words| !words.is_empty());
        said.unwrap_or_else(|| text_of(one))
    };
    let said: Vec<String> = interrupts.iter().map(words).collect();
    Ending::Interrupted {
        ids: interrupts.iter().map(|one| text_at(one, "id")).collect(),
        words: said.join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_unknown_after_inapplicable_patch() {
        let delta = |path: &str| json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": path, "value": 2}]});
        let is_known = |events: &[Value]| read(events).0.state().is_known;
        assert!(is_known(&[delta("/n")]));
        assert!(!is_known(&[delta("/other/n"), delta("/n")]));
        assert!(!is_known(&[
            json!({"type": "STATE_DELTA", "delta": [{"op": "unknown"}]})
        ]));
        assert!(is_known(&[
            delta("/other/n"),
            json!({"type": "STATE_SNAPSHOT", "snapshot": {"n": 3}})
        ]));
    }

    fn read(events: &[Value]) -> (AgUiReader, Vec<Event>) {
        let mut reader = AgUiReader::new(
            SharedState {
                value: json!({"n": 1}),
                is_known: true,
            },
            false,
        );
        let mut read: Vec<Event> = events.iter().flat_map(|event| reader.take(event)).collect();
        read.extend(reader.rest());
        (reader, read)
    }

    #[test]
    fn calls_in_parts_can_stay_open() {
        let (mut reader, events) = read(&[
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
            json!({"type": "TOOL_CALL_START", "toolCallId": "a", "toolCallName": "t"}),
            json!({"type": "TOOL_CALL_START", "toolCallId": "b", "toolCallName": "u"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "a", "delta": "{\"n\""}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "a", "delta": ": 1}"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "a"}),
            json!({"type": "TOOL_CALL_RESULT", "toolCallId": "a", "content": "{\"ok\": true}"}),
            json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/n", "value": 2}]}),
            json!({"type": "RUN_FINISHED"}),
        ]);
        assert_eq!(events.len(), 3, "an empty message is none");
        let calls: Vec<String> = events
            .iter()
            .flat_map(|event| event.content.as_ref().unwrap().calls())
            .map(|call| call.name.clone())
            .collect();
        assert_eq!(calls, ["t", "u"]);
        assert_eq!(
            (reader.ending(), reader.state().value),
            (Some(Ending::Finished), json!({"n": 2}))
        );
        let open: Vec<String> = reader
            .open_calls()
            .into_iter()
            .map(|call| call.name)
            .collect();
        assert_eq!(open, ["u"]);
    }

    #[test]
    fn chunk_without_id_continues_open_message() {
        let chunk = |id: &str, delta: &str| json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": id, "delta": delta});
        let call = |more: Value| {
            let mut chunk = json!({"type": "TOOL_CALL_CHUNK"});
            chunk
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            chunk
        };
        let (_, events) = read(&[
            chunk("m1", "Let me "),
            chunk("", "look."),
            call(json!({"toolCallId": "a", "toolCallName": "t", "delta": "{\"n\""})),
            call(json!({"delta": ": 1}"})),
            chunk("m2", "It is 4."),
            json!({"type": "RUN_FINISHED"}),
        ]);
        let texts: Vec<String> = events
            .iter()
            .map(|event| event.content.as_ref().unwrap().spoken_text())
            .collect();
        assert_eq!(
            texts
                .iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>(),
            ["Let me look.", "It is 4."]
        );
        let calls: Vec<&ToolCall> = events
            .iter()
            .flat_map(|event| event.content.as_ref().unwrap().calls())
            .collect();
        assert_eq!(
            (calls.len(), calls[0].args.clone()),
            (1, json!({"n": 1}).as_object().cloned())
        );
    }

    #[test]
    fn error_is_final_and_interrupt_has_message() {
        let (reader, _) = read(&[
            json!({"type": "RUN_ERROR", "message": "broke"}),
            json!({"type": "RUN_FINISHED"}),
        ]);
        assert_eq!(reader.ending(), Some(Ending::Error("broke".into())));
        let interrupt = json!({"id": "i", "reason": "approval", "message": "Really?"});
        let (reader, _) = read(&[
            json!({"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [interrupt]}}),
        ]);
        assert_eq!(
            reader.ending(),
            Some(Ending::Interrupted {
                ids: vec!["i".into()],
                words: "Really?".into()
            })
        );
    }

    #[test]
    fn reasoning_is_thought_and_subagent_is_author() {
        let (_, events) = read(&[
            json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "clerk"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "hm"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi", "subagentRunId": "s"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
        ]);
        let content = events[0].content.as_ref().unwrap();
        assert_eq!(
            (
                events[0].author.as_str(),
                content.spoken_text().as_str(),
                content.parts.len()
            ),
            ("clerk", "Hi", 2)
        );
    }
}
