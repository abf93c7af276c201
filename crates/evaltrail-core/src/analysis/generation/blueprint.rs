//! What a case is to contain, as a model wrote it: the goals of the user, and the calls of a correct agent.

use super::reply::{kind_text, object_in_reply, optional_member, required_member};
use crate::domain::JsonKind;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A conversation without the words of the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blueprint {
    /// The turns.
    pub turns: Vec<BlueprintTurn>,
    /// The initial session state.
    pub state: Map<String, Value>,
    /// Why a correct agent makes these calls; may be empty.
    pub why: String,
}

/// A turn of a blueprint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlueprintTurn {
    /// What the user wants.
    pub goal: String,
    /// The calls that a correct agent makes, in order.
    pub calls: Vec<BlueprintCall>,
}

/// A call of a blueprint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlueprintCall {
    /// The name of the tool.
    pub name: String,
    /// The arguments.
    pub args: Map<String, Value>,
    /// By argument: where its value is from.
    pub sources: BTreeMap<String, ArgumentSource>,
}

/// Where the value of an argument is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentSource {
    /// The user states it, in the message of the turn or in an earlier one.
    User,
    /// The initial session state contains it.
    State,
    /// The answer to the n-th call of the case contains it, from 1.
    Answer(usize),
    /// It is the default of the parameter, or the call does not have the argument.
    Default,
}

impl ArgumentSource {
    /// The source with a name in a reply: `user`, `state`, `default` or `answer:N`.
    fn from_name(name: &str) -> Option<ArgumentSource> {
        match name.trim() {
            "user" => Some(ArgumentSource::User),
            "state" => Some(ArgumentSource::State),
            "default" => Some(ArgumentSource::Default),
            name => {
                let number = name.strip_prefix("answer:")?.trim().parse().ok()?;
                (number > 0).then_some(ArgumentSource::Answer(number))
            }
        }
    }
}

impl Blueprint {
    /// The calls of all turns, each with its turn from 0.
    pub fn calls(&self) -> impl Iterator<Item = (usize, &BlueprintCall)> {
        let turns = self.turns.iter().enumerate();
        turns.flat_map(|(at, turn)| turn.calls.iter().map(move |call| (at, call)))
    }
}

/// Reads a blueprint from the reply of a model. Unknown keys are ignored.
///
/// # Errors
///
/// The reply has no JSON object, or a member of it is missing or of another type: which one, and where.
pub fn parse_blueprint(reply: &str) -> Result<Blueprint, String> {
    let members = object_in_reply(reply)?;
    let place = "the reply";
    let turns = required_member(&members, place, "turns", JsonKind::List, Value::as_array)?;
    let turns = turns.iter().enumerate();
    let turns = turns.map(|(at, turn)| read_turn(&format!("turn {}", at + 1), turn));
    let state = optional_member(&members, place, "state", JsonKind::Object, Value::as_object)?;
    let why = optional_member(&members, place, "why", JsonKind::Text, Value::as_str)?;
    Ok(Blueprint {
        turns: turns.collect::<Result<_, _>>()?,
        state: state.cloned().unwrap_or_default(),
        why: why.unwrap_or_default().trim().to_string(),
    })
}

fn read_turn(place: &str, turn: &Value) -> Result<BlueprintTurn, String> {
    let members = object_at(place, turn)?;
    let goal = required_member(members, place, "goal", JsonKind::Text, Value::as_str)?;
    let calls = required_member(members, place, "calls", JsonKind::List, Value::as_array)?;
    let calls = calls.iter().enumerate();
    let calls = calls.map(|(at, call)| read_call(&format!("{place}, call {}", at + 1), call));
    Ok(BlueprintTurn {
        goal: goal.trim().to_string(),
        calls: calls.collect::<Result<_, _>>()?,
    })
}

fn read_call(place: &str, call: &Value) -> Result<BlueprintCall, String> {
    let members = object_at(place, call)?;
    let name = required_member(members, place, "name", JsonKind::Text, Value::as_str)?;
    let args = optional_member(members, place, "args", JsonKind::Object, Value::as_object)?;
    let from = optional_member(members, place, "from", JsonKind::Object, Value::as_object)?;
    let sources = from.into_iter().flatten().map(|(argument, source)| {
        let known = source.as_str().and_then(ArgumentSource::from_name);
        let problem = || {
            format!(
                "{place}: the source of \"{argument}\" is {source}, and must be \"user\", \"state\", \"default\" or \"answer:N\""
            )
        };
        known
            .map(|source| (argument.clone(), source))
            .ok_or_else(problem)
    });
    Ok(BlueprintCall {
        name: name.to_string(),
        args: args.cloned().unwrap_or_default(),
        sources: sources.collect::<Result<_, _>>()?,
    })
}

fn object_at<'a>(place: &str, value: &'a Value) -> Result<&'a Map<String, Value>, String> {
    let problem = || format!("{place} is {}, and must be an object", kind_text(value));
    value.as_object().ok_or_else(problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const REPLY: &str = r#"{"turns":[{"goal":" Water the roses ","calls":[
        {"name":"look","args":{"bed":"roses"},"from":{"bed":"user"},"id":7},
        {"name":"water","args":{"bed":"b1","litres":2},"from":{"bed":"answer:1","litres":"default","x":"state"}}]}],
        "state":{"season":"summer"},"why":"she asks for it"}"#;

    #[test]
    fn all_of_a_blueprint_is_read() {
        let read = parse_blueprint(REPLY).unwrap();
        assert_eq!(read.turns[0].goal, "Water the roses");
        assert_eq!(read.why, "she asks for it");
        assert_eq!(
            Value::Object(read.state.clone()),
            json!({"season": "summer"})
        );
        let calls: Vec<(usize, &BlueprintCall)> = read.calls().collect();
        let names: Vec<&str> = calls.iter().map(|(_, call)| call.name.as_str()).collect();
        assert_eq!(names, ["look", "water"]);
        let water = calls[1].1;
        assert_eq!(
            Value::Object(water.args.clone()),
            json!({"bed": "b1", "litres": 2})
        );
        let sources: Vec<(&str, ArgumentSource)> = water
            .sources
            .iter()
            .map(|(name, source)| (name.as_str(), *source))
            .collect();
        let expected = [
            ("bed", ArgumentSource::Answer(1)),
            ("litres", ArgumentSource::Default),
            ("x", ArgumentSource::State),
        ];
        assert_eq!(sources, expected);
    }

    #[test]
    fn arguments_state_and_reason_may_be_missing() {
        let reply = r#"{"turns":[{"goal":"g","calls":[{"name":"now","args":null}]}],"state":null}"#;
        let read = parse_blueprint(reply).unwrap();
        assert!(read.state.is_empty() && read.why.is_empty());
        assert_eq!(read.turns[0].calls[0].name, "now");
        assert!(read.turns[0].calls[0].args.is_empty());
    }

    #[test]
    fn wrong_types_are_named_with_their_place() {
        let with_call = |call: &str| format!(r#"{{"turns":[{{"goal":"g","calls":[{call}]}}]}}"#);
        for (reply, expected) in [
            (
                "{}".to_string(),
                "the reply: \"turns\" is missing, and must be a list",
            ),
            (
                r#"{"turns":{}}"#.into(),
                "the reply: \"turns\" is an object, and must be a list",
            ),
            (
                r#"{"turns":["a"]}"#.into(),
                "turn 1 is a text, and must be an object",
            ),
            (
                r#"{"turns":[{"goal":"g","calls":[]},{"goal":1,"calls":[]}]}"#.into(),
                "turn 2: \"goal\" is a number, and must be a text",
            ),
            (
                r#"{"turns":[{"goal":"g"}]}"#.into(),
                "turn 1: \"calls\" is missing, and must be a list",
            ),
            (
                r#"{"turns":[],"state":[]}"#.into(),
                "the reply: \"state\" is a list, and must be an object",
            ),
            (
                r#"{"turns":[],"why":true}"#.into(),
                "the reply: \"why\" is true or false, and must be a text",
            ),
            (
                with_call("null"),
                "turn 1, call 1 is null, and must be an object",
            ),
            (
                with_call("{}"),
                "turn 1, call 1: \"name\" is missing, and must be a text",
            ),
            (
                with_call(r#"{"name":"a","args":[]}"#),
                "turn 1, call 1: \"args\" is a list, and must be an object",
            ),
            (
                with_call(r#"{"name":"a","from":"user"}"#),
                "turn 1, call 1: \"from\" is a text, and must be an object",
            ),
        ] {
            assert_eq!(parse_blueprint(&reply).unwrap_err(), expected, "{reply}");
        }
    }

    #[test]
    fn unknown_sources_are_refused() {
        for source in [
            "\"tool\"",
            "\"answer\"",
            "\"answer:0\"",
            "\"answer:-1\"",
            "\"answer:x\"",
            "1",
        ] {
            let reply = format!(
                r#"{{"turns":[{{"goal":"g","calls":[{{"name":"a","from":{{"x":{source}}}}}]}}]}}"#
            );
            let error = parse_blueprint(&reply).unwrap_err();
            let start = format!("turn 1, call 1: the source of \"x\" is {source}, and must be ");
            assert!(error.starts_with(&start), "{error}");
        }
    }
}
