//! The distribution of a sum of independent counts: exact, or for many of them normal.

/// The maximum number of multiplications for an exact distribution.
const EXACT_AT_MOST: usize = 20_000_000;

/// The sum of independent counts.
#[derive(Clone, Debug)]
pub(super) struct SumOfCounts {
    /// The smallest value.
    smallest: usize,
    /// The probability of each value, from the smallest; `None` if there were too many counts.
    exact: Option<Vec<f64>>,
    /// The number of multiplications so far.
    work: usize,
    mean: f64,
    variance: f64,
}

impl Default for SumOfCounts {
    fn default() -> SumOfCounts {
        SumOfCounts { smallest: 0, exact: Some(vec![1.0]), work: 0, mean: 0.0, variance: 0.0 }
    }
}

impl SumOfCounts {
    /// Adds a count: its smallest value, the probability of each value from there, its mean and its variance.
    pub(super) fn add(&mut self, smallest: usize, chances: &[f64], (mean, variance): (f64, f64)) {
        self.smallest += smallest;
        self.mean += mean;
        self.variance += variance;
        if chances.len() == 1 {
            return;
        }
        let Some(exact) = self.exact.take().filter(|_| !chances.is_empty()) else { return };
        self.work += exact.len() * chances.len();
        if self.work <= EXACT_AT_MOST {
            self.exact = Some(convolved(&exact, chances));
        }
    }

    /// Adds an event that happens with this probability.
    pub(super) fn add_event(&mut self, chance: f64) {
        self.add(0, &[1.0 - chance, chance], (chance, chance * (1.0 - chance)));
    }

    /// The probability that the sum is at least `value`.
    pub(super) fn at_least(&self, value: usize) -> f64 {
        match &self.exact {
            Some(exact) => exact.iter().skip(value.saturating_sub(self.smallest)).sum::<f64>().min(1.0),
            None => self.normal_tail(value as f64 - 0.5 - self.mean),
        }
    }

    /// The probability that the sum is at most `value`.
    pub(super) fn at_most(&self, value: usize) -> f64 {
        match &self.exact {
            Some(exact) => match (value + 1).checked_sub(self.smallest) {
                Some(count) => exact.iter().take(count).sum::<f64>().min(1.0),
                None => 0.0,
            },
            None => self.normal_tail(self.mean - value as f64 - 0.5),
        }
    }

    /// Whether the sum can have only one value.
    pub(super) fn is_constant(&self) -> bool {
        self.variance == 0.0
    }

    /// The probability that a normal variable exceeds its mean by at least `distance`.
    fn normal_tail(&self, distance: f64) -> f64 {
        libm::erfc(distance / (2.0 * self.variance).sqrt()) / 2.0
    }
}

fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; a.len() + b.len() - 1];
    for (at, chance) in a.iter().enumerate() {
        for (value, other) in sum[at..].iter_mut().zip(b) {
            *value += chance * other;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: `binom.sf(k - 1, n, p)` and `binom.cdf(k, n, p)`.
    #[test]
    fn equal_events_are_binomial() {
        let mut sum = SumOfCounts::default();
        (0..40).for_each(|_| sum.add_event(1.0 / 6.0));
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-10, "{found}");
        near(sum.at_least(13), BINOMIAL_UPPER);
        near(sum.at_most(2), BINOMIAL_LOWER);
        near(sum.at_least(0), 1.0);
        assert_eq!(sum.at_least(41), 0.0);
    }

    const BINOMIAL_UPPER: f64 = 0.010576158047529607;
    const BINOMIAL_LOWER: f64 = 0.027351189039224625;

    #[test]
    fn counts_that_are_constant_cost_nothing() {
        let mut sum = SumOfCounts::default();
        for _ in 0..100_000 {
            sum.add(1, &[1.0], (1.0, 0.0));
        }
        (0..1_000).for_each(|_| sum.add_event(0.5));
        (0..100_000).for_each(|_| sum.add(0, &[1.0], (0.0, 0.0)));
        assert!(sum.exact.is_some());
        assert!((sum.at_most(100_500) - 0.5).abs() < 0.02);
    }

    #[test]
    fn many_counts_are_nearly_normal() {
        let mut sum = SumOfCounts::default();
        (0..20_000).for_each(|_| sum.add_event(0.5));
        assert!(sum.exact.is_none(), "an exact distribution would take too long");
        // scipy 1.17.1: binom.sf(10_099, 20_000, 0.5).
        assert!((sum.at_least(10_100) - NORMAL_UPPER).abs() < 1e-4, "{}", sum.at_least(10_100));
        assert!((sum.at_most(9_900) - NORMAL_UPPER).abs() < 1e-4);
    }

    const NORMAL_UPPER: f64 = 0.07969171799236709;
}
