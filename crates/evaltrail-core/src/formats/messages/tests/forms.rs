//! One conversation, written in each form, is read as the same turns.

use super::*;
use crate::domain::Invocation;
use crate::domain::{Content, Part, Trajectory};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, json};

#[derive(Clone, Debug)]
struct Call {
    name: String,
    args: Map<String, Value>,
    result: Map<String, Value>,
}

#[derive(Clone, Debug)]
struct Step {
    text: Option<String>,
    calls: Vec<Call>,
}

#[derive(Clone, Debug)]
struct Spoken {
    user: String,
    steps: Vec<Step>,
    answer: Option<String>,
}

fn text() -> impl Strategy<Value = String> {
    "[a-zA-Zäß\"'{\\[\\\\ \n✓]{0,8}[a-z✓]"
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        text().prop_map(Value::from),
        vec(text(), 0..3).prop_map(Value::from),
        text().prop_map(|text| json!({ "inner": text })),
    ];
    vec(("[a-z_A-Z]{1,6}", value), 0..3).prop_map(Map::from_iter)
}

fn spoken() -> impl Strategy<Value = Vec<Spoken>> {
    let call = ("[a-z_]{1,8}", object(), object()).prop_map(|(name, args, result)| Call {
        name,
        args,
        result,
    });
    let step = (proptest::option::of(text()), vec(call, 1..3))
        .prop_map(|(text, calls)| Step { text, calls });
    let turn = (text(), vec(step, 0..3), proptest::option::of(text())).prop_map(
        |(user, steps, answer)| {
            let answer = if steps.is_empty() {
                answer.or(Some("yes".into()))
            } else {
                answer
            };
            Spoken {
                user,
                steps,
                answer,
            }
        },
    );
    vec(turn, 1..4)
}

/// The messages of a conversation: `user`, `act` (with the id of the first call), `results` and `answer` write one each.
fn written(
    turns: &[Spoken],
    user: impl Fn(&str) -> Vec<Value>,
    act: impl Fn(&Step, &dyn Fn(usize) -> String) -> Vec<Value>,
    answer: impl Fn(&str) -> Vec<Value>,
) -> Vec<Value> {
    let mut out = Vec::new();
    let mut number = 0;
    for turn in turns {
        out.extend(user(&turn.user));
        for step in &turn.steps {
            out.extend(act(step, &|at| format!("call-{}", number + at)));
            number += step.calls.len();
        }
        out.extend(turn.answer.as_deref().map(&answer).unwrap_or_default());
    }
    out
}

fn openai(turns: &[Spoken], arguments_are_text: bool) -> Value {
    let act = |step: &Step, id: &dyn Fn(usize) -> String| {
        let call = |(at, call): (usize, &Call)| {
            let args = Value::Object(call.args.clone());
            let args = if arguments_are_text {
                args.to_string().into()
            } else {
                args
            };
            json!({"id": id(at), "type": "function", "function": {"name": call.name, "arguments": args}})
        };
        let calls: Vec<Value> = step.calls.iter().enumerate().map(call).collect();
        let mut out = vec![json!({"role": "assistant", "content": step.text, "tool_calls": calls})];
        out.extend(step.calls.iter().enumerate().map(|(at, call)| {
            json!({"role": "tool", "tool_call_id": id(at), "content": Value::Object(call.result.clone()).to_string()})
        }));
        out
    };
    let message =
        |role: &'static str| move |text: &str| vec![json!({"role": role, "content": text})];
    written(turns, message("user"), act, message("assistant")).into()
}

/// A call of the older form is alone in its message.
fn openai_old(turns: &[Spoken]) -> Value {
    let act = |step: &Step, _: &dyn Fn(usize) -> String| {
        let call = |(at, call): (usize, &Call)| {
            let text = step.text.as_ref().filter(|_| at == 0);
            let arguments = Value::Object(call.args.clone()).to_string();
            [
                json!({"role": "assistant", "content": text, "function_call": {"name": call.name, "arguments": arguments}}),
                json!({"role": "function", "name": call.name, "content": Value::Object(call.result.clone()).to_string()}),
            ]
        };
        step.calls.iter().enumerate().flat_map(call).collect()
    };
    let message =
        |role: &'static str| move |text: &str| vec![json!({"role": role, "content": text})];
    written(turns, message("user"), act, message("assistant")).into()
}

fn responses(turns: &[Spoken]) -> Value {
    let said = |text: &str| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]});
    let act = |step: &Step, id: &dyn Fn(usize) -> String| {
        let call = |(at, call): (usize, &Call)| {
            json!({"type": "function_call", "id": format!("fc_{at}"), "call_id": id(at), "name": call.name,
                "arguments": Value::Object(call.args.clone()).to_string(), "status": "completed"})
        };
        let result = |(at, call): (usize, &Call)| json!({"type": "function_call_output", "call_id": id(at), "output": Value::Object(call.result.clone()).to_string()});
        let calls = step.calls.iter().enumerate();
        step.text
            .as_deref()
            .map(said)
            .into_iter()
            .chain(calls.clone().map(call))
            .chain(calls.map(result))
            .collect()
    };
    let user = |text: &str| {
        vec![json!({"role": "user", "content": [{"type": "input_text", "text": text}]})]
    };
    written(turns, user, act, |text| vec![said(text)]).into()
}

fn anthropic(turns: &[Spoken]) -> Value {
    let act = |step: &Step, id: &dyn Fn(usize) -> String| {
        let call = |(at, call): (usize, &Call)| json!({"type": "tool_use", "id": id(at), "name": call.name, "input": call.args});
        let result = |(at, call): (usize, &Call)| {
            let text = Value::Object(call.result.clone()).to_string();
            json!({"type": "tool_result", "tool_use_id": id(at), "content": [{"type": "text", "text": text}]})
        };
        let text = step
            .text
            .iter()
            .map(|text| json!({"type": "text", "text": text}));
        let blocks: Vec<Value> = text
            .chain(step.calls.iter().enumerate().map(call))
            .collect();
        let results: Vec<Value> = step.calls.iter().enumerate().map(result).collect();
        vec![
            json!({"role": "assistant", "content": blocks}),
            json!({"role": "user", "content": results}),
        ]
    };
    let user = |text: &str| vec![json!({"role": "user", "content": text})];
    written(turns, user, act, |text| {
        vec![json!({"role": "assistant", "content": [{"type": "text", "text": text}]})]
    })
    .into()
}

fn langchain(turns: &[Spoken]) -> Vec<Value> {
    let act = |step: &Step, id: &dyn Fn(usize) -> String| {
        let call = |(at, call): (usize, &Call)| json!({"name": call.name, "args": call.args, "id": id(at), "type": "tool_call"});
        let calls: Vec<Value> = step.calls.iter().enumerate().map(call).collect();
        let text = step.text.clone().unwrap_or_default();
        let mut out = vec![
            json!({"type": "ai", "content": text, "tool_calls": calls, "invalid_tool_calls": [], "additional_kwargs": {}}),
        ];
        out.extend(step.calls.iter().enumerate().map(|(at, call)| {
            let text = Value::Object(call.result.clone()).to_string();
            json!({"type": "tool", "name": call.name, "tool_call_id": id(at), "content": text, "status": "success"})
        }));
        out
    };
    let user = |text: &str| vec![json!({"type": "human", "content": text, "id": null})];
    written(turns, user, act, |text| {
        vec![json!({"type": "ai", "content": text, "tool_calls": []})]
    })
}

fn gemini(turns: &[Spoken], [call_key, response_key]: [&str; 2]) -> Vec<Value> {
    let act = |step: &Step, id: &dyn Fn(usize) -> String| {
        let call = |(at, call): (usize, &Call)| json!({call_key: {"id": id(at), "name": call.name, "args": call.args}});
        let result = |(at, call): (usize, &Call)| json!({response_key: {"id": id(at), "name": call.name, "response": call.result}});
        let text = step.text.iter().map(|text| json!({"text": text}));
        let parts: Vec<Value> = text
            .chain(step.calls.iter().enumerate().map(call))
            .collect();
        let results: Vec<Value> = step.calls.iter().enumerate().map(result).collect();
        vec![
            json!({"role": "model", "parts": parts}),
            json!({"role": "user", "parts": results}),
        ]
    };
    let message = |role: &'static str| {
        move |text: &str| vec![json!({"role": role, "parts": [{"text": text}]})]
    };
    written(turns, message("user"), act, message("model"))
}

/// The conversation as events of a session: contents with an author and the turn that they belong to.
fn adk_session(turns: &[Spoken]) -> Value {
    let mut events = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        let contents = gemini(
            std::slice::from_ref(turn),
            ["functionCall", "functionResponse"],
        );
        events.extend(contents.into_iter().enumerate().map(|(number, content)| {
            let author = if number == 0 { "user" } else { "agent" };
            json!({"id": format!("{at}-{number}"), "invocationId": format!("turn-{at}"), "author": author, "content": content})
        }));
    }
    json!({"id": "s", "appName": "home", "userId": "u", "state": {}, "events": events})
}

fn forms(turns: &[Spoken]) -> Vec<(&'static str, Value)> {
    let chain = langchain(turns);
    let class = |message: &Value| {
        if message["type"] == "human" {
            "HumanMessage"
        } else if message["type"] == "ai" {
            "AIMessage"
        } else {
            "ToolMessage"
        }
    };
    let dump = |message: &Value| json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", class(message)], "kwargs": message});
    let data = |message: &Value| json!({"type": message["type"], "data": message});
    let camel = gemini(turns, ["functionCall", "functionResponse"]);
    vec![
        ("openai", openai(turns, true)),
        ("openai with objects", openai(turns, false)),
        (
            "openai in an object",
            json!({"messages": openai(turns, true)}),
        ),
        ("openai, older", openai_old(turns)),
        ("responses", responses(turns)),
        ("anthropic", anthropic(turns)),
        ("langchain", chain.clone().into()),
        ("langchain, lc", chain.iter().map(dump).collect()),
        ("langchain, data", chain.iter().map(data).collect()),
        (
            "langgraph",
            json!({"values": {"messages": chain}, "next": []}),
        ),
        ("gemini", json!({"contents": camel.clone()})),
        ("gemini, list", camel.into()),
        (
            "gemini, snake case",
            gemini(turns, ["function_call", "function_response"]).into(),
        ),
        ("adk", adk_session(turns)),
    ]
}

/// A turn without ids, which some forms do not have.
fn plain(mut turn: Invocation) -> Invocation {
    if let Trajectory::Listed {
        calls, responses, ..
    } = &mut turn.trajectory
    {
        calls.iter_mut().for_each(|call| call.id = None);
        responses.iter_mut().for_each(|response| response.id = None);
    }
    turn.id.clear();
    turn
}

fn expectation(turns: &[Spoken]) -> Vec<Invocation> {
    let expected = |turn: &Spoken| {
        let all = || turn.steps.iter().flat_map(|step| &step.calls);
        let response = |call: &Call| crate::domain::ToolResponse {
            id: None,
            name: call.name.clone(),
            response: Value::Object(call.result.clone()),
        };
        let texts = turn.steps.iter().filter_map(|step| step.text.clone());
        Invocation {
            user: Content::text("user", turn.user.clone()),
            final_response: turn.answer.clone().map(|text| Content::text("model", text)),
            trajectory: Trajectory::Listed {
                calls: all()
                    .map(|call| crate::domain::ToolCall::new(&call.name, Some(call.args.clone())))
                    .collect(),
                responses: all().map(response).collect(),
                texts: texts
                    .map(|text| ("agent".to_string(), vec![Part::text(text)]))
                    .collect(),
            },
            ..Invocation::default()
        }
    };
    turns.iter().map(expected).collect()
}

proptest! {
    #[test]
    fn a_conversation_is_the_same_in_every_form(turns in spoken()) {
        let expected = expectation(&turns);
        for (form, value) in forms(&turns) {
            let read: Vec<Invocation> = turns_of(value.clone()).into_iter().map(plain).collect();
            prop_assert_eq!(&read, &expected, "{}: {:#}", form, value);
            // A column of a table contains the same as a text.
            let again = crate::formats::json::parse(&value.to_string()).unwrap().value;
            prop_assert_eq!(turns_of(again).len(), expected.len());
        }
    }

    #[test]
    fn any_value_is_read_or_refused(text in "[\\[{]{1,2}\"(role|type|parts|content|lc|tool_calls)\"[:,]\\PC{0,30}") {
        if let Ok(parsed) = crate::formats::json::parse(&text) {
            let _ = read(parsed.value);
        }
    }
}
