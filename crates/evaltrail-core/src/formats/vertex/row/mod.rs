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

mod actions;
mod cells;
mod conversation;
mod expectations;
mod outcome;

use self::actions::without_all_actions;
use self::cells::{cell, seconds};
use self::conversation::{conversation, is_full_conversation};
use self::expectations::expectations;
use self::outcome::outcome;
use super::columns::ColumnMap;
use super::layout::recognise;
use super::row_turns::in_text;
use super::turns::opened;
use super::{observability, recorded, rubrics};
use crate::domain::{Conversation, EvalCase, Saved};
use crate::formats::adk;
use crate::formats::messages;
use crate::formats::read::{JsonNode, Read, lax_float, same_name};
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
    let mut row = conversation(node)?;
    expectations(node, &mut row)?;
    outcome(node, &mut row)?;
    let turns = row
        .expected
        .iter_mut()
        .chain(row.saved.iter_mut().flatten());
    turns.for_each(|turn| turn.is_data = true);
    let latency_s = cell(node, "latency_in_seconds")
        .map(seconds)
        .transpose()?
        .flatten();
    let failed = cell(node, "failure")
        .and_then(|cell| lax_float(cell.value))
        .filter(|flag| !flag.is_nan())
        .map(|flag| flag >= 1.0);
    if failed == Some(true) && row.error.is_none() {
        row.error = Some("the agent failed; the file does not contain the error".into());
    }
    if (failed == Some(true) || row.error.is_some() || latency_s.is_some()) && row.saved.is_none() {
        row.saved = Some(without_all_actions(&row.expected));
    }
    let state = Some(row.state)
        .filter(|state| !state.is_empty())
        .map(Value::Object);
    let error = row.error;
    let session = messages::read_session(node.value)?.map(|session| session.input);
    let mut extra = others(node);
    if is_full_conversation(node) {
        extra.retain(|key, _| !CONVERSATION.iter().any(|known| same_name(key, known)));
    }
    if let Some(system) = row.system {
        extra.entry("system_instruction").or_insert(system.into());
    }
    let case = EvalCase {
        eval_id: eval_id.into(),
        conversation: match cell(node, "user_scenario") {
            Some(scenario) => Conversation::Scenario(opened(scenario.value)),
            None => Conversation::Turns(row.expected),
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
        saved: row.saved.map(|turns| {
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
