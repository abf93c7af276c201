//! Spans that agents export while they run. They show the calls of an agent that does not report them itself.

use super::body::{Body, empty, reply};
use super::memory::{KeptMemory, Reservation};
use super::received::Received;
use crate::formats::spans::{
    SpanBatch, TraceSpan, UnusableBatch, cut_to_memory, read_protobuf, read_span_batch,
};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::{Request, Response, StatusCode};
use serde_json::json;
use std::collections::HashMap;
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
const LONGEST_BATCH: usize = 20 << 20;

/// The maximum memory of the texts of JSON in the spans of a turn once they are parsed, in bytes.
const LARGEST_PARSED: usize = 32 << 20;

/// Receives spans, and keeps those of the turns that are under way.
#[derive(Debug)]
pub(crate) struct TraceInbox {
    received: Arc<Received>,
    /// By the id of the trace.
    turns: Mutex<HashMap<String, TurnSpans>>,
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
    /// The memory of the batches that contained them.
    memory: Vec<Arc<KeptMemory>>,
    /// Whether spans were left out, because there were too many, or may be missing, because a batch was lost.
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
        found.is_truncated |= cut_to_memory(&mut found.spans, LARGEST_PARSED);
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
        let unread = UnreadBatch { inbox: self, was_read: false };
        let body = match self.received.body(request).await {
            Ok(body) => body,
            Err(why) => return empty(why.status()),
        };
        if self.turns().is_empty() {
            unread.has_been_read();
            return reply(&json!({}));
        }
        // Decoding takes much more memory than the batch.
        let reservation = self.received.values().reserve().await;
        match self.decode(&body.bytes, is_compressed, is_json, &reservation) {
            Ok(batch) => {
                unread.has_been_read();
                self.keep(batch, reservation);
                reply(&json!({}))
            }
            Err(UnusableBatch::TooLarge) => empty(StatusCode::PAYLOAD_TOO_LARGE),
            Err(UnusableBatch::Invalid(_)) => empty(StatusCode::BAD_REQUEST),
        }
    }

    /// The spans of a body that are of turns under way.
    fn decode(
        &self,
        body: &[u8],
        is_compressed: bool,
        is_json: bool,
        memory: &Reservation,
    ) -> Result<SpanBatch, UnusableBatch> {
        let mut left = memory.bytes();
        let decompressed = match is_compressed {
            true => decompressed(body, LONGEST_BATCH.min(left))?,
            false => Vec::new(),
        };
        left -= decompressed.len();
        let body = if is_compressed { &decompressed } else { body };
        let is_wanted = |trace: &str| self.turns().contains_key(trace);
        match is_json {
            true => {
                let text =
                    std::str::from_utf8(body).map_err(|error| UnusableBatch::Invalid(error.to_string()))?;
                read_span_batch(text, &is_wanted, left)
            }
            false => read_protobuf(body, &is_wanted, left),
        }
    }

    /// Marks all turns under way: spans of them may have been in a batch that cannot be used.
    fn cut_all(&self) {
        self.turns().values_mut().for_each(|turn| turn.is_truncated = true);
    }

    fn keep(&self, batch: SpanBatch, reservation: Reservation) {
        let mut turns = self.turns();
        let memory = Arc::new(reservation.keep(batch.size));
        for trace in batch.cut {
            turns.entry(trace).and_modify(|turn| turn.is_truncated = true);
        }
        for span in batch.spans {
            if let Some(turn) = turns.get_mut(&span.trace) {
                self.has_come.store(true, Ordering::Relaxed);
                turn.spans.push(span);
                if turn.memory.last().is_none_or(|last| !Arc::ptr_eq(last, &memory)) {
                    turn.memory.push(memory.clone());
                }
            }
        }
        drop(turns);
        self.arrived.notify_waiters();
    }
}

/// A batch of spans that is being received. If it is dropped before it was read, for whatever reason, spans of the turns under
/// way may have been in it.
struct UnreadBatch<'a> {
    inbox: &'a TraceInbox,
    was_read: bool,
}

impl UnreadBatch<'_> {
    fn has_been_read(mut self) {
        self.was_read = true;
    }
}

impl Drop for UnreadBatch<'_> {
    fn drop(&mut self) {
        if !self.was_read {
            self.inbox.cut_all();
        }
    }
}

impl Default for TraceInbox {
    fn default() -> TraceInbox {
        TraceInbox {
            received: Received::spans(),
            turns: Mutex::default(),
            arrived: Notify::default(),
            has_come: AtomicBool::default(),
            is_silent: AtomicBool::default(),
        }
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

/// Decompresses a batch of at most `most` bytes.
fn decompressed(body: &[u8], most: usize) -> Result<Vec<u8>, UnusableBatch> {
    let mut out = Vec::new();
    let read = flate2::read::GzDecoder::new(body).take(most as u64 + 1).read_to_end(&mut out);
    match read {
        Err(error) => Err(UnusableBatch::Invalid(error.to_string())),
        Ok(length) if length > most => Err(UnusableBatch::TooLarge),
        Ok(_) => Ok(out),
    }
}
