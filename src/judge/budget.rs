//! The cost of judging, and its limit.

use super::error::{Fault, JudgeError};
use crate::domain::JudgeSpec;
use std::sync::Mutex;
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
    /// The sum over all responses so far, and their number.
    output_tokens: u64,
    answers: u64,
}

/// Permission to send a request. Dropped when the request is finished.
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
        if let Ok(mut account) = self.budget.account.lock() {
            account.reserved -= self.estimate;
            if !self.is_answered {
                // Cancelled after it was sent: the estimate is charged.
                account.spent += self.estimate;
            }
        }
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

    /// Waits until a request with a prompt of this many characters may be sent. The cost of requests in flight is
    /// estimated, so that at most one request exceeds the limit.
    pub(super) async fn reserve(&self, characters: usize) -> Result<Reservation<'_>, JudgeError> {
        loop {
            let released = self.released.notified();
            if let Some(reservation) = self.try_reserve(characters)? {
                return Ok(reservation);
            }
            released.await;
        }
    }

    /// Reserves the estimated cost of a request. `None` while the requests in flight could use up the rest of the
    /// limit. Fails when the limit is reached.
    fn try_reserve(&self, characters: usize) -> Result<Option<Reservation<'_>>, JudgeError> {
        let none = Reservation { budget: self, estimate: 0.0, is_answered: false };
        let (Some(limit), Ok(mut account)) = (self.limit, self.account.lock()) else { return Ok(Some(none)) };
        if account.spent >= limit {
            let why = format!(
                "the spending limit of {limit} is reached ({:.4} spent); raise spending_limit under [judge]",
                account.spent
            );
            return Err(JudgeError::new(Fault::Limit, why));
        }
        if account.reserved > 0.0 && account.spent + account.reserved >= limit {
            return Ok(None);
        }
        let output = account.output_tokens.checked_div(account.answers).unwrap_or(USUAL_ANSWER);
        let estimate = self.cost(characters as u64 / CHARACTERS_A_TOKEN, output).unwrap_or_default();
        account.reserved += estimate;
        Ok(Some(Reservation { estimate, ..none }))
    }

    /// Counts a response. Returns its cost, if there are prices.
    pub(super) fn spend(&self, input_tokens: u64, output_tokens: u64) -> Option<f64> {
        let cost = self.cost(input_tokens, output_tokens)?;
        if let Ok(mut account) = self.account.lock() {
            account.spent += cost;
            account.output_tokens += output_tokens;
            account.answers += 1;
        }
        Some(cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spending_ends_at_the_limit() {
        let spec =
            JudgeSpec { prices: Some((1.0, 10.0)), spending_limit: Some(0.01), ..JudgeSpec::standard() };
        let budget = Budget::of(&spec);
        let reserve = |characters| budget.try_reserve(characters);
        assert_eq!(budget.spend(1000, 500), Some(0.006));
        // With one request in flight, estimated at 0.006, the limit would be exceeded: the next one waits for it.
        let one = reserve(4000).unwrap().unwrap();
        assert!(reserve(4000).unwrap().is_none());
        one.answered();
        let another = reserve(4000).unwrap().expect("a failed request costs nothing");
        drop(another);
        assert!(
            reserve(0).unwrap_err().message.contains("limit of 0.01 is reached (0.0120 spent)"),
            "the dropped request is charged"
        );
        assert_eq!(Budget::of(&JudgeSpec::standard()).cost(1, 1), None);
    }
}
