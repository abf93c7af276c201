//! OpenTelemetry traces, read as conversations: OTLP's JSON (also one object a line, and Tempo's `batches`),
//! Jaeger's JSON, and the list of spans of ADK's debug endpoint (`facts/vertex-and-protocols.md` 5).
//!
//! ```text
//! text ──read──▶ spans ──conversations──▶ turns: user, calls with their responses, response
//! ```

mod conversation;
mod read;

pub use conversation::{Traced, conversations};
pub use read::read_spans;

use serde_json::{Map, Value};

/// A span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceSpan {
    /// The trace.
    pub trace: String,
    /// What it is called.
    pub name: String,
    /// When it began, in nanoseconds.
    pub start: u128,
    /// What is told of it, by key; events' attributes among them.
    pub attributes: Map<String, Value>,
}
