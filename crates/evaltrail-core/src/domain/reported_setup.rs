//! What an agent reported of itself in an attempt, beside what it did: its models, its instructions and its tools.

use super::{DetailsSource, Invocation};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Maximum number of models, agents and tools of an attempt that are noted: an agent may report any number.
const MAX_NOTED: usize = 500;
/// Maximum length of a name, in characters.
const MAX_NAME: usize = 200;

/// What an agent reported of itself in an attempt. Equal for agents that are set up equally, as far as they report it. Sub-agents
/// that were not called report nothing, so that everything is noted by the agent that reported it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedSetup {
    /// The versions of models that responded to each agent.
    pub models: BTreeSet<(Box<str>, Box<str>)>,
    /// A hash of the system instruction of each agent.
    pub instructions: BTreeMap<Box<str>, u64>,
    /// A hash of the declaration of each tool of each agent.
    #[serde(with = "entries")]
    pub tools: BTreeMap<(Box<str>, Box<str>), u64>,
    /// Who reported instructions and tools. What different sources report is not comparable.
    pub source: DetailsSource,
}

impl ReportedSetup {
    /// The setup that the turns of an attempt report; `None` if they report nothing of it. Instructions and tools are those of the first
    /// turn of each agent, because later ones may contain the state of the conversation.
    pub fn new(turns: &[Invocation]) -> Option<Arc<ReportedSetup>> {
        let mut setup = ReportedSetup::default();
        let mut source = None;
        for turn in turns {
            for event in turn.trajectory.events().unwrap_or_default() {
                let version = event.model_version.as_deref().unwrap_or_default();
                if !version.is_empty() && setup.models.len() < MAX_NOTED {
                    setup.models.insert((name(&event.author), name(version)));
                }
            }
            let details = turn.app_details.as_ref();
            let agents = details.and_then(|details| details.get("agent_details")?.as_object());
            for (agent, reported) in agents.into_iter().flatten().take(MAX_NOTED) {
                source.get_or_insert(turn.app_details_source);
                setup.add_agent(name(agent), reported);
            }
        }
        setup.source = source.unwrap_or_default();
        let is_empty =
            setup.models.is_empty() && setup.instructions.is_empty() && setup.tools.is_empty();
        (!is_empty).then(|| Arc::new(setup))
    }

    /// Adds what an agent reports of itself in ADK's `app_details`.
    fn add_agent(&mut self, agent: Box<str>, reported: &Value) {
        let text = reported.get("instructions").and_then(Value::as_str);
        if let Some(text) = text.filter(|text| !text.is_empty())
            && self.instructions.len() < MAX_NOTED
        {
            let hash = || xxhash_rust::xxh3::xxh3_64(text.as_bytes());
            self.instructions.entry(agent.clone()).or_insert_with(hash);
        }
        for (tool, declaration) in declarations(reported) {
            if self.tools.len() < MAX_NOTED {
                let key = (agent.clone(), name(tool));
                self.tools
                    .entry(key)
                    .or_insert_with(|| hash_value(declaration));
            }
        }
    }
}

/// A map as a list of its entries: its keys are no texts, which JSON demands.
mod entries {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<
        'de,
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    >(
        deserializer: D,
    ) -> Result<BTreeMap<K, V>, D::Error> {
        let entries: Vec<(K, V)> = Deserialize::deserialize(deserializer)?;
        Ok(entries.into_iter().collect())
    }
}

/// The beginning of a name.
fn name(text: &str) -> Box<str> {
    let end = text
        .char_indices()
        .nth(MAX_NAME)
        .map_or(text.len(), |(at, _)| at);
    text[..end].into()
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
            author: "desk".into(),
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
        let models: Vec<&str> = found.models.iter().map(|(_, model)| &**model).collect();
        assert_eq!(models, ["m-1", "m-2"]);
        let alone = ReportedSetup::new(&turns[..1]).unwrap();
        assert_eq!(
            (&found.instructions, &found.tools),
            (&alone.instructions, &alone.tools)
        );
        let tools: Vec<_> = found.tools.keys().cloned().collect();
        assert_eq!(tools, [("desk".into(), "book".into())]);
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
