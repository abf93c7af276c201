//! Connections to agents. An agent is what a case is run against; there is one module per kind of agent.
//!
//! ```text
//! AgentSpec ──Agents::connect──▶ dyn Agent ──open──▶ dyn Session ──turn──▶ events ──▶ close
//!                                  │
//!             adk (HTTP, server-sent events)
//!             a2a (Agent2Agent), ag_ui, agent_engine (Vertex AI), langgraph, openai,
//!             mcp, http (a template)
//!             command (one process per attempt, JSON Lines), python (processes that are kept)
//!             replay (recorded events with their timing)
//! ```
//!
//! A turn yields its events as they happen and is cancelled by dropping it. A server that evaltrail starts belongs to the
//! connection, whatever protocol it speaks.

mod a2a;
mod address;
mod adk;
mod adk_description;
mod adk_server;
mod adk_session;
mod adk_tools;
mod ag_ui;
mod agent_engine;
mod command;
mod connect;
mod connection_status;
mod discover;
mod error;
mod event_times;
mod http;
mod kind;
mod langgraph;
mod last_output;
mod masked;
mod mcp;
mod memory_limit;
mod messages;
mod observed;
mod openai;
mod printed_address;
mod program;
mod python;
mod remote;
mod replay;
mod server;
mod stream_items;
mod sub_agent;
mod token;
mod tools;
mod trace;

pub use adk_session::fetch_session;
pub use adk_tools::declared_tools;
pub use connect::{Agents, probe_server};
pub use connection_status::ConnectionStatus;
pub use discover::{FoundAgent, discover};
pub use error::{AgentError, ErrorKind};
pub use http::{TemplateProbe, probe_template};
pub use kind::{
    Agent, AgentDescription, DeclaredArgument, DeclaredTool, OnEvent, Session, SessionOptions,
    Turn, TurnOutcome,
};
pub use memory_limit::{AttemptMemory, TurnBudget};
pub use replay::Replay;
pub use tools::AttemptRegistration;
