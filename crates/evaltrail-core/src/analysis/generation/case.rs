//! The case of a blueprint and the words of the user.

use super::blueprint::{Blueprint, BlueprintCall, BlueprintTurn};
use crate::domain::{
    Content, Conversation, EvalCase, Invocation, SessionInput, ToolCall, Trajectory,
};

/// The user of the sessions of generated cases.
const USER: &str = "user";

/// The case with the message of each turn, the calls that are expected, and the initial session state. It expects no responses: they
/// are not known. `app` is the name of the application, if it is known. There must be as many texts as turns.
pub fn generated_case(
    eval_id: &str,
    blueprint: &Blueprint,
    texts: &[String],
    app: Option<&str>,
) -> EvalCase {
    let turns = blueprint.turns.iter().zip(texts);
    let needs_session = app.is_some() || !blueprint.state.is_empty();
    let session_input = needs_session.then(|| SessionInput {
        app_name: app.unwrap_or_default().to_string(),
        user_id: USER.to_string(),
        state: blueprint.state.clone(),
        ..SessionInput::default()
    });
    EvalCase {
        eval_id: eval_id.to_string(),
        conversation: Conversation::Turns(turns.map(invocation).collect()),
        session_input,
        ..EvalCase::default()
    }
}

fn invocation((turn, text): (&BlueprintTurn, &String)) -> Invocation {
    let call = |call: &BlueprintCall| ToolCall::new(&call.name, Some(call.args.clone()));
    Invocation {
        user: Content::text("user", text),
        trajectory: Trajectory::Listed {
            calls: turn.calls.iter().map(call).collect(),
            responses: Vec::new(),
            texts: Vec::new(),
        },
        ..Invocation::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::blueprint;
    use super::*;
    use serde_json::{Value, json};

    fn generated(state: Value, app: Option<&str>) -> EvalCase {
        let turns = json!([
            {"goal": "g", "calls": [
                {"name": "look", "args": {"bed": "a"}, "from": {"bed": "user"}},
                {"name": "now"},
            ]},
            {"goal": "h", "calls": []},
        ]);
        let texts = ["Look at a.", "Thanks."].map(String::from);
        generated_case("new", &blueprint(turns, state), &texts, app)
    }

    #[test]
    fn case_expects_the_calls_and_no_responses() {
        let case = generated(json!({}), None);
        assert_eq!(
            (case.eval_id.as_str(), case.session_input.is_none()),
            ("new", true)
        );
        let [first, second] = case.turns() else {
            panic!("{case:?}")
        };
        let args = json!({"bed": "a"}).as_object().cloned();
        let expected = [
            ToolCall::new("look", args),
            ToolCall::new("now", Some(serde_json::Map::new())),
        ];
        assert_eq!(first.calls(), expected.iter().collect::<Vec<_>>());
        assert_eq!(first.user, Content::text("user", "Look at a."));
        assert!(second.calls().is_empty() && second.trajectory.is_known());
        assert!(
            case.turns()
                .iter()
                .all(|turn| turn.final_response.is_none())
        );
    }

    #[test]
    fn session_has_the_state_and_the_application() {
        let session = |state: Value, app| generated(state, app).session_input.unwrap();
        let with_state = session(json!({"season": "summer"}), None);
        assert_eq!(
            (with_state.app_name.as_str(), with_state.state.len()),
            ("", 1)
        );
        let with_app = session(json!({}), Some("garden"));
        assert_eq!(
            (with_app.app_name.as_str(), with_app.state.len()),
            ("garden", 0)
        );
        assert_eq!(with_app.user_id, "user");
    }
}
