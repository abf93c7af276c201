//! The instructions and tools that an agent's model received, which judges of ADK are sent as well.

use crate::domain::DetailsSource;
use crate::formats::read::JsonNode;
use serde_json::{Map, Value, json};

/// The key of an event's metadata under which evaltrail's plugin for ADK puts the request.
const KEY: &str = "evaltrail_request";

/// What an agent's model received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelRequest {
    /// The system instruction.
    pub instructions: String,
    /// The declarations of tools, in genai's form.
    pub tools: Vec<Value>,
    /// Who reports it.
    pub source: DetailsSource,
}

/// Reads the request in the metadata of an event.
pub(super) fn model_request(event: JsonNode) -> Option<ModelRequest> {
    let found = event.get("custom_metadata")?.value.get(KEY)?;
    Some(ModelRequest {
        instructions: found.get("instructions")?.as_str()?.to_string(),
        tools: found
            .get("tools")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        source: DetailsSource::Request,
    })
}

/// ADK's `app_details` of an invocation, and where they come from: the first request of each agent; without one, what its
/// server describes. `None` if nothing is known.
pub(super) fn app_details(requests: &[(&str, &ModelRequest)]) -> (Option<Value>, DetailsSource) {
    let mut agents: Map<String, Value> = Map::new();
    let mut source = DetailsSource::Request;
    for (author, request) in requests {
        let is_other =
            |(name, one): &&(&str, &ModelRequest)| name == author && one.source < request.source;
        if agents.contains_key(*author) || requests.iter().any(|one| is_other(&one)) {
            continue;
        }
        let ModelRequest {
            instructions,
            tools,
            ..
        } = request;
        let details =
            json!({"name": author, "instructions": instructions, "tool_declarations": tools});
        agents.insert(author.to_string(), details);
        source = source.max(request.source);
    }
    (
        (!agents.is_empty()).then(|| json!({"agent_details": agents})),
        source,
    )
}

#[cfg(test)]
mod tests {
    use super::super::event::{invocation_of, read_event};
    use crate::domain::{Content, DetailsSource};
    use serde_json::{Value, json};

    fn event(author: &str, request: Option<Value>) -> Value {
        let metadata = request.map(|request| json!({"evaltrail_request": request}));
        json!({"author": author, "content": {"parts": [{"text": "hi"}]}, "customMetadata": metadata})
    }

    #[test]
    fn first_request_per_agent_is_in_app_details() {
        let request = |text: &str| {
            Some(json!({"instructions": text, "tools": [{"function_declarations": []}]}))
        };
        let events = [
            event("a", None),
            event("a", request("first")),
            event("b", Some(json!({"instructions": "other"}))),
            event("a", request("second")),
        ];
        let events = events
            .iter()
            .map(|event| read_event(event).unwrap())
            .collect();
        let turn = invocation_of(&Content::text("user", "x"), events);
        let expected = json!({"agent_details": {
            "a": {"name": "a", "instructions": "first", "tool_declarations": [{"function_declarations": []}]},
            "b": {"name": "b", "instructions": "other", "tool_declarations": []},
        }});
        assert_eq!(turn.app_details, Some(expected));
        assert_eq!(turn.app_details_source, DetailsSource::Request);
        let without = invocation_of(
            &Content::default(),
            vec![read_event(&event("a", None)).unwrap()],
        );
        assert_eq!(without.app_details, None);
    }
}
