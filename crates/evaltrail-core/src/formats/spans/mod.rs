//! Traces of agents, read as conversations: OTLP as JSON (also one object per line, and Tempo's `batches`) and as Protobuf,
//! Jaeger's JSON, the list of spans of ADK's debug endpoint, runs of LangSmith, and exports of Langfuse and Phoenix. Spans follow OpenTelemetry's
//! conventions for generative AI (ADK, pydantic-ai, OpenLLMetry), OpenInference, Langfuse or the AI SDK.
//!
//! ```text
//! file ──read──▶ spans ──facts──▶ what each span says ──turn──▶ user, steps, response ──conversation──▶ turns of a case
//! ```

mod arguments;
mod batch;
mod calls;
mod conversation;
mod dialect;
mod facts;
mod flattened;
mod libraries;
mod message;
mod parsed;
mod phoenix;
mod protobuf;
mod read;
mod step;
#[cfg(test)]
mod tests;
mod turn;
mod wire;

pub use batch::{SpanBatch, UnusableBatch};
pub use conversation::{TracedConversation, conversations, traced_conversations};
pub use parsed::cut_to_memory;
pub use protobuf::read_protobuf;
pub use read::{read_span_batch, read_spans};
pub use step::TracedStep;
pub use turn::{TracedTurn, traced_turn};

use serde_json::{Map, Value};

/// A span of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceSpan {
    /// The trace's id, in hexadecimal.
    pub trace: String,
    /// The span's id.
    pub id: String,
    /// The id of the span that it is part of; empty for the outermost one.
    pub parent: String,
    /// The span's name.
    pub name: String,
    /// When it began, in nanoseconds since the Unix epoch.
    pub start: u128,
    /// The attributes of the span and of its events.
    pub attributes: Map<String, Value>,
}

/// The parsed value of a text that contains JSON; any other value as it is.
fn unquoted(value: &Value) -> Value {
    match value.as_str().map(crate::formats::json::parse) {
        Some(Ok(parsed)) => parsed.value,
        _ => value.clone(),
    }
}

/// A time in nanoseconds since the Unix epoch, or 0 if it cannot be read. Times without a zone are UTC.
fn instant(text: &str) -> u128 {
    let with_zone = format!("{text}Z");
    let time = [text, &with_zone]
        .iter()
        .find_map(|time| time.parse::<jiff::Timestamp>().ok());
    time.map_or(0, |time| time.as_nanosecond().max(0) as u128)
}
