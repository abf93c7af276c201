//! Converting a recorded conversation into a case: the actual turns become the expected turns.

use super::{
    Conversation, DetailsSource, Durations, EvalCase, Invocation, Part, SessionInput, ToolCall,
    ToolResponse, Trajectory, TurnEnd,
};

/// A case that expects the given turns. `created` is in Unix seconds.
pub fn captured_case(
    eval_id: &str,
    turns: &[Invocation],
    session_input: Option<SessionInput>,
    created: f64,
) -> EvalCase {
    EvalCase {
        eval_id: eval_id.to_string(),
        conversation: Conversation::Turns(turns.iter().map(as_expected).collect()),
        session_input,
        created,
        ..EvalCase::default()
    }
}

/// Parses a range of turns: `2`, `1-3`, `2-`, `-3`; empty text selects all. `count` is the number of turns.
///
/// # Errors
///
/// A message about an invalid number, or about a range that is not within 1 to `count`.
pub fn turn_range(typed: &str, count: usize) -> Result<std::ops::Range<usize>, String> {
    let number = |text: &str, other: usize| match text.trim() {
        "" => Ok(other),
        text => text
            .parse::<usize>()
            .map_err(|_| format!("{text:?} is not a turn number")),
    };
    let (from, to) = match typed.split_once('-') {
        Some((from, to)) => (number(from, 1)?, number(to, count)?),
        None => (number(typed, 1)?, number(typed, count)?),
    };
    match from >= 1 && from <= to && to <= count {
        true => Ok(from - 1..to),
        false => Err(format!("turns range from 1 to {count}")),
    }
}

/// The turn in the form that is easiest to edit: calls with their responses, and intermediate texts. Durations, app
/// details and thought signatures are dropped, because they belong to that one execution.
fn as_expected(turn: &Invocation) -> Invocation {
    let (mut calls, mut responses) = (Vec::new(), Vec::new());
    for (at, call) in turn.calls().into_iter().enumerate() {
        let id = Some(format!("call_{}", at + 1));
        if let Some(response) = turn.trajectory.response_to(at) {
            responses.push(ToolResponse {
                id: id.clone(),
                ..response.clone()
            });
        }
        calls.push(ToolCall { id, ..call.clone() });
    }
    if responses.is_empty() {
        calls.iter_mut().for_each(|call| call.id = None);
    }
    // Calls of which not all are known are no expectation.
    let trajectory = match turn.trajectory.is_known() {
        true => Trajectory::Listed {
            calls,
            responses,
            texts: intermediate_texts(turn),
        },
        false => Trajectory::Unknown,
    };
    let mut kept = Invocation {
        trajectory,
        end: TurnEnd::Answered,
        reported_errors: Vec::new(),
        durations: Durations::default(),
        app_details: None,
        app_details_source: DetailsSource::default(),
        ..turn.clone()
    };
    if let Some(response) = &mut kept.final_response {
        response.parts.iter_mut().for_each(unsigned);
    }
    kept
}

fn unsigned(part: &mut Part) {
    part.rest
        .retain(|key, _| key != "thought_signature" && key != "thoughtSignature");
}

fn intermediate_texts(turn: &Invocation) -> Vec<(String, Vec<Part>)> {
    let responses = turn.intermediate_responses().into_iter();
    responses
        .map(|mut response| {
            response.parts.iter_mut().for_each(unsigned);
            (response.author, response.parts)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Content, InvocationEvent};

    #[test]
    fn turns_are_named_by_their_numbers() {
        let of = |typed: &str| turn_range(typed, 4);
        assert_eq!(
            [of(""), of("2"), of("1-3"), of("2-"), of("-3")],
            [Ok(0..4), Ok(1..2), Ok(0..3), Ok(1..4), Ok(0..3)]
        );
        assert!(
            ["0", "5", "3-2", "2-5", "x", "1-y"]
                .into_iter()
                .all(|typed| of(typed).is_err())
        );
    }

    #[test]
    fn captured_case_expects_the_actual_turns() {
        let call = ToolCall {
            id: Some("adk-1".into()),
            ..ToolCall::new("get", None)
        };
        let answer = ToolResponse {
            id: Some("adk-1".into()),
            name: "get".into(),
            response: 1.into(),
        };
        let event = |part: Part| InvocationEvent {
            author: "home".into(),
            content: Some(Content {
                role: None,
                parts: vec![part],
            }),
            ..InvocationEvent::default()
        };
        let turn = Invocation {
            user: Content::text("user", "hi"),
            final_response: Some(Content::text("model", "ho")),
            trajectory: Trajectory::Events(vec![
                event(Part::text("let me see")),
                event(Part {
                    call: Some(call),
                    ..Part::default()
                }),
                event(Part {
                    response: Some(answer),
                    ..Part::default()
                }),
            ]),
            durations: Durations {
                total: Some(1.0),
                ..Durations::default()
            },
            ..Invocation::default()
        };
        let case = captured_case("c", &[turn], None, 5.0);
        let kept = &case.turns()[0];
        assert_eq!(kept.calls()[0].id.as_deref(), Some("call_1"));
        assert_eq!(kept.trajectory.response_to(0).unwrap().response, 1);
        assert_eq!(
            (kept.response_text().as_str(), kept.durations.total),
            ("ho", None)
        );
        let Trajectory::Listed { texts, .. } = &kept.trajectory else {
            panic!()
        };
        assert_eq!(texts[0].0, "home");
    }
}
