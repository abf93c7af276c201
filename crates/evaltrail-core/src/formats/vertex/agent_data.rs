//! `agent_data.turns[].events[]`: the messages and tool calls of user and agent.
//!
//! The turns in the file are not used as turns of the conversation: agents-cli omits the user's message if the row has
//! a `prompt`, writes a whole conversation into one turn, and begins a turn without a user message for another agent.

use super::row_turns::{RowTurns, in_text, without_actions};
use crate::domain::{Content, Invocation};
use crate::formats::adk::{self, Event};
use crate::formats::read::{JsonNode, Read};
use serde_json::{Map, Value};

/// The conversation: every user message begins a turn. `prompt` is the user message for events before the first one.
/// Turns before the last in which the agent acted are history. `None` when there are no turns.
pub(super) fn agent_data(data: JsonNode, prompt: Option<&Content>) -> Read<Option<RowTurns>> {
    in_text(data, |data| {
        let mut state = Map::new();
        let mut turns: Vec<(Content, Vec<Event>)> = Vec::new();
        for turn in data.need("turns")?.items()? {
            let Some(events) = turn.get("events") else {
                continue;
            };
            for node in events.items()? {
                state.extend(state_delta(node));
                take(adk::event(node)?, prompt, &mut turns);
            }
        }
        let done: Vec<Invocation> = turns
            .into_iter()
            .map(|(user, events)| adk::invocation_of(&user, events))
            .collect();
        let Some(last) = done.len().checked_sub(1) else {
            return Ok(None);
        };
        let expected = |(at, turn): (usize, &Invocation)| {
            without_actions(&Invocation {
                history: at < last && has_acted(turn),
                ..turn.clone()
            })
        };
        let expected = done.iter().enumerate().map(expected).collect();
        // If the agent did not act in the last turn, the case has not been run.
        let saved = has_acted(&done[last]).then_some(done);
        Ok(Some(RowTurns {
            expected,
            saved,
            state,
            ..RowTurns::default()
        }))
    })
}

fn state_delta(event: JsonNode) -> Map<String, Value> {
    let delta = event.get("state_delta");
    delta
        .and_then(|delta| delta.value.as_object().cloned())
        .unwrap_or_default()
}

/// Adds an event. A user event without content, which agents-cli writes for a state, does not begin a turn.
fn take(event: Event, prompt: Option<&Content>, turns: &mut Vec<(Content, Vec<Event>)>) {
    if event.author.eq_ignore_ascii_case("user") {
        if let Some(said) = event.content.filter(|content| !content.parts.is_empty()) {
            turns.push((said, Vec::new()));
        }
        return;
    }
    match turns.last_mut() {
        Some((_, events)) => events.push(event),
        None => turns.push((prompt.cloned().unwrap_or_default(), vec![event])),
    }
}

fn has_acted(turn: &Invocation) -> bool {
    turn.final_response.is_some() || !turn.calls().is_empty()
}
