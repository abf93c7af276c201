//! Connections to agents. An agent is what a case is run against; there is one module per kind of agent.
//!
//! ```text
//! AgentSpec ──Agents::connect──▶ Agent ──open──▶ Session ──turn──▶ events ──▶ close
//!                                  │
//!             adk (HTTP, server-sent events; optionally a server that evaltrail starts)
//!             command (one process per attempt, JSON Lines)
//!             replay (recorded events with their timing)
//! ```
//!
//! A turn yields its events as they happen and is cancelled by dropping it.

mod adk;
mod adk_server;
mod adk_session;
mod adk_tools;
mod budget;
mod command;
mod connect;
mod error;
mod replay;

pub use adk_session::{StoredSession, fetch_session};
pub use adk_tools::{DeclaredTool, declared_tools};
pub use budget::{AttemptMemory, TurnBudget};
pub use connect::{Agent, Agents, Opening, Session, Turn};
pub use error::{AgentError, ErrorKind};
pub use replay::Replay;
