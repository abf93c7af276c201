//! OpenTelemetry traces, read as conversations: OTLP's JSON (also one object per line, and Tempo's `batches`),
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

/// A span of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceSpan {
    /// The trace's id.
    pub trace: String,
    /// The span's name.
    pub name: String,
    /// When it began, in nanoseconds since the Unix epoch.
    pub start: u128,
    /// The attributes of the span and of its events.
    pub attributes: Map<String, Value>,
}
