//! Reading of a row of a Vertex data set, in any of its schemas, as a case.
//!
//! ```text
//! flatten     prompt, reference, reference_trajectory │ response, predicted_trajectory
//! eval case   prompt, reference, conversation_history │ responses[], intermediate_events, agent_data
//! gemini      request {contents}                      │ response
//! openai      request {messages} or messages          │ response {choices}
//! agentevals  reference_outputs                       │ outputs
//!             expected                                  saved
//! ```

use super::agent_data::agent_data;
use super::calls::{decoded, is_nothing, trajectory};
use super::columns::ColumnMap;
use super::layout::recognise;
use super::row_turns::{RowTurns, in_text, without_actions};
use super::turns::{is_blank, message_list, single_text, turn_of_messages};
use super::{recorded, rubrics};
use crate::domain::{
    Content, Conversation, EvalCase, Invocation, InvocationEvent, Saved, Trajectory, plausible_seconds,
};
use crate::formats::adk;
use crate::formats::messages;
use crate::formats::read::{Node, Read, ReadError, lax_float};
use serde_json::Value;

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
    "outputs",
    "reference_outputs",
    "reference",
    "reference_trajectory",
    "response",
    "responses",
    "predicted_trajectory",
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

/// Reads a row of any tool. `eval_id` is the row's id in the list of cases.
pub(in crate::formats) fn case(row: &Value, columns: &ColumnMap, eval_id: &str) -> Read<EvalCase> {
    let recognised = recognise(row, columns)?;
    case_of_row(Node::top(&recognised.row), eval_id).map_err(|error| recognised.in_file(error))
}

fn case_of_row(node: Node, eval_id: &str) -> Read<EvalCase> {
    node.object()?;
    let mut talk = conversation(node)?;
    expectations(node, &mut talk)?;
    outcome(node, &mut talk)?;
    let turns = talk.expected.iter_mut().chain(talk.saved.iter_mut().flatten());
    turns.for_each(|turn| turn.is_data = true);
    let latency_s = cell(node, "latency_in_seconds").map(seconds).transpose()?.flatten();
    let failed = cell(node, "failure").and_then(|cell| lax_float(cell.value)).map(|flag| flag >= 1.0);
    if failed == Some(true) && talk.error.is_none() {
        talk.error = Some("the agent failed; the file does not contain the error".into());
    }
    if (failed == Some(true) || talk.error.is_some() || latency_s.is_some()) && talk.saved.is_none() {
        talk.saved = Some(untouched(&talk.expected));
    }
    let state = Some(talk.state).filter(|state| !state.is_empty()).map(Value::Object);
    let error = talk.error;
    Ok(EvalCase {
        eval_id: eval_id.into(),
        conversation: match cell(node, "user_scenario") {
            Some(scenario) => Conversation::Scenario(opened(scenario.value)),
            None => Conversation::Turns(talk.expected),
        },
        created: cell(node, "creation_timestamp").and_then(|cell| lax_float(cell.value)).unwrap_or(0.0),
        session_input: cell(node, "session_inputs")
            .map(|cell| in_text(cell, adk::session_input))
            .transpose()?,
        rubrics: rubrics::all(node)?,
        final_session_state: cell(node, "final_session_state").map(|cell| opened(cell.value)),
        saved: talk.saved.map(|turns| {
            let failed = if error.is_some() { Some(true) } else { failed };
            Saved { turns, latency_s, failed, error, state }
        }),
        recorded: recorded::columns(node),
        extra: others(node),
    })
}

/// The columns without a meaning of their own. Rubrics as an object, which ragas has, are descriptions of scores.
fn others(node: Node) -> serde_json::Map<String, Value> {
    let mut others = node.others(KNOWN);
    others.retain(|key, _| !recorded::is_column(key));
    let scale = node.get("rubrics").filter(|rubrics| rubrics.value.is_object());
    others.extend(scale.map(|scale| ("rubrics".to_string(), scale.value.clone())));
    others
}

/// A duration; `None` for a text that stands for no value.
fn seconds(cell: Node) -> Read<Option<f64>> {
    if cell.value.as_str().is_some_and(is_nothing) {
        return Ok(None);
    }
    let seconds = lax_float(cell.value).and_then(plausible_seconds);
    seconds.map(Some).ok_or_else(|| cell.wrong("a number of seconds from 0 to 1000000000"))
}

/// The value of a cell; `None` for null and for NaN, which stands for null in a table.
fn cell<'a>(node: Node<'a>, key: &'a str) -> Option<Node<'a>> {
    let value = node.value.as_object().and_then(|map| crate::formats::read::lookup(map, key))?;
    let nothing = match value.1 {
        Value::Null => true,
        Value::Number(number) => crate::domain::float_of(number).is_some_and(f64::is_nan),
        _ => false,
    };
    (!nothing).then_some(node.member(value.0, value.1))
}

/// Reads the conversation, and the saved turns if the same field contains them.
fn conversation(node: Node) -> Read<RowTurns> {
    let asked = cell(node, "prompt").or_else(|| cell(node, "source"));
    let messages = asked.filter(|asked| message_list(asked.value).is_some());
    let prompt = asked.filter(|_| messages.is_none()).map(|prompt| spoken(prompt, "user")).transpose()?;
    if let Some(data) = cell(node, "agent_data").filter(|data| opened(data.value).get("turns").is_some())
        && let Some(talk) = agent_data(data, prompt.as_ref())?
    {
        return Ok(talk);
    }
    if let Some(list) = cell(node, "messages") {
        return in_text(list, |list| {
            Ok(RowTurns { expected: messages::conversation(list)?.turns, ..RowTurns::default() })
        });
    }
    if let Some(list) = cell(node, "reference_outputs").or_else(|| cell(node, "outputs")) {
        let expected = in_text(list, |list| Ok(messages::conversation(list)?.turns))?;
        let known = cell(node, "reference_outputs").is_some();
        let mut expected: Vec<Invocation> =
            if known { expected } else { expected.iter().map(without_actions).collect() };
        // Lists of outputs may begin after the user's message.
        if let (Some(first), Some(prompt)) = (expected.first_mut(), prompt)
            && is_blank(&first.user)
        {
            first.user = prompt;
        }
        return Ok(RowTurns { expected, ..RowTurns::default() });
    }
    if let Some(list) = messages {
        return in_text(list, |list| {
            let turns = messages::conversation(list)?.turns;
            Ok(RowTurns { expected: earlier_as_history(turns), ..RowTurns::default() })
        });
    }
    if let Some(request) = cell(node, "request") {
        return in_text(request, request_turns);
    }
    let mut expected = history(node)?;
    expected.push(Invocation { user: prompt.unwrap_or_default(), ..Invocation::default() });
    Ok(RowTurns { expected, ..RowTurns::default() })
}

fn opened(value: &Value) -> Value {
    match value {
        Value::String(text) => decoded(text).unwrap_or_else(|| value.clone()),
        other => other.clone(),
    }
}

fn untouched(expected: &[Invocation]) -> Vec<Invocation> {
    expected.iter().map(without_actions).collect()
}

fn request_turns(request: Node) -> Read<RowTurns> {
    if let Some(list) = request.get("messages") {
        let turns = messages::conversation(list)?.turns;
        return Ok(RowTurns { expected: earlier_as_history(turns), ..RowTurns::default() });
    }
    let contents = request.need("contents")?;
    let mut turns: Vec<Invocation> = Vec::new();
    for item in contents.items()? {
        let content = adk::read_content(item)?;
        match (content.role.as_deref(), turns.last_mut()) {
            (Some("model"), Some(turn)) => turn.final_response = Some(content),
            _ => turns.push(Invocation { user: content, ..Invocation::default() }),
        }
    }
    Ok(RowTurns { expected: earlier_as_history(turns), ..RowTurns::default() })
}

/// Marks turns before the last as history, of which nothing is expected. The response of the last turn is dropped,
/// since it is in the row's `response`.
fn earlier_as_history(mut turns: Vec<Invocation>) -> Vec<Invocation> {
    if let Some(last) = turns.pop() {
        turns.iter_mut().for_each(|turn| turn.history = true);
        turns.push(without_actions(&last));
    }
    turns
}

/// Earlier turns: the user's messages and the responses.
fn history(node: Node) -> Read<Vec<Invocation>> {
    let Some(history) = cell(node, "conversation_history").or_else(|| cell(node, "history")) else {
        return Ok(Vec::new());
    };
    let opened = opened(history.value);
    let Value::Array(items) = &opened else { return Ok(Vec::new()) };
    let mut turns: Vec<Invocation> = Vec::new();
    for item in items {
        let content = item.get("content").filter(|content| content.is_object()).unwrap_or(item);
        let content = match content.get("parts") {
            Some(_) => adk::read_content(Node::top(content)),
            None => spoken(Node::top(content.get("content").unwrap_or(content)), "user"),
        };
        let content = content.map_err(|error| ReadError { path: history.path(), ..error })?;
        let role = item.get("role").or(item.get("author")).and_then(Value::as_str).map(str::to_string);
        match (role.or(content.role.clone()).as_deref(), turns.last_mut()) {
            (Some("user") | None, _) => {
                turns.push(Invocation { user: content, history: true, ..Invocation::default() });
            }
            (Some(_), Some(turn)) => turn.final_response = Some(content),
            (Some(_), None) => {}
        }
    }
    Ok(turns)
}

/// Reads a text, or a content, which may be JSON in a text.
fn spoken(node: Node, role: &str) -> Read<Content> {
    match node.value {
        Value::String(text) => {
            Ok(match text.trim_start().starts_with('{').then(|| decoded(text)).flatten() {
                Some(value) if value.get("parts").is_some() => adk::read_content(Node::top(&value))?,
                _ => Content::text(role, text.clone()),
            })
        }
        Value::Object(map) if map.contains_key("parts") => adk::read_content(node),
        Value::Object(map) if map.contains_key("response") => match node.get("response") {
            Some(response) => spoken(response, role),
            None => Ok(Content::default()),
        },
        Value::Object(map) if map.contains_key("contents") => match node.need("contents")?.items()?.last() {
            Some(last) => adk::read_content(last),
            None => Ok(Content::default()),
        },
        // What Vertex's client writes for a response without content.
        Value::Object(map) if map.is_empty() => Ok(Content::default()),
        Value::Object(map) if map.contains_key("text") => Ok(Content::text(role, node.need("text")?.str()?)),
        Value::Number(_) | Value::Bool(_) => Ok(Content::text(role, node.value.to_string())),
        // A response that is itself a tool call: {"content": "", "tool_calls": […]}.
        Value::Object(_) => Ok(Content::text(role, node.value.to_string())),
        _ => Err(node.wrong("a text or a content with parts")),
    }
}

/// Reads what is expected in the last turn.
fn expectations(node: Node, talk: &mut RowTurns) -> Read<()> {
    if let Some(reference) = cell(node, "reference") {
        expected_response(reference, talk)?;
    }
    let Some(last) = talk.expected.last_mut() else { return Ok(()) };
    if let Some(node) = cell(node, "reference_trajectory")
        && let Some(calls) = trajectory(node)?
    {
        last.trajectory = listed(calls);
    }
    Ok(())
}

/// Reads a reference: a text, a content, or the messages of the agent. An empty one is none.
fn expected_response(reference: Node, talk: &mut RowTurns) -> Read<()> {
    if let Some(found) = turn_of_messages(reference)? {
        let Some(last) = talk.expected.last_mut() else { return Ok(()) };
        last.final_response = found.turn.final_response;
        last.trajectory = found.turn.trajectory;
        if talk.expected.len() == 1 && !found.before.is_empty() {
            // The reference is the whole conversation, and begins with the prompt.
            let user = found.turn.user;
            talk.expected[0].user = user;
            talk.expected.splice(0..0, found.before);
        }
        return Ok(());
    }
    let content = match single_text(&reference)? {
        Some(text) => Content::text("model", text),
        None => spoken(reference, "model")?,
    };
    if let (Some(last), false) = (talk.expected.last_mut(), is_blank(&content)) {
        last.final_response = Some(content);
    }
    Ok(())
}

fn listed(calls: Vec<crate::domain::ToolCall>) -> Trajectory {
    Trajectory::Listed { calls, responses: Vec::new(), texts: Vec::new() }
}

/// Reads what the agent did in the last turn.
fn outcome(node: Node, talk: &mut RowTurns) -> Read<()> {
    if let (Some(list), true) = (cell(node, "outputs"), talk.saved.is_none()) {
        let done = in_text(list, |list| Ok(messages::conversation(list)?.turns))?;
        talk.saved = Some(done);
    }
    let mut last = match &talk.saved {
        Some(turns) => turns.last().cloned(),
        None => talk.expected.last().map(without_actions),
    }
    .unwrap_or_default();
    let before = last.clone();
    if let Some(node) = cell(node, "predicted_trajectory")
        && let Some(calls) = trajectory(node)?
    {
        last.trajectory = listed(calls);
    }
    if let Some(events) = cell(node, "intermediate_events") {
        last.trajectory = Trajectory::Events(in_text(events, |list| list.items()?.map(event).collect())?);
    }
    let said = cell(node, "response");
    let response = match said.map(turn_of_messages).transpose()?.flatten() {
        Some(found) => {
            last.trajectory = found.turn.trajectory;
            found.turn.final_response.map(Ok)
        }
        None => said.map(answer).transpose()?.flatten(),
    };
    let candidate = cell(node, "responses").map(|list| in_text(list, first_candidate)).transpose()?.flatten();
    match response.or(candidate) {
        Some(Ok(content)) => last.final_response = Some(content),
        Some(Err(error)) => talk.error = Some(error),
        None => {}
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

type Answer = Result<Content, String>;

/// Reads a response: a content, or `{"error": …}`, which the client writes if an agent failed.
fn answer(node: Node) -> Read<Option<Answer>> {
    let value = opened(node.value);
    // The response of an agent can be an object with `error` among other keys.
    let alone = value.as_object().is_some_and(|map| map.len() == 1);
    if let Some(error) = value.get("error").filter(|error| alone && !error.is_null()) {
        let words = error.get("message").unwrap_or(error);
        return Ok(Some(Err(words.as_str().map_or_else(|| words.to_string(), str::to_string))));
    }
    if let Some(choice) = value.get("choices").and_then(|choices| choices.get(0)) {
        let message = choice.get("message").cloned().unwrap_or_default();
        let list = Value::Array(vec![message]);
        let turns = messages::conversation(Node::top(&list))?.turns;
        return Ok(turns.into_iter().next().and_then(|turn| turn.final_response).map(Ok));
    }
    if let Some(content) =
        value.get("candidates").and_then(|list| list.get(0)).and_then(|first| first.get("content"))
    {
        return adk::read_content(Node::top(content)).map(|content| Some(Ok(content)));
    }
    spoken(node, "model").map(|content| Some(Ok(content)))
}

fn first_candidate(list: Node) -> Read<Option<Answer>> {
    match list.items()?.next() {
        Some(first) => answer(first.get("response").unwrap_or(first)),
        None => Ok(None),
    }
}

fn event(node: Node) -> Read<InvocationEvent> {
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
