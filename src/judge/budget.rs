//! What judging costs, and the limit to it.

use super::error::{Fault, JudgeError};
use crate::domain::JudgeSpec;
use std::sync::Mutex;

#[derive(Debug)]
pub(super) struct Budget {
    prices: Option<(f64, f64)>,
    limit: Option<f64>,
    spent: Mutex<f64>,
}

impl Budget {
    pub(super) fn of(spec: &JudgeSpec) -> Budget {
        Budget { prices: spec.prices, limit: spec.spending_limit, spent: Mutex::default() }
    }

    /// What so many tokens cost; `None` without prices.
    pub(super) fn cost(&self, input: u64, output: u64) -> Option<f64> {
        let (price_in, price_out) = self.prices?;
        Some((input as f64 * price_in + output as f64 * price_out) / 1e6)
    }

    /// Whether another request may be made. Requests under way are not taken back, so that the limit is
    /// passed by what was in flight.
    pub(super) fn may_spend(&self) -> Result<(), JudgeError> {
        let Some(limit) = self.limit else { return Ok(()) };
        let spent = self.spent.lock().map(|spent| *spent).unwrap_or(f64::MAX);
        if spent < limit {
            return Ok(());
        }
        let why = format!(
            "the spending limit of {limit} is reached ({spent:.4} spent); raise spending_limit under [judge]"
        );
        Err(JudgeError::new(Fault::Limit, why))
    }

    pub(super) fn spend(&self, cost: Option<f64>) {
        if let (Some(cost), Ok(mut spent)) = (cost, self.spent.lock()) {
            *spent += cost;
        }
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
        let cost = budget.cost(1000, 500);
        assert_eq!(cost, Some(0.006));
        budget.spend(cost);
        assert!(budget.may_spend().is_ok());
        budget.spend(cost);
        assert!(budget.may_spend().unwrap_err().message.contains("limit of 0.01 is reached (0.0120 spent)"));
        assert_eq!(Budget::of(&JudgeSpec::standard()).cost(1, 1), None);
    }
}
