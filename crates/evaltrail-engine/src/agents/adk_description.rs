//! What an ADK server describes of its agents: their instructions and tools, for judges.
//!
//! ADK's endpoint has the instruction of each agent as it is written. What a model receives also has the lines about the agent's
//! identity, which are added here, the instructions for transfers between agents, and values of the session's state.

use evaltrail_core::domain::DetailsSource;
use evaltrail_core::formats::adk::{Event, ModelRequest};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// The agents that a server describes, by name.
#[derive(Debug, Default)]
pub(super) struct AgentDescriptions(HashMap<String, ModelRequest>);

impl AgentDescriptions {
    /// Reads the response of `app-info`.
    pub(super) fn read(info: &Value) -> AgentDescriptions {
        let agents = info["agents"].as_object().into_iter().flatten();
        AgentDescriptions(
            agents
                .filter_map(|(name, agent)| Some((name.clone(), described(name, agent)?)))
                .collect(),
        )
    }

    /// Adds what is described of its agent to an event without a request. Returns the size of what was added, in bytes.
    /// `known` are the agents of which an earlier event of the turn has it.
    pub(super) fn add_to(&self, event: &mut Event, known: &mut HashSet<String>) -> usize {
        if event.request.is_some() || known.contains(&event.author) {
            return 0;
        }
        let Some(request) = self.0.get(&event.author) else {
            return 0;
        };
        known.insert(event.author.clone());
        event.request = Some(request.clone());
        request.instructions.len()
            + request
                .tools
                .iter()
                .map(|tool| tool.to_string().len())
                .sum::<usize>()
    }
}

fn described(name: &str, agent: &Value) -> Option<ModelRequest> {
    let instruction = agent["instruction"].as_str()?;
    let mut identity = format!("You are an agent. Your internal name is \"{name}\".");
    if let Some(description) = agent["description"]
        .as_str()
        .filter(|text| !text.is_empty())
    {
        identity += &format!(" The description about you is \"{description}\".");
    }
    let instructions = match instruction.is_empty() {
        true => identity,
        false => format!("{instruction}\n\n{identity}"),
    };
    let tools = agent["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .map(in_snake_case)
        .collect();
    Some(ModelRequest {
        instructions,
        tools,
        source: DetailsSource::Description,
    })
}

/// A tool with the keys of genai's models as ADK writes them into prompts. Anything but an object stays as it is.
fn in_snake_case(tool: &Value) -> Value {
    const KEYS: [(&str, &str); 4] = [
        ("functionDeclarations", "function_declarations"),
        ("parametersJsonSchema", "parameters_json_schema"),
        ("responseJsonSchema", "response_json_schema"),
        ("googleSearch", "google_search"),
    ];
    let renamed = |key: &str| {
        KEYS.iter()
            .find(|(camel, _)| *camel == key)
            .map_or(key, |(_, snake)| snake)
            .to_string()
    };
    let of_map = |map: &Map<String, Value>| -> Map<String, Value> {
        map.iter()
            .map(|(key, value)| (renamed(key), value.clone()))
            .collect()
    };
    let Some(mut tool) = tool.as_object().map(of_map) else {
        return tool.clone();
    };
    if let Some(Value::Array(declarations)) = tool.get_mut("function_declarations") {
        for declaration in declarations.iter_mut() {
            if let Some(map) = declaration.as_object() {
                *declaration = of_map(map).into();
            }
        }
    }
    tool.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn first_event_of_agent_has_its_description() {
        let declaration = json!({"name": "get", "parametersJsonSchema": {"properties": {"functionDeclarations": {}}}});
        let info = json!({"agents": {
            "a": {"instruction": "Be brief.", "description": "helps", "tools": [{"functionDeclarations": [declaration]}]},
            "b": {"instruction": ""},
        }});
        let (descriptions, mut known) = (AgentDescriptions::read(&info), HashSet::new());
        let mut event_of = |author: &str| {
            let mut event = Event {
                author: author.into(),
                ..Event::default()
            };
            descriptions.add_to(&mut event, &mut known);
            event.request
        };
        let first = event_of("a").unwrap();
        assert_eq!(
            first.instructions,
            "Be brief.\n\nYou are an agent. Your internal name is \"a\". The description about you is \"helps\"."
        );
        let expected = json!({"name": "get", "parameters_json_schema": {"properties": {"functionDeclarations": {}}}});
        assert_eq!(first.tools, [json!({"function_declarations": [expected]})]);
        assert_eq!(first.source, DetailsSource::Description);
        assert_eq!(
            event_of("b").unwrap().instructions,
            "You are an agent. Your internal name is \"b\"."
        );
        assert_eq!((event_of("a"), event_of("other")), (None, None));
        assert_eq!(
            in_snake_case(&json!("google_search")),
            json!("google_search")
        );
    }
}
