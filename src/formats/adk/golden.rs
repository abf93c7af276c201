//! A conversation as it should have gone, as the events that begin a session: so that a later turn can be run on
//! the expected history (`facts/adk.md` 6.1).

use super::content::write_content;
use crate::domain::{Content, Invocation, Part, ToolCall, ToolResponse, Trajectory};
use crate::formats::read::camel;
use serde_json::{Map, Value, json};

/// What stands for a response that the file does not have: models refuse calls that nothing answers.
const NOT_RECORDED: &str = "not recorded in the eval case";

/// The events of turns, as ADK's server takes them when a session is made. `author` is the agent's name, for
/// turns that do not name who acted.
pub fn golden_events(turns: &[Invocation], author: &str) -> Vec<Value> {
    let mut events = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        let mut put = |author: &str, content: &Content| {
            let number = events.len() + 1;
            events.push(json!({
                "id": format!("golden-{number}"),
                "invocationId": format!("golden-turn-{}", at + 1),
                "author": author,
                "timestamp": number as f64,
                "content": write_message(content),
            }));
        };
        put("user", &turn.user);
        let spoken = acts(turn, author);
        spoken.iter().for_each(|(author, content)| put(author, content));
        if let Some(response) = turn.final_response.as_ref().filter(|response| !response.parts.is_empty()) {
            let last = spoken.last().map_or(author, |(author, _)| author.as_str()).to_string();
            put(&last, response);
        }
    }
    events
}

/// A message as ADK's servers take it.
pub fn write_message(content: &Content) -> Value {
    camelised(write_content(content))
}

/// What was said and done between the user's words and the response: every call with its response.
fn acts(turn: &Invocation, author: &str) -> Vec<(String, Content)> {
    let message = |role: &str, part: Part| Content { role: Some(role.into()), parts: vec![part] };
    let mut acts = Vec::new();
    match &turn.trajectory {
        Trajectory::Unknown => {}
        Trajectory::Events(events) if answered(events.iter().filter_map(|event| event.content.as_ref())) => {
            let told = events.iter().filter_map(|event| Some((event.author.clone(), event.content.clone()?)));
            acts.extend(told);
        }
        trajectory => {
            for (at, call) in trajectory.calls().into_iter().enumerate() {
                let id = call.id.clone().unwrap_or_else(|| format!("golden-call-{}", at + 1));
                let call = ToolCall { id: Some(id.clone()), ..call.clone() };
                let recorded = trajectory.response_to(at).map(|response| response.response.clone());
                let response = ToolResponse {
                    id: Some(id),
                    name: call.name.clone(),
                    response: recorded.unwrap_or_else(|| json!({ "result": NOT_RECORDED })),
                };
                acts.push((
                    author.to_string(),
                    message("model", Part { call: Some(call), ..Part::default() }),
                ));
                let answer = Part { response: Some(response), ..Part::default() };
                acts.push((author.to_string(), message("user", answer)));
            }
        }
    }
    acts
}

/// Whether every call has an id and a response.
fn answered<'a>(contents: impl Iterator<Item = &'a Content> + Clone) -> bool {
    let answers: Vec<_> =
        contents.clone().flat_map(Content::responses).map(|response| &response.id).collect();
    contents.flat_map(Content::calls).all(|call| call.id.is_some() && answers.contains(&&call.id))
}

/// Known keys in camelCase, which every ADK reads; arguments and responses are someone's data.
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

    #[test]
    fn every_call_is_answered() {
        let call = ToolCall::new("get", json!({"snake_key": 1}).as_object().cloned());
        let turn = Invocation {
            user: Content::text("user", "hi"),
            final_response: Some(Content::text("model", "done")),
            trajectory: Trajectory::Listed { calls: vec![call], responses: Vec::new(), texts: Vec::new() },
            ..Invocation::default()
        };
        let events = golden_events(&[turn], "agent");
        let authors: Vec<_> = events.iter().map(|event| event["author"].as_str().unwrap()).collect();
        assert_eq!(authors, ["user", "agent", "agent", "agent"]);
        let called = &events[1]["content"]["parts"][0]["functionCall"];
        assert_eq!(called["args"]["snake_key"], 1);
        let answer = &events[2]["content"]["parts"][0]["functionResponse"];
        assert_eq!(answer["id"], called["id"]);
        assert_eq!(answer["response"]["result"], NOT_RECORDED);
        assert_eq!(events[3]["content"]["parts"][0]["text"], "done");
    }
}
