//! The older forms: lists of turns, with or without names. Read as ADK migrates them.

use crate::domain::{
    Content, Conversation, EvalCase, Invocation, Part, SessionInput, ToolCall, Trajectory,
};
use crate::formats::read::{JsonNode, Read};
use serde_json::Value;

/// A named conversation: `{"name", "data": [turn…], "initial_session"}`.
pub(in crate::formats) fn named_case(node: JsonNode) -> Read<EvalCase> {
    node.object()?;
    let turns = node.need("data")?.items()?.map(turn).collect::<Read<_>>()?;
    Ok(EvalCase {
        eval_id: node.need("name")?.str()?,
        conversation: Conversation::Turns(turns),
        session_input: node
            .get("initial_session")
            .map(initial_session)
            .transpose()?
            .flatten(),
        ..EvalCase::default()
    })
}

/// A list of turns is one conversation, named after its file.
pub(in crate::formats) fn turn_list(node: JsonNode, eval_id: &str) -> Read<EvalCase> {
    Ok(EvalCase {
        eval_id: eval_id.to_string(),
        conversation: Conversation::Turns(node.items()?.map(turn).collect::<Read<_>>()?),
        ..EvalCase::default()
    })
}

/// A turn: `query`, `reference`, `expected_tool_use`, `expected_intermediate_agent_responses`.
fn turn(node: JsonNode) -> Read<Invocation> {
    node.object()?;
    let query = node.need("query")?.str()?;
    // A null reference becomes a part without a text in ADK, an absent one an empty text.
    let reference = match node.value.get("reference") {
        Some(Value::Null) => Part::default(),
        _ => Part::text(node.opt_str("reference")?.unwrap_or_default()),
    };
    Ok(Invocation {
        user: Content::text("user", query),
        final_response: Some(Content {
            role: Some("model".into()),
            parts: vec![reference],
        }),
        trajectory: Trajectory::Listed {
            calls: node.list("expected_tool_use", tool_use)?,
            responses: Vec::new(),
            texts: node.list("expected_intermediate_agent_responses", spoken)?,
        },
        ..Invocation::default()
    })
}

fn tool_use(node: JsonNode) -> Read<ToolCall> {
    let args = node.need("tool_input")?.object()?.clone();
    Ok(ToolCall::new(node.need("tool_name")?.str()?, Some(args)))
}

fn spoken(node: JsonNode) -> Read<(String, Vec<Part>)> {
    Ok((
        node.need("author")?.str()?,
        vec![Part::text(node.need("text")?.str()?)],
    ))
}

/// Reads an initial session file, which goes with a list of turns.
pub fn read_initial_session(
    text: &str,
) -> Result<Option<SessionInput>, crate::formats::FileProblem> {
    use crate::formats::{FileProblem, json};
    let parsed = json::parse(text).map_err(|error| FileProblem::syntax(text, error))?;
    initial_session(JsonNode::top(&parsed.value))
        .map_err(|error| FileProblem::reading(text, &json::JsonPath::default(), error))
}

/// The session in which a conversation begins; `None` for an empty object.
pub(super) fn initial_session(node: JsonNode) -> Read<Option<SessionInput>> {
    if node.object()?.is_empty() {
        return Ok(None);
    }
    Ok(Some(SessionInput {
        app_name: node.opt_str("app_name")?.unwrap_or_default(),
        user_id: node.opt_str("user_id")?.unwrap_or_default(),
        state: match node.get("state") {
            Some(state) => state.object()?.clone(),
            None => Default::default(),
        },
        ..SessionInput::default()
    }))
}
