//! Spans that agents export while they run, by which the calls of an agent become known that reports none by itself.

use super::body::{Body, empty, reply, whole};
use crate::formats::spans::{TraceSpan, read_protobuf, read_spans};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::{Request, Response, StatusCode};
use serde_json::json;
use std::collections::HashMap;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The time limit for the first span of a turn. Exporters send them every 5 s unless they are told otherwise.
const FIRST_WITHIN: Duration = Duration::from_secs(7);
/// How long no further span must come after the agent's outermost span has ended.
const QUIET_AFTER_END: Duration = Duration::from_millis(300);
/// How long no further span must come otherwise: exporters of several processes do not send at the same time.
const QUIET: Duration = Duration::from_millis(5500);
/// The maximum size of a request after it was decompressed, in bytes.
const LONGEST_BATCH: u64 = 64 << 20;
/// The maximum number of spans of one turn.
const MOST_SPANS: usize = 20_000;

/// Receives spans, and keeps those of the turns that are under way.
#[derive(Debug, Default)]
pub(crate) struct TraceInbox {
    /// By the id of the trace.
    turns: Mutex<HashMap<String, Vec<TraceSpan>>>,
    arrived: Notify,
    /// Whether a span of a turn has come.
    has_come: AtomicBool,
    /// Whether a turn ended without a span: until one has come, later turns do not wait.
    is_silent: AtomicBool,
}

impl TraceInbox {
    fn turns(&self) -> MutexGuard<'_, HashMap<String, Vec<TraceSpan>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the spans of a trace from now on.
    pub(crate) fn open(&self, trace: &str) {
        self.turns().insert(trace.to_string(), Vec::new());
    }

    /// The spans of a trace, the earliest first, when the agent has sent them. `caller` is the id of the span of the
    /// request: the agent's outermost span is part of it. The trace is not kept any longer.
    pub(crate) async fn close(&self, trace: &str, caller: &str) -> Vec<TraceSpan> {
        let begin = Instant::now();
        let mut seen = 0;
        let mut deadline = begin + FIRST_WITHIN;
        while !self.is_silent.load(Ordering::Relaxed) || self.has_come.load(Ordering::Relaxed) {
            let arrived = self.arrived.notified();
            {
                let turns = self.turns();
                let spans = turns.get(trace).map_or(&[][..], Vec::as_slice);
                if spans.len() > seen {
                    let has_ended = spans.iter().any(|span| span.parent == caller);
                    deadline = Instant::now() + if has_ended { QUIET_AFTER_END } else { QUIET };
                }
                seen = spans.len();
            }
            if timeout_at(deadline, arrived).await.is_err() {
                break;
            }
        }
        if seen == 0 {
            self.is_silent.store(true, Ordering::Relaxed);
        }
        self.forget(trace)
    }

    /// Stops keeping the spans of a trace, and returns those that came, the earliest first.
    pub(crate) fn forget(&self, trace: &str) -> Vec<TraceSpan> {
        let mut spans = self.turns().remove(trace).unwrap_or_default();
        spans.sort_by_key(|span| span.start);
        spans
    }

    /// Receives a batch of spans.
    pub(super) async fn receive(&self, request: Request<Incoming>) -> Response<Body> {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let is_compressed = header(CONTENT_ENCODING).is_some_and(|encoding| encoding.contains("gzip"));
        let is_json = header(CONTENT_TYPE).is_some_and(|kind| kind.contains("json"));
        let Some(body) = whole(request).await else { return empty(StatusCode::PAYLOAD_TOO_LARGE) };
        let Some(body) = (if is_compressed { decompressed(&body) } else { Some(body) }) else {
            return empty(StatusCode::BAD_REQUEST);
        };
        let spans = match is_json {
            true => std::str::from_utf8(&body).map_err(|error| error.to_string()).and_then(read_spans),
            false => read_protobuf(&body),
        };
        match spans {
            Ok(spans) => self.keep(spans),
            Err(_) if is_json => {}
            Err(_) => return empty(StatusCode::BAD_REQUEST),
        }
        reply(&json!({}))
    }

    fn keep(&self, spans: Vec<TraceSpan>) {
        let mut turns = self.turns();
        for span in spans {
            if let Some(kept) = turns.get_mut(&span.trace).filter(|kept| kept.len() < MOST_SPANS) {
                kept.push(span);
                self.has_come.store(true, Ordering::Relaxed);
            }
        }
        drop(turns);
        self.arrived.notify_waiters();
    }
}

fn decompressed(body: &[u8]) -> Option<Bytes> {
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(body).take(LONGEST_BATCH).read_to_end(&mut out).ok()?;
    Some(out.into())
}
