//! Random changes of cases, and the part of the file that each of them may modify.

use super::styles::{args, value, word};
use evaltrail_core::diff::{AcceptablePart, accept};
use evaltrail_core::domain::{
    Content, Conversation, EvalCase, Invocation, Rubric, ToolCall, Trajectory,
};
use evaltrail_core::formats::json::JsonPath;
use rand::RngExt;
use rand::rngs::StdRng;

/// A changed case, and the path in the case below which the file may differ.
pub struct Changed {
    pub case: EvalCase,
    pub within: JsonPath,
    pub what: &'static str,
}

fn turns(case: &mut EvalCase) -> &mut Vec<Invocation> {
    match &mut case.conversation {
        Conversation::Turns(turns) => turns,
        Conversation::Scenario(_) => unreachable!("no scenarios here"),
    }
}

fn call(rng: &mut StdRng) -> ToolCall {
    ToolCall::new("another_tool", args(rng, 1).as_object().cloned())
}

/// One random change. `legacy` files have fewer fields.
pub fn change(rng: &mut StdRng, before: &EvalCase, legacy: bool) -> Changed {
    let mut case = before.clone();
    let at = rng.random_range(0..case.turns().len());
    let top = JsonPath::default();
    let here = top
        .key(if legacy { "data" } else { "conversation" })
        .index(at);
    let data = if legacy {
        here.key("expected_tool_use")
    } else {
        here.key("intermediate_data")
    };
    let turn = &mut turns(&mut case)[at];
    let count = turn.calls().len();
    let (within, what) = match rng.random_range(0..if legacy { 7 } else { 11 }) {
        0 if count > 0 => {
            let chosen = rng.random_range(0..count);
            let other = value(rng, 1);
            turn.trajectory.change_call(chosen, |call| {
                if let Some((_, value)) =
                    call.args.iter_mut().flat_map(|args| args.iter_mut()).next()
                {
                    *value = other;
                }
            });
            (data, "an argument")
        }
        0 | 1 => {
            turn.trajectory
                .insert_call(rng.random_range(0..=count), call(rng), None);
            (data, "a new call")
        }
        2 if count > 0 => {
            turn.trajectory.remove_call(rng.random_range(0..count));
            (data, "a call less")
        }
        3 if count > 1 => {
            turn.trajectory
                .move_call(rng.random_range(0..count), rng.random_range(0..count));
            (data, "a call elsewhere")
        }
        2..=4 => {
            let text = format!("{} and more", word(rng));
            match turn
                .final_response
                .as_mut()
                .and_then(|content| content.parts.first_mut())
            {
                Some(part) => part.text = Some(text),
                None => turn.final_response = Some(Content::text("model", text)),
            }
            (
                here.key(if legacy {
                    "reference"
                } else {
                    "final_response"
                }),
                "the response",
            )
        }
        5 => {
            turn.user.parts[0].text = Some(word(rng));
            (
                here.key(if legacy { "query" } else { "user_content" }),
                "what the user says",
            )
        }
        6 => {
            let calls = (0..rng.random_range(0..4)).map(|_| call(rng)).collect();
            let trajectory = Trajectory::Listed {
                calls,
                responses: Vec::new(),
                texts: Vec::new(),
            };
            let actual = Invocation {
                trajectory,
                ..Invocation::default()
            };
            *turn = accept(turn, &actual, &AcceptablePart::Calls);
            (data, "what the agent did")
        }
        7 => {
            let rubric = Rubric {
                id: format!("r{}", rng.random_range(0..100)),
                text: Some(format!("is polite {}", word(rng))),
                description: None,
                kind: Some("TOOL_USE_QUALITY".into()),
                group: None,
            };
            case.rubrics.push(rubric);
            (top.key("rubrics"), "a rubric")
        }
        8 => {
            case.final_session_state = Some(args(rng, 0));
            (top.key("final_session_state"), "the final state")
        }
        9 => {
            let input = case.session_input.get_or_insert_default();
            input.app_name = "home".into();
            input.state.insert("new_key".into(), value(rng, 1));
            (top.key("session_input"), "the state before")
        }
        _ => {
            case.eval_id = format!("renamed_{}", rng.random_range(0..1000));
            (top.key(if legacy { "name" } else { "eval_id" }), "the id")
        }
    };
    Changed { case, within, what }
}
