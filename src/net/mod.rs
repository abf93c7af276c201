//! HTTP with limits, server-sent events, and the delays of retries. What is asked, and of whom, is decided by the modules
//! that use it.

pub(crate) mod http;
mod retry;
mod sse;

pub use retry::Backoff;
pub use sse::SseDecoder;
