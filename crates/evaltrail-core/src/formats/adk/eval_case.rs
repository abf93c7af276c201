//! An eval case of an ADK eval set.

use super::content::{call, content, response};
use super::event::{authored_parts, invocation_event};
use crate::domain::{
    Conversation, Durations, EvalCase, Invocation, Rubric, SessionInput, Trajectory,
    plausible_seconds,
};
use crate::formats::read::{JsonNode, Read};
use serde_json::Value;

pub(in crate::formats) fn eval_case(node: JsonNode) -> Read<EvalCase> {
    node.object()?;
    let conversation = match (node.get("conversation"), node.get("conversation_scenario")) {
        (Some(turns), _) => {
            Conversation::Turns(turns.items()?.map(invocation).collect::<Read<_>>()?)
        }
        (None, Some(scenario)) => Conversation::Scenario(scenario.value.clone()),
        (None, None) => return Err(node.missing("conversation")),
    };
    let groups = rubric_groups(node);
    let mut rubrics = node.list("rubrics", rubric)?;
    for rubric in &mut rubrics {
        let is_member = |(_, members): &&(String, Vec<String>)| members.contains(&rubric.id);
        rubric.group = groups.iter().find(is_member).map(|(name, _)| name.clone());
    }
    let mut extra = node.others(CASE_KEYS);
    if !groups.is_empty() {
        extra.remove(RUBRIC_GROUPS);
    }
    Ok(EvalCase {
        eval_id: node.need("eval_id")?.str()?,
        conversation,
        session_input: node.get("session_input").map(session_input).transpose()?,
        rubrics,
        final_session_state: node.get("final_session_state").map(|n| n.value.clone()),
        created: node.opt_number("creation_timestamp")?.unwrap_or(0.0),
        extra,
        ..EvalCase::default()
    })
}

/// The key under which `convert` writes the groups of a data set's rubrics: their names, and the ids of the rubrics. ADK
/// preserves it.
pub(super) const RUBRIC_GROUPS: &str = "rubric_groups";

/// The groups of a case's rubrics; none if the key has another content.
fn rubric_groups(node: JsonNode) -> Vec<(String, Vec<String>)> {
    let members = |value: &Value| {
        let ids = value
            .as_array()?
            .iter()
            .map(|id| id.as_str().map(str::to_string));
        ids.collect::<Option<Vec<String>>>()
    };
    let groups = node.value.get(RUBRIC_GROUPS).and_then(Value::as_object);
    let read = groups.map(|groups| {
        groups
            .iter()
            .map(|(name, ids)| Some((name.clone(), members(ids)?)))
    });
    read.and_then(|groups| groups.collect::<Option<Vec<_>>>())
        .unwrap_or_default()
}

const CASE_KEYS: &[&str] = &[
    "eval_id",
    "conversation",
    "conversation_scenario",
    "session_input",
    "rubrics",
    "final_session_state",
    "creation_timestamp",
];

pub(super) fn invocation(node: JsonNode) -> Read<Invocation> {
    node.object()?;
    Ok(Invocation {
        id: node.opt_str("invocation_id")?.unwrap_or_default(),
        user: content(node.need("user_content")?)?,
        final_response: node.get("final_response").map(content).transpose()?,
        trajectory: node
            .get("intermediate_data")
            .map(trajectory)
            .transpose()?
            .unwrap_or_default(),
        rubrics: node.list("rubrics", rubric)?,
        app_details: node.get("app_details").map(|n| n.value.clone()),
        created: node.opt_number("creation_timestamp")?.unwrap_or(0.0),
        durations: Durations {
            total: node.opt_number("duration")?.and_then(plausible_seconds),
            model: node
                .opt_number("model_duration")?
                .and_then(plausible_seconds),
            tool: node
                .opt_number("tool_duration")?
                .and_then(plausible_seconds),
        },
        extra: node.others(INVOCATION_KEYS),
        ..Invocation::default()
    })
}

const INVOCATION_KEYS: &[&str] = &[
    "invocation_id",
    "user_content",
    "final_response",
    "intermediate_data",
    "rubrics",
    "app_details",
    "creation_timestamp",
    "duration",
    "model_duration",
    "tool_duration",
];

pub(in crate::formats) fn trajectory(node: JsonNode) -> Read<Trajectory> {
    node.object()?;
    if let Some(events) = node.get("invocation_events") {
        return Ok(Trajectory::Events(
            events.items()?.map(invocation_event).collect::<Read<_>>()?,
        ));
    }
    Ok(Trajectory::Listed {
        calls: node.list("tool_uses", call)?,
        responses: node.list("tool_responses", response)?,
        texts: node.list("intermediate_responses", authored_parts)?,
    })
}

pub(in crate::formats) fn session_input(node: JsonNode) -> Read<SessionInput> {
    node.object()?;
    Ok(SessionInput {
        app_name: node.opt_str("app_name")?.unwrap_or_default(),
        user_id: node.opt_str("user_id")?.unwrap_or_default(),
        session_id: node.opt_str("session_id")?,
        state: match node.get("state") {
            Some(state) => state.object()?.clone(),
            None => Default::default(),
        },
        extra: node.others(&["app_name", "user_id", "session_id", "state"]),
    })
}

pub(super) fn rubric(node: JsonNode) -> Read<Rubric> {
    node.object()?;
    let content = node.get("rubric_content");
    Ok(Rubric {
        id: node.need("rubric_id")?.str()?,
        text: content
            .map(|content| content.opt_str("text_property"))
            .transpose()?
            .flatten(),
        description: node.opt_str("description")?,
        kind: node.opt_str("type")?,
        group: None,
    })
}
