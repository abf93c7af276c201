//! What several attempts of a case say: its pass rate with an interval, pass@k and pass^k, and whether it is flaky.

use crate::domain::{EndedAttempt, Gate, RunState, Status};
use std::sync::Arc;

/// The quantile of the standard normal distribution for intervals of 95 %.
const Z_95: f64 = 1.959_963_984_540_054;

/// The attempts of a case, counted. Those that were not evaluated are left out ([`Status::is_evaluated`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassCount {
    /// How many passed.
    pub passed: usize,
    /// How many there are.
    pub of: usize,
}

impl PassCount {
    /// Counts attempts.
    pub fn count(attempts: &[Arc<EndedAttempt>]) -> PassCount {
        PassCount::of_statuses(attempts.iter().map(|attempt| attempt.status))
    }

    /// Counts attempts by their statuses.
    pub fn of_statuses(statuses: impl IntoIterator<Item = Status>) -> PassCount {
        let mut count = PassCount::default();
        for status in statuses {
            count.passed += usize::from(status == Status::Passed);
            count.of += usize::from(status.is_evaluated());
        }
        count
    }

    /// The rate as "2/3"; "–" if no attempt was evaluated.
    pub fn describe(self) -> String {
        if self.of == 0 {
            "–".to_string()
        } else {
            format!("{}/{}", self.passed, self.of)
        }
    }

    /// [`PassCount::interval`] in percent, as "21–94 %"; `None` below two attempts.
    pub fn interval_text(self) -> Option<String> {
        let (low, high) = self.interval().filter(|_| self.of > 1)?;
        Some(format!("{:.0}–{:.0} %", low * 100.0, high * 100.0))
    }

    /// Whether some attempts passed and others did not.
    pub fn is_flaky(self) -> bool {
        self.passed > 0 && self.passed < self.of
    }

    /// Whether all attempts passed, with this many more that were not evaluated; `None` if that is not known.
    pub fn passed_all(self, not_evaluated: usize) -> Option<bool> {
        if self.passed < self.of {
            return Some(false);
        }
        (self.of > 0 && not_evaluated == 0).then_some(true)
    }

    /// The share that passed; `None` without attempts.
    pub fn rate(self) -> Option<f64> {
        (self.of > 0).then(|| self.passed as f64 / self.of as f64)
    }

    /// The interval that contains the true pass rate with 95 % confidence; `None` without attempts.
    pub fn interval(self) -> Option<(f64, f64)> {
        Some(wilson_interval(self.rate()?, self.of))
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

/// The interval that contains the true rate with 95 % confidence, where the mean of `count` independent shares between 0 and
/// 1 is `rate`. For shares that are all 0 or 1, it is the score interval of Wilson (1927), without correction for continuity,
/// as in statsmodels' `proportion_confint(method="wilson")`. For other shares it is at least as wide as necessary: the
/// variance of a share with mean p is at most p(1 - p), that of an outcome with probability p.
pub fn wilson_interval(rate: f64, count: usize) -> (f64, f64) {
    let (n, z2) = (count as f64, Z_95 * Z_95);
    let middle = (rate + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z_95 / (1.0 + z2 / n) * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// C(part, k) / C(all, k); `None` for `k` above `all`, or 0.
fn chosen(part: usize, all: usize, k: usize) -> Option<f64> {
    if k == 0 || k > all {
        return None;
    }
    if k > part {
        return Some(0.0);
    }
    Some(
        (0..k)
            .map(|at| (part - at) as f64 / (all - at) as f64)
            .product(),
    )
}

/// What the attempts of a run's cases show together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepeatedPasses {
    /// For each `k` up to the number of attempts. All are means over the same cases, so that pass@k never falls and
    /// pass^k never rises with `k`. Empty if there is no such case.
    pub by_k: Vec<RepeatedPass>,
    /// The number of these cases: those of which every attempt was evaluated.
    pub cases: usize,
    /// The number of the other cases.
    pub left_out: usize,
    /// The number of cases, of all, that passed in some of their attempts and not in others.
    pub flaky: usize,
}

/// Means over cases, for one `k`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatedPass {
    /// The number of attempts.
    pub k: usize,
    /// The mean of [`PassCount::pass_at`].
    pub pass_at: f64,
    /// The mean of [`PassCount::pass_hat`].
    pub pass_hat: f64,
}

/// pass@k and pass^k of a run; `None` if cases were not repeated.
pub fn repeated_passes(run: &RunState) -> Option<RepeatedPasses> {
    // How often a case was run depends on its outcomes then, so that a mean over cases would be of chosen ones.
    if matches!(run.plan.options.gate, Gate::Until(_)) {
        return None;
    }
    let repeat = run.plan.options.repeat as usize;
    let counts = (0..run.plan.cases.len()).map(|case| count_of(run, case));
    (repeat > 1).then(|| RepeatedPasses::count(counts, repeat))
}

impl RepeatedPasses {
    /// From the counts of all cases, each of which had `repeat` attempts.
    fn count(counts: impl IntoIterator<Item = PassCount>, repeat: usize) -> RepeatedPasses {
        let (mut whole, mut found) = (Vec::new(), RepeatedPasses::default());
        for count in counts {
            found.flaky += usize::from(count.is_flaky());
            match count.of >= repeat {
                true => whole.push(count),
                false => found.left_out += 1,
            }
        }
        found.cases = whole.len();
        let mean = |k: usize, of: fn(PassCount, usize) -> Option<f64>| {
            let values: Vec<f64> = whole.iter().filter_map(|count| of(*count, k)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let of_k = |k| {
            let (pass_at, pass_hat) = (mean(k, PassCount::pass_at)?, mean(k, PassCount::pass_hat)?);
            Some(RepeatedPass {
                k,
                pass_at,
                pass_hat,
            })
        };
        found.by_k = (1..=repeat).filter_map(of_k).collect();
        found
    }

    /// Over which cases the means are, and how many cases are flaky, each as a sentence.
    pub fn remarks(&self) -> Vec<String> {
        let with_all = match (self.cases, self.left_out) {
            (_, 0) => None,
            (0, _) => Some("pass@k and pass^k: no case had all its attempts evaluated".to_string()),
            (cases, left_out) => Some(format!(
                "pass@k and pass^k are over the {cases} of {} cases whose attempts were all evaluated",
                cases + left_out
            )),
        };
        let flaky = match self.flaky {
            0 => None,
            1 => Some("1 case is flaky: it passed in some of its attempts".to_string()),
            count => Some(format!(
                "{count} cases are flaky: they passed in some of their attempts"
            )),
        };
        with_all.into_iter().chain(flaky).collect()
    }
}

/// The attempts of a case of a run, counted.
pub fn count_of(run: &RunState, case: usize) -> PassCount {
    PassCount::count(&run.attempts_of(case))
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
        let (low, high) = PassCount {
            passed: 81,
            of: 263,
        }
        .interval()
        .unwrap();
        assert_eq!(
            (format!("{low:.4}"), format!("{high:.4}")),
            ("0.2553".into(), "0.3662".into())
        );
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

    #[test]
    fn all_passed_needs_evaluated_attempts() {
        let all = |passed: usize, of: usize, not_evaluated: usize| {
            PassCount { passed, of }.passed_all(not_evaluated)
        };
        assert_eq!(
            (all(2, 2, 0), all(1, 2, 0), all(1, 2, 1)),
            (Some(true), Some(false), Some(false))
        );
        assert_eq!(
            (all(2, 2, 1), all(0, 0, 0), all(0, 0, 1)),
            (None, None, None)
        );
    }

    /// One case with F, ?, ? and one with P, P, P: means over different cases would be 0.5, 1, 1 for pass^k.
    #[test]
    fn every_k_is_about_the_same_cases() {
        let counts = [
            PassCount { passed: 0, of: 1 },
            PassCount { passed: 3, of: 3 },
        ];
        let found = RepeatedPasses::count(counts, 3);
        assert_eq!((found.cases, found.left_out, found.flaky), (1, 1, 0));
        assert!(
            found
                .by_k
                .iter()
                .all(|of| (of.pass_at, of.pass_hat) == (1.0, 1.0))
                && found.by_k.len() == 3
        );
        assert_eq!(
            found.remarks(),
            ["pass@k and pass^k are over the 1 of 2 cases whose attempts were all evaluated"]
        );
        let none = RepeatedPasses::count([PassCount { passed: 0, of: 1 }], 3);
        assert!(none.by_k.is_empty() && none.remarks()[0].contains("no case"));
        let mixed = RepeatedPasses::count(
            [
                PassCount { passed: 1, of: 2 },
                PassCount { passed: 2, of: 2 },
            ],
            2,
        );
        let hats: Vec<f64> = mixed.by_k.iter().map(|of| of.pass_hat).collect();
        assert_eq!((hats, mixed.flaky), (vec![0.75, 0.5], 1));
    }

    proptest! {
        /// More attempts find a pass more often, and all pass less often, whatever was evaluated.
        #[test]
        fn means_over_cases_are_monotone(
            repeat in 2usize..8,
            cases in prop::collection::vec((0usize..8, 0usize..8), 0..30),
        ) {
            let counts = cases.iter().map(|(of, passed)| {
                let of = (*of).min(repeat);
                PassCount { passed: (*passed).min(of), of }
            });
            let found = RepeatedPasses::count(counts, repeat);
            prop_assert_eq!(found.cases + found.left_out, cases.len());
            prop_assert_eq!(found.by_k.len(), if found.cases == 0 { 0 } else { repeat });
            for (fewer, more) in found.by_k.iter().zip(found.by_k.iter().skip(1)) {
                prop_assert!(more.pass_at >= fewer.pass_at - 1e-12, "{:?}", found);
                prop_assert!(more.pass_hat <= fewer.pass_hat + 1e-12, "{:?}", found);
            }
        }

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
