//! The texts of a turn: messages, which may come in pieces or be repeated, and artifacts; and which of them is the response.

use evaltrail_core::domain::{Content, Part};
use evaltrail_core::formats::adk::Event;
use std::collections::HashSet;

/// Where a message was received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MessageSource {
    /// In the history of a task: whole.
    History,
    /// As the message of a status: whole, or all that was written so far.
    Status,
    /// As an item of its own: whole, or a piece of the message with the same id.
    Item,
}

/// The texts of a turn. Each of them becomes an event: the response, or an intermediate one.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// The latest message. It may be continued or repeated.
    pending: Option<ReceivedMessage>,
    /// The ids and the texts of the messages that became events.
    done: HashSet<String>,
    known_texts: HashSet<String>,
    artifacts: Vec<Artifact>,
    /// The contents of artifacts that were replaced by others.
    replaced: Vec<Event>,
    /// The message of the status with which the task ended or paused.
    last: Option<Event>,
}

#[derive(Debug)]
struct ReceivedMessage {
    id: String,
    event: Event,
}

#[derive(Debug)]
struct Artifact {
    id: String,
    event: Event,
}

fn text_of(event: &Event) -> String {
    event
        .content
        .as_ref()
        .map(Content::shown_text)
        .unwrap_or_default()
        .trim()
        .to_string()
}

fn parts_of(event: &mut Event) -> &mut Vec<Part> {
    &mut event.content.get_or_insert_default().parts
}

fn intermediate(event: Event) -> Event {
    Event {
        is_intermediate: true,
        partial: false,
        ..event
    }
}

impl Texts {
    /// Whether a message with this id became an event.
    pub(super) fn is_done(&self, id: &str) -> bool {
        !id.is_empty() && self.done.contains(id)
    }

    /// Notes that a message became an event.
    pub(super) fn note(&mut self, id: &str) {
        self.done.extend((!id.is_empty()).then(|| id.to_string()));
    }

    /// Adds a message or a piece of one. Returns the message before it as an event.
    pub(super) fn message(
        &mut self,
        id: &str,
        event: Event,
        source: MessageSource,
    ) -> Option<Event> {
        let new = text_of(&event);
        if self.is_done(id) || (source == MessageSource::History && self.known_texts.contains(&new))
        {
            return None;
        }
        let Some(known) = &mut self.pending else {
            self.pending = Some(ReceivedMessage {
                id: id.to_string(),
                event,
            });
            return None;
        };
        let old = text_of(&known.event);
        let is_same = !id.is_empty() && known.id == id;
        let goes_on = !old.is_empty() && new.starts_with(&old);
        match source {
            MessageSource::Status | MessageSource::History
                if old.starts_with(&new) && (is_same || old == new) => {}
            MessageSource::History if is_same => known.event = event,
            MessageSource::Status if goes_on => {
                *known = ReceivedMessage {
                    id: id.to_string(),
                    event,
                }
            }
            MessageSource::Item if is_same && goes_on && new.len() > old.len() => {
                known.event = event
            }
            MessageSource::Status | MessageSource::Item if is_same => {
                let pieces = event
                    .content
                    .map(|content| content.parts)
                    .unwrap_or_default();
                pieces
                    .into_iter()
                    .for_each(|piece| add_piece(parts_of(&mut known.event), piece));
            }
            _ => {
                let flushed = self.flush();
                self.pending = Some(ReceivedMessage {
                    id: id.to_string(),
                    event,
                });
                return flushed;
            }
        }
        None
    }

    /// The latest message as an event: something else follows it.
    pub(super) fn flush(&mut self) -> Option<Event> {
        let ReceivedMessage { id, event } = self.pending.take()?;
        self.note(&id);
        self.known_texts.insert(text_of(&event));
        Some(intermediate(event))
    }

    /// Adds the message with which the task ended or paused.
    pub(super) fn end(&mut self, id: &str, event: Event) {
        let is_pending = |known: &mut ReceivedMessage| {
            (!id.is_empty() && known.id == id) || text_of(&known.event) == text_of(&event)
        };
        let pending = self
            .pending
            .take_if(is_pending)
            .map(|message| message.event);
        self.last = Some(pending.unwrap_or(event));
    }

    /// Adds an artifact, or the next piece of one.
    pub(super) fn artifact(&mut self, id: String, event: Event, append: bool) {
        let known = self.artifacts.iter_mut().find(|one| one.id == id);
        match known {
            None => self.artifacts.push(Artifact { id, event }),
            Some(known) if append => {
                let pieces = event
                    .content
                    .map(|content| content.parts)
                    .unwrap_or_default();
                pieces
                    .into_iter()
                    .for_each(|piece| add_piece(parts_of(&mut known.event), piece));
            }
            Some(known) => {
                let new = text_of(&event);
                let old = std::mem::replace(&mut known.event, event);
                // A whole artifact repeats the pieces before it.
                if !new.contains(&text_of(&old)) {
                    self.replaced.push(old);
                }
            }
        }
    }

    /// The events of all texts, the response last: the message of the end; else the artifacts, or the last one if each is an
    /// event of ADK; else the last message. The others are intermediate, unless they repeat the response. Empty if there is
    /// no text.
    pub(super) fn finish(mut self, is_adk: bool) -> Vec<Event> {
        let pending = self.pending.take().map(|message| message.event);
        let mut others: Vec<Event> = self.replaced.into_iter().chain(pending).collect();
        let is_filled = |event: &Event| !text_of(event).is_empty();
        let mut artifacts: Vec<Event> = self
            .artifacts
            .into_iter()
            .map(|artifact| artifact.event)
            .filter(is_filled)
            .collect();
        if !is_adk {
            artifacts.iter_mut().for_each(join_texts);
        }
        let response = match (self.last, artifacts.is_empty()) {
            (Some(last), _) => {
                others.append(&mut artifacts);
                Some(last)
            }
            (None, false) if is_adk => {
                let last = artifacts.pop();
                others.append(&mut artifacts);
                last
            }
            (None, false) => Some(one_of(artifacts)),
            (None, true) => others.pop(),
        };
        let text = response.as_ref().map(text_of).unwrap_or_default();
        let is_repeated = |event: &Event| {
            let other = text_of(event);
            text.starts_with(&other) || text.lines().any(|line| line.trim() == other)
        };
        others.retain(|event| is_filled(event) && !is_repeated(event));
        others
            .into_iter()
            .map(intermediate)
            .chain(response)
            .collect()
    }
}

/// Artifacts as one event; each begins a line.
fn one_of(artifacts: Vec<Event>) -> Event {
    let mut artifacts = artifacts.into_iter();
    let mut one = artifacts.next().unwrap_or_default();
    for more in artifacts {
        parts_of(&mut one).extend(
            more.content
                .map(|content| content.parts)
                .unwrap_or_default(),
        );
        one.usage = more.usage.or(one.usage);
    }
    one
}

/// Joins adjacent texts of an artifact: a reply that is not streamed has a part for each piece that was appended.
fn join_texts(event: &mut Event) {
    let parts = std::mem::take(parts_of(event));
    parts
        .into_iter()
        .for_each(|part| add_piece(parts_of(event), part));
}

/// Adds a piece. Adjacent pieces of text are parts of one text.
fn add_piece(parts: &mut Vec<Part>, piece: Part) {
    match (parts.last_mut(), &piece.text) {
        (
            Some(Part {
                text: Some(text),
                thought,
                ..
            }),
            Some(more),
        ) if *thought == piece.thought => text.push_str(more),
        _ => parts.push(piece),
    }
}
