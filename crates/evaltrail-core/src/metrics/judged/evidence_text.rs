//! The events of a turn, as text for a prompt.

use crate::domain::{
    Content, DetailsSource, Invocation, InvocationEvent, ToolCall, ToolResponse, Trajectory,
    python_json, value_text,
};
use serde_json::{Map, Value, json};

/// The agent's text in a turn: the final response, on request with all intermediate texts before it (ADK's
/// `include_intermediate_responses_in_final`).
pub(super) fn agent_text(turn: &Invocation, with_intermediate: bool) -> String {
    if !with_intermediate {
        return turn.response_text();
    }
    let mut texts = intermediate(turn);
    texts.push(turn.response_text());
    texts.retain(|text| !text.is_empty());
    texts.join("\n")
}

fn intermediate(turn: &Invocation) -> Vec<String> {
    match &turn.trajectory {
        Trajectory::Unknown => Vec::new(),
        Trajectory::Listed { texts, .. } => texts
            .iter()
            .flat_map(|(_, parts)| parts)
            .filter_map(|part| part.text.clone())
            .collect(),
        Trajectory::Events(events) | Trajectory::Partial(events) => events
            .iter()
            .filter_map(|event| event.content.as_ref())
            .map(Content::scored_text)
            .collect(),
    }
}

/// The events of a turn; empty when none were recorded.
pub(super) fn events(turn: &Invocation) -> &[InvocationEvent] {
    turn.trajectory.events().unwrap_or_default()
}

/// The calls with their responses, in order.
pub(super) fn steps(turn: &Invocation) -> String {
    let responses = turn.responses();
    let mut left: Vec<Option<&ToolResponse>> = responses.into_iter().map(Some).collect();
    let mut answer = |call: &ToolCall| {
        let by_id = left
            .iter()
            .position(|one| one.is_some_and(|one| call.id.is_some() && one.id == call.id));
        let by_name = || {
            left.iter()
                .position(|one| one.is_some_and(|one| one.id.is_none() && one.name == call.name))
        };
        let at = by_id.or_else(by_name)?;
        left[at].take()
    };
    let steps: Vec<Value> = turn
        .calls()
        .into_iter()
        .enumerate()
        .map(|(step, call)| {
            let response = answer(call).map_or(json!("None"), |one| one.response.clone());
            json!({
                "step": step,
                "tool_call": {"name": call.name, "args": call.args},
                "tool_response": response,
            })
        })
        .collect();
    match steps.is_empty() {
        true => "The agent called no tools.".into(),
        false => pretty(&json!({"tool_calls_and_response": steps})),
    }
}

/// Grounding metadata of the events.
pub(super) fn grounding(turn: &Invocation) -> String {
    let found: Vec<Value> = events(turn)
        .iter()
        .enumerate()
        .filter_map(|(step, event)| {
            let data = event.grounding.as_ref().filter(|data| !data.is_null())?;
            Some(json!({"step": step, "author": event.author, "grounding_metadata": data}))
        })
        .collect();
    match found.is_empty() {
        true => "There is no grounding metadata.".into(),
        false => pretty(&json!({"grounding_metadata": found})),
    }
}

/// The agents of the turn's application, by name.
fn agents(turn: &Invocation) -> Option<&Map<String, Value>> {
    let details = turn.app_details.as_ref()?;
    details
        .get("agent_details")
        .or_else(|| details.get("agentDetails"))?
        .as_object()
}

/// What the prompts do not contain of the instructions and tools of the agents.
pub(super) fn unknown_details(turns: &[Invocation]) -> Option<String> {
    let unknown = turns
        .iter()
        .filter(|turn| agents(turn).is_none_or(Map::is_empty))
        .count();
    let is_described = turns
        .iter()
        .any(|turn| turn.app_details_source == DetailsSource::Description);
    match unknown {
        0 if is_described => Some(
            "the judge was sent the agent's instructions and tools as its server describes them, without what ADK adds"
                .into(),
        ),
        0 => None,
        _ if unknown == turns.len() => Some("the agent's instructions and tools are not known to the judge".into()),
        _ => Some(format!(
            "the agent's instructions and tools are not known to the judge for {unknown} of {} turns",
            turns.len()
        )),
    }
}

/// Each agent's instructions.
pub(super) fn instructions(turn: &Invocation) -> Vec<(&str, &str)> {
    agents(turn)
        .into_iter()
        .flatten()
        .filter_map(|(name, agent)| Some((name.as_str(), agent.get("instructions")?.as_str()?)))
        .collect()
}

/// The developer's instructions: those of the agent that acted first, else of the first agent.
pub(super) fn developer_instructions(turn: &Invocation) -> String {
    let all = instructions(turn);
    let first = events(turn).first().map(|event| event.author.as_str());
    let found = all
        .iter()
        .find(|(name, _)| Some(*name) == first)
        .or(all.first());
    found
        .map(|(_, text)| (*text).to_string())
        .unwrap_or_default()
}

/// The tools of each agent.
pub(super) fn tools(turn: &Invocation) -> String {
    let by_agent: Map<String, Value> = agents(turn)
        .into_iter()
        .flatten()
        .filter_map(|(name, agent)| {
            let tools = agent
                .get("tool_declarations")
                .or_else(|| agent.get("toolDeclarations"))?;
            Some((name.clone(), tools.clone()))
        })
        .collect();
    match by_agent.is_empty() {
        true => "It is not recorded which tools the agent has.".into(),
        false => pretty(&json!({"tool_declarations": by_agent})),
    }
}

/// The whole conversation, line by line.
pub(super) fn conversation(turns: &[Invocation]) -> String {
    let mut lines = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        let number = at + 1;
        lines.push(format!("USER TURN {number}: {}", spaced(&turn.user)));
        for event in events(turn) {
            let who = format!("AGENT ({}) TURN {number}", event.author);
            if let Some(content) = &event.content {
                let text = spaced(content);
                if !text.is_empty() {
                    lines.push(format!("{who}: {text}"));
                }
                lines.extend(content.calls().map(|call| {
                    format!(
                        "{who} (tool call): {}({})",
                        call.name,
                        compact(&json!(call.args))
                    )
                }));
                lines.extend(content.responses().map(|response| {
                    format!(
                        "{who} (tool output): {} -> {}",
                        response.name,
                        compact(&response.response)
                    )
                }));
            }
        }
        if let Trajectory::Listed { .. } = &turn.trajectory {
            lines.push(format!("AGENT TURN {number} (tool calls): {}", steps(turn)));
        }
        let author = events(turn)
            .first()
            .map_or("agent", |event| event.author.as_str());
        if let Some(response) = &turn.final_response {
            lines.push(format!(
                "AGENT ({author}) TURN {number}: {}",
                spaced(response)
            ));
        }
    }
    lines.join("\n")
}

fn spaced(content: &Content) -> String {
    let texts: Vec<&str> = content
        .parts
        .iter()
        .filter_map(|part| part.text.as_deref())
        .collect();
    texts.join(" ")
}

/// Indented JSON, with NaN and Infinity as Python writes them.
pub(super) fn pretty(value: &Value) -> String {
    python_json(serde_json::to_string_pretty(value).unwrap_or_default())
}

/// JSON on one line.
pub(super) fn compact(value: &Value) -> String {
    value_text(value)
}

/// All text of the agent and its tools in a case, which a judge's reply may quote.
pub(super) fn all_texts(turns: &[Invocation]) -> String {
    let mut texts = Vec::new();
    for turn in turns {
        texts.extend(intermediate(turn));
        texts.push(turn.response_text());
        texts.extend(turn.responses().iter().map(|one| strings_of(&one.response)));
    }
    texts.join("\n")
}

fn strings_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(strings_of).collect::<Vec<_>>().join("\n"),
        Value::Object(map) => map.values().map(strings_of).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
