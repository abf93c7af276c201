//! Whether a blueprint contains what was planned.

use super::blueprint::{ArgumentSource, Blueprint, BlueprintCall};
use super::found_argument::{FoundArgument, argument_value};
use super::planned::PlannedGap;
use crate::analysis::coverage::ArgumentClass;
use crate::diff::values_equal;
use crate::domain::TRANSFER_TOOL;
use serde_json::Value;

/// Checks that a blueprint contains what was planned. The error says what is missing.
pub(super) fn check_gap(blueprint: &Blueprint, gap: &PlannedGap) -> Result<(), String> {
    let calls: Vec<&BlueprintCall> = blueprint.calls().map(|(_, call)| call).collect();
    let turns = blueprint.turns.len();
    let (is_there, missing) = match gap {
        PlannedGap::Tool(tool) => (
            calls.iter().any(|call| call.name == *tool),
            format!("no call of {tool}"),
        ),
        PlannedGap::Argument {
            tool,
            argument,
            class,
        } => (
            calls
                .iter()
                .any(|call| call.name == *tool && has_class(call, argument, class)),
            format!(
                "no call of {tool} has the planned value of {argument} ({})",
                class.label()
            ),
        ),
        PlannedGap::Pair { first, second } => (
            calls
                .windows(2)
                .any(|pair| pair[0].name == *first && pair[1].name == *second),
            format!("no call of {second} directly after one of {first}"),
        ),
        PlannedGap::MissingArgument { .. } => (
            turns == 1 && calls.is_empty(),
            "it must be one turn without calls".to_string(),
        ),
        PlannedGap::OutOfScope(_) => (calls.is_empty(), "no turn must have calls".to_string()),
        PlannedGap::ChangeOfMind { tool, argument } => (
            turns == 2 && is_changed(blueprint, tool, argument),
            format!("it must be two turns that call {tool} with different values of {argument}"),
        ),
        PlannedGap::Transfer(agent) => (
            calls.iter().any(|call| is_transfer(call, agent)),
            format!("no call of {TRANSFER_TOOL} with the agent {agent}"),
        ),
    };
    match is_there {
        true => Ok(()),
        false => Err(missing),
    }
}

/// Whether a call has a value of a class that is not merely the default of an argument that nobody mentions.
fn has_class(call: &BlueprintCall, argument: &str, class: &ArgumentClass) -> bool {
    let outer = argument.split('.').next().unwrap_or_default();
    let is_default = call.sources.get(outer) == Some(&ArgumentSource::Default);
    match argument_value(&call.args, argument) {
        FoundArgument::Value(value) => class.contains(Some(value)) && !is_default,
        FoundArgument::Absent => class.contains(None),
        FoundArgument::NoObject => false,
    }
}

/// Whether both turns call a tool, with different values of an argument.
fn is_changed(blueprint: &Blueprint, tool: &str, argument: &str) -> bool {
    let values = |turn: usize| -> Vec<&Value> {
        let calls = blueprint.turns[turn].calls.iter();
        let of_tool = calls.filter(|call| call.name == tool);
        of_tool.filter_map(|call| call.args.get(argument)).collect()
    };
    let second = values(1);
    values(0)
        .iter()
        .any(|one| second.iter().any(|other| !values_equal(one, other)))
}

fn is_transfer(call: &BlueprintCall, agent: &str) -> bool {
    let named = call.args.get("agent_name").and_then(Value::as_str);
    call.name == TRANSFER_TOOL && named == Some(agent)
}

#[cfg(test)]
mod tests {
    use super::super::tests::blueprint;
    use super::*;
    use serde_json::json;

    fn turn(calls: &[(&str, Value)]) -> Value {
        let call = |(name, args): &(&str, Value)| {
            let args = args.as_object().unwrap();
            let from = args.keys().map(|name| (name.clone(), json!("user")));
            let from: serde_json::Map<String, Value> = from.collect();
            json!({"name": name, "args": args, "from": from})
        };
        json!({"goal": "g", "calls": calls.iter().map(call).collect::<Vec<_>>()})
    }

    fn is_there(gap: &PlannedGap, turns: &[Value]) -> bool {
        check_gap(&blueprint(turns.into(), json!({})), gap).is_ok()
    }

    fn water(args: Value) -> Value {
        turn(&[("water", args)])
    }

    #[test]
    fn planned_tool_must_be_called() {
        let gap = PlannedGap::Tool("water".into());
        assert!(is_there(&gap, &[water(json!({"bed": "a"}))]));
        assert!(!is_there(&gap, &[turn(&[("look", json!({"bed": "a"}))])]));
        let missing = check_gap(&Blueprint::default(), &gap).unwrap_err();
        assert_eq!(missing, "no call of water");
    }

    #[test]
    fn planned_class_must_be_in_a_call() {
        let gap = |argument: &str, class| PlannedGap::Argument {
            tool: "water".into(),
            argument: argument.into(),
            class,
        };
        let limit = gap("litres", ArgumentClass::Limit(20.0));
        assert!(is_there(
            &limit,
            &[water(json!({"bed": "a", "litres": 20}))]
        ));
        assert!(!is_there(
            &limit,
            &[water(json!({"bed": "a", "litres": 19}))]
        ));
        let of_other_tool = turn(&[("look", json!({"litres": 20}))]);
        assert!(!is_there(&limit, &[of_other_tool]));
        let absent = gap("litres", ArgumentClass::Absent);
        assert!(is_there(&absent, &[water(json!({"bed": "a"}))]));
        assert!(!is_there(&absent, &[water(json!({"litres": 2}))]));
        assert!(!is_there(&absent, &[turn(&[])]), "no call");
    }

    #[test]
    fn members_of_objects_have_classes() {
        let gap = |class| PlannedGap::Argument {
            tool: "water".into(),
            argument: "to.bed".into(),
            class,
        };
        let given = gap(ArgumentClass::Is(json!("a")));
        assert!(is_there(&given, &[water(json!({"to": {"bed": "a"}}))]));
        assert!(!is_there(&given, &[water(json!({"to": {"bed": "b"}}))]));
        let absent = gap(ArgumentClass::Absent);
        assert!(is_there(&absent, &[water(json!({"to": {}}))]));
        assert!(
            !is_there(&absent, &[water(json!({}))]),
            "the object is missing"
        );
    }

    #[test]
    fn default_that_nobody_states_is_no_class() {
        let gap = PlannedGap::Argument {
            tool: "water".into(),
            argument: "litres".into(),
            class: ArgumentClass::Is(json!(2)),
        };
        let turns = |source: &str| json!([{"goal": "g", "calls": [{"name": "water", "args": {"litres": 2}, "from": {"litres": source}}]}]);
        let check = |source: &str| check_gap(&blueprint(turns(source), json!({})), &gap);
        assert!(check("user").is_ok() && check("default").is_err());
    }

    #[test]
    fn planned_pair_must_be_adjacent() {
        let gap = PlannedGap::Pair {
            first: "look".into(),
            second: "water".into(),
        };
        let call = |name| (name, json!({}));
        assert!(is_there(&gap, &[turn(&[call("look"), call("water")])]));
        assert!(is_there(
            &gap,
            &[turn(&[call("look")]), turn(&[call("water")])]
        ));
        assert!(!is_there(&gap, &[turn(&[call("water"), call("look")])]));
        let between = [call("look"), call("move_pot"), call("water")];
        assert!(!is_there(&gap, &[turn(&between)]));
    }

    #[test]
    fn missing_argument_is_one_turn_without_calls() {
        let gap = PlannedGap::MissingArgument {
            tool: "water".into(),
            argument: "bed".into(),
        };
        assert!(is_there(&gap, &[turn(&[])]));
        assert!(!is_there(&gap, &[turn(&[]), turn(&[])]));
        assert!(!is_there(&gap, &[water(json!({}))]));
    }

    #[test]
    fn out_of_scope_has_no_calls_at_all() {
        let gap = PlannedGap::OutOfScope(1);
        assert!(is_there(&gap, &[turn(&[]), turn(&[])]));
        assert!(!is_there(&gap, &[water(json!({})), turn(&[])]));
    }

    #[test]
    fn change_of_mind_has_two_different_calls() {
        let gap = PlannedGap::ChangeOfMind {
            tool: "water".into(),
            argument: "bed".into(),
        };
        let (one, other) = (water(json!({"bed": "a"})), water(json!({"bed": "b"})));
        assert!(is_there(&gap, &[one.clone(), other.clone()]));
        assert!(!is_there(&gap, &[one.clone(), one.clone()]));
        assert!(!is_there(&gap, std::slice::from_ref(&one)));
        assert!(!is_there(&gap, &[one.clone(), other, turn(&[])]));
        assert!(!is_there(
            &gap,
            &[one, turn(&[("look", json!({"bed": "b"}))])]
        ));
    }

    #[test]
    fn planned_transfer_names_the_agent() {
        let gap = PlannedGap::Transfer("roses_agent".into());
        let to = |agent: &str| turn(&[(TRANSFER_TOOL, json!({"agent_name": agent}))]);
        assert!(is_there(&gap, &[to("roses_agent")]));
        assert!(!is_there(&gap, &[to("home")]));
        let other = turn(&[("look", json!({"agent_name": "roses_agent"}))]);
        assert!(!is_there(&gap, &[other]));
    }
}
