//! HTTP with limits, server-sent events, and the delays of retries. The modules that use it decide what is sent and
//! where.

pub(crate) mod http;
mod retry;
mod sse;

pub use retry::Backoff;
pub use sse::{SseDecoder, SseEvent};
