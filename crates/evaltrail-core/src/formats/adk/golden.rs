//! The expected conversation as the first events of a session, so that a later turn can be run on the expected history.

use super::content::write_content;
use crate::domain::{Content, Invocation, Part, TRANSFER_TOOL, ToolCall, ToolResponse, Trajectory};
use crate::formats::read::camel;
use serde_json::{Map, Value, json};

/// Placeholder for a tool response that the file does not contain: models refuse calls without a response.
const NOT_RECORDED: &str = "not recorded in the eval case";

/// The events of turns, in the form that ADK's server accepts when a session is created. `root` is the name of the
/// agent that begins the conversation. ADK's runner continues with the agent that is the author of the newest event,
/// so a transfer (`transfer_to_agent`) applies to later turns too.
pub fn golden_events(turns: &[Invocation], root: &str) -> Vec<Value> {
    let mut events = Vec::new();
    let mut speaker = root.to_string();
    for (at, turn) in turns.iter().enumerate() {
        let mut put = |author: &str, content: Option<&Content>| {
            let number = events.len() + 1;
            let mut event = json!({
                "id": format!("golden-{number}"),
                "invocationId": format!("golden-turn-{}", at + 1),
                "author": author,
                "timestamp": number as f64,
            });
            if let Some(content) = content {
                event["content"] = write_message(content);
            }
            events.push(event);
        };
        put("user", Some(&turn.user));
        let mut last = None;
        for (author, content) in acts(turn, &speaker) {
            put(&author, Some(&content));
            // The author of the response to a transfer is the agent that made the transfer.
            let is_answer = content.responses().next().is_some();
            speaker = match handed_to(&content) {
                Some(next) => next,
                None if is_answer => speaker,
                None => author.clone(),
            };
            last = Some(author);
        }
        if let Some(author) = responder(turn) {
            speaker = author;
        }
        match turn
            .final_response
            .as_ref()
            .filter(|response| !response.parts.is_empty())
        {
            Some(response) => put(&speaker, Some(response)),
            // An agent that received the conversation and wrote no message still has to be the newest author.
            None if last.is_some_and(|author| author != speaker) => put(&speaker, None),
            None => {}
        }
    }
    events
}

/// The agent to which a message transfers the conversation.
fn handed_to(content: &Content) -> Option<String> {
    let call = content.calls().find(|call| call.name == TRANSFER_TOOL)?;
    let args = call.args.as_ref()?;
    let name = args.get("agent_name").or_else(|| args.get("agentName"))?;
    name.as_str().map(str::to_string)
}

/// The author of the final response, if the events contain it: ADK records the event of the response without its
/// content.
fn responder(turn: &Invocation) -> Option<String> {
    let last = turn
        .trajectory
        .events()?
        .last()
        .filter(|event| event.content.is_none() && event.author != "user")?;
    Some(last.author.clone())
}

/// A message in the form that ADK's servers accept.
pub fn write_message(content: &Content) -> Value {
    camelised(write_content(content))
}

/// The messages between the user's message and the final response, with a response to every call.
fn acts(turn: &Invocation, author: &str) -> Vec<(String, Content)> {
    let message = |role: &str, part: Part| Content {
        role: Some(role.into()),
        parts: vec![part],
    };
    let mut acts = Vec::new();
    match &turn.trajectory {
        Trajectory::Unknown | Trajectory::Partial(_) => {}
        Trajectory::Events(events)
            if answered(events.iter().filter_map(|event| event.content.as_ref())) =>
        {
            let told = events
                .iter()
                .filter_map(|event| Some((event.author.clone(), event.content.clone()?)));
            acts.extend(told);
        }
        trajectory => {
            let mut author = author.to_string();
            for (at, call) in trajectory.calls().into_iter().enumerate() {
                let id = call
                    .id
                    .clone()
                    .unwrap_or_else(|| format!("golden-call-{}", at + 1));
                let call = ToolCall {
                    id: Some(id.clone()),
                    ..call.clone()
                };
                let recorded = trajectory
                    .response_to(at)
                    .map(|response| response.response.clone());
                let response = ToolResponse {
                    id: Some(id),
                    name: call.name.clone(),
                    response: recorded.unwrap_or_else(|| json!({ "result": NOT_RECORDED })),
                };
                let asked = message(
                    "model",
                    Part {
                        call: Some(call),
                        ..Part::default()
                    },
                );
                let answered = message(
                    "user",
                    Part {
                        response: Some(response),
                        ..Part::default()
                    },
                );
                let next = handed_to(&asked).unwrap_or_else(|| author.clone());
                acts.extend([(author.clone(), asked), (author, answered)]);
                author = next;
            }
        }
    }
    acts
}

/// Whether every call has an id and a response.
fn answered<'a>(contents: impl Iterator<Item = &'a Content> + Clone) -> bool {
    let answers: Vec<_> = contents
        .clone()
        .flat_map(Content::responses)
        .map(|response| &response.id)
        .collect();
    contents
        .flat_map(Content::calls)
        .all(|call| call.id.is_some() && answers.contains(&&call.id))
}

/// Known keys in camelCase, which every version of ADK reads. Arguments and responses are data and stay as they are.
fn camelised(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| match key.as_str() {
                "args" | "response" => (key, value),
                _ => (camel(&key), camelised(value)),
            })
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(list) => list.into_iter().map(camelised).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::InvocationEvent;

    #[test]
    fn every_call_is_answered() {
        let call = ToolCall::new("get", json!({"snake_key": 1}).as_object().cloned());
        let turn = Invocation {
            user: Content::text("user", "hi"),
            final_response: Some(Content::text("model", "done")),
            trajectory: Trajectory::Listed {
                calls: vec![call],
                responses: Vec::new(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        };
        let events = golden_events(&[turn], "agent");
        let authors: Vec<_> = events
            .iter()
            .map(|event| event["author"].as_str().unwrap())
            .collect();
        assert_eq!(authors, ["user", "agent", "agent", "agent"]);
        let called = &events[1]["content"]["parts"][0]["functionCall"];
        assert_eq!(called["args"]["snake_key"], 1);
        let answer = &events[2]["content"]["parts"][0]["functionResponse"];
        assert_eq!(answer["id"], called["id"]);
        assert_eq!(answer["response"]["result"], NOT_RECORDED);
        assert_eq!(events[3]["content"]["parts"][0]["text"], "done");
    }

    fn authors(events: &[Value]) -> Vec<&str> {
        events
            .iter()
            .map(|event| event["author"].as_str().unwrap())
            .collect()
    }

    /// google-adk 2.13 lets the author of the newest event answer the next turn.
    #[test]
    fn agent_remains_author_after_transfer() {
        let call = |name: &str, args: Value| ToolCall::new(name, args.as_object().cloned());
        let turn = |calls: Vec<ToolCall>, response: Option<&str>| Invocation {
            user: Content::text("user", "hi"),
            final_response: response.map(|text| Content::text("model", text)),
            trajectory: Trajectory::Listed {
                calls,
                responses: Vec::new(),
                texts: Vec::new(),
            },
            ..Invocation::default()
        };
        let over = || call(TRANSFER_TOOL, json!({"agent_name": "refunds"}));
        let listed = [
            turn(vec![over(), call("book", json!({}))], Some("done")),
            turn(vec![call("look", json!({}))], Some("yes")),
        ];
        assert_eq!(
            authors(&golden_events(&listed, "desk")),
            [
                "user", "desk", "desk", "refunds", "refunds", "refunds", "user", "refunds",
                "refunds", "refunds"
            ]
        );
        let silent = golden_events(&[turn(vec![over()], None)], "desk");
        assert_eq!(authors(&silent), ["user", "desk", "desk", "refunds"]);
        assert_eq!(silent[3].get("content"), None);
        assert_eq!(
            authors(&golden_events(&[turn(vec![], None)], "desk")),
            ["user"]
        );
    }

    /// The event of the response is recorded without its content.
    #[test]
    fn response_author_is_read_from_events() {
        let event = |author: &str, content: Option<Content>| InvocationEvent {
            author: author.into(),
            content,
            ..InvocationEvent::default()
        };
        let part = |part: Part| {
            Some(Content {
                role: None,
                parts: vec![part],
            })
        };
        let mut over = ToolCall::new(
            TRANSFER_TOOL,
            json!({"agent_name": "refunds"}).as_object().cloned(),
        );
        over.id = Some("1".into());
        let answer = ToolResponse {
            id: Some("1".into()),
            name: TRANSFER_TOOL.into(),
            response: json!({}),
        };
        let events = vec![
            event(
                "desk",
                part(Part {
                    call: Some(over),
                    ..Part::default()
                }),
            ),
            event(
                "desk",
                part(Part {
                    response: Some(answer),
                    ..Part::default()
                }),
            ),
            event("refunds", None),
        ];
        let turn = Invocation {
            user: Content::text("user", "hi"),
            final_response: Some(Content::text("model", "which booking?")),
            trajectory: Trajectory::Events(events),
            ..Invocation::default()
        };
        assert_eq!(
            authors(&golden_events(&[turn], "desk")),
            ["user", "desk", "desk", "refunds"]
        );
    }
}
