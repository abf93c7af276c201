//! Equal requests at the same time: the first one is sent, and the others get its response.

use crate::store::CachedResponse;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use tokio::sync::{Semaphore, SemaphorePermit};

/// The requests that are sent now, by their digests.
#[derive(Debug, Default)]
pub(super) struct RequestsInFlight {
    flights: Mutex<HashMap<String, Weak<RequestInFlight>>>,
}

/// Equal requests, of which one at a time is sent until one of them ends.
#[derive(Debug)]
pub(super) struct RequestInFlight {
    /// One permit, for the request that is sent. Closed when a request has ended.
    turn: Semaphore,
    response: OnceLock<CachedResponse>,
}

/// What a request of a flight has to do.
pub(super) enum RequestRole<'a> {
    /// It is sent, and its end is passed to [`Leader::ends`]. If it is cancelled before, another one is sent.
    Send(Leader<'a>),
    /// It is sent: an equal request has ended without a response that can be used.
    SendAlone,
    /// It is not sent: this is the response to an equal request.
    Shared(CachedResponse),
}

/// The request of a flight that is sent.
pub(super) struct Leader<'a> {
    flight: &'a RequestInFlight,
    _permit: SemaphorePermit<'a>,
}

impl RequestsInFlight {
    /// The request in flight with this digest; a new one if there is none.
    pub(super) fn flight(&self, digest: &str) -> Arc<RequestInFlight> {
        let mut flights = self.flights.lock();
        if let Some(flight) = flights.get(digest).and_then(Weak::upgrade) {
            return flight;
        }
        flights.retain(|_, flight| flight.strong_count() > 0);
        let flight = Arc::new(RequestInFlight {
            turn: Semaphore::new(1),
            response: OnceLock::new(),
        });
        flights.insert(digest.to_string(), Arc::downgrade(&flight));
        flight
    }
}

impl RequestInFlight {
    /// Waits until the request has to be sent or has a response.
    pub(super) async fn role(&self) -> RequestRole<'_> {
        match (self.turn.acquire().await, self.response.get()) {
            (_, Some(response)) => RequestRole::Shared(response.clone()),
            (Ok(permit), None) => RequestRole::Send(Leader {
                flight: self,
                _permit: permit,
            }),
            (Err(_), None) => RequestRole::SendAlone,
        }
    }
}

impl Leader<'_> {
    /// Ends the wait of the others: with a response that can be used, or without one.
    pub(super) fn ends(self, response: Option<CachedResponse>) {
        if let Some(response) = response {
            let _ = self.flight.response.set(response);
        }
        self.flight.turn.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_request_stays_until_all_end() {
        let flights = RequestsInFlight::default();
        let first = flights.flight("a");
        let other = flights.flight("b");
        assert!(Arc::ptr_eq(&first, &flights.flight("a")) && !Arc::ptr_eq(&first, &other));
        drop(first);
        drop(flights.flight("c"));
        let kept: Vec<bool> = ["a", "b"]
            .map(|digest| flights.flights.lock().contains_key(digest))
            .into();
        assert_eq!(kept, [false, true]);
    }
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn response() -> CachedResponse {
        CachedResponse {
            text: "yes".into(),
            input_tokens: 1,
            output_tokens: 1,
        }
    }

    #[test]
    fn concurrent_requests_share_one_response() {
        let flights = RequestsInFlight::default();
        let (one, two) = (flights.flight("a"), flights.flight("a"));
        assert!(!Arc::ptr_eq(&one, &flights.flight("b")));
        let mut first = pin!(one.role());
        let Poll::Ready(RequestRole::Send(leader)) = poll(first.as_mut()) else {
            panic!("nothing is sent yet")
        };
        let mut second = pin!(two.role());
        assert!(poll(second.as_mut()).is_pending());
        leader.ends(Some(response()));
        let Poll::Ready(RequestRole::Shared(shared)) = poll(second.as_mut()) else {
            panic!("it has a response")
        };
        assert_eq!(shared.text, "yes");
    }

    #[test]
    fn a_request_that_is_cancelled_hands_over() {
        let flight = RequestsInFlight::default().flight("a");
        let mut first = pin!(flight.role());
        let Poll::Ready(RequestRole::Send(leader)) = poll(first.as_mut()) else {
            panic!()
        };
        let (mut second, mut third) = (pin!(flight.role()), pin!(flight.role()));
        assert!(poll(second.as_mut()).is_pending() && poll(third.as_mut()).is_pending());
        drop(leader);
        let Poll::Ready(RequestRole::Send(leader)) = poll(second.as_mut()) else {
            panic!("it is sent now")
        };
        assert!(poll(third.as_mut()).is_pending());
        // Without a response, the others do not wait for one another.
        leader.ends(None);
        assert!(matches!(
            poll(third.as_mut()),
            Poll::Ready(RequestRole::SendAlone)
        ));
    }

    #[test]
    fn flights_that_ended_are_forgotten() {
        let flights = RequestsInFlight::default();
        for digest in 0..100 {
            drop(flights.flight(&digest.to_string()));
        }
        assert_eq!(flights.flights.lock().len(), 1);
    }
}
