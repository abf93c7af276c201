//! The cost of judging, and its limit.

use super::error::{JudgeError, JudgeErrorKind};
use evaltrail_core::domain::{JudgeSpec, JudgeUsage};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What decides whether a request may be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestPermission<'a> {
    pub(super) budget: &'a SpendingBudget,
    /// No request begins after its cancellation, because the attempts that need the response are cancelled, too.
    pub(super) ends: &'a CancellationToken,
}

impl RequestPermission<'_> {
    /// Returns at once, or never if requests are cancelled: then the task that waits here is about to be cancelled, too.
    pub(super) async fn wait_if_cancelled(self) {
        if self.ends.is_cancelled() {
            std::future::pending().await
        }
    }
}

#[derive(Debug)]
pub(super) struct SpendingBudget {
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
    /// Requests that were cancelled after they were sent, with the sum of their estimates.
    cancelled: u32,
    cancelled_cost: f64,
}

/// Permission to send a request, which exists only while its estimated cost is reserved. Dropped when the request is
/// finished, which wakes the requests that wait.
#[derive(Debug)]
pub(super) struct SpendingReservation<'a> {
    budget: &'a SpendingBudget,
    estimate: f64,
    progress: RequestProgress,
}

/// What is charged for a request when its reservation is dropped.
#[derive(Debug)]
enum RequestProgress {
    /// Nothing: the request was not sent.
    NotSent,
    /// The estimate: the request was cancelled, and the provider may charge for it.
    Sent,
    /// The cost of the response.
    Ended(f64),
}

impl SpendingReservation<'_> {
    /// Marks the request as sent: from now on it may cost something, even if its response is never read.
    pub(super) fn mark_sent(&mut self) {
        self.progress = RequestProgress::Sent;
    }

    /// Charges a response, and returns its cost, if there are prices. If the response does not contain its number of
    /// tokens, that is the estimate.
    pub(super) fn charge_response(mut self, input_tokens: u64, output_tokens: u64) -> Option<f64> {
        if (input_tokens, output_tokens) == (0, 0) {
            return self.charge_estimate();
        }
        let cost = self.budget.cost(input_tokens, output_tokens)?;
        self.progress = RequestProgress::Ended(cost);
        let mut account = self.budget.account();
        account.output_tokens = account.output_tokens.saturating_add(output_tokens);
        account.answers += 1;
        Some(cost)
    }

    /// Charges a request whose response was not received, and returns what is charged, if there are prices.
    pub(super) fn charge_estimate(mut self) -> Option<f64> {
        self.progress = RequestProgress::Ended(self.estimate);
        self.budget.prices.map(|_| self.estimate)
    }

    /// Marks the request as one that costs nothing: it was rejected.
    pub(super) fn release(mut self) {
        self.progress = RequestProgress::Ended(0.0);
    }
}

impl Drop for SpendingReservation<'_> {
    fn drop(&mut self) {
        let mut account = self.budget.account();
        account.in_flight = account.in_flight.saturating_sub(1);
        // Differences of floating-point numbers leave a remainder, which no request has reserved.
        account.reserved = if account.in_flight == 0 {
            0.0
        } else {
            account.reserved - self.estimate
        };
        account.spent += match self.progress {
            RequestProgress::NotSent => 0.0,
            RequestProgress::Sent => {
                account.cancelled += 1;
                account.cancelled_cost += self.estimate;
                self.estimate
            }
            RequestProgress::Ended(cost) => cost,
        };
        drop(account);
        self.budget.released.notify_waiters();
    }
}

/// Approximate number of characters in a token.
const CHARACTERS_A_TOKEN: u64 = 4;
/// Estimated number of tokens of a response, before there is one.
const USUAL_ANSWER: u64 = 200;

impl SpendingBudget {
    pub(super) fn from_spec(spec: &JudgeSpec) -> SpendingBudget {
        SpendingBudget {
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
        self.account.lock()
    }

    /// The requests that were cancelled after they were sent, with their estimated cost.
    pub(super) fn cancelled(&self) -> JudgeUsage {
        let account = self.account();
        let cost = self
            .prices
            .filter(|_| account.cancelled > 0)
            .map(|_| account.cancelled_cost);
        JudgeUsage {
            cancelled: account.cancelled,
            cost,
            ..JudgeUsage::default()
        }
    }

    /// Waits until a request with a prompt of this many characters may be sent. The cost of requests in flight is
    /// estimated; what they cost beyond the estimate is the most by which the limit can be exceeded.
    pub(super) async fn reserve(
        &self,
        characters: usize,
    ) -> Result<SpendingReservation<'_>, JudgeError> {
        loop {
            // Created before the check, so that a request that ends between the check and the wait is not missed. Only
            // the end of a request completes it, and a check that reserves nothing ends none.
            let released = self.released.notified();
            if let Some(estimate) = self.try_reserve(characters)? {
                return Ok(SpendingReservation {
                    budget: self,
                    estimate,
                    progress: RequestProgress::NotSent,
                });
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
                // Equal for all requests, so that the cases without a verdict share one cause.
                let why = format!(
                    "the spending limit of {limit} is reached; raise spending_limit under [judge]"
                );
                return Err(JudgeError::new(JudgeErrorKind::Limit, why));
            }
            // Without requests in flight nothing is reserved.
            if account.spent + account.reserved >= limit {
                return Ok(None);
            }
        }
        let output = account
            .output_tokens
            .checked_div(account.answers)
            .unwrap_or(USUAL_ANSWER);
        let estimate = self
            .cost(characters as u64 / CHARACTERS_A_TOKEN, output)
            .unwrap_or_default();
        account.reserved += estimate;
        account.in_flight += 1;
        Ok(Some(estimate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited() -> SpendingBudget {
        SpendingBudget::from_spec(&JudgeSpec {
            prices: Some((1.0, 10.0)),
            spending_limit: Some(0.01),
            ..JudgeSpec::standard()
        })
    }

    /// What a future yields when it is polled once.
    fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
        future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
    }

    /// The reservation of a request that need not wait.
    fn reserved(budget: &SpendingBudget, characters: usize) -> SpendingReservation<'_> {
        match poll_once(std::pin::pin!(budget.reserve(characters)).as_mut()) {
            std::task::Poll::Ready(Ok(reserved)) => reserved,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn spending_ends_at_the_limit() {
        let budget = limited();
        assert_eq!(reserved(&budget, 0).charge_response(1000, 500), Some(0.006));
        // With one request in flight, estimated at 0.006, the limit would be exceeded: the next one waits for it.
        let one = reserved(&budget, 4000);
        let mut next = std::pin::pin!(budget.reserve(4000));
        assert!(poll_once(next.as_mut()).is_pending());
        one.release();
        let std::task::Poll::Ready(Ok(another)) = poll_once(next.as_mut()) else {
            panic!("a rejected request costs nothing")
        };
        drop(another);
        assert_eq!(
            budget.account().spent,
            0.006,
            "a request that was not sent costs nothing"
        );
        let mut cancelled = reserved(&budget, 4000);
        cancelled.mark_sent();
        drop(cancelled);
        let estimate = budget.cost(1000, 500);
        assert_eq!(
            budget.cancelled(),
            JudgeUsage {
                cancelled: 1,
                cost: estimate,
                ..JudgeUsage::default()
            }
        );
        let mut last = std::pin::pin!(budget.reserve(0));
        let std::task::Poll::Ready(Err(error)) = poll_once(last.as_mut()) else {
            panic!("the limit is reached, because the cancelled request is charged")
        };
        assert!(
            error.message.contains("limit of 0.01 is reached;"),
            "{}",
            error.message
        );
        assert_eq!(
            SpendingBudget::from_spec(&JudgeSpec::standard()).cost(1, 1),
            None
        );
    }

    #[test]
    fn response_without_tokens_costs_the_estimate() {
        let budget = limited();
        let mut one = reserved(&budget, 4000);
        one.mark_sent();
        let estimate = 0.001 + 0.002;
        let cost = one.charge_response(0, 0).unwrap();
        assert!(
            (cost - estimate).abs() < 1e-12,
            "the sums contain what is charged: {cost}"
        );
        assert!(
            (budget.account().spent - estimate).abs() < 1e-12,
            "{:?}",
            budget.account()
        );
    }

    #[test]
    fn estimates_of_requests_in_flight_are_reserved() {
        let budget = limited();
        let (one, two, three) = (
            reserved(&budget, 4000),
            reserved(&budget, 4000),
            reserved(&budget, 4000),
        );
        let estimate = 0.001 + 0.002;
        let is_reserved =
            |requests: f64| (budget.account().reserved - requests * estimate).abs() < 1e-12;
        assert!(is_reserved(3.0), "{:?}", budget.account());
        drop(one);
        assert!(is_reserved(2.0), "{:?}", budget.account());
        drop(two);
        assert!(is_reserved(1.0), "{:?}", budget.account());
        drop(three);
        assert_eq!(budget.account().reserved, 0.0);
    }

    #[test]
    fn input_and_output_have_their_own_prices() {
        let budget = SpendingBudget::from_spec(&JudgeSpec {
            prices: Some((2.0, 10.0)),
            ..JudgeSpec::standard()
        });
        assert_eq!(
            budget.cost(1_000, 300),
            Some((1_000.0 * 2.0 + 300.0 * 10.0) / 1e6)
        );
    }

    #[test]
    fn huge_numbers_of_tokens_do_not_overflow() {
        let budget = SpendingBudget::from_spec(&JudgeSpec {
            prices: Some((1.0, 10.0)),
            ..JudgeSpec::standard()
        });
        for _ in 0..2 {
            assert!(
                reserved(&budget, 0)
                    .charge_response(u64::MAX, u64::MAX)
                    .is_some_and(f64::is_finite)
            );
        }
        assert_eq!(budget.account().output_tokens, u64::MAX);
    }

    #[test]
    fn waiting_requests_do_not_wake_themselves() {
        let budget = limited();
        reserved(&budget, 0).charge_response(1000, 500);
        let sent = reserved(&budget, 4000);
        let mut first = std::pin::pin!(budget.reserve(4000));
        let mut second = std::pin::pin!(budget.reserve(4000));
        for _ in 0..3 {
            assert!(poll_once(first.as_mut()).is_pending());
            assert!(poll_once(second.as_mut()).is_pending());
        }
        assert_eq!(sent.charge_response(1000, 500), Some(0.006));
        for waiting in [first.as_mut(), second.as_mut()] {
            assert!(
                matches!(poll_once(waiting), std::task::Poll::Ready(Err(_))),
                "the limit is reached"
            );
        }
        let account = budget.account();
        assert_eq!((account.in_flight, account.reserved), (0, 0.0));
    }
}
