//! Asks whoever judges what cannot be computed here: a person's own programs and Python functions.
//!
//! ```text
//! CustomMetric::Command ── one process a case: JSON in, a score out
//! CustomMetric::Python  ── the bridge, one process a run: a line in, a line out
//! ```

mod answer;
mod program;
mod request;

pub use program::Programs;
