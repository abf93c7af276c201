//! Messages as turns: each message of the user begins one.
//!
//! The text after the last call is the final response. Texts before a call, earlier texts and thoughts are intermediate,
//! as in ADK.

use super::conversation::ParsedConversation;
use super::media::is_medium;
use super::message::{Message, MessageRole};
use crate::domain::{Content, Invocation, InvocationEvent, ModelError, Part, Trajectory, TurnEnd};
use crate::formats::adk::response_object;
use std::collections::HashMap;

/// The author of messages without a name.
const AGENT: &str = "agent";

/// A turn that is being read.
#[derive(Default)]
struct Open {
    user: Vec<Part>,
    events: Vec<InvocationEvent>,
    /// The author and the parts of what is the final response unless the agent continues.
    response: Option<(String, Vec<Part>)>,
    has_agent: bool,
    refuses: bool,
    has_unknown_call: bool,
    stopped: Vec<ModelError>,
}

/// The turns of a list of messages.
pub(super) fn turns(messages: Vec<Message>) -> ParsedConversation {
    let mut out = ParsedConversation::default();
    let mut open: Option<Open> = None;
    let mut names: HashMap<String, String> = HashMap::new();
    let mut system: Vec<String> = Vec::new();
    for mut message in messages {
        name_results(&mut message, &mut names);
        out.ends_with_answer = message.role == MessageRole::Model && !message.has_calls();
        match message.role {
            MessageRole::System => system.push(message.text()),
            MessageRole::User => {
                let (results, words): (Vec<Part>, Vec<Part>) = message
                    .parts
                    .into_iter()
                    .partition(|part| part.response.is_some());
                let has_results = !results.is_empty();
                if has_results {
                    open.get_or_insert_default().add_results(results);
                }
                // Anthropic puts the results of tools into a message of the user.
                if !words.is_empty() || !has_results {
                    out.turns.extend(open.take().map(Open::finish));
                    open = Some(Open {
                        user: words,
                        ..Open::default()
                    });
                }
            }
            MessageRole::Model => open.get_or_insert_default().add(message),
            MessageRole::Tool => open.get_or_insert_default().add_results(message.parts),
        }
    }
    out.turns.extend(open.take().map(Open::finish));
    out.system = (!system.is_empty()).then(|| system.join("\n"));
    out
}

/// Gives results the names of their calls, and makes them objects, as ADK does.
fn name_results(message: &mut Message, names: &mut HashMap<String, String>) {
    for call in message.parts.iter().filter_map(|part| part.call.as_ref()) {
        names.extend(call.id.clone().map(|id| (id, call.name.clone())));
    }
    for response in message
        .parts
        .iter_mut()
        .filter_map(|part| part.response.as_mut())
    {
        if let Some(name) = response
            .id
            .as_ref()
            .and_then(|id| names.get(id))
            .filter(|_| response.name.is_empty())
        {
            response.name.clone_from(name);
        }
        response.response = response_object(std::mem::take(&mut response.response));
    }
}

/// Where the text begins that a message has after the results of its calls, which the server of the model or the AI SDK put
/// into the same message; the end if it has no results, or calls after them.
fn end_of_results(parts: &[Part]) -> usize {
    let last = parts
        .iter()
        .rposition(|part| part.call.is_some() || part.response.is_some());
    match last {
        Some(last) if parts[last].response.is_some() => last + 1,
        _ => parts.len(),
    }
}

impl Open {
    fn add_results(&mut self, parts: Vec<Part>) {
        self.has_agent = true;
        self.event(AGENT, "user", parts);
    }

    fn add(&mut self, message: Message) {
        self.has_agent = true;
        self.has_unknown_call |= message.has_unknown_call;
        let author = message.author.unwrap_or_else(|| AGENT.into());
        self.stopped
            .extend(message.stopped.map(|why| why.by(&author, None)));
        let has_calls = message.parts.iter().any(|part| part.call.is_some());
        let mut parts = message.parts;
        if has_calls || message.has_unknown_call {
            self.end_response();
            let after_results = parts.split_off(end_of_results(&parts));
            let has_results = parts.iter().any(|part| part.response.is_some());
            self.add_model_parts(&author, parts, !message.is_item && !has_results);
            if after_results.is_empty() {
                return;
            }
            parts = after_results;
        }
        let is_response = |part: &Part| (part.has_text() && !part.thought) || is_medium(part);
        let (words, others): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_response);
        self.event(&author, "model", others);
        if !words.is_empty() {
            self.end_response();
            self.refuses = message.refuses;
            self.response = Some((author, words));
        }
    }

    /// Adds calls, their results and what is between them, in order. `is_message`: they are one message of the model. With
    /// results, they may be several: messages of the AI SDK contain all steps of an answer.
    fn add_model_parts(&mut self, author: &str, parts: Vec<Part>, is_message: bool) {
        let mut rest = parts.into_iter().peekable();
        while let Some(first) = rest.next() {
            let is_result = first.response.is_some();
            let mut alike = vec![first];
            while let Some(next) = rest.next_if(|next| next.response.is_some() == is_result) {
                alike.push(next);
            }
            self.event(author, if is_result { "user" } else { "model" }, alike);
            if let Some(event) = self.events.last_mut() {
                event.is_message = is_message;
            }
        }
    }

    /// Makes the text that was the final response so far an intermediate one.
    fn end_response(&mut self) {
        if let Some((author, parts)) = self.response.take() {
            self.event(&author, "model", parts);
        }
        self.refuses = false;
    }

    fn event(&mut self, author: &str, role: &str, parts: Vec<Part>) {
        if !parts.is_empty() {
            let content = Some(Content {
                role: Some(role.into()),
                parts,
            });
            self.events.push(InvocationEvent {
                author: author.into(),
                content,
                ..InvocationEvent::default()
            });
        }
    }

    fn finish(mut self) -> Invocation {
        if let Some((author, _)) = &self.response {
            let author = author.clone();
            self.events.push(InvocationEvent {
                author,
                ..InvocationEvent::default()
            });
        }
        let user_role = (!self.user.is_empty()).then(|| "user".to_string());
        Invocation {
            user: Content {
                role: user_role,
                parts: self.user,
            },
            final_response: self.response.map(|(_, parts)| Content {
                role: Some("model".into()),
                parts,
            }),
            trajectory: match (self.has_agent, self.has_unknown_call) {
                (false, _) => Trajectory::Unknown,
                (true, true) => Trajectory::Partial(self.events),
                (true, false) => Trajectory::Events(self.events),
            },
            end: if self.refuses {
                TurnEnd::Refused
            } else {
                TurnEnd::Answered
            },
            reported_errors: self.stopped,
            ..Invocation::default()
        }
    }
}

impl ParsedConversation {
    /// The turns as expectations: calls, their responses and the texts between them. Calls are unknown in a turn of which
    /// the list has no message of the agent.
    pub(in crate::formats) fn expected(self) -> Vec<Invocation> {
        self.turns.into_iter().map(listed).collect()
    }
}

/// A turn whose events are lists of calls, responses and texts, which are easier to edit.
pub(in crate::formats) fn listed(turn: Invocation) -> Invocation {
    Invocation {
        trajectory: listed_trajectory(turn.trajectory),
        ..turn
    }
}

pub(in crate::formats) fn listed_trajectory(trajectory: Trajectory) -> Trajectory {
    let Trajectory::Events(events) = trajectory else {
        return trajectory;
    };
    let (mut calls, mut responses, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for event in events {
        let mut words = Vec::new();
        for mut part in event.content.into_iter().flat_map(|content| content.parts) {
            calls.extend(part.call.take());
            responses.extend(part.response.take());
            words.extend((part.has_text() || !part.rest.is_empty()).then_some(part));
        }
        texts.extend((!words.is_empty()).then_some((event.author, words)));
    }
    Trajectory::Listed {
        calls,
        responses,
        texts,
    }
}

/// What the agent did first in a turn, for a message about it.
pub fn first_action(turn: &Invocation) -> String {
    if let Some(call) = turn.calls().first() {
        return format!("the agent calls {}", call.name);
    }
    let words: String = turn.response_text().chars().take(40).collect();
    if words.is_empty() {
        "nothing else is in it".into()
    } else {
        format!("the agent: {words:?}")
    }
}
