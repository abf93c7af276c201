//! Agents on servers that speak a protocol of agents: the protocols, their settings, and how the server is reached.

use super::agent_server::without_secrets;
use super::{AgentServer, ProgramSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An agent on a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ServerSpec {
    /// The protocol, with its settings.
    pub protocol: Protocol,
    /// The server. The address is that of the agent, in the form that the protocol requires.
    pub server: AgentServer,
    /// The path of the agent on a server that evaltrail starts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Headers of every request. `{env.NAME}` in a value stands for an environment variable; its value is not stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The longest time without data from the agent during a turn, in milliseconds; `None` is without limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// A command that prints an access token, which is sent as bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_command: Option<ProgramSpec>,
}

/// A protocol of agents, with its settings. The names of the variants are the values of `kind` in `evaltrail.toml` and
/// the beginning of addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Protocol {
    /// Agent2Agent, versions 1.0 and 0.3.
    A2a(A2aSettings),
    /// AG-UI, the protocol between agents and user interfaces.
    AgUi(AgUiSettings),
    /// Vertex AI Agent Engine.
    AgentEngine(AgentEngineSettings),
    /// Any endpoint, described by a template.
    Http(Box<HttpSettings>),
    /// A LangGraph server.
    Langgraph(LanggraphSettings),
    /// A tool of an MCP server that is an agent.
    Mcp(McpSettings),
    /// A model or an agent behind one of OpenAI's interfaces.
    Openai(OpenaiSettings),
}

impl Protocol {
    /// The name of the protocol in `evaltrail.toml` and in addresses.
    pub fn name(&self) -> &'static str {
        match self {
            Protocol::A2a(_) => "a2a",
            Protocol::AgUi(_) => "ag-ui",
            Protocol::AgentEngine(_) => "agent-engine",
            Protocol::Http(_) => "http",
            Protocol::Langgraph(_) => "langgraph",
            Protocol::Mcp(_) => "mcp",
            Protocol::Openai(_) => "openai",
        }
    }

    /// The names of all protocols.
    pub const NAMES: [&str; 7] = [
        "a2a",
        "ag-ui",
        "agent-engine",
        "http",
        "langgraph",
        "mcp",
        "openai",
    ];
}

/// Settings of an agent that speaks Agent2Agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct A2aSettings {
    /// Whether to stream, if the agent's card says that the agent can.
    pub stream: bool,
    /// The binding to use, if the agent offers it; the first one that the card lists when `None`.
    pub binding: Option<A2aBinding>,
}

impl Default for A2aSettings {
    fn default() -> Self {
        A2aSettings {
            stream: true,
            binding: None,
        }
    }
}

/// How Agent2Agent's methods are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum A2aBinding {
    /// JSON-RPC.
    JsonRpc,
    /// HTTP with JSON.
    HttpJson,
}

/// Settings of an agent that speaks AG-UI.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgUiSettings {
    /// A file with the declarations of the tools that the client runs: a list of functions.
    #[serde(
        default,
        with = "super::stored_path::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub tools: Option<PathBuf>,
    /// The maximum number of runs of a turn: the agent is run again after the client has run a tool.
    #[serde(default = "ten")]
    pub max_steps: u32,
}

/// Settings of an agent on Agent Engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentEngineSettings {
    /// Whether the agent has sessions, as those of ADK have. Those of LangChain's template do not.
    pub sessions: bool,
}

impl Default for AgentEngineSettings {
    fn default() -> Self {
        AgentEngineSettings { sessions: true }
    }
}

/// The template of an endpoint. Paths are JSONPaths (RFC 9535).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpSettings {
    /// The method.
    #[serde(default = "post")]
    pub method: String,
    /// The body of a request, with the placeholders `{prompt}`, `{messages}`, `{ui_messages}`, `{session_id}`, `{user_id}`,
    /// `{eval_id}`, `{turn}`, `{state}` and `{user_content}`, which the address may have, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Map<String, Value>>,
    /// The fields of a form that is sent instead of a body, with the same placeholders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Map<String, Value>>,
    /// How the form is encoded.
    #[serde(default, skip_serializing_if = "FormEncoding::is_default")]
    pub form_encoding: FormEncoding,
    /// The path of the response's text; several texts are joined by newlines. Without this and `calls`, the whole reply is
    /// the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// The path of an error. If it leads to a value that is not null, the attempt is errored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The path of the reason for which the model stopped: a reason other than completion is shown with the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// The path of the token counts of a step of the model, under the names of OpenAI, LangChain or the AI SDK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    /// The path of the session's id, if the server assigns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where the tool calls are. They are not known when this is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<HttpCalls>,
    /// Where responses of tools are, if they are not part of their calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<HttpResults>,
    /// How the reply is streamed; it is not when this is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<HttpStream>,
    /// The status codes of a reply; those of success when this is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ok: Vec<u16>,
}

impl HttpSettings {
    /// The template of the body, or of the form, as text.
    pub fn body_text(&self) -> String {
        let template = self.body.as_ref().or(self.form.as_ref());
        template
            .cloned()
            .map(|members| Value::Object(members).to_string())
            .unwrap_or_default()
    }
}

/// How a form is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FormEncoding {
    /// `application/x-www-form-urlencoded`.
    #[default]
    Urlencoded,
    /// `multipart/form-data`.
    Multipart,
}

impl FormEncoding {
    fn is_default(&self) -> bool {
        *self == FormEncoding::default()
    }
}

fn post() -> String {
    "POST".into()
}

/// Where the tool calls of a reply are. All paths but the first are relative to a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpCalls {
    /// The calls.
    pub path: String,
    /// The tool's name.
    pub name: String,
    /// The arguments: an object, or a text that contains one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// The tool's response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// The call's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The agent that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// Where responses of tools are, if they are not part of their calls. All paths but the first are relative to a response.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpResults {
    /// The responses.
    pub path: String,
    /// The id of the call.
    pub id: String,
    /// The response itself.
    pub response: String,
}

/// How a reply is streamed: as server-sent events, or as lines of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpStream {
    /// The name, or the `type`, of the events with pieces of the text; all events when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// The path of a piece of the text.
    pub text: String,
    /// The path of the id of a text: texts with different ids begin a line each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The path of a piece of the model's thoughts, which are not part of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
    /// A path that leads to something in an item with which a step of the model begins. The response is the text of the last
    /// step; texts before a call or a step are intermediate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// Settings of a graph on a LangGraph server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LanggraphSettings {
    /// The assistant: an id, or the name of a graph. When it is empty, the application that the case names, or the only
    /// one of the server.
    pub assistant: String,
    /// The key of the graph's input that receives the user's message. When it is empty, the messages, or the only text.
    pub input: String,
    /// The key of the graph's state that contains the response. When it is empty, the last message, or the only text
    /// beside the input.
    pub output: String,
}

/// Settings of an agent that is a tool of an MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpSettings {
    /// The tool; the only one of the server when it is empty.
    pub tool: String,
    /// The argument that receives the user's message; the only text of the tool when it is empty.
    pub argument: String,
}

/// Settings of a model, or of an agent, behind one of OpenAI's interfaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenaiSettings {
    /// The model.
    pub model: String,
    /// The interface.
    #[serde(default)]
    pub api: OpenaiApi,
    /// Whether to stream.
    #[serde(default = "yes")]
    pub stream: bool,
    /// Whether an agent behind the interface runs its tools itself. Its calls are not known then.
    #[serde(default)]
    pub hosted: bool,
    /// A file with the declarations of the tools: a list of functions.
    #[serde(
        default,
        with = "super::stored_path::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub tools: Option<PathBuf>,
    /// The system prompt.
    #[serde(default)]
    pub system: String,
    /// Further members of each request, for example the temperature.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// The maximum number of requests of a turn.
    #[serde(default = "ten")]
    pub max_steps: u32,
}

fn yes() -> bool {
    true
}

fn ten() -> u32 {
    10
}

/// An interface of OpenAI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenaiApi {
    /// Chat completions.
    #[default]
    Chat,
    /// Responses.
    Responses,
}

impl Protocol {
    /// Mutable access to the file that the settings name, if they name one.
    pub fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Protocol::Openai(settings) => settings.tools.as_mut(),
            Protocol::AgUi(settings) => settings.tools.as_mut(),
            _ => None,
        }
    }
}

impl A2aBinding {
    /// The name of the binding.
    pub fn describe(self) -> &'static str {
        match self {
            A2aBinding::JsonRpc => "JSON-RPC",
            A2aBinding::HttpJson => "HTTP with JSON",
        }
    }
}

impl ServerSpec {
    /// A short name for a headline.
    pub fn label(&self) -> String {
        let kind = match &self.protocol {
            Protocol::Openai(settings) => format!("openai {}", settings.model),
            protocol => protocol.name().to_string(),
        };
        match &self.server {
            AgentServer::Url(url) => format!("{kind} at {}", without_secrets(url)),
            AgentServer::Start(program) => {
                format!(
                    "{kind} by {}",
                    program.argv.first().map_or("", String::as_str)
                )
            }
        }
    }

    /// Whether the agent leaves calls of tools to its caller.
    pub fn leaves_calls_to_caller(&self) -> bool {
        match &self.protocol {
            Protocol::Openai(settings) => !settings.hosted,
            Protocol::AgUi(settings) => settings.tools.is_some(),
            _ => false,
        }
    }

    /// The names of the environment variables whose values are sent to the server.
    pub fn sent_variables(&self) -> Vec<&str> {
        self.headers
            .values()
            .flat_map(|value| variables_in(value))
            .collect()
    }
}

/// What stands before the name of an environment variable.
pub(super) const VARIABLE: &str = "{env.";

/// The names of the environment variables in a text with `{env.NAME}`.
pub(super) fn variables_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(VARIABLE)
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
}

/// Replaces each `{env.NAME}` by the value of the environment variable. The error is the name of a variable that is not
/// set.
pub fn with_variables(
    text: &str,
    value_of: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut pieces = text.split(VARIABLE);
    let mut out = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        match piece.split_once('}') {
            Some((name, rest)) => {
                out.push_str(&value_of(name).ok_or_else(|| name.to_string())?);
                out.push_str(rest);
            }
            None => {
                out.push_str(VARIABLE);
                out.push_str(piece);
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_by_their_values() {
        let value = |name: &str| (name == "A").then(|| "x".to_string());
        assert_eq!(
            with_variables("Bearer {env.A}!", value),
            Ok("Bearer x!".into())
        );
        assert_eq!(
            with_variables("{env.A}{env.A} {env.", value),
            Ok("xx {env.".into())
        );
        assert_eq!(with_variables("{env.B}", value), Err("B".into()));
        assert_eq!(
            variables_in("{env.A} and {env.B}").collect::<Vec<_>>(),
            ["A", "B"]
        );
    }
}
