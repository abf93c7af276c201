//! OpenAI-style message lists: system, user, assistant with tool calls, tool.

use crate::domain::{Content, EvalCase, Invocation, ToolCall, ToolResponse, Trajectory};
use crate::formats::json;
use crate::formats::read::{Node, Read};
use serde_json::Value;
use std::collections::HashMap;

/// A conversation, turn by turn. An assistant message before the first user message begins a turn without a user
/// message.
pub(super) struct Conversation {
    pub(super) turns: Vec<Invocation>,
    /// The text of the system message.
    pub(super) system: Option<String>,
}

/// Reads a list of messages.
pub(super) fn conversation(node: Node) -> Read<Conversation> {
    let mut conversation = Conversation { turns: Vec::new(), system: None };
    let mut names: HashMap<String, String> = HashMap::new();
    for message in node.items()? {
        message.object()?;
        let role = message.opt_str("role")?.unwrap_or_default();
        match role.as_str() {
            "system" | "developer" => conversation.system = Some(text(message)?),
            "user" => conversation.turns.push(Invocation {
                user: Content::text("user", text(message)?),
                trajectory: Trajectory::Listed { calls: vec![], responses: vec![], texts: vec![] },
                ..Invocation::default()
            }),
            "assistant" | "model" => assistant(message, &mut conversation.turns, &mut names)?,
            "tool" | "function" => tool(message, &mut conversation.turns, &names)?,
            _ => return Err(message.wrong("a message whose role is system, user, assistant or tool")),
        }
    }
    Ok(conversation)
}

/// A list of messages as one case: the assistant's messages and tool calls are the expected ones.
pub(super) fn case(node: Node, eval_id: &str) -> Read<EvalCase> {
    let found = conversation(node)?;
    let mut case = EvalCase {
        eval_id: eval_id.to_string(),
        conversation: crate::domain::Conversation::Turns(found.turns),
        ..EvalCase::default()
    };
    case.extra.extend(found.system.map(|words| ("system_instruction".to_string(), Value::String(words))));
    Ok(case)
}

/// A message's text: a string, or the texts among its parts.
fn text(message: Node) -> Read<String> {
    let Some(content) = message.get("content") else { return Ok(String::new()) };
    match content.value {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            Ok(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => Err(content.wrong("a text or a list of parts")),
    }
}

fn assistant(message: Node, turns: &mut Vec<Invocation>, names: &mut HashMap<String, String>) -> Read<()> {
    if turns.is_empty() {
        turns.push(Invocation {
            trajectory: Trajectory::Listed { calls: vec![], responses: vec![], texts: vec![] },
            ..Invocation::default()
        });
    }
    let Some(turn) = turns.last_mut() else { return Ok(()) };
    if let (Some(list), Trajectory::Listed { calls, .. }) = (message.get("tool_calls"), &mut turn.trajectory)
    {
        for item in list.items()? {
            let function = item.get("function").unwrap_or(item);
            let call = ToolCall {
                id: item.opt_str("id")?,
                name: function.need("name")?.str()?,
                args: function.get("arguments").map(super::vertex::arguments).transpose()?,
                rounded: false,
            };
            names.extend(call.id.clone().map(|id| (id, call.name.clone())));
            calls.push(call);
        }
    }
    let said = text(message)?;
    if !said.is_empty() {
        turn.final_response = Some(Content::text("model", said));
    }
    Ok(())
}

fn tool(message: Node, turns: &mut [Invocation], names: &HashMap<String, String>) -> Read<()> {
    let id = message.opt_str("tool_call_id")?;
    let name = match (message.opt_str("name")?, &id) {
        (Some(name), _) => name,
        (None, Some(id)) => names.get(id).cloned().unwrap_or_default(),
        (None, None) => String::new(),
    };
    let said = text(message)?;
    let response = json::parse(&said).map(|parsed| parsed.value).unwrap_or(Value::String(said));
    if let Some(Trajectory::Listed { responses, .. }) = turns.last_mut().map(|turn| &mut turn.trajectory) {
        responses.push(ToolResponse { id, name, response });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_become_turns() {
        let messages = json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather in Oslo?"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
                "function": {"name": "get_weather", "arguments": "{\"city\":\"Oslo\",\"days\":3}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "{\"temp\":4}"},
            {"role": "assistant", "content": [{"type": "text", "text": "4 degrees."}]},
            {"role": "user", "content": "Thanks"},
            {"role": "assistant", "content": "You are welcome."}
        ]);
        let found = conversation(Node::top(&messages)).unwrap();
        assert_eq!((found.turns.len(), found.system.as_deref()), (2, Some("Be brief.")));
        let first = &found.turns[0];
        assert_eq!(first.calls()[0].args, json!({"city": "Oslo", "days": 3}).as_object().cloned());
        assert_eq!(
            (first.responses()[0].name.as_str(), &first.responses()[0].response),
            ("get_weather", &json!({"temp": 4}))
        );
        assert_eq!(
            (first.response_text(), found.turns[1].response_text()),
            ("4 degrees.".into(), "You are welcome.".into())
        );
    }

    #[test]
    fn an_unknown_role_is_refused() {
        let error = conversation(Node::top(&json!([{"role": "ghost"}]))).err().unwrap();
        assert!(error.to_string().starts_with("$[0]: expected a message whose role"));
    }
}
