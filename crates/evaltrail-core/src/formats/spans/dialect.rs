//! How the libraries that write spans differ.

use super::TraceSpan;
use super::facts::SpanFacts;

/// How a library writes what an agent does into spans.
pub(super) struct Dialect {
    /// Whether the library wrote a span.
    pub(super) wrote: fn(&TraceSpan) -> bool,
    /// Reads a span that it wrote.
    pub(super) facts_of: fn(&TraceSpan) -> SpanFacts,
    /// What to do so that the library records messages and arguments; `None` if it always does.
    pub(super) how_to_record: Option<&'static str>,
}
