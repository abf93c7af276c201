//! The turns of a row: what the user asks, what is expected, and what came before.

use super::actions::{listed, without_all_actions};
use super::cells::{cell, message_content};
use crate::domain::{Content, Invocation, Trajectory};
use crate::formats::messages;
use crate::formats::read::{JsonNode, Read, ReadError};
use crate::formats::vertex::agent_data::agent_data;
use crate::formats::vertex::calls::is_nothing;
use crate::formats::vertex::row_turns::{RowTurns, in_text};
use crate::formats::vertex::turns::{messages_in, opened};

/// Reads the conversation, and the saved turns if the same field contains them.
pub(super) fn conversation(node: JsonNode) -> Read<RowTurns> {
    let prompt = ["prompt", "source", "input", "inputs"]
        .into_iter()
        .find_map(|key| cell(node, key));
    let mut row = prompt.map(parse_prompt).transpose()?.unwrap_or_default();
    let prompt = row.expected.last().map(|turn| turn.user.clone());
    if let Some(data) =
        cell(node, "agent_data").filter(|data| opened(data.value).get("turns").is_some())
        && let Some(row) = agent_data(data, prompt.as_ref())?
    {
        return Ok(row);
    }
    if let Some(list) = cell(node, "messages") {
        return in_text(list, |list| Ok(expected(messages::conversation(list)?)));
    }
    if is_full_conversation(node) {
        return Ok(expected(messages::conversation(node)?));
    }
    if let Some(list) = cell(node, "reference_outputs").or_else(|| cell(node, "outputs")) {
        let found = in_text(list, |list| Ok(expected(messages::conversation(list)?)))?;
        return Ok(with_prompt(
            found,
            row,
            cell(node, "reference_outputs").is_some(),
        ));
    }
    if let Some(request) = cell(node, "request") {
        return in_text(request, |request| {
            Ok(before_response(messages::conversation(request)?))
        });
    }
    if row.expected.is_empty() {
        row.expected.push(Invocation::default());
    }
    row.expected.splice(0..0, history(node)?);
    Ok(row)
}

/// Whether the row itself is a conversation: contents, a state or a session.
pub(super) fn is_full_conversation(node: JsonNode) -> bool {
    let has_own = ["prompt", "messages", "input", "output", "outputs"]
        .into_iter()
        .any(|key| cell(node, key).is_some());
    !has_own && messages::is_conversation(node.value)
}

/// What is asked: a text, a content, or the messages up to the last one of the user.
fn parse_prompt(prompt: JsonNode) -> Read<RowTurns> {
    if let Some(list) = messages_in(prompt.value) {
        let found = messages::conversation(JsonNode::top(&list));
        return found.map(before_response).map_err(|error| ReadError {
            path: prompt.path(),
            ..error
        });
    }
    let user = message_content(prompt, "user")?;
    let user = if user.shown_text().trim().is_empty() {
        Content::default()
    } else {
        user
    };
    Ok(RowTurns {
        expected: vec![Invocation {
            user,
            ..Invocation::default()
        }],
        ..RowTurns::default()
    })
}

fn expected(found: messages::ParsedConversation) -> RowTurns {
    RowTurns {
        system: found.system.clone(),
        expected: found.expected(),
        ..RowTurns::default()
    }
}

/// The expected turns of `outputs` and `reference_outputs`, which may begin after the prompt.
fn with_prompt(mut found: RowTurns, asked: RowTurns, is_reference: bool) -> RowTurns {
    if !is_reference {
        found.expected = without_all_actions(&found.expected);
    }
    if let (Some(first), Some(mut prompt)) =
        (found.expected.first_mut(), asked.expected.last().cloned())
        && first.user.parts.is_empty()
    {
        std::mem::swap(&mut first.user, &mut prompt.user);
        let earlier = asked.expected.len() - 1;
        found
            .expected
            .splice(0..0, asked.expected.into_iter().take(earlier));
        found.system = found.system.or(asked.system);
    }
    found
}

/// The messages of a request, as Vertex's client reads them: turns before the last are history, of which nothing is
/// expected, and a text of the agent at the end is the reference. Without it, what the agent did in the last turn belongs
/// to the response.
fn before_response(found: messages::ParsedConversation) -> RowTurns {
    let (system, has_reference) = (found.system.clone(), found.ends_with_answer);
    let (mut steps, mut turns) = (Vec::new(), found.into_turns());
    if !has_reference && let Some(last) = turns.last_mut() {
        steps = std::mem::take(&mut last.trajectory).into_events();
        last.final_response = None;
    }
    let mut expected: Vec<Invocation> = turns.into_iter().map(messages::listed).collect();
    if let Some((_, earlier)) = expected.split_last_mut() {
        earlier.iter_mut().for_each(|turn| turn.history = true);
    }
    RowTurns {
        expected,
        system,
        steps,
        ..RowTurns::default()
    }
}

/// Earlier turns: the user's messages and the responses.
fn history(node: JsonNode) -> Read<Vec<Invocation>> {
    let cells = ["conversation_history", "history"]
        .into_iter()
        .filter_map(|key| cell(node, key));
    let Some(history) = cells
        .into_iter()
        .find(|cell| !cell.value.as_str().is_some_and(is_nothing))
    else {
        return Ok(Vec::new());
    };
    let mut turns = in_text(history, |list| Ok(messages::conversation(list)?.expected()))?;
    for turn in &mut turns {
        turn.history = true;
        // Histories of Vertex have texts only, so that the calls are not known.
        if turn.trajectory == listed(Vec::new()) {
            turn.trajectory = Trajectory::Unknown;
        }
    }
    Ok(turns)
}
