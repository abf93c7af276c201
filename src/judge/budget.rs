//! What judging costs, and the limit to it.

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

/// What was spent, and about what requests under way will cost.
#[derive(Debug, Default)]
struct Account {
    spent: f64,
    reserved: f64,
    /// Of all answers so far, and how many there were.
    output_tokens: u64,
    answers: u64,
}

/// A request that may be made. Dropped when it has been.
#[derive(Debug)]
pub(super) struct Reservation<'a> {
    budget: &'a Budget,
    estimate: f64,
    is_answered: bool,
}

impl Reservation<'_> {
    /// The request was answered, or failed: what it cost is known.
    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Ok(mut account) = self.budget.account.lock() {
            account.reserved -= self.estimate;
            if !self.is_answered {
                // Broken off after it was sent: it is charged all the same.
                account.spent += self.estimate;
            }
        }
        self.budget.released.notify_waiters();
    }
}

/// About so many characters are a token.
const CHARACTERS_A_TOKEN: u64 = 4;
/// Tokens of an answer, before there was one.
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

    /// What so many tokens cost; `None` without prices.
    pub(super) fn cost(&self, input: u64, output: u64) -> Option<f64> {
        let (price_in, price_out) = self.prices?;
        Some((input as f64 * price_in + output as f64 * price_out) / 1e6)
    }

    /// Waits until a request with a prompt of so many characters may be made. What requests under way will cost is
    /// estimated, so that the limit is passed by one request at most.
    pub(super) async fn reserve(&self, characters: usize) -> Result<Reservation<'_>, JudgeError> {
        loop {
            let released = self.released.notified();
            if let Some(reservation) = self.try_reserve(characters)? {
                return Ok(reservation);
            }
            released.await;
        }
    }

    /// Reserves what a request may cost. `None` while the requests under way could use up what is left of the limit.
    /// The error says that the limit is reached.
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

    /// Counts an answer; what it cost, where there are prices.
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
        // With the one under way, at 0.006, the limit would be passed: the next one waits for it.
        let one = reserve(4000).unwrap().unwrap();
        assert!(reserve(4000).unwrap().is_none());
        one.answered();
        let another = reserve(4000).unwrap().expect("one that failed costs nothing");
        drop(another);
        assert!(
            reserve(0).unwrap_err().message.contains("limit of 0.01 is reached (0.0120 spent)"),
            "it was sent"
        );
        assert_eq!(Budget::of(&JudgeSpec::standard()).cost(1, 1), None);
    }
}
