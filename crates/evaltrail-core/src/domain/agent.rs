//! The kinds of agents: what a case is run against.
//!
//! A protocol that agents' servers speak is a variant of [`super::Protocol`] with its settings, and a file in `agents`. Any
//! other kind is a variant of [`AgentSpec`], a file in `config/agents` (how it is written) and a file in `agents` (how it
//! is reached). No match over the kinds here or in the questions before a run has a default, so that the compiler names each
//! place where a new kind says what it sends, starts and keeps secret.

use super::agent_server::{AgentServer, without_secrets};
use super::command_secrets::command_without_secrets;
use super::{ProgramSpec, ServerSpec, StubMode, ToolsSpec, TraceSource};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The agent that a case is run against.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentSpec {
    /// An application on an ADK server.
    Adk {
        /// The server.
        server: AgentServer,
        /// The application's name there.
        app: String,
        /// The sub-agent to run alone; the root agent when `None`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_name: Option<String>,
    },
    /// An agent on a server that speaks another protocol of agents than ADK's.
    Server(Box<ServerSpec>),
    /// A program, started once per attempt.
    Command(ProgramSpec),
    /// A Python function or agent object.
    Python {
        /// The module, or the file, and the name in it: `desk.agent:root` or `agents/desk.py:run`. With `()` at the end, the
        /// name is called for each session and returns the agent.
        function: String,
        /// Python. Without a program, that of the workspace.
        program: ProgramSpec,
    },
    /// No agent: the saved responses in the file are scored.
    Saved,
    /// No agent: the attempts of an earlier run are scored again.
    #[serde(rename = "kept")]
    PriorAttempts,
    /// Recorded events, replayed with their timing.
    Replay {
        /// The recording.
        #[serde(with = "super::stored_path")]
        path: PathBuf,
        /// Playback speed in percent; 0 replays without waiting.
        speed: u32,
        /// The response to a message that is not in the recording and not similar to one in it; when `None`, such a
        /// message is an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fallback: Option<String>,
    },
}

impl AgentSpec {
    /// A short name for a headline.
    pub fn label(&self) -> String {
        match self {
            AgentSpec::Adk {
                agent_name: Some(agent),
                app,
                ..
            } => format!("adk {app}, {agent} alone"),
            AgentSpec::Adk {
                server: AgentServer::Url(url),
                app,
                ..
            } => {
                format!("adk {app} at {}", without_secrets(url))
            }
            AgentSpec::Adk {
                server: AgentServer::Start(_),
                app,
                ..
            } => format!("adk {app}"),
            AgentSpec::Server(spec) => spec.label(),
            AgentSpec::Command(program) => {
                format!(
                    "command {}",
                    command_without_secrets(&program.argv).join(" ")
                )
            }
            AgentSpec::Python { function, .. } => format!("python {function}"),
            AgentSpec::Saved => "saved responses".into(),
            AgentSpec::PriorAttempts => "scored again".into(),
            AgentSpec::Replay { path, .. } => {
                format!(
                    "replay {}",
                    path.file_name().unwrap_or_default().to_string_lossy()
                )
            }
        }
    }

    /// The kind, as `evaltrail.toml` names it.
    pub fn kind(&self) -> &'static str {
        match self {
            AgentSpec::Adk { .. } => "adk",
            AgentSpec::Server(spec) => spec.protocol.name(),
            AgentSpec::Command(_) => "command",
            AgentSpec::Python { .. } => "python",
            AgentSpec::Saved | AgentSpec::PriorAttempts => "saved",
            AgentSpec::Replay { .. } => "replay",
        }
    }

    /// The server, if the agent is on one.
    fn server(&self) -> Option<&AgentServer> {
        match self {
            AgentSpec::Adk { server, .. } => Some(server),
            AgentSpec::Server(spec) => Some(&spec.server),
            AgentSpec::Command(_)
            | AgentSpec::Python { .. }
            | AgentSpec::Saved
            | AgentSpec::PriorAttempts
            | AgentSpec::Replay { .. } => None,
        }
    }

    fn server_mut(&mut self) -> Option<&mut AgentServer> {
        match self {
            AgentSpec::Adk { server, .. } => Some(server),
            AgentSpec::Server(spec) => Some(&mut spec.server),
            AgentSpec::Command(_)
            | AgentSpec::Python { .. }
            | AgentSpec::Saved
            | AgentSpec::PriorAttempts
            | AgentSpec::Replay { .. } => None,
        }
    }

    /// The program that is started, if there is one.
    pub fn program(&self) -> Option<&ProgramSpec> {
        match self {
            AgentSpec::Command(program) | AgentSpec::Python { program, .. } => Some(program),
            AgentSpec::Adk { .. } | AgentSpec::Server(_) => match self.server()? {
                AgentServer::Start(program) => Some(program),
                AgentServer::Url(_) => None,
            },
            AgentSpec::Saved | AgentSpec::PriorAttempts | AgentSpec::Replay { .. } => None,
        }
    }

    /// Mutable access to the program that is started, if there is one.
    pub fn program_mut(&mut self) -> Option<&mut ProgramSpec> {
        match self {
            AgentSpec::Command(program) | AgentSpec::Python { program, .. } => Some(program),
            AgentSpec::Adk { .. } | AgentSpec::Server(_) => match self.server_mut()? {
                AgentServer::Start(program) => Some(program),
                AgentServer::Url(_) => None,
            },
            AgentSpec::Saved | AgentSpec::PriorAttempts | AgentSpec::Replay { .. } => None,
        }
    }

    /// Whether the agent leaves calls of tools to its caller.
    pub fn leaves_calls_to_caller(&self) -> bool {
        matches!(self, AgentSpec::Server(spec) if spec.leaves_calls_to_caller())
    }

    /// Why the agent's tools cannot be answered as specified; `None` if they can.
    pub fn cannot_intercept(&self, tools: &ToolsSpec) -> Option<String> {
        if tools.traces == TraceSource::Started && self.program().is_none() {
            return Some(
                "an agent at an address exports its spans to an address of its own: write traces = \"HOST:PORT\"".into(),
            );
        }
        if !tools.intercepts() {
            return None;
        }
        if self.leaves_calls_to_caller() && tools.stubs == StubMode::Live {
            return Some(
                "this agent leaves all calls to evaltrail, which has no live tools".into(),
            );
        }
        if !tools.mcp.is_empty() && self.program().is_none() {
            return Some(
                "stubs.mcp needs a program that evaltrail starts, to tell it the addresses".into(),
            );
        }
        let asks = match self {
            AgentSpec::Adk { server, .. } => matches!(server, AgentServer::Start(_)),
            AgentSpec::Python { .. } | AgentSpec::Saved | AgentSpec::PriorAttempts => true,
            AgentSpec::Server(_) | AgentSpec::Command(_) | AgentSpec::Replay { .. } => {
                self.leaves_calls_to_caller()
            }
        };
        if asks || (self.program().is_some() && !tools.mcp.is_empty()) {
            return None;
        }
        Some(match (self.program(), self.kind()) {
            (None, "replay") => {
                "a recording replays its tools too: stubs and faults do not apply".into()
            }
            (None, kind) => format!(
                "the tools of an agent at an address run in its own process; for stubs and faults, let evaltrail start it \
                 (start = ... in [agents.NAME], kind {kind:?})"
            ),
            (Some(_), kind) => format!(
                "evaltrail sees the tools of agents of kind {kind:?} only through MCP: set stubs.mcp.VARIABLE in \
                 [agents.NAME] to the address of the MCP server that the agent takes from the environment variable"
            ),
        })
    }

    /// The URL of a server that is already running, if the agent is reached through one.
    pub fn address(&self) -> Option<&str> {
        match self.server()? {
            AgentServer::Url(url) => Some(url),
            AgentServer::Start(_) => None,
        }
    }

    /// The program that prints the access token for the agent's server, if there is one.
    pub fn token_command(&self) -> Option<&ProgramSpec> {
        match self {
            AgentSpec::Server(spec) => spec.token_command.as_ref(),
            AgentSpec::Adk { .. }
            | AgentSpec::Command(_)
            | AgentSpec::Python { .. }
            | AgentSpec::Saved
            | AgentSpec::PriorAttempts
            | AgentSpec::Replay { .. } => None,
        }
    }

    /// The names of the environment variables whose values are sent to the agent's server.
    pub fn sent_variables(&self) -> Vec<&str> {
        match self {
            AgentSpec::Server(spec) => spec.sent_variables(),
            AgentSpec::Adk { .. }
            | AgentSpec::Command(_)
            | AgentSpec::Python { .. }
            | AgentSpec::Saved
            | AgentSpec::PriorAttempts
            | AgentSpec::Replay { .. } => Vec::new(),
        }
    }

    /// Mutable access to the file or folder that the agent needs, if it needs one.
    pub fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            AgentSpec::Replay { path, .. } => Some(path),
            AgentSpec::Adk { .. }
            | AgentSpec::Server(_)
            | AgentSpec::Command(_)
            | AgentSpec::Python { .. }
            | AgentSpec::Saved
            | AgentSpec::PriorAttempts => Some(&mut self.program_mut()?.cwd),
        }
    }

    /// The application's name, if there is one.
    pub fn app(&self) -> Option<&str> {
        match self {
            AgentSpec::Adk { app, .. } => Some(app),
            AgentSpec::Server(_)
            | AgentSpec::Command(_)
            | AgentSpec::Python { .. }
            | AgentSpec::Saved
            | AgentSpec::PriorAttempts
            | AgentSpec::Replay { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        assert_eq!(
            without_secrets("http://me:secret@host:1/x"),
            "http://…@host:1/x"
        );
        assert_eq!(without_secrets("http://host/a@b"), "http://host/a@b");
        assert_eq!(
            without_secrets("http://host/a?key=abc&x=y@z"),
            "http://host/a?…"
        );
        let argv = [
            "a",
            "--api-key",
            "abc",
            "--token=abc",
            "-n",
            "http://u:abc@h/x",
        ]
        .map(String::from);
        assert_eq!(
            command_without_secrets(&argv).join(" "),
            "a --api-key … --token=… -n http://…@h/x"
        );
        let argv = [
            "env",
            "TOKEN=abc",
            "a",
            "sk-abcdefghijklmnop",
            "--max-tokens",
            "100",
        ]
        .map(String::from);
        assert_eq!(
            command_without_secrets(&argv).join(" "),
            "env TOKEN=… a … --max-tokens 100"
        );
    }
}
