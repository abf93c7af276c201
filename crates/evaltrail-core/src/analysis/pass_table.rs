//! The attempts of a case in two runs: how many passed, and how probable that is if nothing changed.

use super::repeats::PassCount;
use std::collections::HashMap;

/// The attempts of a case in two runs, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassTable {
    /// In the first run.
    pub before: PassCount,
    /// In the second run.
    pub after: PassCount,
    /// The numbers of attempts that were not evaluated, in both runs: they are in neither count.
    pub not_evaluated: (usize, usize),
}

/// The numbers that a test of a table holds fixed: the attempts in both runs, and how many of all passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Margins {
    before: usize,
    after: usize,
    passed: usize,
}

impl PassTable {
    /// The runs in the other order.
    pub(super) fn mirrored(self) -> PassTable {
        let (before, after) = self.not_evaluated;
        PassTable {
            before: self.after,
            after: self.before,
            not_evaluated: (after, before),
        }
    }

    pub(super) fn margins(self) -> Margins {
        let passed = self.before.passed + self.after.passed;
        Margins {
            before: self.before.of,
            after: self.after.of,
            passed,
        }
    }

    /// Whether all attempts passed in the first run, and none in the second.
    pub(super) fn is_complete_loss(self) -> bool {
        self.before.passed == self.before.of
            && self.before.of > 0
            && self.after.passed == 0
            && self.after.of > 0
    }

    /// Whether each run has one attempt, evaluated or not.
    pub(super) fn is_of_single_attempts(self) -> bool {
        let (before, after) = self.not_evaluated;
        (self.before.of + before, self.after.of + after) == (1, 1)
    }

    /// Whether all attempts passed, in both runs; `None` if that is not known, because some were not evaluated.
    pub(super) fn passed_all(self) -> (Option<bool>, Option<bool>) {
        let (before, after) = self.not_evaluated;
        (self.before.passed_all(before), self.after.passed_all(after))
    }

    /// Whether each run has equally many attempts, and all were evaluated.
    pub(super) fn is_balanced(self) -> bool {
        self.before.of == self.after.of && self.not_evaluated == (0, 0)
    }

    /// The weight of the case in a mean of differences of rates: nm/(n + m) for n and m attempts, with which the difference
    /// has the sign of Cochran, Mantel and Haenszel's test. Half of the attempts of a run if both have as many.
    pub(super) fn weight(self) -> f64 {
        let (before, after) = (self.before.of as f64, self.after.of as f64);
        before * after / (before + after)
    }
}

impl Margins {
    /// The fewest and the most attempts of the first run that can have passed.
    fn range(self) -> (usize, usize) {
        (
            self.passed.saturating_sub(self.after),
            self.passed.min(self.before),
        )
    }

    /// Whether all attempts of the first run can have passed, and none of the second.
    pub(super) fn allow_complete_loss(self) -> bool {
        self.passed == self.before && self.before > 0 && self.after > 0
    }

    /// For each number of attempts of the first run that can have passed, from the fewest: its probability if every
    /// attempt of the case passes with the same probability. With it, the number of those that passed is hypergeometric.
    pub(super) fn chances(self) -> Vec<f64> {
        let (fewest, most) = self.range();
        let first = ln_choose(self.before, fewest) + ln_choose(self.after, self.passed - fewest)
            - ln_choose(self.before + self.after, self.passed);
        let ratio = |k: usize| {
            let up = (self.before - k) as f64 * (self.passed - k) as f64;
            // From `passed - k <= after` follows that this is at least 1.
            let down = (k + 1) as f64 * (self.after + k + 1 - self.passed) as f64;
            (up / down).ln()
        };
        let logs = (fewest..most).scan(first, |log, k| {
            *log += ratio(k);
            Some(*log)
        });
        std::iter::once(first).chain(logs).map(f64::exp).collect()
    }

    /// The fewest attempts of the first run that can have passed.
    pub(super) fn fewest(self) -> usize {
        self.range().0
    }
}

/// The natural logarithm of the binomial coefficient.
fn ln_choose(of: usize, part: usize) -> f64 {
    let ln_factorial = |n: usize| libm::lgamma(n as f64 + 1.0);
    ln_factorial(of) - ln_factorial(part) - ln_factorial(of - part)
}

/// The one-sided p-values of tables, by their margins: for each number of attempts of the first run that passed, the
/// probability of at least so many.
///
/// Definition: Fisher's exact test (1935), as in scipy's `fisher_exact(alternative="greater")` with the first run in the
/// first row and the attempts that passed in the first column.
#[derive(Default)]
pub(super) struct LossTests {
    at_least: HashMap<Margins, Vec<f64>>,
}

impl LossTests {
    /// The p-value of a table: the probability that the attempts that passed are in the first run at least as often, if the
    /// case passes with the same probability in both.
    pub(super) fn p(&mut self, table: PassTable) -> f64 {
        let margins = table.margins();
        let at = table.before.passed - margins.fewest();
        self.tails(margins).get(at).copied().unwrap_or(1.0)
    }

    /// The p-values that tables with these margins can have.
    pub(super) fn values(&mut self, margins: Margins) -> &[f64] {
        self.tails(margins)
    }

    /// The largest p-value that is not above `limit` and that a table with these margins can have: the probability that its
    /// p-value is not above `limit`. 0 if there is none.
    pub(super) fn attainable(&mut self, margins: Margins, limit: f64) -> f64 {
        let tails = self.tails(margins);
        // The p-values fall from left to right.
        let at = tails.partition_point(|p| *p > limit);
        tails.get(at).copied().unwrap_or(0.0)
    }

    fn tails(&mut self, margins: Margins) -> &[f64] {
        self.at_least.entry(margins).or_insert_with(|| {
            let mut tails = margins.chances();
            let mut sum = 0.0;
            // The small probabilities are added first.
            for chance in tails.iter_mut().rev() {
                sum += *chance;
                *chance = f64::min(sum, 1.0);
            }
            tails
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(before: (usize, usize), after: (usize, usize)) -> PassTable {
        let count = |(passed, of)| PassCount { passed, of };
        PassTable {
            before: count(before),
            after: count(after),
            not_evaluated: (0, 0),
        }
    }

    /// scipy 1.17.1: `fisher_exact([[a, b], [c, d]], alternative="greater").pvalue`. The first is Fisher's example of tasting
    /// tea (The Design of Experiments, 1935), with all cups right.
    #[test]
    fn the_p_value_is_fishers() {
        for (before, after, expected) in FISHER {
            let p = LossTests::default().p(table(before, after));
            assert!(
                (p - expected).abs() <= 1e-10 * expected,
                "{before:?} {after:?}: {p} is not {expected}"
            );
        }
    }

    /// How many of the attempts passed.
    type Passed = (usize, usize);

    const FISHER: [(Passed, Passed, f64); 8] = [
        ((4, 4), (0, 4), 0.014_285_714_285_714_284),
        ((5, 5), (0, 5), 0.003_968_253_968_253_969),
        ((5, 5), (1, 5), 0.023_809_523_809_523_81),
        ((1, 1), (0, 5), 0.166_666_666_666_666_66),
        ((3, 3), (4, 10), 0.122_377_622_377_622_36),
        ((8, 10), (1, 10), 0.002_738_747_320_790_664),
        ((2, 5), (4, 5), 0.976_190_476_190_476_2),
        ((700, 1_000), (640, 1_000), 0.002_500_764_661_163_913),
    ];

    #[test]
    fn case_without_attempts_is_no_complete_loss() {
        for (before, after) in [((0, 0), (0, 3)), ((3, 3), (0, 0))] {
            let table = table(before, after);
            assert!(
                !table.is_complete_loss() && !table.margins().allow_complete_loss(),
                "{table:?}"
            );
        }
        let lost = table((3, 3), (0, 2));
        assert!(lost.is_complete_loss() && lost.margins().allow_complete_loss());
    }

    /// n · m / (n + m), for n attempts in the first run and m in the second.
    #[test]
    fn case_weight_equals_that_of_rate_test() {
        let weights = [((1, 1), (5, 5)), ((2, 4), (1, 4)), ((1, 3), (0, 6))]
            .map(|(a, b)| table(a, b).weight());
        assert_eq!(weights, [5.0 / 6.0, 2.0, 2.0]);
    }

    #[test]
    fn p_value_equal_to_limit_is_reachable() {
        let mut tests = LossTests::default();
        let margins = table((5, 5), (1, 5)).margins();
        for p in tests.values(margins).to_vec() {
            assert_eq!(tests.attainable(margins, p), p);
        }
    }

    #[test]
    fn table_with_one_arrangement_is_no_evidence() {
        let mut tests = LossTests::default();
        let always = table((5, 5), (3, 3));
        assert_eq!(
            (tests.p(always), tests.attainable(always.margins(), 0.99)),
            (1.0, 0.0)
        );
        let margins = table((3, 3), (0, 3)).margins();
        assert!((tests.attainable(margins, 0.06) - 0.05).abs() < 1e-12);
        assert_eq!(tests.attainable(margins, 0.04), 0.0);
        assert!((tests.attainable(margins, 0.6) - 0.5).abs() < 1e-12);
    }
}
