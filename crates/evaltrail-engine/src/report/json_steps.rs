//! The steps of a turn in the JSON report: which agent acted when, what the tools answered, and the tokens of each call of a
//! model. The arguments of the calls are in `tool_calls`, in the same order.

use evaltrail_core::domain::{Content, Invocation, InvocationEvent, ToolResponse, Usage};
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
pub(super) struct StepFields<'a> {
    author: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_s: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_responses: Vec<ToolResponseFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<TokenFields>,
}

#[derive(Serialize)]
struct ToolResponseFields<'a> {
    name: &'a str,
    response: &'a Value,
}

#[derive(Serialize)]
struct TokenFields {
    prompt: Option<f64>,
    response: Option<f64>,
    thoughts: Option<f64>,
}

/// The steps that were recorded, in order; none if the trajectory is a list of calls.
pub(super) fn steps(turn: &Invocation) -> Vec<StepFields<'_>> {
    turn.trajectory
        .events()
        .unwrap_or_default()
        .iter()
        .map(step)
        .collect()
}

fn step(event: &InvocationEvent) -> StepFields<'_> {
    let content = event.content.as_ref();
    let calls = content.into_iter().flat_map(Content::calls);
    let responses = content.into_iter().flat_map(Content::responses);
    StepFields {
        author: &event.author,
        at_s: event.at,
        calls: calls.map(|call| call.name.as_str()).collect(),
        tool_responses: responses.map(tool_response).collect(),
        tokens: event.usage.as_ref().map(tokens),
    }
}

fn tool_response(response: &ToolResponse) -> ToolResponseFields<'_> {
    ToolResponseFields {
        name: &response.name,
        response: &response.response,
    }
}

fn tokens(usage: &Usage) -> TokenFields {
    TokenFields {
        prompt: usage.prompt,
        response: usage.candidates,
        thoughts: usage.thoughts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{Part, ToolCall, Trajectory};
    use serde_json::json;

    #[test]
    fn step_has_agent_calls_responses_and_tokens() {
        let event = |author: &str, part: Part, usage: Option<Usage>| InvocationEvent {
            author: author.into(),
            content: Some(Content {
                role: None,
                parts: vec![part],
            }),
            at: Some(0.5),
            usage,
            ..InvocationEvent::default()
        };
        let call = |name: &str| Part {
            call: Some(ToolCall::new(name, None)),
            ..Part::default()
        };
        let response = ToolResponse {
            id: None,
            name: "look".into(),
            response: json!({"n": 1}),
        };
        let response = Part {
            response: Some(response),
            ..Part::default()
        };
        let usage = Usage {
            prompt: Some(10.0),
            candidates: Some(5.0),
            ..Usage::default()
        };
        let events = vec![
            event("desk", call("transfer"), None),
            event("clerk", call("look"), Some(usage)),
            event("clerk", response, None),
        ];
        let turn = Invocation {
            trajectory: Trajectory::Events(events),
            ..Invocation::default()
        };
        assert_eq!(
            serde_json::to_value(steps(&turn)).unwrap(),
            json!([
                {"author": "desk", "at_s": 0.5, "calls": ["transfer"]},
                {"author": "clerk", "at_s": 0.5, "calls": ["look"],
                 "tokens": {"prompt": 10.0, "response": 5.0, "thoughts": null}},
                {"author": "clerk", "at_s": 0.5, "tool_responses": [{"name": "look", "response": {"n": 1}}]},
            ])
        );
        assert_eq!(turn.trajectory.call_authors(), ["desk", "clerk"]);
        let listed = Trajectory::Listed {
            calls: Vec::new(),
            responses: Vec::new(),
            texts: Vec::new(),
        };
        assert!(
            steps(&Invocation {
                trajectory: listed,
                ..Invocation::default()
            })
            .is_empty()
        );
    }
}
