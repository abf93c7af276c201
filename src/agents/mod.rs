//! Asks an agent: whatever a case is run against, reached through a connection kind.
//!
//! ```text
//! AgentSpec ──Agents::connect──▶ Agent ──open──▶ Session ──turn──▶ events ──▶ close
//!                                  │
//!             adk (HTTP, server-sent events; perhaps a server that we start)
//!             command (one process an attempt, lines of JSON)
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

pub use adk_session::{KeptSession, kept_session};
pub use adk_tools::{DeclaredTool, declared_tools};
pub use budget::{AttemptMemory, TurnBudget};
pub use connect::{Agent, Agents, Opening, Session, Turn};
pub use error::{AgentError, ErrorKind};
pub use replay::Replay;
