//! The test of rates of two runs: every case is a stratum of its own, whose attempts are compared with each other only, so
//! that hard and easy cases do not mix.

use super::pass_table::{Margins, PassTable};
use super::sum_of_counts::SumOfCounts;
use std::collections::HashMap;

/// Whether attempts pass with another probability in one run than in the other.
///
/// Definition: the test of Cochran (1954), Mantel and Haenszel (1959) over one 2×2 table for each case, in its exact
/// conditional form (Birch 1964): with one attempt in each run it is McNemar's exact test.
pub(super) struct RateTest {
    /// The distribution of the number of attempts of the first run that passed, if nothing changed.
    sum: SumOfCounts,
    passed: usize,
}

impl RateTest {
    /// `None` if every case has the same outcome in all attempts of both runs, so that nothing can be tested.
    pub(super) fn prepare(tables: &[PassTable]) -> Option<RateTest> {
        let mut counts: HashMap<Margins, usize> = HashMap::new();
        tables
            .iter()
            .for_each(|table| *counts.entry(table.margins()).or_default() += 1);
        // In one order, so that sums are equal to the last digit.
        let mut counts: Vec<(Margins, usize)> = counts.into_iter().collect();
        counts.sort_unstable();
        let mut sum = SumOfCounts::default();
        for (margins, count) in counts {
            sum.add(margins.fewest(), &margins.chances(), count);
        }
        let passed = tables.iter().map(|table| table.before.passed).sum();
        (!sum.is_constant()).then_some(RateTest { sum, passed })
    }

    /// The two-sided p-value: twice the smaller tail.
    pub(super) fn p(&self) -> f64 {
        (2.0 * self.tail_of_fall().min(self.tail_of_rise())).min(1.0)
    }

    /// The probability that the rate falls at least as much, if nothing changed.
    pub(super) fn tail_of_fall(&self) -> f64 {
        self.sum.at_least(self.passed)
    }

    /// The probability that the rate rises at least as much, if nothing changed.
    pub(super) fn tail_of_rise(&self) -> f64 {
        self.sum.at_most(self.passed)
    }

    /// The largest value of at most `limit` that [`RateTest::tail_of_fall`] can have.
    pub(super) fn largest_fall(&self, limit: f64) -> f64 {
        self.sum.largest_upper_tail(limit)
    }

    /// The largest value of at most `limit` that [`RateTest::tail_of_rise`] can have.
    pub(super) fn largest_rise(&self, limit: f64) -> f64 {
        self.sum.largest_lower_tail(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::repeats::PassCount;
    use super::super::statistics::mcnemar;
    use super::*;
    use proptest::prelude::*;

    fn table((passed, of): (usize, usize), after: (usize, usize)) -> PassTable {
        let after = PassCount {
            passed: after.0,
            of: after.1,
        };
        PassTable {
            before: PassCount { passed, of },
            after,
            not_evaluated: (0, 0),
        }
    }

    fn rates(tables: impl IntoIterator<Item = PassTable>) -> Option<f64> {
        let tables: Vec<PassTable> = tables.into_iter().collect();
        RateTest::prepare(&tables).map(|test| test.p())
    }

    fn near(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!(
            (found - expected).abs() <= 1e-9 * expected,
            "{found} is not {expected}"
        );
    }

    /// The distributions `hypergeom` of scipy 1.17.1, convolved with numpy; twice the smaller tail.
    #[test]
    fn exact_test_is_hypergeometric_convolution() {
        let lost = [table((1, 1), (0, 5)); 3];
        let others = [table((1, 1), (3, 5)); 4];
        let few = lost
            .into_iter()
            .chain(others)
            .chain([table((0, 1), (2, 5)), table((1, 1), (5, 5))]);
        near(rates(few), 0.012_193_263_222_069_808);
        let more = [
            ((3, 3), (4, 10)),
            ((2, 3), (9, 10)),
            ((1, 3), (0, 10)),
            ((3, 3), (2, 10)),
        ];
        near(
            rates(more.map(|(before, after)| table(before, after))),
            0.018_913_411_659_718_608,
        );
        assert_eq!(rates([table((1, 1), (5, 5)), table((0, 1), (0, 5))]), None);
    }

    /// scipy 1.17.1: `binom.pmf` of the strata with equal margins, convolved. The normal approximation, as in statsmodels'
    /// `StratifiedTable(tables).test_null_odds(correction=True)`, is 0.11955.
    #[test]
    fn large_runs_are_exact() {
        let tables = (0..120_000).map(|at| table((usize::from(at % 101 < 81), 1), (at % 3 + 3, 5)));
        let p = rates(tables).unwrap();
        assert!((p / 0.119_368_529_890_737 - 1.0).abs() < 1e-8, "{p}");
    }

    proptest! {
        /// With one attempt in each run it is McNemar's exact test, and the order of the runs does not matter.
        #[test]
        fn single_attempts_are_mcnemars_test(broke in 0usize..40, fixed in 0usize..40, equal in 0usize..9) {
            let runs = |broke: usize, fixed: usize| {
                let lost = std::iter::repeat_n(table((1, 1), (0, 1)), broke);
                let won = std::iter::repeat_n(table((0, 1), (1, 1)), fixed);
                lost.chain(won).chain(std::iter::repeat_n(table((1, 1), (1, 1)), equal))
            };
            let p = rates(runs(broke, fixed));
            let expected = (broke + fixed > 0).then(|| mcnemar(broke, fixed));
            prop_assert_eq!(p.is_some(), expected.is_some());
            if let (Some(p), Some(expected)) = (p, expected) {
                prop_assert!((p - expected).abs() < 1e-9);
                prop_assert!((rates(runs(fixed, broke)).unwrap() - p).abs() < 1e-9);
            }
        }
    }
}
