//! `agent_data.turns[].events[]`: what user and agent said and did.
//!
//! The file's own turns are not taken for turns of the conversation: agents-cli leaves the user out of what it made
//! of a `prompt`, writes a whole conversation into one turn, and gives a turn to another agent without a user.

use super::row::{Talk, asked, in_text};
use crate::domain::{Content, Invocation};
use crate::formats::adk::{self, Event};
use crate::formats::read::{Node, Read};
use serde_json::{Map, Value};

/// The conversation: what the user says begins a turn. `prompt` is what the user said before events without a user.
/// Answered turns before the last are history. Nothing when nobody says or does anything.
pub(super) fn agent_data(data: Node, prompt: Option<&Content>) -> Read<Option<Talk>> {
    in_text(data, |data| {
        let mut state = Map::new();
        let mut turns: Vec<(Content, Vec<Event>)> = Vec::new();
        for turn in data.need("turns")?.items()? {
            let Some(events) = turn.get("events") else { continue };
            for node in events.items()? {
                state.extend(state_delta(node));
                take(adk::event(node)?, prompt, &mut turns);
            }
        }
        let done: Vec<Invocation> =
            turns.into_iter().map(|(user, events)| adk::invocation_of(&user, events)).collect();
        let Some(last) = done.len().checked_sub(1) else { return Ok(None) };
        let expected = |(at, turn): (usize, &Invocation)| {
            asked(&Invocation { history: at < last && has_acted(turn), ..turn.clone() })
        };
        let expected = done.iter().enumerate().map(expected).collect();
        // A question without an answer is still to be asked.
        let saved = has_acted(&done[last]).then_some(done);
        Ok(Some(Talk { expected, saved, state, error: None }))
    })
}

fn state_delta(event: Node) -> Map<String, Value> {
    let delta = event.get("state_delta");
    delta.and_then(|delta| delta.value.as_object().cloned()).unwrap_or_default()
}

/// An event of a user without words, which agents-cli keeps for a state, begins no turn.
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
