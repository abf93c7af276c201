//! What several attempts of a case say: its pass rate with an interval, pass@k and pass^k, and whether it is flaky.

use crate::domain::{EndedAttempt, RunState, Status};
use std::sync::Arc;

/// The quantile of the standard normal distribution for intervals of 95 %.
const Z_95: f64 = 1.959_963_984_540_054;

/// The attempts of a case, counted. Attempts that were not evaluated are left out; an error counts as not passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassCount {
    /// How many passed.
    pub passed: usize,
    /// How many there are.
    pub of: usize,
}

impl PassCount {
    /// Counts attempts.
    pub fn of(attempts: &[Arc<EndedAttempt>]) -> PassCount {
        let mut count = PassCount::default();
        for attempt in attempts {
            match attempt.status {
                Status::Passed => (count.passed, count.of) = (count.passed + 1, count.of + 1),
                Status::Failed | Status::Errored => count.of += 1,
                Status::NotEvaluated | Status::Informational => {}
            }
        }
        count
    }

    /// Whether some attempts passed and others did not.
    pub fn is_flaky(self) -> bool {
        self.passed > 0 && self.passed < self.of
    }

    /// The share that passed; `None` without attempts.
    pub fn rate(self) -> Option<f64> {
        (self.of > 0).then(|| self.passed as f64 / self.of as f64)
    }

    /// The interval that contains the true pass rate with 95 % confidence; `None` without attempts.
    ///
    /// Definition: the score interval of Wilson (1927), without correction for continuity, as in statsmodels'
    /// `proportion_confint(method="wilson")`.
    pub fn interval(self) -> Option<(f64, f64)> {
        let (share, n, z2) = (self.rate()?, self.of as f64, Z_95 * Z_95);
        let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = Z_95 / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
        Some(((middle - half).max(0.0), (middle + half).min(1.0)))
    }

    /// The probability that at least one of `k` attempts passes; `None` with fewer than `k` attempts.
    ///
    /// Definition: the unbiased estimator of Chen et al. (2021), "Evaluating Large Language Models Trained on Code":
    /// 1 - C(n - c, k) / C(n, k).
    pub fn pass_at(self, k: usize) -> Option<f64> {
        Some(1.0 - chosen(self.of - self.passed, self.of, k)?)
    }

    /// The probability that all of `k` attempts pass; `None` with fewer than `k` attempts.
    ///
    /// Definition: the unbiased estimator of Yao et al. (2024), "τ-bench": C(c, k) / C(n, k).
    pub fn pass_hat(self, k: usize) -> Option<f64> {
        chosen(self.passed, self.of, k)
    }
}

/// C(part, k) / C(all, k); `None` for `k` above `all`, or 0.
fn chosen(part: usize, all: usize, k: usize) -> Option<f64> {
    if k == 0 || k > all {
        return None;
    }
    if k > part {
        return Some(0.0);
    }
    Some((0..k).map(|at| (part - at) as f64 / (all - at) as f64).product())
}

/// Means over the cases of a run, for one `k`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatedPass {
    /// The number of attempts.
    pub k: usize,
    /// The mean of [`PassCount::pass_at`].
    pub pass_at: f64,
    /// The mean of [`PassCount::pass_hat`].
    pub pass_hat: f64,
    /// The number of cases with at least `k` attempts that were evaluated.
    pub cases: usize,
}

/// pass@k and pass^k of a run, for every `k` up to its number of repetitions; empty if cases were not repeated.
pub fn repeated_passes(run: &RunState) -> Vec<RepeatedPass> {
    let repeat = run.plan.options.repeat as usize;
    if repeat < 2 {
        return Vec::new();
    }
    let counts: Vec<PassCount> = (0..run.plan.cases.len()).map(|case| count_of(run, case)).collect();
    (1..=repeat).filter_map(|k| mean_for(&counts, k)).collect()
}

fn mean_for(counts: &[PassCount], k: usize) -> Option<RepeatedPass> {
    let both: Vec<(f64, f64)> =
        counts.iter().filter_map(|count| Some((count.pass_at(k)?, count.pass_hat(k)?))).collect();
    let cases = both.len();
    let mean = |of: fn(&(f64, f64)) -> f64| both.iter().map(of).sum::<f64>() / cases as f64;
    (cases > 0).then(|| RepeatedPass {
        k,
        pass_at: mean(|(at, _)| *at),
        pass_hat: mean(|(_, hat)| *hat),
        cases,
    })
}

/// The attempts of a case of a run, counted.
pub fn count_of(run: &RunState, case: usize) -> PassCount {
    PassCount::of(&run.attempts_of(case))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    /// The values of statsmodels 0.14, `proportion_confint(count, nobs, method="wilson")`; those of 81 of 263 are also
    /// in Newcombe (1998), "Two-sided confidence intervals for the single proportion", Table I: 0.2553 to 0.3662.
    #[test]
    fn the_interval_is_wilsons() {
        for (passed, of, low, high) in [
            (8, 10, 0.490_162_471_536_641_83, 0.943_317_848_545_624_7),
            (0, 20, 0.0, 0.161_125_158_052_404_23),
            (1, 29, 0.006_113_214_008_750_6, 0.171_755_414_064_083_38),
        ] {
            let (found_low, found_high) = PassCount { passed, of }.interval().unwrap();
            close((found_low * 1e6).round(), (low * 1e6_f64).round());
            close((found_high * 1e6).round(), (high * 1e6_f64).round());
        }
        let (low, high) = PassCount { passed: 81, of: 263 }.interval().unwrap();
        assert_eq!((format!("{low:.4}"), format!("{high:.4}")), ("0.2553".into(), "0.3662".into()));
        assert_eq!(PassCount::default().interval(), None);
    }

    /// By hand: of 5 attempts 2 passed; C(3, 2) / C(5, 2) = 3/10, C(2, 2) / C(5, 2) = 1/10.
    #[test]
    fn the_estimators_are_the_published_ones() {
        let count = PassCount { passed: 2, of: 5 };
        close(count.pass_at(1).unwrap(), 0.4);
        close(count.pass_at(2).unwrap(), 0.7);
        close(count.pass_at(4).unwrap(), 1.0);
        close(count.pass_hat(1).unwrap(), 0.4);
        close(count.pass_hat(2).unwrap(), 0.1);
        close(count.pass_hat(3).unwrap(), 0.0);
        assert_eq!((count.pass_at(6), count.pass_hat(0)), (None, None));
    }

    proptest! {
        /// Both are probabilities, more attempts find a pass more often and pass all less often, and one attempt
        /// passes with the pass rate.
        #[test]
        fn estimators_are_ordered(of in 1usize..40, passed in 0usize..40) {
            let count = PassCount { passed: passed.min(of), of };
            let rate = count.rate().unwrap();
            prop_assert!((count.pass_at(1).unwrap() - rate).abs() < 1e-9);
            prop_assert!((count.pass_hat(1).unwrap() - rate).abs() < 1e-9);
            for k in 1..of {
                prop_assert!(count.pass_at(k + 1).unwrap() >= count.pass_at(k).unwrap() - 1e-12);
                prop_assert!(count.pass_hat(k + 1).unwrap() <= count.pass_hat(k).unwrap() + 1e-12);
            }
            let (low, high) = count.interval().unwrap();
            prop_assert!(0.0 <= low && low <= rate + 1e-12 && rate <= high + 1e-12 && high <= 1.0);
        }
    }
}
