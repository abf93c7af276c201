//! What an agent reported of itself in an attempt, beside what it did: its models, its instructions and its tools.

use super::{DetailsSource, Invocation};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::Xxh3;

/// A name, and a hash of what is reported under it.
pub type NamedHash = (Box<str>, u64);

/// What an agent reported of itself in an attempt. Equal for agents that are set up equally, as far as they report it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedSetup {
    /// The versions of the models that responded, in alphabetical order.
    pub models: Box<[Box<str>]>,
    /// The system instruction of each agent, by its name.
    pub instructions: Box<[NamedHash]>,
    /// The declaration of each tool, by its name.
    pub tools: Box<[NamedHash]>,
    /// Who reported instructions and tools. What different sources report is not comparable.
    pub source: DetailsSource,
}

impl ReportedSetup {
    /// The setup that the turns of an attempt report; `None` if they report nothing of it. Instructions and tools are those of the first
    /// turn of each agent, because later ones may contain the state of the conversation.
    pub fn new(turns: &[Invocation]) -> Option<Box<ReportedSetup>> {
        let events = turns.iter().filter_map(|turn| turn.trajectory.events());
        let models: BTreeSet<&str> = events
            .flatten()
            .filter_map(|event| event.model_version.as_deref())
            .filter(|version| !version.is_empty())
            .collect();
        let mut instructions: BTreeMap<&str, u64> = BTreeMap::new();
        let mut tools: BTreeMap<&str, u64> = BTreeMap::new();
        let mut source = None;
        for turn in turns {
            let agents = turn
                .app_details
                .as_ref()
                .and_then(|details| details.get("agent_details"));
            for (name, agent) in agents.and_then(Value::as_object).into_iter().flatten() {
                source.get_or_insert(turn.app_details_source);
                let text = agent.get("instructions").and_then(Value::as_str);
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    instructions.entry(name).or_insert_with(|| hash_text(text));
                }
                for (tool, declaration) in declarations(agent) {
                    tools.entry(tool).or_insert_with(|| hash_value(declaration));
                }
            }
        }
        let is_empty = models.is_empty() && instructions.is_empty() && tools.is_empty();
        let named = |hashes: BTreeMap<&str, u64>| {
            let hashes = hashes.into_iter();
            hashes.map(|(name, hash)| (name.into(), hash)).collect()
        };
        (!is_empty).then(|| {
            Box::new(ReportedSetup {
                models: models.into_iter().map(Box::from).collect(),
                instructions: named(instructions),
                tools: named(tools),
                source: source.unwrap_or_default(),
            })
        })
    }
}

/// The tools that an agent declares in ADK's `app_details`: each is in the list, or in a list of its own.
fn declarations(agent: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let listed = agent.get("tool_declarations").and_then(Value::as_array);
    listed.into_iter().flatten().flat_map(|tool| {
        let inner = tool.get("function_declarations").and_then(Value::as_array);
        let declared: Vec<&Value> = match inner {
            Some(functions) => functions.iter().collect(),
            None => vec![tool],
        };
        declared
            .into_iter()
            .filter_map(|one| Some((one.get("name")?.as_str()?, one)))
    })
}

fn hash_text(text: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(text.as_bytes())
}

/// A hash of a value in which the order of keys does not matter.
fn hash_value(value: &Value) -> u64 {
    let mut hasher = Xxh3::new();
    add_value(value, &mut hasher);
    hasher.digest()
}

fn add_value(value: &Value, hasher: &mut Xxh3) {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            hasher.update(b"{");
            for (key, member) in sorted {
                hasher.update(key.as_bytes());
                hasher.update(b"\0");
                add_value(member, hasher);
            }
            hasher.update(b"}");
        }
        Value::Array(elements) => {
            hasher.update(b"[");
            elements.iter().for_each(|one| add_value(one, hasher));
            hasher.update(b"]");
        }
        // The encoding of other values is unambiguous, but for its end.
        other => {
            hasher.update(other.to_string().as_bytes());
            hasher.update(b",");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{InvocationEvent, Trajectory};
    use serde_json::json;

    fn turn(model: Option<&str>, details: Option<Value>) -> Invocation {
        let event = InvocationEvent {
            model_version: model.map(str::to_string),
            ..InvocationEvent::default()
        };
        Invocation {
            trajectory: Trajectory::Events(vec![event]),
            app_details: details,
            ..Invocation::default()
        }
    }

    fn details(instruction: &str, schema: Value) -> Value {
        let tool = json!({"function_declarations": [{"name": "book", "parameters": schema}]});
        let agent =
            json!({"name": "desk", "instructions": instruction, "tool_declarations": [tool]});
        json!({"agent_details": {"desk": agent}})
    }

    #[test]
    fn setup_is_that_of_the_first_turn() {
        let first = details("be kind", json!({"a": 1, "b": [2]}));
        let later = details("be kind; the user is Ann", json!({}));
        let turns = [
            turn(Some("m-2"), Some(first)),
            turn(Some("m-1"), Some(later)),
        ];
        let found = ReportedSetup::new(&turns).unwrap();
        assert_eq!(&*found.models, ["m-1".into(), "m-2".into()]);
        let alone = ReportedSetup::new(&turns[..1]).unwrap();
        assert_eq!(
            (&found.instructions, &found.tools),
            (&alone.instructions, &alone.tools)
        );
        assert_eq!(&*found.tools[0].0, "book");
        assert_eq!(ReportedSetup::new(&[turn(None, None)]), None);
    }

    #[test]
    fn order_of_keys_does_not_matter() {
        let of = |schema: Value| ReportedSetup::new(&[turn(None, Some(details("x", schema)))]);
        assert_eq!(of(json!({"a": 1, "b": 2})), of(json!({"b": 2, "a": 1})));
        assert_ne!(of(json!({"a": 1, "b": 2})), of(json!({"a": 1, "b": 3})));
        assert_ne!(of(json!(["a", "b"])), of(json!(["ab"])));
    }
}
