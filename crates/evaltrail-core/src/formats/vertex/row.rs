//! Reading of a row of a Vertex data set, in any of its schemas, as a case.
//!
//! ```text
//! flatten     prompt, reference, reference_trajectory │ response, predicted_trajectory
//! eval case   prompt, reference, conversation_history │ responses[], intermediate_events, agent_data
//! gemini      request {contents}                      │ response {candidates}
//! observability  request, as `observability` reads it │ response
//! openai      request {messages} or messages          │ response {choices}
//! responses   input                                   │ output
//! agentevals  reference_outputs, expected_steps       │ outputs, actual_steps
//!             expected                                  saved
//! ```

use super::agent_data::agent_data;
use super::calls::{decoded, is_nothing, trajectory};
use super::columns::ColumnMap;
use super::layout::recognise;
use super::observability;
use super::row_turns::{RowTurns, in_text, without_actions};
use super::turns::{is_blank, is_structure, messages_in, opened, single_text};
use super::{recorded, rubrics};
use crate::domain::{
    Content, Conversation, EvalCase, Invocation, InvocationEvent, Saved, Trajectory,
    plausible_seconds,
};
use crate::formats::adk;
use crate::formats::messages::{self, Answer};
use crate::formats::read::{JsonNode, Read, ReadError, lax_float, same_name};
use serde_json::{Map, Value};

/// Columns with a meaning of their own; all others are retained as they are.
const KNOWN: &[&str] = &[
    "eval_case_id",
    "eval_id",
    "case_id",
    "id",
    "prompt",
    "source",
    "request",
    "messages",
    "input",
    "inputs",
    "output",
    "outputs",
    "reference_outputs",
    "reference",
    "reference_trajectory",
    "expected_steps",
    "response",
    "responses",
    "predicted_trajectory",
    "actual_steps",
    "history",
    "conversation_history",
    "intermediate_events",
    "agent_data",
    "user_scenario",
    "rubrics",
    "rubric_groups",
    "session_inputs",
    "final_session_state",
    "creation_timestamp",
    "latency_in_seconds",
    "failure",
];

/// Members of a conversation that is a row.
const CONVERSATION: &[&str] = &[
    "contents",
    "values",
    "events",
    "system_instruction",
    "app_name",
    "user_id",
    "state",
    "last_update_time",
];

/// Reads a row of any tool. `eval_id` is the row's id in the list of cases.
pub(in crate::formats) fn case(row: &Value, columns: &ColumnMap, eval_id: &str) -> Read<EvalCase> {
    if let Some(row) = observability::with_columns(JsonNode::top(row))? {
        return case_of_row(JsonNode::top(&row), eval_id).map_err(observability::in_file);
    }
    let recognised = recognise(row, columns)?;
    case_of_row(JsonNode::top(&recognised.row), eval_id).map_err(|error| recognised.in_file(error))
}

fn case_of_row(node: JsonNode, eval_id: &str) -> Read<EvalCase> {
    node.object()?;
    let mut talk = conversation(node)?;
    expectations(node, &mut talk)?;
    outcome(node, &mut talk)?;
    let turns = talk
        .expected
        .iter_mut()
        .chain(talk.saved.iter_mut().flatten());
    turns.for_each(|turn| turn.is_data = true);
    let latency_s = cell(node, "latency_in_seconds")
        .map(seconds)
        .transpose()?
        .flatten();
    let failed = cell(node, "failure")
        .and_then(|cell| lax_float(cell.value))
        .filter(|flag| !flag.is_nan())
        .map(|flag| flag >= 1.0);
    if failed == Some(true) && talk.error.is_none() {
        talk.error = Some("the agent failed; the file does not contain the error".into());
    }
    if (failed == Some(true) || talk.error.is_some() || latency_s.is_some()) && talk.saved.is_none()
    {
        talk.saved = Some(untouched(&talk.expected));
    }
    let state = Some(talk.state)
        .filter(|state| !state.is_empty())
        .map(Value::Object);
    let error = talk.error;
    let session = messages::read_session(node.value)?.map(|session| session.input);
    let mut extra = others(node);
    if is_full_conversation(node) {
        extra.retain(|key, _| !CONVERSATION.iter().any(|known| same_name(key, known)));
    }
    if let Some(system) = talk.system {
        extra.entry("system_instruction").or_insert(system.into());
    }
    let case = EvalCase {
        eval_id: eval_id.into(),
        conversation: match cell(node, "user_scenario") {
            Some(scenario) => Conversation::Scenario(opened(scenario.value)),
            None => Conversation::Turns(talk.expected),
        },
        created: cell(node, "creation_timestamp")
            .and_then(|cell| lax_float(cell.value))
            .filter(|time| time.is_finite())
            .unwrap_or(0.0),
        session_input: cell(node, "session_inputs")
            .map(|cell| in_text(cell, adk::session_input))
            .transpose()?
            .or(session),
        rubrics: rubrics::all(node)?,
        final_session_state: cell(node, "final_session_state").map(|cell| opened(cell.value)),
        saved: talk.saved.map(|turns| {
            let failed = if error.is_some() { Some(true) } else { failed };
            Saved {
                turns,
                latency_s,
                failed,
                error,
                state,
            }
        }),
        recorded: recorded::columns(node),
        extra,
    };
    // Saved responses and scores can be evaluated without the prompt.
    if case.saved.is_none() && case.recorded.is_empty() {
        messages::with_user_messages(node, &case)?;
    }
    Ok(case)
}

/// The columns without a meaning of their own. Rubrics as an object, which ragas has, are descriptions of scores.
fn others(node: JsonNode) -> Map<String, Value> {
    let mut others = node.others(KNOWN);
    others.retain(|key, _| !recorded::is_column(key));
    let scale = node
        .get("rubrics")
        .filter(|rubrics| rubrics.value.is_object());
    others.extend(scale.map(|scale| ("rubrics".to_string(), scale.value.clone())));
    others
}

/// A duration; `None` for a text that stands for no value.
fn seconds(cell: JsonNode) -> Read<Option<f64>> {
    if cell.value.as_str().is_some_and(is_nothing) {
        return Ok(None);
    }
    let number = if cell.value.is_boolean() {
        None
    } else {
        lax_float(cell.value)
    };
    let seconds = number.and_then(plausible_seconds);
    seconds
        .map(Some)
        .ok_or_else(|| cell.wrong("a number of seconds from 0 to 1000000000"))
}

/// The value of a cell; `None` for null and for NaN, which stands for null in a table.
fn cell<'a>(node: JsonNode<'a>, key: &'a str) -> Option<JsonNode<'a>> {
    let value = node
        .value
        .as_object()
        .and_then(|map| crate::formats::read::lookup(map, key))?;
    let nothing = match value.1 {
        Value::Null => true,
        Value::Number(number) => crate::domain::float_of(number).is_some_and(f64::is_nan),
        _ => false,
    };
    (!nothing).then_some(node.member(value.0, value.1))
}

/// Reads the conversation, and the saved turns if the same field contains them.
fn conversation(node: JsonNode) -> Read<RowTurns> {
    let prompt = ["prompt", "source", "input", "inputs"]
        .into_iter()
        .find_map(|key| cell(node, key));
    let mut talk = prompt.map(parse_prompt).transpose()?.unwrap_or_default();
    let prompt = talk.expected.last().map(|turn| turn.user.clone());
    if let Some(data) =
        cell(node, "agent_data").filter(|data| opened(data.value).get("turns").is_some())
        && let Some(talk) = agent_data(data, prompt.as_ref())?
    {
        return Ok(talk);
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
            talk,
            cell(node, "reference_outputs").is_some(),
        ));
    }
    if let Some(request) = cell(node, "request") {
        return in_text(request, |request| {
            Ok(before_response(messages::conversation(request)?))
        });
    }
    if talk.expected.is_empty() {
        talk.expected.push(Invocation::default());
    }
    talk.expected.splice(0..0, history(node)?);
    Ok(talk)
}

/// Whether the row itself is a conversation: contents, a state or a session.
fn is_full_conversation(node: JsonNode) -> bool {
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
    let user = spoken(prompt, "user")?;
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
        found.expected = untouched(&found.expected);
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

fn untouched(expected: &[Invocation]) -> Vec<Invocation> {
    expected.iter().map(without_actions).collect()
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

/// Reads a message of the user: a text, or a content, which may be JSON in a text.
fn spoken(node: JsonNode, role: &str) -> Read<Content> {
    match node.value {
        Value::String(text) => Ok(
            match text
                .trim_start()
                .starts_with('{')
                .then(|| decoded(text))
                .flatten()
            {
                Some(value) if value.get("parts").is_some() => {
                    adk::read_content(JsonNode::top(&value))?
                }
                _ => Content::text(role, text.clone()),
            },
        ),
        Value::Object(map) if map.contains_key("parts") => adk::read_content(node),
        // What Vertex's client writes for a response without content.
        Value::Object(map) if map.is_empty() => Ok(Content::default()),
        Value::Object(map) if map.contains_key("text") => {
            Ok(Content::text(role, node.need("text")?.str()?))
        }
        // The inputs of an example: {"question": "…"}.
        Value::Object(map) => match map.values().next() {
            Some(Value::String(text)) if map.len() == 1 => Ok(Content::text(role, text.clone())),
            _ => Ok(Content::text(role, node.value.to_string())),
        },
        Value::Number(_) | Value::Bool(_) => Ok(Content::text(role, node.value.to_string())),
        _ => Err(node.wrong("a text, a content with parts, or a list of messages")),
    }
}

/// Reads what is expected in the last turn. An empty reference is none.
fn expectations(node: JsonNode, talk: &mut RowTurns) -> Read<()> {
    if let Some(reference) = cell(node, "reference") {
        expected_response(reference, talk)?;
    }
    let Some(last) = talk.expected.last_mut() else {
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
fn expected_response(reference: JsonNode, talk: &mut RowTurns) -> Read<()> {
    let answer = match single_text(&reference)? {
        Some(text) => Answer::of_text(text),
        None => answered(reference)?,
    };
    if let Some(found) = answer.error {
        return Err(ReadError {
            path: reference.path(),
            expected: "a reference response".into(),
            found,
        });
    }
    take_user_messages(reference, talk)?;
    let Some(last) = talk.expected.last_mut() else {
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
fn take_user_messages(reference: JsonNode, talk: &mut RowTurns) -> Read<()> {
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
    if let (Some(last), [asked]) = (turns.pop(), talk.expected.as_mut_slice())
        && !turns.is_empty()
    {
        asked.user = last.user;
        talk.expected.splice(0..0, turns);
    }
    Ok(())
}

fn listed(calls: Vec<crate::domain::ToolCall>) -> Trajectory {
    Trajectory::Listed {
        calls,
        responses: Vec::new(),
        texts: Vec::new(),
    }
}

/// Reads what the agent did in the last turn.
fn outcome(node: JsonNode, talk: &mut RowTurns) -> Read<()> {
    if let (Some(list), true) = (cell(node, "outputs"), talk.saved.is_none()) {
        let done = in_text(list, |list| Ok(messages::conversation(list)?.into_turns()))?;
        talk.saved = Some(done);
    }
    let mut last = match &talk.saved {
        Some(turns) => turns.last().cloned(),
        None => talk.expected.last().map(without_actions),
    }
    .unwrap_or_default();
    let before = last.clone();
    let answers = ["response", "output"]
        .into_iter()
        .find_map(|key| cell(node, key));
    let answer = answers.map(answered).transpose()?;
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
        talk.error = answer.error;
    }
    let steps = std::mem::take(&mut talk.steps);
    if !steps.is_empty() {
        match (has_answer, talk.expected.last_mut()) {
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
    if last != before || talk.error.is_some() {
        let turns = talk.saved.get_or_insert_with(|| untouched(&talk.expected));
        match turns.last_mut() {
            Some(place) => *place = last,
            None => turns.push(last),
        }
    }
    Ok(())
}

/// The trajectory that begins with these events.
fn after(mut steps: Vec<InvocationEvent>, then: Trajectory) -> Trajectory {
    let is_partial = matches!(then, Trajectory::Partial(_));
    steps.extend(then.into_events());
    if is_partial {
        Trajectory::Partial(steps)
    } else {
        Trajectory::Events(steps)
    }
}

/// Reads a response or a reference: a text, or a value that may be JSON in a text.
fn answered(node: JsonNode) -> Read<Answer> {
    let Value::String(text) = node.value else {
        return messages::answer(node);
    };
    match opened(node.value) {
        value if !value.is_string() && is_structure(&value) => {
            messages::answer(JsonNode::top(&value)).map_err(|error| ReadError {
                path: node.path(),
                ..error
            })
        }
        _ => Ok(Answer::of_text(text)),
    }
}

fn first_candidate(list: JsonNode) -> Read<Answer> {
    match list.items()?.next() {
        Some(first) => answered(first.get("response").unwrap_or(first)),
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

/// Whether a text cell stands for no value.
pub(super) fn is_empty_cell(text: &str) -> bool {
    is_nothing(text)
}
