//! What is expected in the last turn of a row: the response and the calls.

use super::actions::listed;
use super::cells::{cell, read_answer};
use crate::formats::messages::{self, Answer};
use crate::formats::read::{JsonNode, Read, ReadError};
use crate::formats::vertex::calls::trajectory;
use crate::formats::vertex::row_turns::RowTurns;
use crate::formats::vertex::turns::{is_blank, messages_in, single_text};

/// Reads what is expected in the last turn. An empty reference is none.
pub(super) fn expectations(node: JsonNode, row: &mut RowTurns) -> Read<()> {
    if let Some(reference) = cell(node, "reference") {
        expected_response(reference, row)?;
    }
    let Some(last) = row.expected.last_mut() else {
        return Ok(());
    };
    let calls = ["reference_trajectory", "expected_steps"]
        .into_iter()
        .find_map(|key| cell(node, key));
    if let Some(calls) = calls.map(trajectory).transpose()?.flatten() {
        last.trajectory = listed(calls);
    }
    Ok(())
}

/// Reads a reference: a text, a content, or the messages of the agent. An empty one is none.
fn expected_response(reference: JsonNode, row: &mut RowTurns) -> Read<()> {
    let answer = match single_text(&reference)? {
        Some(text) => Answer::of_text(text),
        None => read_answer(reference)?,
    };
    if let Some(found) = answer.error {
        return Err(ReadError {
            path: reference.path(),
            expected: "a reference response".into(),
            found,
        });
    }
    take_user_messages(reference, row)?;
    let Some(last) = row.expected.last_mut() else {
        return Ok(());
    };
    last.final_response = answer
        .response
        .filter(|content| !is_blank(content))
        .or(last.final_response.take());
    if let Some(trajectory) = answer.trajectory {
        last.trajectory = messages::listed_trajectory(trajectory);
    }
    Ok(())
}

/// Takes the messages of the user from a reference that is the whole conversation and begins with the prompt.
fn take_user_messages(reference: JsonNode, row: &mut RowTurns) -> Read<()> {
    let Some(list) = messages_in(reference.value) else {
        return Ok(());
    };
    let found = messages::conversation(JsonNode::top(&list));
    let mut turns = found
        .map_err(|error| ReadError {
            path: reference.path(),
            ..error
        })?
        .expected();
    if let (Some(last), [asked]) = (turns.pop(), row.expected.as_mut_slice())
        && !turns.is_empty()
    {
        asked.user = last.user;
        row.expected.splice(0..0, turns);
    }
    Ok(())
}
