//! Reads the events of a run.

use crate::agents::messages::{
    call_part, content_text, event_with, partial_text, response_part, text_of, value_in,
};
use crate::domain::{Part, ToolCall};
use crate::formats::adk::Event;
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

/// Collects the events of a run.
#[derive(Debug)]
pub(super) struct Reader {
    streams: bool,
    state: Value,
    /// The texts that are not complete, by the id of their message.
    texts: HashMap<String, Piece>,
    /// The calls that are not complete, by id, in their order.
    calls: Vec<(String, Piece)>,
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
struct Piece {
    name: String,
    author: String,
    text: String,
}

impl Reader {
    pub(super) fn new(state: Value, streams: bool) -> Reader {
        Reader {
            streams,
            state,
            texts: HashMap::new(),
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

    pub(super) fn state(&mut self) -> Value {
        std::mem::take(&mut self.state)
    }

    pub(super) fn messages(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.messages)
    }

    /// The calls without a response.
    pub(super) fn open_calls(&mut self) -> Vec<ToolCall> {
        let made = std::mem::take(&mut self.made);
        made.into_iter().filter(|(_, answered)| !answered).map(|(call, _)| call).collect()
    }

    /// Reads an event of the protocol, and returns what it completes.
    pub(super) fn take(&mut self, value: &Value) -> Vec<Event> {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_string();
        let author = self.subagents.get(&text("subagentRunId")).cloned().unwrap_or_else(|| "agent".into());
        match value["type"].as_str().unwrap_or_default() {
            "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_CHUNK" => {
                let delta = text("delta");
                let piece = self.texts.entry(text("messageId")).or_default();
                piece.author.clone_from(&author);
                piece.text.push_str(&delta);
                let heard = (self.streams && !delta.is_empty()).then(|| partial_text(&author, delta));
                return heard.into_iter().collect();
            }
            "TEXT_MESSAGE_END" => return self.end_text(&text("messageId")).into_iter().collect(),
            "TOOL_CALL_START" | "TOOL_CALL_ARGS" | "TOOL_CALL_CHUNK" => {
                self.add_to_call(text("toolCallId"), text("toolCallName"), &text("delta"), author);
            }
            "TOOL_CALL_END" => return self.end_call(&text("toolCallId")).into_iter().collect(),
            "TOOL_CALL_RESULT" => {
                let mut events: Vec<Event> = self.end_call(&text("toolCallId")).into_iter().collect();
                events.push(self.result(&text("toolCallId"), &value["content"], &author));
                return events;
            }
            "REASONING_MESSAGE_CONTENT" | "REASONING_MESSAGE_CHUNK" | "THINKING_TEXT_MESSAGE_CONTENT" => {
                self.thought.push_str(&text("delta"));
            }
            "STATE_SNAPSHOT" => self.state = value["snapshot"].clone(),
            "STATE_DELTA" => self.patch(&value["delta"]),
            "SUBAGENT_STARTED" => {
                self.subagents.insert(text("subagentRunId"), text("name"));
            }
            "RUN_ERROR" => {
                let code = value["code"].as_str().map(|code| format!(" ({code})")).unwrap_or_default();
                self.ending = Some(Ending::Error(format!("{}{code}", text("message"))));
            }
            // An error is not taken back.
            "RUN_FINISHED" if self.ending.is_none() => self.ending = Some(ending_of(&value["outcome"])),
            _ => {}
        }
        Vec::new()
    }

    /// What was not ended by an event of its own.
    pub(super) fn rest(&mut self) -> Vec<Event> {
        let calls: Vec<String> = self.calls.iter().map(|(id, _)| id.clone()).collect();
        let texts: Vec<String> = self.texts.keys().cloned().collect();
        let mut events: Vec<Event> = calls.iter().filter_map(|id| self.end_call(id)).collect();
        events.extend(texts.iter().filter_map(|id| self.end_text(id)));
        events
    }

    fn end_text(&mut self, id: &str) -> Option<Event> {
        // Some servers open an empty message around calls.
        let piece = self.texts.remove(id).filter(|piece| !piece.text.is_empty())?;
        self.messages.push(json!({"id": id, "role": "assistant", "content": piece.text}));
        let thought = std::mem::take(&mut self.thought);
        let thought = (!thought.is_empty()).then(|| Part { thought: true, ..Part::text(thought) });
        Some(event_with(&piece.author, thought.into_iter().chain([Part::text(piece.text)]).collect()))
    }

    fn add_to_call(&mut self, id: String, name: String, delta: &str, author: String) {
        let at = self.calls.iter().position(|(known, _)| *known == id);
        let at = at.unwrap_or_else(|| {
            self.calls.push((id, Piece { author, ..Piece::default() }));
            self.calls.len() - 1
        });
        let piece = &mut self.calls[at].1;
        if !name.is_empty() {
            piece.name = name;
        }
        piece.text.push_str(delta);
    }

    fn end_call(&mut self, id: &str) -> Option<Event> {
        let at = self.calls.iter().position(|(known, _)| known == id)?;
        let (id, piece) = self.calls.remove(at);
        let function = json!({"name": piece.name, "arguments": piece.text});
        let written = json!({"id": id, "type": "function", "function": function});
        // Calls without results between them belong to one message.
        match self.messages.last_mut().and_then(|message| message["toolCalls"].as_array_mut()) {
            Some(calls) => calls.push(written),
            None => {
                let message = uuid::Uuid::new_v4().to_string();
                self.messages.push(json!({"id": message, "role": "assistant", "toolCalls": [written]}));
            }
        }
        let part = call_part(&piece.name, Some(&id), &piece.text.into());
        self.made.extend(part.call.clone().map(|call| (call, false)));
        Some(event_with(&piece.author, vec![part]))
    }

    fn result(&mut self, id: &str, content: &Value, author: &str) -> Event {
        let call = self.made.iter_mut().find(|(call, _)| call.id.as_deref() == Some(id));
        let name = call.map_or(String::new(), |(call, answered)| {
            *answered = true;
            call.name.clone()
        });
        let text = content_text(content);
        let message = uuid::Uuid::new_v4().to_string();
        self.messages.push(json!({"id": message, "role": "tool", "toolCallId": id, "content": text}));
        event_with(author, vec![response_part(&name, Some(id), value_in(&text))])
    }

    /// Applies a JSON Patch to the state. A patch that does not fit changes nothing.
    fn patch(&mut self, delta: &Value) {
        if let Ok(patch) = serde_json::from_value::<json_patch::Patch>(delta.clone()) {
            let _ = json_patch::patch(&mut self.state, &patch);
        }
    }
}

fn ending_of(outcome: &Value) -> Ending {
    if outcome["type"] != "interrupt" {
        return Ending::Finished;
    }
    let interrupts = outcome["interrupts"].as_array().cloned().unwrap_or_default();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_string();
    let words = |one: &Value| {
        let said = [text(one, "message"), text(one, "reason")].into_iter().find(|words| !words.is_empty());
        said.unwrap_or_else(|| text_of(one))
    };
    let said: Vec<String> = interrupts.iter().map(words).collect();
    Ending::Interrupted {
        ids: interrupts.iter().map(|one| text(one, "id")).collect(),
        words: said.join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(events: &[Value]) -> (Reader, Vec<Event>) {
        let mut reader = Reader::new(json!({"n": 1}), false);
        let mut read: Vec<Event> = events.iter().flat_map(|event| reader.take(event)).collect();
        read.extend(reader.rest());
        (reader, read)
    }

    #[test]
    fn calls_arrive_in_pieces_and_may_stay_open() {
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
        assert_eq!((reader.ending(), reader.state()), (Some(Ending::Finished), json!({"n": 2})));
        let open: Vec<String> = reader.open_calls().into_iter().map(|call| call.name).collect();
        assert_eq!(open, ["u"]);
    }

    #[test]
    fn an_error_is_not_taken_back_and_an_interrupt_has_words() {
        let (reader, _) =
            read(&[json!({"type": "RUN_ERROR", "message": "broke"}), json!({"type": "RUN_FINISHED"})]);
        assert_eq!(reader.ending(), Some(Ending::Error("broke".into())));
        let interrupt = json!({"id": "i", "reason": "approval", "message": "Really?"});
        let (reader, _) = read(&[
            json!({"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [interrupt]}}),
        ]);
        assert_eq!(
            reader.ending(),
            Some(Ending::Interrupted { ids: vec!["i".into()], words: "Really?".into() })
        );
    }

    #[test]
    fn reasoning_is_a_thought_and_subagents_are_authors() {
        let (_, events) = read(&[
            json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "clerk"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "hm"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hi", "subagentRunId": "s"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
        ]);
        let content = events[0].content.as_ref().unwrap();
        assert_eq!(
            (events[0].author.as_str(), content.spoken_text().as_str(), content.parts.len()),
            ("clerk", "Hi", 2)
        );
    }
}
