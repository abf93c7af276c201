//! Whether a blueprint can be used: its calls are allowed by the declarations, their values are from somewhere, and it contains
//! what was planned.

use super::blueprint::{ArgumentSource, Blueprint, BlueprintCall};
use super::blueprint_problem::{BlueprintProblem, MAX_CALLS, MAX_TURNS};
use super::found_argument::{FoundArgument, argument_value};
use super::gap_check::check_gap;
use super::planned::PlannedDraft;
use crate::analysis::coverage::{Declarations, Parameter, ToolSchema};
use crate::diff::values_equal;
use crate::domain::TRANSFER_TOOL;
use serde_json::{Map, Value};

/// The argument of [`TRANSFER_TOOL`].
const AGENT_NAME: &str = "agent_name";

/// Checks a blueprint.
///
/// # Errors
///
/// The first problem.
pub fn check_blueprint(
    blueprint: &Blueprint,
    planned: &PlannedDraft,
    declared: &Declarations,
) -> Result<(), BlueprintProblem> {
    check_size(blueprint)?;
    let mut before_in_turn = (0, 0);
    for (number, (turn, call)) in blueprint.calls().enumerate() {
        let in_turn = match before_in_turn {
            (last, count) if last == turn => count + 1,
            _ => 1,
        };
        before_in_turn = (turn, in_turn);
        let checked = CheckedCall {
            call,
            number: number + 1,
            place: format!("turn {}, call {in_turn} ({})", turn + 1, call.name),
            schema: declared.tools.get(&call.name).and_then(Option::as_ref),
        };
        match call.name == TRANSFER_TOOL {
            true => checked.check_transfer(declared)?,
            false => {
                checked.check_tool(declared)?;
                checked.check_arguments()?;
                checked.check_sources(&blueprint.state)?;
            }
        }
    }
    check_gap(blueprint, &planned.gap).map_err(BlueprintProblem::NotPlanned)
}

fn check_size(blueprint: &Blueprint) -> Result<(), BlueprintProblem> {
    let (turns, calls) = (blueprint.turns.len(), blueprint.calls().count());
    if turns == 0 {
        return Err(BlueprintProblem::NoTurns);
    }
    if turns > MAX_TURNS || calls > MAX_CALLS {
        return Err(BlueprintProblem::TooLong(turns, calls));
    }
    let mut goals = blueprint.turns.iter();
    match goals.position(|turn| turn.goal.trim().is_empty()) {
        Some(at) => Err(BlueprintProblem::NoGoal(at + 1)),
        None => Ok(()),
    }
}

/// A call with what is needed to check it.
struct CheckedCall<'a> {
    call: &'a BlueprintCall,
    /// Position among the calls of all turns, from 1.
    number: usize,
    place: String,
    /// `None` if the tool is declared without a schema, or not at all.
    schema: Option<&'a ToolSchema>,
}

impl CheckedCall<'_> {
    fn check_transfer(&self, declared: &Declarations) -> Result<(), BlueprintProblem> {
        let args = &self.call.args;
        if let Some(other) = args.keys().find(|name| *name != AGENT_NAME) {
            return Err(self.about(BlueprintProblem::UndeclaredArgument, other));
        }
        let Some(agent) = args.get(AGENT_NAME) else {
            return Err(self.about(BlueprintProblem::NoRequiredArgument, AGENT_NAME));
        };
        match agent.as_str() {
            Some(name) if declared.agents.contains(name) => Ok(()),
            Some(name) => Err(self.about(BlueprintProblem::UnknownAgent, name)),
            None => Err(self.forbidden(AGENT_NAME, agent)),
        }
    }

    fn check_tool(&self, declared: &Declarations) -> Result<(), BlueprintProblem> {
        let name = &self.call.name;
        // ADK's own tools are declared in its results.
        match declared.tools.contains_key(name) && !name.starts_with("adk_request_") {
            true => Ok(()),
            false => Err(BlueprintProblem::UnknownTool(self.place.clone())),
        }
    }

    fn check_arguments(&self) -> Result<(), BlueprintProblem> {
        let Some(schema) = self.schema else {
            return Ok(());
        };
        let is_declared = |name: &&String| schema.parameters.iter().any(|one| one.name == **name);
        let mut names = self.call.args.keys();
        if let (false, Some(name)) = (schema.is_open, names.find(|name| !is_declared(name))) {
            return Err(self.about(BlueprintProblem::UndeclaredArgument, name));
        }
        for parameter in &schema.parameters {
            match argument_value(&self.call.args, &parameter.name) {
                FoundArgument::Value(value) if forbids(parameter, value) => {
                    return Err(self.forbidden(&parameter.name, value));
                }
                FoundArgument::Absent if parameter.required => {
                    return Err(self.about(BlueprintProblem::NoRequiredArgument, &parameter.name));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_sources(&self, state: &Map<String, Value>) -> Result<(), BlueprintProblem> {
        let (args, sources) = (&self.call.args, &self.call.sources);
        if let Some(name) = args.keys().find(|name| !sources.contains_key(*name)) {
            return Err(self.about(BlueprintProblem::NoSource, name));
        }
        for (name, source) in sources {
            if let Some(why) = self.source_problem(args.get(name), name, *source, state) {
                let name = name.clone();
                return Err(BlueprintProblem::WrongSource(self.place.clone(), name, why));
            }
        }
        Ok(())
    }

    /// Why the value of an argument cannot be from a source; `None` if it can.
    fn source_problem(
        &self,
        value: Option<&Value>,
        name: &str,
        source: ArgumentSource,
        state: &Map<String, Value>,
    ) -> Option<&'static str> {
        let Some(value) = value else {
            let is_default = source == ArgumentSource::Default;
            return (!is_default).then_some("the call does not have the argument");
        };
        let is_possible = match source {
            ArgumentSource::User => true,
            ArgumentSource::State => is_in_state(value, state),
            ArgumentSource::Answer(number) => (1..self.number).contains(&number),
            ArgumentSource::Default => {
                let mut parameters = self.schema.iter().flat_map(|schema| &schema.parameters);
                let parameter = parameters.find(|parameter| parameter.name == name);
                let default = parameter.and_then(|parameter| parameter.default.as_ref());
                default.is_some_and(|default| values_equal(default, value))
            }
        };
        (!is_possible).then_some(match source {
            ArgumentSource::State => "\"state\" does not contain the value",
            ArgumentSource::Answer(_) => "the number is not that of an earlier call",
            ArgumentSource::User | ArgumentSource::Default => "the value is not the default",
        })
    }

    fn about(
        &self,
        problem: fn(String, String) -> BlueprintProblem,
        name: &str,
    ) -> BlueprintProblem {
        problem(self.place.clone(), name.to_string())
    }

    fn forbidden(&self, name: &str, value: &Value) -> BlueprintProblem {
        let (place, name) = (self.place.clone(), name.to_string());
        BlueprintProblem::ForbiddenArgument(place, name, value.to_string())
    }
}

/// Whether a parameter does not allow a value. Unlike in findings about cases, null must be declared.
fn forbids(parameter: &Parameter, value: &Value) -> bool {
    let is_typed = parameter.kind.is_some() && !parameter.has_alternatives;
    parameter.forbids(value) || value.is_null() && is_typed && !parameter.nullable
}

/// Whether a state has a value as a key, as a value, or inside one; of a list, all elements.
fn is_in_state(value: &Value, state: &Map<String, Value>) -> bool {
    fn has(inside: &Value, value: &Value) -> bool {
        values_equal(inside, value)
            || match inside {
                Value::Array(elements) => elements.iter().any(|element| has(element, value)),
                Value::Object(members) => has_member(members, value),
                _ => false,
            }
    }
    fn has_member(members: &Map<String, Value>, value: &Value) -> bool {
        members
            .iter()
            .any(|(key, member)| value.as_str() == Some(key) || has(member, value))
    }
    let has_all = |elements: &Vec<Value>| {
        !elements.is_empty() && elements.iter().all(|element| has_member(state, element))
    };
    has_member(state, value) || value.as_array().is_some_and(has_all)
}

#[cfg(test)]
mod tests {
    use super::super::planned::{PlannedGap, UserPersona};
    use super::super::tests::{blueprint, declared};
    use super::*;
    use serde_json::json;

    /// The problem of a blueprint; the planned gap is that it calls `look`.
    fn problem_of(turns: Value, state: Value) -> Option<BlueprintProblem> {
        let planned = PlannedDraft {
            gap: PlannedGap::Tool("look".into()),
            persona: UserPersona::Expert,
        };
        check_blueprint(&blueprint(turns, state), &planned, &declared()).err()
    }

    fn look(bed: &str) -> Value {
        json!({"name": "look", "args": {"bed": bed}, "from": {"bed": "user"}})
    }

    /// The reason why one call, after a call of `look`, cannot be used, and its label; empty if it can.
    fn reason(call: Value) -> (String, &'static str) {
        let turns = json!([{"goal": "g", "calls": [look("a"), call]}]);
        let problem = problem_of(turns, json!({"home": {"bed": "b7"}, "beds": ["b8", "b9"]}));
        problem.map_or((String::new(), ""), |problem| {
            (problem.reason(), problem.label())
        })
    }

    /// A call whose arguments are all from one source.
    fn call(name: &str, args: Value, source: &str) -> Value {
        let members = args.as_object().unwrap().keys();
        let from: Map<String, Value> = members.map(|key| (key.clone(), source.into())).collect();
        json!({"name": name, "args": args, "from": from})
    }

    fn water(args: Value) -> (String, &'static str) {
        reason(call("water", args, "user"))
    }

    #[test]
    fn usable_blueprint_has_no_problem() {
        assert_eq!(
            water(json!({"bed": "a", "litres": 20})),
            (String::new(), "")
        );
        let args = json!({"where_to": {"bedName": "a", "row": "back"}, "pots": ["x"]});
        assert_eq!(reason(call("move_pot", args, "user")), (String::new(), ""));
        let args = json!({"agent_name": "roses_agent"});
        assert_eq!(
            reason(json!({"name": TRANSFER_TOOL, "args": args})),
            (String::new(), "")
        );
    }

    #[test]
    fn undeclared_tools_and_agents_are_refused() {
        for name in ["drain", "adk_request_confirmation", "", "Look"] {
            let (why, label) = reason(call(name, json!({}), "user"));
            assert_eq!(label, "unknown tool");
            assert_eq!(
                why,
                format!("turn 1, call 2 ({name}): the agent does not declare this tool")
            );
        }
        let to = |args: Value| reason(json!({"name": TRANSFER_TOOL, "args": args}));
        let (why, label) = to(json!({"agent_name": "tulips_agent"}));
        assert_eq!(label, "unknown agent");
        assert!(why.ends_with("no agent tulips_agent is declared"), "{why}");
        for args in [
            json!({}),
            json!({"agent_name": 1}),
            json!({"agent_name": "home", "x": 1}),
        ] {
            assert_eq!(to(args).1, "invalid arguments");
        }
    }

    #[test]
    fn declared_requests_of_adk_are_refused() {
        let name = "adk_request_confirmation";
        let mut declared = declared();
        declared.add_tool(name, None);
        let planned = PlannedDraft {
            gap: PlannedGap::Tool(name.into()),
            persona: UserPersona::Expert,
        };
        let turns = json!([{"goal": "g", "calls": [{"name": name}]}]);
        let checked = check_blueprint(&blueprint(turns, json!({})), &planned, &declared);
        assert_eq!(checked.unwrap_err().label(), "unknown tool");
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for (args, why) in [
            (json!({"litres": 2}), "the required argument bed is missing"),
            (
                json!({"bed": "a", "depth": 1}),
                "the tool does not declare depth",
            ),
            (json!({"bed": 1}), "bed does not allow the value 1"),
            (json!({"bed": null}), "bed does not allow the value null"),
            (
                json!({"bed": "a", "litres": 21}),
                "litres does not allow the value 21",
            ),
            (
                json!({"bed": "a", "litres": 1.5}),
                "litres does not allow the value 1.5",
            ),
            (
                json!({"bed": "a", "litres": "2"}),
                "litres does not allow the value \"2\"",
            ),
        ] {
            let expected = format!("turn 1, call 2 (water): {why}");
            assert_eq!(water(args), (expected, "invalid arguments"));
        }
    }

    #[test]
    fn members_of_objects_are_checked() {
        for (to, why) in [
            (
                json!({"row": "back"}),
                "the required argument where_to.bedName is missing",
            ),
            (
                json!({"bedName": "a", "row": "top"}),
                "where_to.row does not allow the value \"top\"",
            ),
            (json!("a"), "where_to does not allow the value \"a\""),
        ] {
            let found = reason(call("move_pot", json!({"where_to": to}), "user"));
            let expected = format!("turn 1, call 2 (move_pot): {why}");
            assert_eq!(found, (expected, "invalid arguments"));
        }
    }

    #[test]
    fn open_and_unknown_schemas_allow_arguments() {
        let mut declared = declared();
        let open = json!({"properties": {}, "additionalProperties": true});
        declared.add_tool("any", Some(&open));
        declared.add_tool("named", None);
        for name in ["any", "named"] {
            let call = call(name, json!({"x": 1}), "user");
            let turns = json!([{"goal": "g", "calls": [call]}]);
            let planned = PlannedDraft {
                gap: PlannedGap::Tool(name.into()),
                persona: UserPersona::Novice,
            };
            let checked = check_blueprint(&blueprint(turns, json!({})), &planned, &declared);
            assert_eq!(checked, Ok(()));
        }
    }

    #[test]
    fn each_argument_needs_a_possible_source() {
        let from = |from: Value, bed: &str| {
            let args = json!({"bed": bed, "litres": 2});
            reason(json!({"name": "water", "args": args, "from": from}))
        };
        let user = |litres: &str| from(json!({"bed": "user", "litres": litres}), "a");
        let beds = |source: &str, bed: &str| from(json!({"bed": source, "litres": "default"}), bed);
        for possible in [user("default"), user("user"), user("answer:1")] {
            assert_eq!(possible, (String::new(), ""));
        }
        for key_or_value in ["b7", "home", "bed", "b9"] {
            assert_eq!(beds("state", key_or_value).1, "", "{key_or_value}");
        }
        for (found, why) in [
            (
                from(json!({"bed": "user"}), "a"),
                "\"from\" does not say where the value of litres is from",
            ),
            (
                user("answer:2"),
                "the source of litres is wrong: the number is not that of an earlier call",
            ),
            (
                beds("state", "b6"),
                "the source of bed is wrong: \"state\" does not contain the value",
            ),
            (
                beds("default", "a"),
                "the source of bed is wrong: the value is not the default",
            ),
        ] {
            let expected = format!("turn 1, call 2 (water): {why}");
            assert_eq!(found, (expected, "unknown source"));
        }
    }

    #[test]
    fn source_of_absent_argument_is_the_default() {
        let with = |source: &str| {
            let from = json!({"bed": "user", "litres": source});
            reason(json!({"name": "water", "args": {"bed": "a"}, "from": from}))
        };
        assert_eq!(with("default"), (String::new(), ""));
        let (why, label) = with("user");
        assert_eq!(label, "unknown source");
        assert!(
            why.ends_with("the call does not have the argument"),
            "{why}"
        );
    }

    #[test]
    fn lists_are_in_the_state_by_elements() {
        let pots = |pots: Value| {
            let args = json!({"where_to": {"bedName": "a"}, "pots": pots});
            let from = json!({"where_to": "user", "pots": "state"});
            reason(json!({"name": "move_pot", "args": args, "from": from})).1
        };
        assert_eq!(pots(json!(["b9", "b7"])), "");
        assert_eq!(pots(json!(["b9", "b6"])), "unknown source");
        assert_eq!(pots(json!([])), "unknown source");
    }

    #[test]
    fn size_and_goals_are_checked() {
        let turn = || json!({"goal": "g", "calls": [look("a")]});
        let label = |turns: Vec<Value>| {
            let problem = problem_of(turns.into(), json!({}));
            problem.map_or("", |problem| problem.label())
        };
        assert_eq!(label(vec![]), "incomplete");
        assert_eq!(label(vec![turn(); 8]), "");
        assert_eq!(label(vec![turn(); 9]), "too long");
        let with_calls = |count: usize| json!({"goal": "g", "calls": vec![look("a"); count]});
        assert_eq!(label(vec![with_calls(20)]), "");
        assert_eq!(label(vec![with_calls(20), turn()]), "too long");
        assert_eq!(
            label(vec![turn(), json!({"goal": " ", "calls": []})]),
            "incomplete"
        );
    }

    #[test]
    fn calls_are_named_by_turn_and_position() {
        let turn = |call: Value| json!({"goal": "g", "calls": [look("a"), look("b"), call]});
        let bad = call("drain", json!({}), "user");
        let problem = problem_of(json!([turn(look("c")), turn(bad)]), json!({}));
        let expected = BlueprintProblem::UnknownTool("turn 2, call 3 (drain)".into());
        assert_eq!(problem, Some(expected));
    }

    #[test]
    fn blueprint_without_planned_gap_is_refused() {
        let turns = json!([{"goal": "g", "calls": [call("water", json!({"bed": "a"}), "user")]}]);
        let problem = problem_of(turns, json!({})).unwrap();
        let (why, label) = (problem.reason(), problem.label());
        assert_eq!(
            (why.as_str(), label),
            ("no call of look", "not the planned gap")
        );
    }
}
