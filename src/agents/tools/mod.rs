//! The tools of an agent, seen before they run: a server on this machine that the agent's process asks how each call is
//! answered. It is asked by a plugin of ADK, by the worker of Python agents, and as an MCP server.

mod adk_plugin;
mod attempts;
mod body;
mod interception;
mod mcp;
mod server;
mod traces;

pub use attempts::Admission;
pub(super) use interception::Interception;
pub(super) use mcp::BAGGAGE;
pub(super) use server::for_session;
pub(super) use traces::{TraceInbox, TurnSpans};

use super::{AgentError, ErrorKind};
use crate::domain::ToolCall;
use crate::stubs::{AttemptTools, ToolAnswer};
use serde_json::Value;

/// The answer to a call that an agent leaves to its caller, after the time that the tool takes; the error says what is
/// missing.
pub(super) async fn answer_for_caller(tools: &AttemptTools, call: &ToolCall) -> Result<Value, AgentError> {
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
