//! An agent that an MCP server offers as a tool. Which tools it calls itself is not known.

use super::messages::event_with;
use super::remote::{Remote, error_message, setup};
use super::stream_items::Items;
use super::{
    Agent, AgentDescription, AgentError, ErrorKind, OnEvent, Session, SessionOptions, Turn,
    TurnBudget, TurnOutcome,
};
use crate::process::clock::{Stopwatch, timeout};
use async_trait::async_trait;
use evaltrail_core::domain::{McpSettings, Part};
use evaltrail_core::formats::adk::Event;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The version of the protocol that is offered.
const VERSION: &str = "2025-11-25";
/// The header with the id of the session.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The memory limit of an answer that is not a turn, in bytes.
const ANSWER: usize = 4 << 20;

/// An MCP server with an agent as a tool.
#[derive(Debug)]
pub(super) struct McpAgent {
    server: Arc<McpServer>,
    /// What the server says about itself.
    description: AgentDescription,
}

#[derive(Debug)]
struct McpServer {
    remote: Arc<Remote>,
    tool: String,
    /// The argument that receives the user's message.
    argument: String,
    headers: HeaderMap,
    requests: AtomicU64,
}

/// A conversation. Each message stands alone: a tool has no memory of earlier calls.
#[derive(Debug)]
struct McpSession {
    server: Arc<McpServer>,
    id: String,
}

impl McpAgent {
    /// Initializes a session and finds the tool.
    pub(super) async fn connect(
        remote: Arc<Remote>,
        settings: &McpSettings,
    ) -> Result<McpAgent, AgentError> {
        let mut headers = HeaderMap::new();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        let mut server = McpServer {
            remote,
            tool: String::new(),
            argument: String::new(),
            headers,
            requests: AtomicU64::new(0),
        };
        let client = json!({"name": "evaltrail", "version": env!("CARGO_PKG_VERSION")});
        let offer = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client});
        let (answer, session) = server.ask("initialize", offer).await?;
        if let Some(session) = session {
            server.headers.insert(SESSION, session);
        }
        let version = answer["protocolVersion"]
            .as_str()
            .unwrap_or(VERSION)
            .to_string();
        let header = HeaderValue::from_str(&version)
            .map_err(|_| setup("the server's protocol version is not valid"))?;
        server.headers.insert("mcp-protocol-version", header);
        server.notify("notifications/initialized").await?;
        let (listed, _) = server.ask("tools/list", json!({})).await?;
        let tools = listed["tools"].as_array().cloned().unwrap_or_default();
        (server.tool, server.argument) = chosen(&tools, settings).map_err(setup)?;
        let name = answer["serverInfo"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_string();
        let about = vec![
            ("server", name),
            ("protocol", version),
            ("tool", server.tool.clone()),
        ];
        let description = AgentDescription {
            was_asked: true,
            about,
            tools: Vec::new(),
            app_info: Value::Null,
        };
        Ok(McpAgent {
            server: Arc::new(server),
            description,
        })
    }
}

/// The tool and the argument of the settings; without them, the only tool and its only text.
fn chosen(tools: &[Value], settings: &McpSettings) -> Result<(String, String), String> {
    let names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let tool = match (settings.tool.as_str(), tools) {
        ("", [tool]) => tool,
        ("", _) => {
            return Err(format!(
                "name the tool that is the agent with `tool`; the server has {}",
                names.join(", ")
            ));
        }
        (asked, _) => tools
            .iter()
            .find(|tool| tool["name"] == asked)
            .ok_or_else(|| {
                format!(
                    "the server has no tool {asked:?}; it has {}",
                    names.join(", ")
                )
            })?,
    };
    let name = tool["name"].as_str().unwrap_or_default().to_string();
    if !settings.argument.is_empty() {
        return Ok((name, settings.argument.clone()));
    }
    let properties = tool["inputSchema"]["properties"].as_object();
    let texts: Vec<&String> = properties
        .into_iter()
        .flatten()
        .filter(|(_, schema)| schema["type"] == "string")
        .map(|(key, _)| key)
        .collect();
    match texts.as_slice() {
        [only] => Ok((name, only.to_string())),
        _ => Err(format!(
            "name the argument of {name} that receives the prompt with `argument`"
        )),
    }
}

impl McpServer {
    fn request(&self, method: &str, params: Value) -> Value {
        let id = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }

    /// Asks something that is not a turn. Also returns the id of the session, if the answer assigns one.
    async fn ask(
        &self,
        method: &str,
        params: Value,
    ) -> Result<(Value, Option<HeaderValue>), AgentError> {
        let asking = async {
            let request = self.request(method, params);
            let response = self
                .remote
                .begin_turn(self.remote.base().clone(), &request, &self.headers)
                .await?;
            let session = response.headers().get(SESSION).cloned();
            let mut budget = TurnBudget::new(ANSWER, &Arc::default());
            Ok((self.result(response, &request, &mut budget).await?, session))
        };
        let limit = super::remote::SHORT_CALL;
        timeout(limit, asking)
            .await
            .unwrap_or_else(|_| Err(self.remote.silent(limit)))
    }

    async fn notify(&self, method: &str) -> Result<(), AgentError> {
        let message = json!({"jsonrpc": "2.0", "method": method});
        self.remote
            .begin_turn(self.remote.base().clone(), &message, &self.headers)
            .await
            .map(drop)
    }

    /// The result of a request, in an answer that is one value or a stream of events.
    async fn result(
        &self,
        response: reqwest::Response,
        request: &Value,
        budget: &mut TurnBudget,
    ) -> Result<Value, AgentError> {
        let kind = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        let mut answer = match kind.starts_with("text/event-stream") {
            false => self.remote.json_body(response, budget).await?,
            true => {
                let mut items = self.remote.items(response, budget.take_rest());
                let answer = answer_among(&mut items, &request["id"]).await?;
                *budget = items.into_budget();
                answer
            }
        };
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            let words = error_message(error).unwrap_or_else(|| error.to_string());
            return Err(self.remote.error(ErrorKind::Agent, words));
        }
        answer.get_mut("result").map(Value::take).ok_or_else(|| {
            AgentError::new(
                ErrorKind::Protocol,
                "the server answered with nothing that MCP defines",
            )
        })
    }
}

/// The answer to a request among other messages of the server.
async fn answer_among(items: &mut Items<'_>, id: &Value) -> Result<Value, AgentError> {
    while let Some(item) = items.next().await? {
        items.charge(item.size)?;
        if item.value["id"] == *id && item.value.get("method").is_none() {
            return Ok(item.value);
        }
    }
    Err(AgentError::new(
        ErrorKind::Protocol,
        "the stream ended before the answer",
    ))
}

#[async_trait]
impl Agent for McpAgent {
    async fn describe(&self) -> AgentDescription {
        self.description.clone()
    }

    async fn open(&self, opening: SessionOptions) -> Result<Box<dyn Session>, AgentError> {
        if !opening.history.is_empty() {
            return Err(setup(
                "a single turn cannot be run: a tool of MCP has no way to receive the turns before it",
            ));
        }
        Ok(Box::new(McpSession {
            server: self.server.clone(),
            id: opening.session_id,
        }))
    }
}

#[async_trait]
impl Session for McpSession {
    fn id(&self) -> &str {
        &self.id
    }

    async fn turn(
        &mut self,
        mut turn: Turn<'_>,
        on_event: OnEvent<'_>,
    ) -> Result<TurnOutcome, AgentError> {
        let began = Stopwatch::start();
        let server = &self.server;
        let arguments = Map::from_iter([(server.argument.clone(), turn.user.spoken_text().into())]);
        let request = server.request(
            "tools/call",
            json!({"name": server.tool, "arguments": arguments}),
        );
        let url = server.remote.base().clone();
        let response = server
            .remote
            .begin_turn(url, &request, &server.headers)
            .await?;
        let result = server.result(response, &request, &mut turn.budget).await?;
        let parts = parts_of(&result);
        if result["isError"] == true {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.text.as_deref())
                .collect();
            return Err(server.remote.error(ErrorKind::Agent, texts.join("\n")));
        }
        let at = Some(began.elapsed().as_secs_f64());
        on_event(Event {
            at,
            ..event_with("agent", parts)
        });
        Ok(TurnOutcome {
            has_all_calls: false,
            ..TurnOutcome::ANSWERED
        })
    }
}

/// The texts of a result as one part, then its images and audio. A block of another kind, and a result that is only
/// structured, is its JSON.
fn parts_of(result: &Value) -> Vec<Part> {
    let blocks = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for block in blocks {
        match (block["text"].as_str(), block["data"].as_str()) {
            (Some(text), _) => texts.push(text.to_string()),
            (None, Some(data)) => {
                let inline = json!({"data": data, "mime_type": block["mimeType"]});
                media.push(Part {
                    rest: Map::from_iter([("inline_data".to_string(), inline)]),
                    ..Part::default()
                });
            }
            (None, None) => texts.push(block.to_string()),
        }
    }
    if blocks.is_empty() && !result["structuredContent"].is_null() {
        texts.push(result["structuredContent"].to_string());
    }
    std::iter::once(Part::text(texts.join("\n")))
        .chain(media)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_of_a_result_is_stored() {
        let link = json!({"type": "resource_link", "uri": "file:///a"});
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let text = |text: &str| json!({"type": "text", "text": text});
        let parts = parts_of(&json!({"content": [text("a"), image, text("b"), link]}));
        assert_eq!(
            parts[0].text.as_deref(),
            Some(format!("a\nb\n{link}").as_str())
        );
        assert_eq!(
            parts[1].rest["inline_data"],
            json!({"data": "AA==", "mime_type": "image/png"})
        );
        let structured = parts_of(&json!({"content": [], "structuredContent": {"n": 1}}));
        assert_eq!(structured, [Part::text("{\"n\":1}")]);
        assert_eq!(parts_of(&json!({})), [Part::text("")]);
    }

    #[test]
    fn only_tool_and_text_argument_are_defaults() {
        let tool = |name: &str, properties: Value| json!({"name": name, "inputSchema": {"properties": properties}});
        let ask = tool(
            "ask",
            json!({"prompt": {"type": "string"}, "n": {"type": "integer"}}),
        );
        let none = McpSettings::default();
        assert_eq!(
            chosen(std::slice::from_ref(&ask), &none),
            Ok(("ask".into(), "prompt".into()))
        );
        let two = [ask, tool("other", json!({}))];
        assert!(chosen(&two, &none).unwrap_err().contains("ask, other"));
        let named = |tool: &str, argument: &str| McpSettings {
            tool: tool.into(),
            argument: argument.into(),
        };
        assert!(
            chosen(&two, &named("other", ""))
                .unwrap_err()
                .contains("argument")
        );
        assert_eq!(
            chosen(&two, &named("other", "q")),
            Ok(("other".into(), "q".into()))
        );
        assert!(
            chosen(&two, &named("none", ""))
                .unwrap_err()
                .contains("no tool \"none\"")
        );
    }
}
