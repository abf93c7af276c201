//! Writing of a case as a row of a Vertex data set. A row contains one turn, the last one; earlier turns are
//! history.

use super::calls::PLAIN_INPUT;
use super::rubrics::UNGROUPED;
use crate::domain::{
    Content, Conversation, EvalCase, Invocation, Part, Rubric, Saved, ToolCall, Trajectory,
};
use crate::formats::adk::write_content;
use serde_json::{Map, Value, json};

/// The row, and a list of what cannot be represented in it.
pub fn write_row(case: &EvalCase) -> (Value, Vec<String>) {
    let mut row = Map::new();
    let mut lost = Vec::new();
    row.insert("eval_case_id".into(), case.eval_id.clone().into());
    match &case.conversation {
        Conversation::Scenario(scenario) => {
            row.insert("user_scenario".into(), scenario.clone());
        }
        Conversation::Turns(turns) => {
            if let Some((last, earlier)) = turns.split_last() {
                write_turns(last, earlier, &mut row, &mut lost);
            }
        }
    }
    if let Some(saved) = &case.saved {
        write_saved(saved, &mut row, &mut lost);
    }
    if let Some(input) = &case.session_input {
        let mut session = Map::new();
        session.insert("app_name".into(), input.app_name.clone().into());
        session.insert("user_id".into(), input.user_id.clone().into());
        session.extend(
            input
                .session_id
                .clone()
                .map(|id| ("session_id".to_string(), Value::from(id))),
        );
        session.insert("state".into(), input.state.clone().into());
        session.extend(input.extra.clone());
        row.insert("session_inputs".into(), session.into());
    }
    if case.created != 0.0 {
        row.insert("creation_timestamp".into(), case.created.into());
    }
    if let Some(state) = &case.final_session_state {
        row.insert("final_session_state".into(), state.clone());
    }
    if !case.rubrics.is_empty() {
        row.insert("rubric_groups".into(), rubric_groups(&case.rubrics).into());
    }
    for (key, value) in &case.extra {
        row.entry(key.clone()).or_insert_with(|| value.clone());
    }
    (Value::Object(row), lost)
}

fn write_turns(
    last: &Invocation,
    earlier: &[Invocation],
    row: &mut Map<String, Value>,
    lost: &mut Vec<String>,
) {
    if !earlier.is_empty() {
        let mut history = Vec::new();
        for turn in earlier {
            history.push(json!({"author": "user", "content": write_content(&turn.user)}));
            if let Some(response) = &turn.final_response {
                history.push(json!({"author": "model", "content": write_content(response)}));
            }
            if turn.trajectory.is_known() && !turn.calls().is_empty() {
                lost.push(
                    "tool calls expected in turns before the last: a row contains those of one turn".into(),
                );
            }
        }
        row.insert("conversation_history".into(), history.into());
    }
    row.insert("prompt".into(), text_or_content(&last.user, "user"));
    row.insert(
        "reference".into(),
        last.final_response
            .as_ref()
            .map(|content| text_or_content(content, "model"))
            .into(),
    );
    row.insert("reference_trajectory".into(), write_trajectory(last).into());
    let mut drop = |what: bool, words: &str| lost.extend(what.then(|| words.to_string()));
    drop(!last.responses().is_empty(), "tool responses");
    drop(
        last.calls().iter().any(|call| call.id.is_some()),
        "ids of tool calls",
    );
    drop(
        !last.rubrics.is_empty() || earlier.iter().any(|turn| !turn.rubrics.is_empty()),
        "rubrics of single turns",
    );
    let texts = |turn: &Invocation| matches!(&turn.trajectory, Trajectory::Listed { texts, .. } if !texts.is_empty());
    drop(texts(last), "intermediate messages of agents");
}

/// The text of a content that is only a text; else the whole content.
fn text_or_content(content: &Content, role: &str) -> Value {
    match content.parts.as_slice() {
        [part] if is_plain(part) && content.role.as_deref().is_none_or(|own| own == role) => {
            part.text.clone().into()
        }
        [] => Value::Null,
        _ => write_content(content),
    }
}

/// Whether a part is a text and nothing else.
fn is_plain(part: &Part) -> bool {
    part.text
        .as_ref()
        .is_some_and(|text| *part == Part::text(text.clone()))
}

/// The calls of a turn as Vertex writes them; `None` if they are not known.
pub fn write_trajectory(turn: &Invocation) -> Option<Value> {
    if !turn.trajectory.is_known() {
        return None;
    }
    Some(turn.calls().into_iter().map(call).collect())
}

fn call(call: &ToolCall) -> Value {
    let plain = call
        .args
        .as_ref()
        .filter(|args| args.len() == 1)
        .and_then(|args| args.get(PLAIN_INPUT));
    match &call.args {
        _ if call.args_unknown => call.name.as_str().into(),
        _ if plain.is_some_and(Value::is_string) => {
            json!({"tool_name": call.name, "tool_input": plain})
        }
        Some(args) => json!({"tool_name": call.name, "tool_input": args}),
        None => json!({"tool_name": call.name}),
    }
}

fn write_saved(saved: &Saved, row: &mut Map<String, Value>, lost: &mut Vec<String>) {
    if let Some(last) = saved.turns.last() {
        let response = last
            .final_response
            .as_ref()
            .map(|content| text_or_content(content, "model"));
        let response = match &saved.error {
            Some(error) => Some(json!({"error": error}).to_string().into()),
            None => response,
        };
        row.insert("response".into(), response.into());
        row.insert("predicted_trajectory".into(), write_trajectory(last).into());
        if last.trajectory.events().is_some() || !last.responses().is_empty() {
            lost.push("events of the agent, except its tool calls and its response".into());
        }
    }
    row.extend(
        saved
            .latency_s
            .map(|seconds| ("latency_in_seconds".to_string(), seconds.into())),
    );
    if saved.error.is_some() {
        row.insert("failure".into(), 1.into());
    }
}

fn rubric_groups(rubrics: &[Rubric]) -> Map<String, Value> {
    let mut groups: Map<String, Value> = Map::new();
    for one in rubrics {
        let name = one.group.as_deref().unwrap_or(UNGROUPED);
        let group = groups.entry(name).or_insert_with(|| json!({"rubrics": []}));
        if let Some(Value::Array(list)) = group.get_mut("rubrics") {
            list.push(rubric(one));
        }
    }
    groups
}

fn rubric(rubric: &Rubric) -> Value {
    let mut out = Map::new();
    out.insert("rubric_id".into(), rubric.id.clone().into());
    let words = rubric.text.clone().or_else(|| rubric.description.clone());
    out.insert(
        "content".into(),
        json!({"property": {"description": words}}),
    );
    out.extend(
        rubric
            .kind
            .clone()
            .map(|kind| ("type".to_string(), Value::from(kind))),
    );
    Value::Object(out)
}
