//! The tools that an application's agents declare, as its server reports them.

use super::memory_limit::parse_answer;
use super::{DeclaredArgument, DeclaredTool};
use crate::net::http::{self, client, is_loopback};
use evaltrail_core::domain::{AgentServer, AgentSpec, JsonKind};
use serde_json::Value;
use std::time::Duration;
use url::Url;

/// The time limit of the request. It is short because the tools are needed for completions.
const WAIT: Duration = Duration::from_secs(2);

/// The tools of an agent on a server that already runs on this machine; empty for any other agent. No program is
/// started and no other machine is contacted for completions.
pub async fn declared_tools(spec: &AgentSpec) -> Vec<DeclaredTool> {
    match spec {
        AgentSpec::Adk {
            server: AgentServer::Url(url),
            app,
            ..
        } => fetch_declared_tools(url, app).await.unwrap_or_default(),
        _ => Vec::new(),
    }
}

async fn fetch_declared_tools(base: &str, app: &str) -> Option<Vec<DeclaredTool>> {
    let mut url = Url::parse(base).ok().filter(is_loopback)?;
    url.path_segments_mut()
        .ok()?
        .pop_if_empty()
        .extend(["apps", app, "app-info"]);
    let response = client(&url)
        .ok()?
        .get(url)
        .timeout(WAIT)
        .send()
        .await
        .ok()?;
    let text = http::text(response, 4 << 20).await.ok()?;
    Some(declared(&parse_answer(&text).ok()?))
}

pub(super) fn declared(info: &Value) -> Vec<DeclaredTool> {
    let agents = info
        .get("agents")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|agents| agents.values());
    let tools = agents
        .filter_map(|agent| agent.get("tools")?.as_array())
        .flatten();
    let declarations = tools
        .filter_map(|tool| tool.get("functionDeclarations")?.as_array())
        .flatten();
    declarations.filter_map(declared_by).collect()
}

/// The text of a member; empty if there is none.
fn text_of(declaration: &Value, key: &str) -> String {
    let text = declaration.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_string()
}

/// The tool that a declaration declares.
pub(super) fn declared_by(declaration: &Value) -> Option<DeclaredTool> {
    let parameters = ["parameters", "parametersJsonSchema"]
        .iter()
        .filter_map(|key| declaration.get(*key))
        .find(|schema| schema.is_object());
    let properties = parameters.and_then(|schema| schema.get("properties")?.as_object());
    let arguments = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| DeclaredArgument {
            name: name.clone(),
            kind: JsonKind::of_schema(schema),
        })
        .collect();
    Some(DeclaredTool {
        name: declaration.get("name")?.as_str()?.to_string(),
        description: text_of(declaration, "description"),
        arguments,
        // Without a schema, the tool has no parameters.
        schema: Some(parameters.cloned().unwrap_or_default()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn declarations_name_tools_and_arguments() {
        let schema = json!({"type": "OBJECT", "properties": {"room": {"type": "STRING"}}});
        let declaration = json!({"name": "get", "parameters": schema});
        let info = json!({"agents": {"a": {"tools": [{"functionDeclarations": [declaration, {"name": "list"}]}]}, "b": {}}});
        assert_eq!(
            declared(&info),
            [
                DeclaredTool {
                    name: "get".into(),
                    description: String::new(),
                    arguments: vec![DeclaredArgument {
                        name: "room".into(),
                        kind: Some(JsonKind::Text)
                    }],
                    schema: Some(schema)
                },
                DeclaredTool {
                    name: "list".into(),
                    description: String::new(),
                    arguments: Vec::new(),
                    schema: Some(Value::Null)
                }
            ]
        );
    }
}
