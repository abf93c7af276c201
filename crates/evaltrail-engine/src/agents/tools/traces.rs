//! Spans that agents export while they run. They show the calls of an agent that does not report them itself.

use super::body::{ResponseBody, empty, reply};
use super::memory::{BodyReadError, ReserveError, ReservedMemory};
use super::received::{BODY_WITHIN, ReceiveError, Received};
use evaltrail_core::formats::spans::{
    SpanBatch, TraceSpan, UnusableBatch, cut_to_memory, read_protobuf, read_span_batch,
};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use hyper::{Request, Response, StatusCode};
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Weak};
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
const MAX_BATCH: usize = 20 << 20;

/// The maximum memory of the texts of JSON in the spans of a turn once they are parsed, in bytes.
const MAX_PARSED: usize = 32 << 20;

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
    /// Whether a program tried to send spans over gRPC: until a span has come, turns do not wait.
    is_over_grpc: AtomicBool,
}

/// The spans of a turn.
#[derive(Debug, Default)]
pub(crate) struct TurnSpans {
    /// The spans, the earliest first when the turn has ended.
    pub(crate) spans: Vec<TraceSpan>,
    /// The memory of the batches that contained them.
    memory: Vec<Arc<ReservedMemory>>,
    /// The batches that were refused for lack of memory, and have not been sent again.
    refused: Vec<RefusedBatch>,
    /// Whether spans were left out, because there were too many, or may be missing, because a batch was lost.
    pub(crate) is_truncated: bool,
}

impl TurnSpans {
    /// How long no further batch must come before the turn's spans count as complete. `caller` is the id of the span of the
    /// request.
    fn quiet_for(&self, caller: &str) -> Duration {
        let has_ended =
            self.refused.is_empty() && self.spans.iter().any(|span| span.parent == caller);
        if has_ended { QUIET_AFTER_END } else { QUIET }
    }
}

/// A batch that was refused for lack of memory: exporters send it again.
#[derive(Clone, Debug, PartialEq)]
struct RefusedBatch {
    /// The length of the body, in bytes.
    length: u64,
    is_compressed: bool,
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
        found.is_truncated |= !found.refused.is_empty();
        found.is_truncated |= cut_to_memory(&mut found.spans, MAX_PARSED);
        found
    }
}

impl TraceInbox {
    fn turns(&self) -> MutexGuard<'_, HashMap<String, TurnSpans>> {
        self.turns.lock()
    }

    /// Keeps the spans of a trace from now on.
    pub(crate) fn open<'a>(&'a self, trace: &'a str) -> OpenTrace<'a> {
        self.turns().insert(trace.to_string(), TurnSpans::default());
        OpenTrace { inbox: self, trace }
    }

    /// Whether spans of a turn may come.
    fn may_come(&self) -> bool {
        let is_known_not_to =
            self.is_silent.load(Ordering::Relaxed) || self.is_over_grpc.load(Ordering::Relaxed);
        self.has_come.load(Ordering::Relaxed) || !is_known_not_to
    }

    /// Notes that a program tried to send spans over gRPC.
    pub(super) fn saw_grpc(&self) {
        self.is_over_grpc.store(true, Ordering::Relaxed);
        self.arrived.notify_waiters();
    }

    /// Whether no span has come because the agent exports over gRPC.
    pub(crate) fn is_over_grpc(&self) -> bool {
        self.is_over_grpc.load(Ordering::Relaxed) && !self.has_come.load(Ordering::Relaxed)
    }

    /// Waits until the agent has sent the spans of a turn.
    async fn wait_for(&self, trace: &str, caller: &str) {
        let mut seen = (0, 0);
        let mut deadline = Instant::now() + FIRST_WITHIN;
        loop {
            let arrived = self.arrived.notified();
            if !self.may_come() {
                break;
            }
            {
                let turns = self.turns();
                if let Some(turn) = turns.get(trace)
                    && (turn.spans.len(), turn.refused.len()) != seen
                {
                    deadline = Instant::now() + turn.quiet_for(caller);
                    seen = (turn.spans.len(), turn.refused.len());
                }
            }
            if timeout_at(deadline, arrived).await.is_err() {
                break;
            }
        }
        if seen == (0, 0) {
            self.is_silent.store(true, Ordering::Relaxed);
        }
    }

    /// Receives a batch of spans.
    pub(super) async fn receive(&self, request: Request<Incoming>) -> Response<ResponseBody> {
        let header = |name| {
            request
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let is_compressed =
            header(CONTENT_ENCODING).is_some_and(|encoding| encoding.contains("gzip"));
        let is_json = header(CONTENT_TYPE).is_some_and(|kind| kind.contains("json"));
        let length = header(CONTENT_LENGTH).and_then(|length| length.parse().ok());
        // One that is sent in pieces cannot be recognised when it is sent again.
        let named = length.map(|length| RefusedBatch {
            length,
            is_compressed,
        });
        let mut unread = UnreadBatch {
            inbox: self,
            named,
            outcome: ReadOutcome::Lost,
        };
        let body = match self.received.body(request).await {
            Ok(body) => body,
            Err(why) => {
                if why == ReceiveError::NoMemory {
                    unread.outcome = ReadOutcome::Refused;
                }
                return empty(why.status());
            }
        };
        if self.turns().is_empty() {
            unread.outcome = ReadOutcome::Read;
            return reply(&json!({}));
        }
        // Decoding takes much more memory than the batch. Others may have a part of it.
        let all = self.received.values().most();
        let decode = |left: usize| match self.decode(&body.bytes, is_compressed, is_json, left) {
            Ok(batch) if left < all && !batch.cut.is_empty() => Err(BodyReadError::NeedsMore),
            Ok(batch) => {
                let size = batch.size;
                Ok((batch, size))
            }
            Err(UnusableBatch::TooLarge) => Err(BodyReadError::NeedsMore),
            Err(UnusableBatch::Invalid(why)) => Err(BodyReadError::Failed(why)),
        };
        match self.received.values().read(BODY_WITHIN, decode).await {
            Ok((batch, memory)) => {
                unread.outcome = ReadOutcome::Read;
                self.keep(batch, memory);
                drop(unread);
                self.arrived.notify_waiters();
                reply(&json!({}))
            }
            Err(ReserveError::Occupied) => {
                unread.outcome = ReadOutcome::Refused;
                empty(StatusCode::SERVICE_UNAVAILABLE)
            }
            Err(ReserveError::TooLarge) => empty(StatusCode::PAYLOAD_TOO_LARGE),
            Err(ReserveError::Failed(_)) => empty(StatusCode::BAD_REQUEST),
        }
    }

    /// The spans of a body that are of turns under way.
    fn decode(
        &self,
        body: &[u8],
        is_compressed: bool,
        is_json: bool,
        mut left: usize,
    ) -> Result<SpanBatch, UnusableBatch> {
        let decompressed = match is_compressed {
            true => decompressed(body, MAX_BATCH.min(left))?,
            false => Vec::new(),
        };
        left -= decompressed.len();
        let body = if is_compressed { &decompressed } else { body };
        let is_wanted = |trace: &str| self.turns().contains_key(trace);
        match is_json {
            true => {
                let text = std::str::from_utf8(body)
                    .map_err(|error| UnusableBatch::Invalid(error.to_string()))?;
                read_span_batch(text, &is_wanted, left)
            }
            false => read_protobuf(body, &is_wanted, left),
        }
    }

    /// Marks all turns under way: spans of them may have been in a batch that cannot be used.
    fn cut_all(&self) {
        self.turns()
            .values_mut()
            .for_each(|turn| turn.is_truncated = true);
    }

    /// Notes for all turns under way that a batch was refused: spans of them may be missing until it is sent again.
    fn await_again(&self, batch: &RefusedBatch) {
        self.turns()
            .values_mut()
            .for_each(|turn| turn.refused.push(batch.clone()));
        self.arrived.notify_waiters();
    }

    /// Notes that a batch was read, which may have been refused before.
    fn was_sent_again(&self, batch: &RefusedBatch) {
        for turn in self.turns().values_mut() {
            if let Some(at) = turn.refused.iter().position(|refused| refused == batch) {
                turn.refused.remove(at);
            }
        }
    }

    fn keep(&self, batch: SpanBatch, memory: ReservedMemory) {
        let mut turns = self.turns();
        let memory = Arc::new(memory);
        for trace in batch.cut {
            turns
                .entry(trace)
                .and_modify(|turn| turn.is_truncated = true);
        }
        for span in batch.spans {
            if let Some(turn) = turns.get_mut(&span.trace) {
                self.has_come.store(true, Ordering::Relaxed);
                turn.spans.push(span);
                if turn
                    .memory
                    .last()
                    .is_none_or(|last| !Arc::ptr_eq(last, &memory))
                {
                    turn.memory.push(memory.clone());
                }
            }
        }
    }
}

/// A batch of spans that is being received. If it is dropped before it was read, for whatever reason, spans of the turns under
/// way may have been in it.
struct UnreadBatch<'a> {
    inbox: &'a TraceInbox,
    /// How it can be recognised when it is sent again.
    named: Option<RefusedBatch>,
    outcome: ReadOutcome,
}

/// What came of a batch.
enum ReadOutcome {
    Read,
    /// For lack of memory: it will be sent again.
    Refused,
    Lost,
}

impl Drop for UnreadBatch<'_> {
    fn drop(&mut self) {
        match (&self.outcome, &self.named) {
            (ReadOutcome::Read, Some(batch)) => self.inbox.was_sent_again(batch),
            (ReadOutcome::Read, None) => {}
            (ReadOutcome::Refused, Some(batch)) => self.inbox.await_again(batch),
            (ReadOutcome::Refused, None) | (ReadOutcome::Lost, _) => self.inbox.cut_all(),
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
            is_over_grpc: AtomicBool::default(),
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
static LISTENERS: LazyLock<Mutex<HashMap<String, Weak<TraceListener>>>> =
    LazyLock::new(Mutex::default);

impl TraceListener {
    /// The listener at an address. `serve` answers requests with an inbox. Errors: the address is in use by another
    /// program.
    pub(super) fn at(
        address: &str,
        serve: impl FnOnce(std::net::TcpListener, Arc<TraceInbox>) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<Arc<TraceListener>> {
        let mut listeners = LISTENERS.lock();
        if let Some(found) = listeners.get(address).and_then(Weak::upgrade) {
            return Ok(found);
        }
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let inbox = Arc::<TraceInbox>::default();
        let serving = serve(listener, inbox.clone())?;
        let listener = Arc::new(TraceListener { inbox, serving });
        listeners.insert(address.to_string(), Arc::downgrade(&listener));
        Ok(listener)
    }
}

/// Decompresses a batch of at most `most` bytes.
fn decompressed(body: &[u8], most: usize) -> Result<Vec<u8>, UnusableBatch> {
    let mut out = Vec::new();
    let read = flate2::read::GzDecoder::new(body)
        .take(most as u64 + 1)
        .read_to_end(&mut out);
    match read {
        Err(error) => Err(UnusableBatch::Invalid(error.to_string())),
        Ok(length) if length > most => Err(UnusableBatch::TooLarge),
        Ok(_) => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spans of a turn are missing only if a refused batch is not sent again.
    #[tokio::test]
    async fn a_refused_batch_is_awaited() {
        let inbox = TraceInbox::default();
        // Then the end of a turn does not wait.
        inbox.is_silent.store(true, Ordering::Relaxed);
        let batch = |length| RefusedBatch {
            length,
            is_compressed: false,
        };
        for (again, is_truncated) in [(Some(10), false), (Some(11), true), (None, true)] {
            let open = inbox.open("01");
            inbox.await_again(&batch(10));
            again
                .iter()
                .for_each(|length| inbox.was_sent_again(&batch(*length)));
            assert_eq!(
                open.close("caller").await.is_truncated,
                is_truncated,
                "{again:?}"
            );
        }
    }

    #[tokio::test]
    async fn an_export_over_grpc_ends_the_wait() {
        let inbox = TraceInbox::default();
        let open = inbox.open("01");
        let began = Instant::now();
        let (found, ()) = tokio::join!(open.close("caller"), async { inbox.saw_grpc() });
        assert!(found.spans.is_empty() && began.elapsed() < FIRST_WITHIN);
        assert!(inbox.is_over_grpc());
        inbox.has_come.store(true, Ordering::Relaxed);
        assert!(!inbox.is_over_grpc());
    }

    #[test]
    fn refused_batch_extends_wait_for_turn_spans() {
        let span = TraceSpan {
            parent: "caller".into(),
            ..TraceSpan::default()
        };
        let mut turn = TurnSpans {
            spans: vec![span],
            ..TurnSpans::default()
        };
        assert_eq!(
            (turn.quiet_for("caller"), turn.quiet_for("other")),
            (QUIET_AFTER_END, QUIET)
        );
        turn.refused.push(RefusedBatch {
            length: 10,
            is_compressed: true,
        });
        assert_eq!(turn.quiet_for("caller"), QUIET);
    }
}
