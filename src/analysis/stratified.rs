//! Tests of two runs in which cases have different numbers of attempts. Every case is a stratum of its own: its attempts
//! are compared with each other only, so that hard and easy cases do not mix. Two-sided p-values.

use super::pass_table::PassTable;
use super::sum_of_counts::SumOfCounts;

/// The number of cases with different scores from which the normal approximation is used.
const CASES_AT_LEAST: usize = 20;

/// Whether attempts pass with another probability in one run than in the other. `None` if every case has the same outcome in
/// all attempts of both runs, so that nothing can be tested.
///
/// Definition: the test of Cochran (1954), Mantel and Haenszel (1959) over one 2×2 table for each case, in its exact
/// conditional form (Birch 1964), with twice the smaller tail, as McNemar's test here: with one attempt in each run it is
/// McNemar's exact test. For large runs it is the normal approximation with the correction for continuity.
pub(super) fn rates(tables: impl IntoIterator<Item = PassTable>) -> Option<f64> {
    let (mut sum, mut passed) = (SumOfCounts::default(), 0);
    for table in tables {
        let margins = table.margins();
        passed += table.before.passed;
        sum.add(margins.fewest(), &margins.chances(), margins.moments());
    }
    (!sum.is_constant()).then(|| (2.0 * sum.at_least(passed).min(sum.at_most(passed))).min(1.0))
}

/// The scores of a case in the attempts of both runs.
#[derive(Clone, Debug, Default)]
pub(super) struct CaseScores {
    /// In the first run.
    pub(super) before: Vec<f64>,
    /// In the second run.
    pub(super) after: Vec<f64>,
}

impl CaseScores {
    /// The means in both runs; `None` without a score in one of them.
    pub(super) fn means(&self) -> Option<(f64, f64)> {
        Some((mean(&self.before)?, mean(&self.after)?))
    }

    /// The difference of the means, and its variance if the attempts are assigned to the runs at random.
    fn difference(&self) -> Option<(f64, f64)> {
        let (before, after) = self.means()?;
        let all: Vec<f64> = self.before.iter().chain(&self.after).copied().collect();
        let middle = mean(&all)?;
        let squares: f64 = all.iter().map(|score| (score - middle).powi(2)).sum();
        let spread = squares / (all.len() - 1) as f64;
        let variance = spread * (1.0 / self.before.len() as f64 + 1.0 / self.after.len() as f64);
        Some((after - before, variance))
    }
}

/// Whether the mean over the cases of the scores differs between the runs. `None` with fewer than [`CASES_AT_LEAST`] cases
/// whose scores differ.
///
/// Definition: the permutation test within strata for means (Mantel 1963), with the normal approximation; the attempts of a
/// case are exchangeable if nothing changed.
pub(super) fn scores<'a>(cases: impl IntoIterator<Item = &'a CaseScores>) -> Option<f64> {
    let (mut sum, mut variance, mut differing) = (0.0, 0.0, 0);
    for (difference, of_case) in cases.into_iter().filter_map(CaseScores::difference) {
        // Scores that differ in their last digits only are equal.
        if of_case > 1e-18 {
            (sum, variance, differing) = (sum + difference, variance + of_case, differing + 1);
        }
    }
    (differing >= CASES_AT_LEAST).then(|| libm::erfc(sum.abs() / (2.0 * variance).sqrt()).min(1.0))
}

fn mean(scores: &[f64]) -> Option<f64> {
    (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::repeats::PassCount;
    use super::super::statistics::mcnemar;
    use super::*;
    use proptest::prelude::*;

    fn table((passed, of): (usize, usize), after: (usize, usize)) -> PassTable {
        let after = PassCount { passed: after.0, of: after.1 };
        PassTable { before: PassCount { passed, of }, after }
    }

    fn near(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() <= 1e-9 * expected, "{found} is not {expected}");
    }

    /// The distributions `hypergeom` of scipy 1.17.1, convolved with numpy; twice the smaller tail.
    #[test]
    fn the_exact_test_is_the_convolution_of_hypergeometric_distributions() {
        let lost = [table((1, 1), (0, 5)); 3];
        let others = [table((1, 1), (3, 5)); 4];
        let few = lost.into_iter().chain(others).chain([table((0, 1), (2, 5)), table((1, 1), (5, 5))]);
        near(rates(few), 0.012_193_263_222_069_808);
        let more = [((3, 3), (4, 10)), ((2, 3), (9, 10)), ((1, 3), (0, 10)), ((3, 3), (2, 10))];
        near(rates(more.map(|(before, after)| table(before, after))), 0.018_913_411_659_718_608);
        assert_eq!(rates([table((1, 1), (5, 5)), table((0, 1), (0, 5))]), None);
    }

    /// statsmodels 0.15.0: `StratifiedTable(tables).test_null_odds(correction=True)`, which is the normal approximation.
    #[test]
    fn large_runs_are_as_in_statsmodels() {
        let tables = (0..120_000).map(|at| table((usize::from(at % 101 < 81), 1), (at % 3 + 3, 5)));
        let p = rates(tables).unwrap();
        assert!((p / STRATIFIED_TABLE - 1.0).abs() < 1e-6, "{p}");
    }

    const STRATIFIED_TABLE: f64 = 0.11954800341594155;

    #[test]
    fn equal_means_differ_by_chance_and_other_means_do_not() {
        let case = |at: usize, shift: f64| {
            let score = |of: usize| ((at * 31 + of * 17) % 10) as f64 / 10.0;
            CaseScores { before: vec![score(1)], after: (2..7).map(|of| score(of) + shift).collect() }
        };
        let run = |count: usize, shift: f64| (0..count).map(|at| case(at, shift)).collect::<Vec<_>>();
        assert!(scores(&run(60, 0.0)).unwrap() > 0.05);
        assert!(scores(&run(60, 0.4)).unwrap() < 0.001);
        assert_eq!(scores(&run(19, 0.4)), None, "too few cases");
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
