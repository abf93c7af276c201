//! Writing of eval sets as ADK writes them: snake_case, ADK's order of keys, no unset fields.

use super::content::{write_call, write_content, write_part, write_response};
use super::eval_case::RUBRIC_GROUPS;
use super::event::write_event;
use super::result::write_rubric;
use crate::domain::{Content, Conversation, EvalCase, Invocation, SessionInput, Trajectory};
use serde_json::{Map, Value, json};

/// A case as JSON. Keys that ADK does not know are at the end; ADK retains them.
pub fn write_case(case: &EvalCase) -> Value {
    let mut out = Map::new();
    out.insert("eval_id".into(), case.eval_id.clone().into());
    match &case.conversation {
        Conversation::Turns(turns) => {
            out.insert(
                "conversation".into(),
                turns.iter().map(write_turn).collect(),
            );
        }
        Conversation::Scenario(scenario) => {
            out.insert("conversation_scenario".into(), scenario.clone());
        }
    }
    if let Some(input) = &case.session_input {
        out.insert("session_input".into(), write_session(input));
    }
    if case.created != 0.0 {
        out.insert("creation_timestamp".into(), case.created.into());
    }
    if !case.rubrics.is_empty() {
        out.insert(
            "rubrics".into(),
            case.rubrics
                .iter()
                .map(write_rubric)
                .map(without_nulls)
                .collect(),
        );
        let mut groups: Map<String, Value> = Map::new();
        for rubric in &case.rubrics {
            let Some(group) = &rubric.group else { continue };
            let ids = groups
                .entry(group.clone())
                .or_insert_with(|| Value::Array(Vec::new()));
            ids.as_array_mut()
                .into_iter()
                .for_each(|ids| ids.push(rubric.id.clone().into()));
        }
        if !groups.is_empty() {
            out.insert(RUBRIC_GROUPS.into(), groups.into());
        }
    }
    if let Some(state) = &case.final_session_state {
        out.insert("final_session_state".into(), state.clone());
    }
    for (key, value) in &case.extra {
        out.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(out)
}

/// The file of a new set without cases, as ADK creates it. `now` is in Unix seconds.
pub fn blank_set(id: &str, description: Option<&str>, now: f64) -> String {
    let mut out = Map::new();
    out.insert("eval_set_id".into(), id.into());
    out.insert("name".into(), id.into());
    out.extend(description.map(|words| ("description".to_string(), words.into())));
    out.insert("eval_cases".into(), Value::Array(Vec::new()));
    out.insert("creation_timestamp".into(), now.into());
    serde_json::to_string_pretty(&out).unwrap_or_default()
}

fn write_turn(turn: &Invocation) -> Value {
    let mut out = Map::new();
    if !turn.id.is_empty() {
        out.insert("invocation_id".into(), turn.id.clone().into());
    }
    out.insert("user_content".into(), write_content(&turn.user));
    if let Some(response) = &turn.final_response {
        out.insert("final_response".into(), write_content(response));
    }
    if let Some(data) = write_trajectory(&turn.trajectory) {
        out.insert("intermediate_data".into(), data);
    }
    if turn.created != 0.0 {
        out.insert("creation_timestamp".into(), turn.created.into());
    }
    let durations = [
        ("duration", turn.durations.total),
        ("model_duration", turn.durations.model),
        ("tool_duration", turn.durations.tool),
    ];
    for (key, seconds) in durations {
        out.extend(seconds.map(|seconds| (key.to_string(), seconds.into())));
    }
    if !turn.rubrics.is_empty() {
        out.insert(
            "rubrics".into(),
            turn.rubrics
                .iter()
                .map(write_rubric)
                .map(without_nulls)
                .collect(),
        );
    }
    out.extend(
        turn.app_details
            .clone()
            .map(|details| ("app_details".to_string(), details)),
    );
    for (key, value) in &turn.extra {
        out.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(out)
}

/// A named conversation of the older form.
pub(in crate::formats) fn write_named_case(case: &EvalCase) -> Value {
    let mut out = Map::new();
    out.insert("name".into(), case.eval_id.clone().into());
    out.insert("data".into(), write_turns(case));
    if let Some(input) = &case.session_input {
        let session = json!({"app_name": input.app_name, "user_id": input.user_id, "state": input.state.clone()});
        out.insert("initial_session".into(), session);
    }
    Value::Object(out)
}

/// The turns of a conversation in the older form.
pub(in crate::formats) fn write_turns(case: &EvalCase) -> Value {
    let turn = |turn: &Invocation| {
        let mut out = Map::new();
        out.insert("query".into(), turn.user.scored_text().into());
        let uses: Vec<Value> = turn
            .calls()
            .iter()
            .map(|call| json!({"tool_name": call.name, "tool_input": call.args.clone().unwrap_or_default()}))
            .collect();
        if !uses.is_empty() {
            out.insert("expected_tool_use".into(), uses.into());
        }
        if let Trajectory::Listed { texts, .. } = &turn.trajectory
            && !texts.is_empty()
        {
            let said = |parts: &[crate::domain::Part]| {
                Content {
                    parts: parts.to_vec(),
                    ..Content::default()
                }
                .scored_text()
            };
            let spoken = texts
                .iter()
                .map(|(author, parts)| json!({"author": author, "text": said(parts)}));
            out.insert(
                "expected_intermediate_agent_responses".into(),
                spoken.collect(),
            );
        }
        let response = turn.response_text();
        if !response.is_empty() {
            out.insert("reference".into(), response.into());
        }
        Value::Object(out)
    };
    case.turns().iter().map(turn).collect()
}

/// A trajectory as JSON: `None` if it is not known, an empty object if it is known to be empty.
pub(in crate::formats) fn write_trajectory(trajectory: &Trajectory) -> Option<Value> {
    let mut out = Map::new();
    let mut put = |key: &str, list: Vec<Value>| {
        if !list.is_empty() {
            out.insert(key.into(), Value::Array(list));
        }
    };
    match trajectory {
        Trajectory::Unknown | Trajectory::Partial(_) => return None,
        Trajectory::Listed {
            calls,
            responses,
            texts,
        } => {
            put("tool_uses", calls.iter().map(write_call).collect());
            put(
                "tool_responses",
                responses.iter().map(write_response).collect(),
            );
            let text = |(author, parts): &(String, Vec<crate::domain::Part>)| {
                json!([author, parts.iter().map(write_part).collect::<Vec<_>>()])
            };
            put("intermediate_responses", texts.iter().map(text).collect());
        }
        Trajectory::Events(events) => {
            put(
                "invocation_events",
                events.iter().map(write_event).map(without_nulls).collect(),
            );
        }
    }
    Some(Value::Object(out))
}

fn write_session(input: &SessionInput) -> Value {
    let mut out = Map::new();
    out.insert("app_name".into(), input.app_name.clone().into());
    out.insert("user_id".into(), input.user_id.clone().into());
    out.extend(
        input
            .session_id
            .clone()
            .map(|id| ("session_id".to_string(), id.into())),
    );
    if !input.state.is_empty() {
        out.insert("state".into(), input.state.clone().into());
    }
    for (key, value) in &input.extra {
        out.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(out)
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}
