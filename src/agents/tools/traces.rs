//! Spans that agents export while they run. They show the calls of an agent that does not report them itself.

use super::body::{Body, empty, reply, whole};
use crate::formats::spans::{TraceSpan, read_protobuf, read_spans};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::{Request, Response, StatusCode};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// The time limit for the first span of a turn. Exporters send them every 5 s unless they are told otherwise.
const FIRST_WITHIN: Duration = Duration::from_secs(7);
/// How long no further span must come after the agent's outermost span has ended.
const QUIET_AFTER_END: Duration = Duration::from_millis(300);
/// How long no further span must come otherwise: exporters of several processes do not send at the same time.
const QUIET: Duration = Duration::from_millis(5500);
/// The maximum size of a request after it was decompressed, in bytes: that of OpenTelemetry's collector.
const LONGEST_BATCH: u64 = 20 << 20;
/// The maximum size of the batches with spans of one turn, in bytes.
const LARGEST_TURN: usize = 64 << 20;

/// Receives spans, and keeps those of the turns that are under way.
#[derive(Debug, Default)]
pub(crate) struct TraceInbox {
    /// By the id of the trace.
    turns: Mutex<HashMap<String, TurnSpans>>,
    /// Held while a batch is decoded, since that takes much more memory than the batch.
    decoding: tokio::sync::Mutex<()>,
    arrived: Notify,
    /// Whether a span of a turn has come.
    has_come: AtomicBool,
    /// Whether a turn ended without a span: until one has come, later turns do not wait.
    is_silent: AtomicBool,
}

/// The spans of a turn.
#[derive(Debug, Default)]
pub(crate) struct TurnSpans {
    /// The spans, the earliest first when the turn has ended.
    pub(crate) spans: Vec<TraceSpan>,
    /// The size of their batches, in bytes.
    size: usize,
    /// Whether spans were left out, because there were too many.
    pub(crate) is_truncated: bool,
}

/// A turn whose spans are kept, until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenTrace<'a> {
    inbox: &'a TraceInbox,
    trace: &'a str,
}

impl Drop for OpenTrace<'_> {
    fn drop(&mut self) {
        self.inbox.turns().remove(self.trace);
    }
}

impl OpenTrace<'_> {
    /// The spans of the turn, when the agent has sent them. `caller` is the id of the span of the request: the agent's
    /// outermost span is part of it.
    pub(crate) async fn close(self, caller: &str) -> TurnSpans {
        self.inbox.wait_for(self.trace, caller).await;
        let mut found = self.inbox.turns().remove(self.trace).unwrap_or_default();
        found.spans.sort_by_key(|span| span.start);
        found
    }
}

impl TraceInbox {
    fn turns(&self) -> MutexGuard<'_, HashMap<String, TurnSpans>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the spans of a trace from now on.
    pub(crate) fn open<'a>(&'a self, trace: &'a str) -> OpenTrace<'a> {
        self.turns().insert(trace.to_string(), TurnSpans::default());
        OpenTrace { inbox: self, trace }
    }

    /// Waits until the agent has sent the spans of a turn.
    async fn wait_for(&self, trace: &str, caller: &str) {
        let mut seen = 0;
        let mut deadline = Instant::now() + FIRST_WITHIN;
        while !self.is_silent.load(Ordering::Relaxed) || self.has_come.load(Ordering::Relaxed) {
            let arrived = self.arrived.notified();
            {
                let turns = self.turns();
                let spans = turns.get(trace).map_or(&[][..], |turn| turn.spans.as_slice());
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
    }

    /// Receives a batch of spans.
    pub(super) async fn receive(&self, request: Request<Incoming>) -> Response<Body> {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let is_compressed = header(CONTENT_ENCODING).is_some_and(|encoding| encoding.contains("gzip"));
        let is_json = header(CONTENT_TYPE).is_some_and(|kind| kind.contains("json"));
        let Some(body) = whole(request).await else { return empty(StatusCode::PAYLOAD_TOO_LARGE) };
        if self.turns().is_empty() {
            return reply(&json!({}));
        }
        let _decoding = self.decoding.lock().await;
        let body = match is_compressed.then(|| decompressed(&body)) {
            None => body,
            Some(Ok(body)) if body.len() as u64 <= LONGEST_BATCH => body,
            Some(Ok(_)) => return empty(StatusCode::PAYLOAD_TOO_LARGE),
            Some(Err(_)) => return empty(StatusCode::BAD_REQUEST),
        };
        let spans = match is_json {
            true => std::str::from_utf8(&body).map_err(|error| error.to_string()).and_then(read_spans),
            false => read_protobuf(&body),
        };
        match spans {
            Ok(spans) => self.keep(spans, body.len()),
            Err(_) => return empty(StatusCode::BAD_REQUEST),
        }
        reply(&json!({}))
    }

    fn keep(&self, spans: Vec<TraceSpan>, size: usize) {
        let mut turns = self.turns();
        let traces: HashSet<&str> = spans.iter().map(|span| span.trace.as_str()).collect();
        for trace in traces {
            if let Some(turn) = turns.get_mut(trace) {
                turn.size += size;
                turn.is_truncated |= turn.size > LARGEST_TURN;
                self.has_come.store(true, Ordering::Relaxed);
            }
        }
        for span in spans {
            if let Some(turn) = turns.get_mut(&span.trace).filter(|turn| !turn.is_truncated) {
                turn.spans.push(span);
            }
        }
        drop(turns);
        self.arrived.notify_waiters();
    }
}

/// Receives spans at an address, for all agents that export there, until this is dropped.
#[derive(Debug)]
pub(super) struct TraceListener {
    pub(super) inbox: Arc<TraceInbox>,
    serving: JoinHandle<()>,
}

impl Drop for TraceListener {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The listeners by address. Agents that export to the same address share one.
static LISTENERS: LazyLock<Mutex<HashMap<String, Weak<TraceListener>>>> = LazyLock::new(Mutex::default);

impl TraceListener {
    /// The listener at an address. `serve` answers requests with an inbox. Errors: the address is in use by another
    /// program.
    pub(super) fn at(
        place: &str,
        serve: impl FnOnce(std::net::TcpListener, Arc<TraceInbox>) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<Arc<TraceListener>> {
        let mut listeners = LISTENERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = listeners.get(place).and_then(Weak::upgrade) {
            return Ok(found);
        }
        let listener = std::net::TcpListener::bind(place)?;
        listener.set_nonblocking(true)?;
        let inbox = Arc::<TraceInbox>::default();
        let serving = serve(listener, inbox.clone())?;
        let listener = Arc::new(TraceListener { inbox, serving });
        listeners.insert(place.to_string(), Arc::downgrade(&listener));
        Ok(listener)
    }
}

/// Decompresses a batch until it is longer than the maximum.
fn decompressed(body: &[u8]) -> io::Result<Bytes> {
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(body).take(LONGEST_BATCH + 1).read_to_end(&mut out)?;
    Ok(out.into())
}
