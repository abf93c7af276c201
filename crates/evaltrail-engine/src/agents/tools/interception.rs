//! Makes the process of an agent ask evaltrail before its tools run.

use super::adk_plugin::{PluginFolder, TOOLS};
use super::attempts::AttemptRegistration;
use super::server::ToolServer;
use super::traces::TraceInbox;
use crate::agents::remote::setup;
use crate::agents::{AgentError, SessionOptions};
use evaltrail_core::domain::{AgentSpec, ToolsSpec, TraceSource};
use std::sync::Arc;

/// What makes the process of an agent ask evaltrail about its calls. It stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Interception {
    server: ToolServer,
    #[expect(dead_code, reason = "deleted with the interception")]
    plugin: Option<PluginFolder>,
    /// Whether the process must say that it asks before the first attempt.
    requires_handshake: bool,
}

impl Interception {
    /// Prepares the program of an agent. Returns `None` if its tools are not intercepted, or its caller runs
    /// them.
    pub(crate) async fn prepare(
        spec: &mut AgentSpec,
        tools: &ToolsSpec,
    ) -> Result<Option<Interception>, AgentError> {
        let leaves_all = spec.leaves_calls_to_caller() && tools.mcp.is_empty();
        let intercepts = tools.intercepts() && !leaves_all;
        if !intercepts && tools.traces == TraceSource::None {
            return Ok(None);
        }
        if let Some(why) = spec.cannot_intercept(tools) {
            return Err(setup(why));
        }
        let (is_adk, is_python) = (
            matches!(spec, AgentSpec::Adk { .. }),
            matches!(spec, AgentSpec::Python { .. }),
        );
        let asks = intercepts && (is_adk || is_python);
        let is_per_attempt = matches!(spec, AgentSpec::Command(_));
        let server =
            ToolServer::start(tools, asks || is_per_attempt || tools.mcp.is_empty()).await?;
        let plugin = (asks && is_adk)
            .then(|| PluginFolder::write(&TOOLS))
            .transpose()?;
        if let Some(program) = spec.program_mut() {
            server.send_addresses(program, is_per_attempt);
            plugin.iter().for_each(|plugin| plugin.load_into(program));
        }
        Ok(Some(Interception {
            server,
            plugin,
            requires_handshake: asks,
        }))
    }

    /// Whether the agent's process must say, before the first attempt, that it asks.
    pub(crate) fn requires_handshake(&self) -> bool {
        self.requires_handshake
    }

    /// Fails if the agent's process has not said that it asks: its tools would run.
    pub(crate) fn check(&self) -> Result<(), AgentError> {
        if self.server.has_handshake() {
            return Ok(());
        }
        Err(setup(
            "the agent's process does not ask evaltrail before it calls tools, so its real tools would run; no case was run",
        ))
    }

    /// Whether evaltrail watches turns itself, in addition to what the agent reports: through the spans that the agent
    /// exports, or through its calls to MCP servers.
    pub(crate) fn observes(&self) -> bool {
        self.server.traces().is_some() || (!self.requires_handshake && self.server.has_mcp())
    }

    /// Receives the spans of turns, if they are asked for.
    pub(crate) fn traces(&self) -> Option<&Arc<TraceInbox>> {
        self.server.traces()
    }

    /// Lets an attempt start, as soon as its calls can be told apart from those of other attempts.
    pub(crate) async fn register_attempt(&self, opening: &SessionOptions) -> AttemptRegistration {
        self.server
            .register_attempt(&opening.session_id, opening.tools.clone())
            .await
    }
}
