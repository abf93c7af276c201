//! Finds out which protocol a server speaks, by the endpoints that each protocol defines. Only the origin of the given address
//! is contacted, and nothing is sent to an agent.

use crate::net::http::{self, client};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use std::time::Duration;
use url::Url;

/// The time limit of a request.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// The maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 4 << 20;

/// An agent that a server offers, as a table of `evaltrail.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundAgent {
    /// The kind of agent.
    pub kind: &'static str,
    /// The agent's own name, where the server gives one.
    pub name: String,
    /// The keys of the table beside `kind`, in order.
    pub keys: Vec<(&'static str, String)>,
    /// What identified the protocol.
    pub because: String,
}

/// Finds the agents at an address: those of the first protocol that the server speaks. Empty if it speaks none that can be
/// found without a message to an agent. Errors: the address is none, or nothing answers there.
pub async fn discover(address: &str) -> Result<Vec<FoundAgent>, String> {
    let url = Url::parse(address).map_err(|error| format!("{address}: {error}"))?;
    let probe = ServerProbe {
        client: client(&url)?,
        url,
    };
    probe.is_reachable().await?;
    let found = probe.adk().await;
    if !found.is_empty() {
        return Ok(found);
    }
    let found = probe.langgraph().await;
    if !found.is_empty() {
        return Ok(found);
    }
    let one = match probe.a2a().await {
        Some(found) => Some(found),
        None => probe.mcp().await,
    };
    match one {
        Some(found) => Ok(vec![found]),
        None => Ok(probe.openai().await),
    }
}

struct ServerProbe {
    client: Client,
    url: Url,
}

impl ServerProbe {
    /// The address with another path, and without a query.
    fn at(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(path);
        url.set_query(None);
        url.set_fragment(None);
        url
    }

    /// The path of the address, without a slash at its end.
    fn path(&self) -> &str {
        self.url.path().trim_end_matches('/')
    }

    async fn is_reachable(&self) -> Result<(), String> {
        let answer = self
            .client
            .get(self.at(self.url.path()))
            .timeout(ANSWERS_WITHIN)
            .send()
            .await;
        answer.map(drop).map_err(|error| {
            format!(
                "nothing answers at {}: {}",
                self.url.origin().ascii_serialization(),
                http::chain(http::cause(&error))
            )
        })
    }

    /// The answer to a request as text, if it is successful.
    async fn text(&self, method: Method, path: &str, body: Option<Value>) -> Option<String> {
        let request = self
            .client
            .request(method, self.at(path))
            .timeout(ANSWERS_WITHIN);
        // Servers of MCP refuse requests that do not accept both.
        let request = request.header("accept", "application/json, text/event-stream");
        let request = match &body {
            Some(body) => request.json(body),
            None => request,
        };
        let response = request
            .send()
            .await
            .ok()
            .filter(|response| response.status().is_success())?;
        http::text(response, MAX_ANSWER).await.ok()
    }

    async fn json(&self, method: Method, path: &str, body: Option<Value>) -> Option<Value> {
        serde_json::from_str(&self.text(method, path, body).await?).ok()
    }

    /// ADK's servers list their applications. The path of the address may name one.
    async fn adk(&self) -> Vec<FoundAgent> {
        let listed = self.json(Method::GET, "/list-apps", None).await;
        let apps: Option<Vec<String>> = listed.and_then(|apps| serde_json::from_value(apps).ok());
        let wanted = self.path().trim_start_matches('/');
        let is_wanted = |app: &String| wanted.is_empty() || app == wanted;
        let found = |app: String| FoundAgent {
            kind: "adk",
            keys: vec![("url", self.origin()), ("app", app.clone())],
            name: app,
            because: "it lists applications of ADK at /list-apps".into(),
        };
        apps.into_iter()
            .flatten()
            .filter(is_wanted)
            .map(found)
            .collect()
    }

    fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    async fn langgraph(&self) -> Vec<FoundAgent> {
        let body = json!({"limit": 100});
        let found = self
            .json(Method::POST, "/assistants/search", Some(body))
            .await;
        let assistants = found
            .and_then(|found| found.as_array().cloned())
            .unwrap_or_default();
        let graph = |one: &Value| Some(one.get("graph_id")?.as_str()?.to_string());
        let mut graphs: Vec<String> = assistants.iter().filter_map(graph).collect();
        graphs.sort();
        graphs.dedup();
        let found = |graph: String| FoundAgent {
            kind: "langgraph",
            keys: vec![("url", self.origin()), ("assistant", graph.clone())],
            name: graph,
            because: "it lists the assistants of a LangGraph server at /assistants/search".into(),
        };
        graphs.into_iter().map(found).collect()
    }

    async fn a2a(&self) -> Option<FoundAgent> {
        for file in ["agent-card.json", "agent.json"] {
            let path = format!("{}/.well-known/{file}", self.path());
            let Some(card) = self.json(Method::GET, &path, None).await else {
                continue;
            };
            let is_card = ["skills", "url", "supportedInterfaces", "protocolVersion"];
            let name = card.get("name").and_then(Value::as_str);
            if let Some(name) = name.filter(|_| is_card.iter().any(|key| card.get(key).is_some())) {
                let url = format!("{}{}/", self.origin(), self.path());
                let because = format!("there is an agent's card at {path}");
                return Some(FoundAgent {
                    kind: "a2a",
                    name: name.into(),
                    keys: vec![("url", url)],
                    because,
                });
            }
        }
        None
    }

    async fn mcp(&self) -> Option<FoundAgent> {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "evaltrail", "version": env!("CARGO_PKG_VERSION")}}});
        let path = if self.path().is_empty() {
            "/mcp"
        } else {
            self.path()
        };
        let text = self.text(Method::POST, path, Some(hello)).await?;
        text.contains("\"serverInfo\"").then(|| FoundAgent {
            kind: "mcp",
            name: String::new(),
            keys: vec![("url", format!("{}{path}", self.origin()))],
            because: format!("it answers `initialize` of MCP at {path}"),
        })
    }

    async fn openai(&self) -> Vec<FoundAgent> {
        let base = if self.path().is_empty() {
            "/v1"
        } else {
            self.path()
        };
        let path = format!("{base}/models");
        let models = self
            .json(Method::GET, &path, None)
            .await
            .and_then(|found| found["data"].as_array().cloned());
        let id = |model: Value| Some(model.get("id")?.as_str()?.to_string());
        let found = |model: String| FoundAgent {
            kind: "openai",
            name: String::new(),
            keys: vec![
                ("url", format!("{}{base}", self.origin())),
                ("model", model),
            ],
            because: format!("it lists models at {path}"),
        };
        models
            .into_iter()
            .flatten()
            .filter_map(id)
            .map(found)
            .collect()
    }
}
