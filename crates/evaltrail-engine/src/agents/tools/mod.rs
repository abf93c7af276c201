//! Calls of an agent's tools, before the tools run. A server on this machine tells the agent's process how each call is
//! answered: a plugin of ADK and the worker of Python agents ask it, and for clients of MCP it stands in for their server.

mod adk_plugin;
mod attempts;
mod body;
mod interception;
mod mcp;
mod memory;
mod received;
mod reply_copy;
mod server;
#[cfg(test)]
mod tests;
mod traces;

pub(super) use adk_plugin::{OPTION as PLUGIN_OPTION, PluginFolder, REQUESTS};
pub use attempts::AttemptRegistration;
pub(super) use interception::Interception;
pub(super) use server::for_session;
pub(super) use traces::{TraceInbox, TurnSpans};

use super::{AgentError, ErrorKind};
use crate::stubs::{AttemptTools, ToolAnswer};
use evaltrail_core::domain::ToolCall;
use serde_json::Value;

/// The answer to a call that an agent leaves to its caller, after the time that the tool takes. Errors: no answer is
/// recorded.
pub(super) async fn answer_for_caller(
    tools: &AttemptTools,
    call: &ToolCall,
) -> Result<Value, AgentError> {
    match tools.answer_for_caller(call) {
        ToolAnswer::Given { result, after } => {
            tokio::time::sleep(after).await;
            Ok(result.unwrap_or_else(|words| serde_json::json!({"error": words})))
        }
        ToolAnswer::Missing(why) => Err(AgentError::new(ErrorKind::Agent, why)),
        ToolAnswer::Live => {
            let why = format!("there is no tool that could answer {}", call.name);
            Err(AgentError::new(ErrorKind::Agent, why))
        }
    }
}
