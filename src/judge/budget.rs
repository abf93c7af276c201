//! The cost of judging, and its limit.

use super::error::{Fault, JudgeError};
use crate::domain::JudgeSpec;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

#[derive(Debug)]
pub(super) struct Budget {
    prices: Option<(f64, f64)>,
    limit: Option<f64>,
    account: Mutex<Account>,
    released: Notify,
}

/// The amount spent, and the estimated cost of requests in flight.
#[derive(Debug, Default)]
struct Account {
    spent: f64,
    reserved: f64,
    in_flight: usize,
    /// The sum over all responses so far, and their number.
    output_tokens: u64,
    answers: u64,
}

/// Permission to send a request, which exists only while its estimated cost is reserved. Dropped when the request is
/// finished, which wakes the requests that wait.
#[derive(Debug)]
pub(super) struct Reservation<'a> {
    budget: &'a Budget,
    estimate: f64,
    is_answered: bool,
}

impl Reservation<'_> {
    /// Marks the request as answered or failed: its cost is known.
    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut account = self.budget.account();
        account.in_flight = account.in_flight.saturating_sub(1);
        // Differences of floating-point numbers leave a remainder, which no request has reserved.
        account.reserved = if account.in_flight == 0 { 0.0 } else { account.reserved - self.estimate };
        if !self.is_answered {
            // Cancelled after it was sent: the estimate is charged.
            account.spent += self.estimate;
        }
        drop(account);
        self.budget.released.notify_waiters();
    }
}

/// Approximate number of characters in a token.
const CHARACTERS_A_TOKEN: u64 = 4;
/// Estimated number of tokens of a response, before there is one.
const USUAL_ANSWER: u64 = 200;

impl Budget {
    pub(super) fn of(spec: &JudgeSpec) -> Budget {
        Budget {
            prices: spec.prices,
            limit: spec.spending_limit,
            account: Mutex::default(),
            released: Notify::new(),
        }
    }

    /// The cost of these numbers of tokens; `None` without prices.
    pub(super) fn cost(&self, input: u64, output: u64) -> Option<f64> {
        let (price_in, price_out) = self.prices?;
        Some((input as f64 * price_in + output as f64 * price_out) / 1e6)
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a request with a prompt of this many characters may be sent. The cost of requests in flight is
    /// estimated; what they cost beyond the estimate is the most by which the limit can be exceeded.
    pub(super) async fn reserve(&self, characters: usize) -> Result<Reservation<'_>, JudgeError> {
        loop {
            // Before the check: a request that ends between the check and the wait is not missed.
            let released = self.released.notified();
            if let Some(estimate) = self.try_reserve(characters)? {
                return Ok(Reservation { budget: self, estimate, is_answered: false });
            }
            released.await;
        }
    }

    /// Reserves the estimated cost of a request and returns it. `None` while the requests in flight could use up the
    /// rest of the limit: nothing is reserved then. Fails when the limit is reached.
    fn try_reserve(&self, characters: usize) -> Result<Option<f64>, JudgeError> {
        let mut account = self.account();
        if let Some(limit) = self.limit {
            if account.spent >= limit {
                let why = format!(
                    "the spending limit of {limit} is reached ({:.4} spent); raise spending_limit under [judge]",
                    account.spent
                );
                return Err(JudgeError::new(Fault::Limit, why));
            }
            if account.in_flight > 0 && account.spent + account.reserved >= limit {
                return Ok(None);
            }
        }
        let output = account.output_tokens.checked_div(account.answers).unwrap_or(USUAL_ANSWER);
        let estimate = self.cost(characters as u64 / CHARACTERS_A_TOKEN, output).unwrap_or_default();
        account.reserved += estimate;
        account.in_flight += 1;
        Ok(Some(estimate))
    }

    /// Counts a response. Returns its cost, if there are prices.
    pub(super) fn spend(&self, input_tokens: u64, output_tokens: u64) -> Option<f64> {
        let cost = self.cost(input_tokens, output_tokens)?;
        let mut account = self.account();
        account.spent += cost;
        account.output_tokens += output_tokens;
        account.answers += 1;
        Some(cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited() -> Budget {
        Budget::of(&JudgeSpec {
            prices: Some((1.0, 10.0)),
            spending_limit: Some(0.01),
            ..JudgeSpec::standard()
        })
    }

    /// What a future yields when it is polled once.
    fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
        future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
    }

    #[test]
    fn spending_ends_at_the_limit() {
        let budget = limited();
        assert_eq!(budget.spend(1000, 500), Some(0.006));
        // With one request in flight, estimated at 0.006, the limit would be exceeded: the next one waits for it.
        let mut one = std::pin::pin!(budget.reserve(4000));
        let std::task::Poll::Ready(Ok(one)) = poll_once(one.as_mut()) else { panic!("nothing is in flight") };
        let mut next = std::pin::pin!(budget.reserve(4000));
        assert!(poll_once(next.as_mut()).is_pending());
        one.answered();
        let std::task::Poll::Ready(Ok(another)) = poll_once(next.as_mut()) else {
            panic!("a failed request costs nothing")
        };
        drop(another);
        let mut last = std::pin::pin!(budget.reserve(0));
        let std::task::Poll::Ready(Err(error)) = poll_once(last.as_mut()) else {
            panic!("the limit is reached")
        };
        assert!(
            error.message.contains("limit of 0.01 is reached (0.0120 spent)"),
            "the dropped request is charged: {}",
            error.message
        );
        assert_eq!(Budget::of(&JudgeSpec::standard()).cost(1, 1), None);
    }

    #[test]
    fn requests_that_wait_for_the_limit_do_not_wake_themselves() {
        let budget = limited();
        budget.spend(1000, 500);
        let mut sent = std::pin::pin!(budget.reserve(4000));
        let std::task::Poll::Ready(Ok(sent)) = poll_once(sent.as_mut()) else {
            panic!("nothing is in flight")
        };
        let mut first = std::pin::pin!(budget.reserve(4000));
        let mut second = std::pin::pin!(budget.reserve(4000));
        for _ in 0..3 {
            assert!(poll_once(first.as_mut()).is_pending());
            assert!(poll_once(second.as_mut()).is_pending());
        }
        budget.spend(1000, 500);
        sent.answered();
        for waiting in [first.as_mut(), second.as_mut()] {
            assert!(matches!(poll_once(waiting), std::task::Poll::Ready(Err(_))), "the limit is reached");
        }
        let account = budget.account();
        assert_eq!((account.in_flight, account.reserved), (0, 0.0));
    }
}
