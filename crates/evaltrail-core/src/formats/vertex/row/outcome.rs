//! What the agent did in the last turn of a row, if the row contains it.

use super::actions::{after, listed, without_all_actions};
use super::cells::{cell, read_answer};
use crate::domain::{InvocationEvent, Trajectory};
use crate::formats::adk;
use crate::formats::messages::{self, Answer};
use crate::formats::read::{JsonNode, Read};
use crate::formats::vertex::calls::trajectory;
use crate::formats::vertex::row_turns::{RowTurns, in_text, without_actions};

/// Reads what the agent did in the last turn.
pub(super) fn outcome(node: JsonNode, row: &mut RowTurns) -> Read<()> {
    if let (Some(list), true) = (cell(node, "outputs"), row.saved.is_none()) {
        let done = in_text(list, |list| Ok(messages::conversation(list)?.into_turns()))?;
        row.saved = Some(done);
    }
    let mut last = match &row.saved {
        Some(turns) => turns.last().cloned(),
        None => row.expected.last().map(without_actions),
    }
    .unwrap_or_default();
    let before = last.clone();
    let answers = ["response", "output"]
        .into_iter()
        .find_map(|key| cell(node, key));
    let answer = answers.map(read_answer).transpose()?;
    let candidate = || {
        cell(node, "responses")
            .map(|list| in_text(list, first_candidate))
            .transpose()
    };
    let answer = match answer.filter(|answer| *answer != Answer::default()) {
        Some(answer) => Some(answer),
        None => candidate()?,
    };
    let has_answer = answer.is_some();
    if let Some(answer) = answer {
        last.final_response = answer.response.or(last.final_response);
        last.end = answer.end;
        last.reported_errors.extend(answer.stopped);
        last.trajectory = answer.trajectory.unwrap_or(last.trajectory);
        row.error = answer.error;
    }
    let steps = std::mem::take(&mut row.steps);
    if !steps.is_empty() {
        match (has_answer, row.expected.last_mut()) {
            // The request is from the middle of a turn: its calls come before those of the response.
            (true, _) => last.trajectory = after(steps, last.trajectory),
            (false, Some(turn)) => turn.trajectory = Trajectory::Partial(steps),
            (false, None) => {}
        }
    }
    let calls = ["predicted_trajectory", "actual_steps"]
        .into_iter()
        .find_map(|key| cell(node, key));
    if let Some(calls) = calls.map(trajectory).transpose()?.flatten() {
        last.trajectory = listed(calls);
    }
    if let Some(events) = cell(node, "intermediate_events") {
        last.trajectory =
            Trajectory::Events(in_text(events, |list| list.items()?.map(event).collect())?);
    }
    if last != before || row.error.is_some() {
        let turns = row
            .saved
            .get_or_insert_with(|| without_all_actions(&row.expected));
        match turns.last_mut() {
            Some(place) => *place = last,
            None => turns.push(last),
        }
    }
    Ok(())
}

fn first_candidate(list: JsonNode) -> Read<Answer> {
    match list.items()?.next() {
        Some(first) => read_answer(first.get("response").unwrap_or(first)),
        None => Ok(Answer::default()),
    }
}

fn event(node: JsonNode) -> Read<InvocationEvent> {
    let event = adk::event(node)?;
    Ok(InvocationEvent {
        author: event.author,
        content: event.content,
        usage: event.usage,
        ..Default::default()
    })
}
