//! Bodies of requests that the servers of this process receive, within limits of memory. Bodies that do not arrive are cancelled
//! when another one needs their memory: those first that have been arriving for longest.

use super::memory::{BodyReadError, Memory, ReserveError, ReservedMemory};
use bytes::Bytes;
use evaltrail_core::formats::json::{ParseFailure, parse_within};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::{Request, StatusCode};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

/// The maximum size of a body, in bytes.
const MAX_BODY: usize = 16 << 20;
/// The maximum memory of all bodies, in bytes.
const BODIES: usize = 20 << 20;
/// The maximum memory of everything that is read from bodies, in bytes. With the bodies, 64 MB.
const VALUES: usize = 44 << 20;
/// The maximum number of bodies that arrive at the same time, unless they began just now.
const MAX_BODIES: usize = 64;
/// The time limit for a body, and for the memory of what is read from it.
pub(super) const BODY_WITHIN: Duration = Duration::from_secs(10);
/// How often it is tried to cancel others that stall, while a body waits for memory.
const TRIED_EVERY: Duration = Duration::from_millis(100);
/// The time after which a body may be cancelled for another one.
const CANCELLED_AFTER: Duration = Duration::from_secs(2);

/// What is received, and the memory of what is read from it.
#[derive(Debug)]
pub(super) struct Received {
    state: Mutex<ReceiveState>,
    values: Arc<Memory>,
    /// Some memory of bodies was given back.
    freed: Notify,
}

/// Whether a body has the memory that it needs.
#[derive(Debug, PartialEq)]
enum Growth {
    Done,
    /// Others have the memory.
    Occupied,
    Cancelled,
}

#[derive(Debug, Default)]
struct ReceiveState {
    next: u64,
    /// The bodies that arrive, the oldest first.
    arriving: BTreeMap<u64, IncomingBody>,
    /// The memory of all bodies, in bytes.
    bodies: usize,
}

#[derive(Debug)]
struct IncomingBody {
    began: Instant,
    bytes: usize,
    cancelled: CancellationToken,
}

/// A body that arrived. Its memory is free when this is dropped.
#[derive(Debug)]
pub(super) struct WholeBody {
    pub(super) bytes: Bytes,
    received: Arc<Received>,
    taken: usize,
}

/// The value of a body that is JSON. Its memory is free when this is dropped.
#[derive(Debug)]
pub(super) struct BodyValue {
    pub(super) value: Value,
    #[expect(dead_code, reason = "free when it is dropped")]
    memory: ReservedMemory,
}

/// Why a body, or its value, is not there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ReceiveError {
    TooLong,
    /// Its sender closed the connection, or did not send it in time.
    Incomplete,
    /// There was no memory for it in time, since others have it. It can be sent again.
    NoMemory,
    /// What is read from it needs more memory than the limit.
    TooLarge,
    /// It is not JSON.
    Invalid,
}

impl ReceiveError {
    pub(super) fn status(self) -> StatusCode {
        match self {
            ReceiveError::TooLong | ReceiveError::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ReceiveError::Incomplete | ReceiveError::Invalid => StatusCode::BAD_REQUEST,
            ReceiveError::NoMemory => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The exceeded limit of evaltrail, in words; `None` if the sender is the cause.
    pub(super) fn exceeded_limit(self) -> Option<&'static str> {
        match self {
            ReceiveError::TooLong => Some("it is longer than 16 MB"),
            ReceiveError::TooLarge => Some("what it contains needs more than 44 MB of memory"),
            ReceiveError::NoMemory => {
                Some("all calls at the same time need more than 64 MB of memory")
            }
            ReceiveError::Incomplete | ReceiveError::Invalid => None,
        }
    }
}

impl WholeBody {
    /// The value of a body that is JSON. Its memory is reserved before it is parsed.
    pub(super) async fn json(&self) -> Result<BodyValue, ReceiveError> {
        let text = std::str::from_utf8(&self.bytes).map_err(|_| ReceiveError::Invalid)?;
        let read = |left: usize| {
            parse_within(text, left).map_err(|error| match error {
                ParseFailure::TooLarge => BodyReadError::NeedsMore,
                ParseFailure::Syntax(_) => BodyReadError::Failed(()),
            })
        };
        let read = self.received.values.read(BODY_WITHIN, read).await;
        let (value, memory) = read.map_err(|error| match error {
            ReserveError::TooLarge => ReceiveError::TooLarge,
            ReserveError::Occupied => ReceiveError::NoMemory,
            ReserveError::Failed(()) => ReceiveError::Invalid,
        })?;
        Ok(BodyValue { value, memory })
    }
}

impl Received {
    fn new() -> Arc<Received> {
        Arc::new(Received {
            state: Mutex::default(),
            values: Memory::new(VALUES),
            freed: Notify::new(),
        })
    }

    /// The spans that all servers of this process receive.
    pub(super) fn spans() -> Arc<Received> {
        static SPANS: LazyLock<Arc<Received>> = LazyLock::new(Received::new);
        SPANS.clone()
    }

    /// The calls of tools that all servers of this process receive. Spans do not take their memory.
    pub(super) fn calls() -> Arc<Received> {
        static CALLS: LazyLock<Arc<Received>> = LazyLock::new(Received::new);
        CALLS.clone()
    }

    /// The memory of what is read from the bodies.
    pub(super) fn values(&self) -> &Arc<Memory> {
        &self.values
    }

    fn state(&self) -> MutexGuard<'_, ReceiveState> {
        self.state.lock()
    }

    /// Reads the body of a request.
    pub(super) async fn body(
        self: &Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<WholeBody, ReceiveError> {
        let arrival = Arrival::begin(self, Instant::now());
        let bytes = tokio::select! {
            () = arrival.cancelled.cancelled() => Err(ReceiveError::NoMemory),
            read = self.arrive(arrival.id, request.into_body()) => read,
        }?;
        // A body that was cancelled while its last bytes came has no memory any more.
        let taken = self
            .state()
            .end(arrival.id, bytes.len())
            .ok_or(ReceiveError::NoMemory)?;
        self.freed.notify_waiters();
        Ok(WholeBody {
            bytes,
            received: self.clone(),
            taken,
        })
    }

    async fn arrive(&self, id: u64, mut body: Incoming) -> Result<Bytes, ReceiveError> {
        let deadline = tokio::time::Instant::now() + BODY_WITHIN;
        // A body that is sent in pieces has no length before its end.
        let most = body
            .size_hint()
            .upper()
            .map_or(Ok(MAX_BODY), usize::try_from);
        let most = most
            .ok()
            .filter(|most| *most <= MAX_BODY)
            .ok_or(ReceiveError::TooLong)?;
        let mut bytes = Vec::new();
        while let Some(frame) = timeout_at(deadline, body.frame())
            .await
            .map_err(|_| ReceiveError::Incomplete)?
        {
            let Ok(data) = frame.map_err(|_| ReceiveError::Incomplete)?.into_data() else {
                continue;
            };
            let length = bytes.len() + data.len();
            if length > MAX_BODY {
                return Err(ReceiveError::TooLong);
            }
            if length > bytes.capacity() {
                let capacity = next_capacity(length, bytes.capacity(), most);
                let grown = timeout_at(deadline, self.grow(id, capacity)).await;
                grown.unwrap_or(Err(ReceiveError::NoMemory))?;
                bytes.reserve_exact(capacity - bytes.len());
            }
            bytes.extend_from_slice(&data);
        }
        bytes.shrink_to_fit();
        Ok(bytes.into())
    }

    /// Gives a body that arrives this memory, as soon as it is there.
    async fn grow(&self, id: u64, bytes: usize) -> Result<(), ReceiveError> {
        loop {
            let freed = self.freed.notified();
            match self.state().grow(id, bytes, Instant::now()) {
                Growth::Done => return Ok(()),
                Growth::Cancelled => return Err(ReceiveError::NoMemory),
                Growth::Occupied => {}
            }
            // Nothing announces that another body stalls.
            let _ = tokio::time::timeout(TRIED_EVERY, freed).await;
        }
    }
}

/// The memory for a body of which `length` bytes are there, of `most`: twice the memory before, so that the bytes are copied
/// seldom.
fn next_capacity(length: usize, before: usize, most: usize) -> usize {
    length.max((2 * before).min(most))
}

/// A body that arrives. Its memory is free when this is dropped, unless it has arrived: also when the connection is closed.
struct Arrival<'a> {
    received: &'a Received,
    id: u64,
    cancelled: CancellationToken,
}

impl Arrival<'_> {
    fn begin(received: &Received, now: Instant) -> Arrival<'_> {
        let (id, cancelled) = received.state().begin(now);
        Arrival {
            received,
            id,
            cancelled,
        }
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        self.received.state().cancel(self.id);
        self.received.freed.notify_waiters();
    }
}

impl ReceiveState {
    /// Registers a body that arrives. Others are cancelled if there are too many.
    fn begin(&mut self, now: Instant) -> (u64, CancellationToken) {
        while self.arriving.len() >= MAX_BODIES && self.cancel_oldest(now, |_, _| true) {}
        let (id, cancelled) = (self.next, CancellationToken::new());
        self.next += 1;
        self.arriving.insert(
            id,
            IncomingBody {
                began: now,
                bytes: 0,
                cancelled: cancelled.clone(),
            },
        );
        (id, cancelled)
    }

    /// Gives a body that arrives this memory. Others that stall are cancelled until there is enough.
    fn grow(&mut self, id: u64, bytes: usize, now: Instant) -> Growth {
        loop {
            let Some(before) = self.arriving.get(&id).map(|body| body.bytes) else {
                return Growth::Cancelled;
            };
            let all = self.bodies - before + bytes;
            if all <= BODIES {
                self.bodies = all;
                if let Some(body) = self.arriving.get_mut(&id) {
                    body.bytes = bytes;
                }
                return Growth::Done;
            }
            if !self.cancel_oldest(now, |other, body| other != id && body.bytes > 0) {
                return Growth::Occupied;
            }
        }
    }

    /// Cancels the oldest body of some. Returns `false` if it began just now.
    fn cancel_oldest(&mut self, now: Instant, of: impl Fn(u64, &IncomingBody) -> bool) -> bool {
        let oldest = self.arriving.iter().find(|(id, body)| of(**id, body));
        let stalled = oldest.filter(|(_, body)| now.duration_since(body.began) > CANCELLED_AFTER);
        let id = stalled.map(|(id, _)| *id);
        id.into_iter().for_each(|id| self.cancel(id));
        id.is_some()
    }

    fn cancel(&mut self, id: u64) {
        if let Some(body) = self.arriving.remove(&id) {
            self.bodies -= body.bytes;
            body.cancelled.cancel();
        }
    }

    /// Ends the arrival of a body, which keeps the memory of its `length` bytes, and returns how much that is; `None` if it
    /// was cancelled.
    fn end(&mut self, id: u64, length: usize) -> Option<usize> {
        let body = self.arriving.remove(&id)?;
        let kept = length.min(body.bytes);
        self.bodies -= body.bytes - kept;
        Some(kept)
    }
}

impl Drop for WholeBody {
    fn drop(&mut self) {
        self.received.state().bodies -= self.taken;
        self.received.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_bodies_are_cancelled_if_too_many() {
        let (mut state, began) = (ReceiveState::default(), Instant::now());
        let first: Vec<_> = (0..2 * MAX_BODIES).map(|_| state.begin(began).1).collect();
        assert!(
            first.iter().all(|one| !one.is_cancelled()),
            "bodies that began just now may arrive"
        );
        let (_, newest) = state.begin(began + 2 * CANCELLED_AFTER);
        assert_eq!(
            first.iter().filter(|one| !one.is_cancelled()).count(),
            MAX_BODIES - 1
        );
        assert!(!newest.is_cancelled() && first[0].is_cancelled());
    }

    #[test]
    fn growing_body_cancels_stalled_older_body() {
        let (mut state, began) = (ReceiveState::default(), Instant::now());
        let later = began + 2 * CANCELLED_AFTER;
        let (first, cancelled) = state.begin(began);
        assert_eq!(state.grow(first, MAX_BODY, began), Growth::Done);
        let (second, _) = state.begin(later);
        assert_eq!(state.grow(second, BODIES - MAX_BODY, later), Growth::Done);
        assert!(!cancelled.is_cancelled());
        assert_eq!(state.grow(second, MAX_BODY, later), Growth::Done);
        assert!(cancelled.is_cancelled() && state.grow(first, 1, later) == Growth::Cancelled);
        assert_eq!(
            (state.end(first, 1), state.end(second, MAX_BODY)),
            (None, Some(MAX_BODY))
        );
        // One that has arrived, and is being decoded, keeps its memory.
        let (third, _) = state.begin(later);
        assert_eq!(state.grow(third, MAX_BODY, later), Growth::Occupied);
        assert_eq!(state.bodies, MAX_BODY);
    }

    #[tokio::test]
    async fn a_body_waits_for_memory() {
        let received = Received::new();
        let begin = || received.state().begin(Instant::now()).0;
        let (first, second) = (begin(), begin());
        received.grow(first, MAX_BODY).await.unwrap();
        let waiting = tokio::spawn({
            let received = received.clone();
            async move { received.grow(second, MAX_BODY).await }
        });
        tokio::task::yield_now().await;
        assert!(
            !waiting.is_finished(),
            "the first one began just now, and may arrive"
        );
        let whole = received.state().end(first, MAX_BODY).unwrap();
        drop(WholeBody {
            bytes: Bytes::new(),
            received: received.clone(),
            taken: whole,
        });
        assert_eq!(waiting.await.unwrap(), Ok(()));
    }

    #[test]
    fn a_body_takes_no_more_memory_than_its_length() {
        let most = 9 << 20;
        let (mut capacity, mut length) = (0, 0);
        while length < most {
            length = (length + (8 << 10)).min(most);
            if length > capacity {
                capacity = next_capacity(length, capacity, most);
            }
        }
        assert_eq!(capacity, most);
        let (mut state, now) = (ReceiveState::default(), Instant::now());
        let (id, _) = state.begin(now);
        assert_eq!(state.grow(id, MAX_BODY, now), Growth::Done);
        assert_eq!(state.end(id, most), Some(most));
        assert_eq!(state.bodies, most, "the rest is given back");
    }
}
