//! The tools that are known: for the completion of what is typed, and to warn of values of another kind.

use evaltrail_core::domain::{EvalCase, JsonKind, ToolCall};
use evaltrail_engine::agents::DeclaredTool;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The known tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownTools {
    /// Each with its arguments by name.
    pub by_name: BTreeMap<String, BTreeMap<String, KnownArgument>>,
    /// The applications whose cases call a tool, by its name.
    callers: BTreeMap<String, BTreeSet<String>>,
    /// The tools that the agent of the set declares.
    declared: BTreeSet<String>,
    /// The application of cases that name none.
    pub default_app: String,
}

/// What is known of the values of an argument.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownArgument {
    /// The kind that the agent declares.
    declared: Option<JsonKind>,
    /// The kinds of the values that known calls have for it.
    seen: BTreeSet<JsonKind>,
}

impl KnownTools {
    /// Adds the tool and the arguments of a call.
    pub fn see(&mut self, call: &ToolCall) {
        let known = self.by_name.entry(call.name.clone()).or_default();
        for (name, value) in call.args.iter().flatten() {
            let argument = known.entry(name.clone()).or_default();
            argument.seen.extend(JsonKind::of_value(value));
        }
    }

    /// Adds a call of a case of an application.
    pub fn see_in(&mut self, app: &str, call: &ToolCall) {
        let callers = self.callers.entry(call.name.clone()).or_default();
        if !callers.contains(app) {
            callers.insert(app.to_string());
        }
        self.see(call);
    }

    /// Adds a tool that the agent of the set declares.
    pub fn declare(&mut self, tool: DeclaredTool) {
        self.declared.insert(tool.name.clone());
        let known = self.by_name.entry(tool.name).or_default();
        for argument in tool.arguments {
            let kind = argument.kind;
            let known = known.entry(argument.name).or_default();
            known.declared = known.declared.or(kind);
        }
    }

    /// The names of the tools: first those that cases of the same application call, then the others that the agent of the set
    /// declares.
    pub fn names_for(&self, case: &EvalCase) -> Vec<String> {
        let named = case.session_input.as_ref().map(|input| &input.app_name);
        let app = named.filter(|app| !app.is_empty());
        let app = app.unwrap_or(&self.default_app);
        let is_called = |name: &str| {
            self.callers
                .get(name)
                .is_some_and(|apps| apps.contains(app))
        };
        let rank = |name: &String| (!is_called(name), !self.declared.contains(name));
        let mut names: Vec<String> = self.by_name.keys().cloned().collect();
        names.sort_by_key(rank);
        names
    }

    /// A warning if the value of an argument has another kind than the agent declares, or than all calls that are known have.
    /// Null is always of the right kind.
    pub fn kind_warning(&self, tool: &str, argument: &str, value: &Value) -> Option<String> {
        let kind = JsonKind::of_value(value)?;
        let known = self.by_name.get(tool)?.get(argument)?;
        match known.declared {
            Some(declared) => (declared != kind).then(|| {
                format!("the agent declares {argument} as {declared}, and this is {kind}")
            }),
            None => {
                let is_other = !known.seen.is_empty() && !known.seen.contains(&kind);
                is_other.then(|| {
                    let seen: Vec<String> = known.seen.iter().map(JsonKind::to_string).collect();
                    let seen = seen.join(" or ");
                    format!("in other calls of {tool}, {argument} is {seen}, and this is {kind}")
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::SessionInput;
    use evaltrail_engine::agents::DeclaredArgument;
    use serde_json::json;

    #[test]
    fn tools_of_the_own_agent_are_first() {
        let mut tools = KnownTools {
            default_app: "dice".into(),
            ..KnownTools::default()
        };
        for (app, name) in [("garden", "add_bed"), ("dice", "roll"), ("garden", "water")] {
            tools.see_in(app, &ToolCall::new(name, None));
        }
        tools.declare(DeclaredTool {
            name: "shuffle".into(),
            description: String::new(),
            arguments: Vec::new(),
            schema: None,
        });
        let mut case = EvalCase::default();
        assert_eq!(
            tools.names_for(&case),
            ["roll", "shuffle", "add_bed", "water"]
        );
        case.session_input = Some(SessionInput {
            app_name: "garden".into(),
            ..SessionInput::default()
        });
        assert_eq!(
            tools.names_for(&case),
            ["add_bed", "water", "shuffle", "roll"]
        );
    }

    #[test]
    fn values_of_other_kinds_are_warned_about() {
        let mut tools = KnownTools::default();
        let call = |args: Value| ToolCall::new("water", args.as_object().cloned());
        tools.see(&call(json!({"bed": "south", "litres": 4, "note": null})));
        let warning =
            |tools: &KnownTools, name: &str, value| tools.kind_warning("water", name, &value);
        assert_eq!(
            warning(&tools, "bed", json!(3)).as_deref(),
            Some("in other calls of water, bed is a text, and this is a number")
        );
        for (name, value) in [
            ("bed", json!("north")),
            ("bed", json!(null)),
            ("litres", json!(1.5)),
        ] {
            assert_eq!(warning(&tools, name, value), None);
        }
        let unknown = [("note", json!([])), ("depth", json!(2))];
        assert!(
            unknown
                .into_iter()
                .all(|(name, value)| warning(&tools, name, value).is_none())
        );
        tools.declare(DeclaredTool {
            name: "water".into(),
            description: String::new(),
            arguments: vec![DeclaredArgument {
                name: "litres".into(),
                kind: Some(JsonKind::Text),
            }],
            schema: None,
        });
        assert_eq!(
            warning(&tools, "litres", json!(4)).as_deref(),
            Some("the agent declares litres as a text, and this is a number")
        );
    }
}
