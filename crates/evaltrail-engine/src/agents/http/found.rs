//! What the paths of a template find in the items of a turn, and the events that it becomes.

use super::paths::Paths;
use crate::agents::messages::{
    content_text, event_with, partial_text, response_part, summed, text_of, usage_of,
};
use evaltrail_core::domain::{ModelError, Part, Usage};
use evaltrail_core::formats::adk::Event;
use serde_json::Value;
use serde_json_path::JsonPath;
use std::collections::HashMap;

type Emit<'a> = &'a mut (dyn FnMut(Event) + Send);

/// What was found so far.
#[derive(Default)]
pub(super) struct FoundFields {
    pub(super) session: Option<String>,
    pub(super) error: Option<String>,
    /// Whether the reply says which calls were made.
    pub(super) knows_calls: bool,
    response: Vec<String>,
    /// The streamed text of the current step, and the id of its last piece.
    streamed: String,
    text_id: Option<Value>,
    /// The streamed thoughts of the current step.
    thought: String,
    /// The texts of earlier steps.
    earlier: Vec<String>,
    /// Why the model stopped early.
    finishes: Vec<ModelError>,
    /// Token counts that belong to the next event.
    usage: Option<Usage>,
    /// The tools of the calls, by the ids of the calls.
    tools: HashMap<String, String>,
}

fn first<'a>(path: &Option<JsonPath>, value: &'a Value) -> Option<&'a Value> {
    path.as_ref()?
        .query(value)
        .first()
        .filter(|found| !found.is_null())
}

impl FoundFields {
    /// Reads an item, or a whole reply.
    pub(super) fn take(&mut self, paths: &Paths, value: &Value, emit: Emit<'_>) {
        if first(&paths.step, value).is_some() {
            self.end_step(emit);
            self.end_usage(emit);
        }
        if let Some(thought) = first(&paths.thought, value) {
            self.thought.push_str(&content_text(thought));
        }
        let found = |path: &Option<JsonPath>| first(path, value).map(text_of);
        let responses = paths
            .response
            .as_ref()
            .map(|path| path.query(value).all())
            .unwrap_or_default();
        self.response.extend(
            responses
                .into_iter()
                .filter(|value| !value.is_null())
                .map(text_of),
        );
        self.session = found(&paths.session).or(self.session.take());
        self.error = found(&paths.error).or(self.error.take());
        let reason = found(&paths.finish);
        self.finishes
            .extend(ModelError::of_finish(reason.as_deref(), None));
        if let Some(usage) = first(&paths.usage, value).and_then(usage_of) {
            self.usage = Some(match self.usage.take() {
                Some(known) => summed(&known, &usage),
                None => usage,
            });
        }
        if let Some(calls) = &paths.calls {
            self.knows_calls |= calls.are_known(value);
            for event in calls.events(value) {
                self.end_step(emit);
                self.note_calls(&event);
                emit(Event {
                    usage: self.usage.take(),
                    ..event
                });
            }
        }
        for (id, response) in paths
            .results
            .iter()
            .flat_map(|results| results.found(value))
        {
            let name = self.tools.get(&id).cloned().unwrap_or_default();
            emit(event_with(
                "agent",
                vec![response_part(&name, Some(&id), response)],
            ));
        }
    }

    /// Adds a piece of a streamed text, and returns it as a partial event.
    pub(super) fn take_text(&mut self, paths: &Paths, value: &Value) -> Option<Event> {
        let piece = first(&paths.text, value)
            .map(content_text)
            .filter(|piece| !piece.is_empty())?;
        let id = first(&paths.text_id, value).cloned();
        let begins_text = id.is_some() && self.text_id.is_some() && id != self.text_id;
        if begins_text && !self.streamed.is_empty() {
            self.streamed.push('\n');
        }
        self.text_id = id;
        self.streamed.push_str(&piece);
        Some(partial_text("agent", piece))
    }

    /// The whole reply as the response.
    pub(super) fn take_reply(&mut self, text: String) {
        self.response.push(text);
    }

    /// Ends a step of the model: what it wrote so far is not the response.
    fn end_step(&mut self, emit: Emit<'_>) {
        self.end_thought(emit);
        self.text_id = None;
        let text = std::mem::take(&mut self.streamed);
        if !text.trim().is_empty() {
            self.earlier.push(text.clone());
            let usage = self.usage.take();
            emit(Event {
                is_intermediate: true,
                usage,
                ..event_with("agent", vec![Part::text(text)])
            });
        }
    }

    /// Emits the token counts of a step of which all events were emitted before.
    fn end_usage(&mut self, emit: Emit<'_>) {
        if self.usage.is_some() {
            let usage = self.usage.take();
            emit(Event {
                is_intermediate: true,
                usage,
                ..event_with("agent", Vec::new())
            });
        }
    }

    fn end_thought(&mut self, emit: Emit<'_>) {
        let thought = std::mem::take(&mut self.thought);
        if !thought.trim().is_empty() {
            let part = Part {
                thought: true,
                ..Part::text(thought)
            };
            emit(Event {
                is_intermediate: true,
                ..event_with("agent", vec![part])
            });
        }
    }

    fn note_calls(&mut self, event: &Event) {
        let calls = event.content.iter().flat_map(|content| content.calls());
        self.tools
            .extend(calls.filter_map(|call| Some((call.id.clone()?, call.name.clone()))));
    }

    /// Whether there is a text of the response.
    pub(super) fn has_response(&self) -> bool {
        !self.response.is_empty()
    }

    /// Emits the response, and returns all texts of the turn.
    pub(super) fn finish(mut self, emit: Emit<'_>) -> String {
        self.end_thought(emit);
        let text = match self.response.is_empty() {
            true => self.streamed,
            false => self.response.join("\n"),
        };
        let mut finishes = self.finishes.into_iter();
        let error = finishes.next();
        emit(Event {
            usage: self.usage,
            error,
            ..event_with("agent", vec![Part::text(text.as_str())])
        });
        finishes.for_each(|error| {
            emit(Event {
                author: "agent".into(),
                error: Some(error),
                ..Event::default()
            })
        });
        self.earlier.push(text);
        self.earlier.retain(|text| !text.is_empty());
        self.earlier.join("\n")
    }

    /// Emits what was found of a turn that failed.
    pub(super) fn break_off(mut self, emit: Emit<'_>) {
        self.end_step(emit);
        let error = |error| Event {
            author: "agent".into(),
            error: Some(error),
            ..Event::default()
        };
        self.finishes.into_iter().map(error).for_each(emit);
    }
}
