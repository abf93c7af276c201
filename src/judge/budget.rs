//! What judging costs, and the limit to it.

use super::error::{Fault, JudgeError};
use crate::domain::JudgeSpec;
use std::sync::Mutex;

#[derive(Debug)]
pub(super) struct Budget {
    prices: Option<(f64, f64)>,
    limit: Option<f64>,
    account: Mutex<Account>,
}

/// What was spent, and about what requests under way will cost.
#[derive(Debug, Default)]
struct Account {
    spent: f64,
    reserved: f64,
    /// Of the longest answer so far.
    output_tokens: u64,
}

/// A request that may be made. Dropped when it has been.
#[derive(Debug)]
pub(super) struct Reservation<'a> {
    budget: &'a Budget,
    estimate: f64,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Ok(mut account) = self.budget.account.lock() {
            account.reserved -= self.estimate;
        }
    }
}

/// About so many characters are a token.
const CHARACTERS_A_TOKEN: u64 = 4;
/// Tokens of an answer, before there was one.
const USUAL_ANSWER: u64 = 200;

impl Budget {
    pub(super) fn of(spec: &JudgeSpec) -> Budget {
        Budget { prices: spec.prices, limit: spec.spending_limit, account: Mutex::default() }
    }

    /// What so many tokens cost; `None` without prices.
    pub(super) fn cost(&self, input: u64, output: u64) -> Option<f64> {
        let (price_in, price_out) = self.prices?;
        Some((input as f64 * price_in + output as f64 * price_out) / 1e6)
    }

    /// Whether a request with a prompt of so many characters may be made now. What requests under way will cost is
    /// estimated, so that the limit is passed by one request at most.
    pub(super) fn reserve(&self, characters: usize) -> Result<Reservation<'_>, JudgeError> {
        let none = Reservation { budget: self, estimate: 0.0 };
        let (Some(limit), Ok(mut account)) = (self.limit, self.account.lock()) else { return Ok(none) };
        if account.spent + account.reserved >= limit {
            let why = format!(
                "the spending limit of {limit} is reached ({:.4} spent); raise spending_limit under [judge]",
                account.spent
            );
            return Err(JudgeError::new(Fault::Limit, why));
        }
        let output = account.output_tokens.max(USUAL_ANSWER);
        let estimate = self.cost(characters as u64 / CHARACTERS_A_TOKEN, output).unwrap_or_default();
        account.reserved += estimate;
        Ok(Reservation { estimate, ..none })
    }

    /// Counts an answer; what it cost, where there are prices.
    pub(super) fn spend(&self, input_tokens: u64, output_tokens: u64) -> Option<f64> {
        let cost = self.cost(input_tokens, output_tokens)?;
        if let Ok(mut account) = self.account.lock() {
            account.spent += cost;
            account.output_tokens = account.output_tokens.max(output_tokens);
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
        assert_eq!(budget.spend(1000, 500), Some(0.006));
        drop(budget.reserve(4000).unwrap());
        // Two under way, at 0.006 each, would pass the limit: no third is begun.
        let one = budget.reserve(4000).unwrap();
        assert!(
            budget.reserve(4000).unwrap_err().message.contains("limit of 0.01 is reached (0.0060 spent)")
        );
        drop(one);
        assert!(budget.reserve(4000).is_ok(), "one that failed costs nothing");
        budget.spend(1000, 500);
        assert!(budget.reserve(0).unwrap_err().message.contains("(0.0120 spent)"));
        assert_eq!(Budget::of(&JudgeSpec::standard()).cost(1, 1), None);
    }
}
