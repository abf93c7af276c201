//! The tools that are known: for the completion of what is typed, and to warn of values of another kind.

use evaltrail_core::domain::{JsonKind, ToolCall};
use evaltrail_engine::agents::DeclaredTool;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The known tools, each with its arguments by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownTools(pub BTreeMap<String, BTreeMap<String, KnownArgument>>);

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
        let known = self.0.entry(call.name.clone()).or_default();
        for (name, value) in call.args.iter().flatten() {
            let argument = known.entry(name.clone()).or_default();
            argument.seen.extend(JsonKind::of_value(value));
        }
    }

    /// Adds a tool that an agent declares.
    pub fn declare(&mut self, tool: DeclaredTool) {
        let known = self.0.entry(tool.name).or_default();
        for argument in tool.arguments {
            let kind = argument.kind;
            let known = known.entry(argument.name).or_default();
            known.declared = known.declared.or(kind);
        }
    }

    /// A warning if the value of an argument has another kind than the agent declares, or than all calls that are known have.
    /// Null is always of the right kind.
    pub fn kind_warning(&self, tool: &str, argument: &str, value: &Value) -> Option<String> {
        let kind = JsonKind::of_value(value)?;
        let known = self.0.get(tool)?.get(argument)?;
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
    use evaltrail_engine::agents::DeclaredArgument;
    use serde_json::json;

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
