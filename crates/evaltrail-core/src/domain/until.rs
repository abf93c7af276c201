//! Attempts of a case until it is known whether its pass rate is above or below a demanded one.
//!
//! The rule is valid at every look: it may be applied after each attempt, and the probability that it ever decides wrongly is at
//! most [`UNTIL_LEVEL`]. It compares the probability of the outcomes under a mixture of all rates with that under the demanded
//! rate. The mixture is the Beta(½, ½) distribution (Jeffreys), so that the ratio is a martingale with mean 1 if the rate is
//! the demanded one, and reaches 1 / level with at most this probability (Ville 1939). With a rate on the wrong side of the demanded
//! one, the same bound holds: where most attempts passed, a lower rate makes them even less probable. The usual rule, to stop as
//! soon as an interval of 95 % excludes the demanded rate, is wrong in 31 to 38 % of the cases that have exactly that rate.

use super::Status;

/// The largest probability of a wrong decision about a case.
pub const UNTIL_LEVEL: f64 = 0.05;
/// The number of attempts of a case after which it stays undecided, unless another one is given or the rate needs more.
const UNTIL_ATTEMPTS: u32 = 50;
/// Rates that need more attempts of a case that always passes cannot be demanded.
const MOST_NEEDED: u32 = 10_000;

/// The number of attempts after which a case that always passes is decided; `None` above 10,000.
pub fn least_attempts(rate: f64) -> Option<u32> {
    let mut test = SequentialRateTest::new(rate);
    (1..=MOST_NEEDED).find(|_| {
        test.add([Status::Passed]);
        test.verdict() == RateVerdict::Passes
    })
}

/// The largest number of attempts of a case if none is given: twice as many as one that always passes needs, and at least 50.
pub fn usual_attempts(rate: f64) -> u32 {
    let least = least_attempts(rate).unwrap_or(MOST_NEEDED);
    least.saturating_mul(2).clamp(UNTIL_ATTEMPTS, MOST_NEEDED)
}

/// What the attempts of a case show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateVerdict {
    /// Its pass rate is at least the demanded one.
    Passes,
    /// Its pass rate is below the demanded one.
    Fails,
    /// Not enough is known.
    Undecided,
}

/// The numbers of cases by what their attempts show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    /// Their pass rate is at least the demanded one.
    pub pass: usize,
    /// It is below.
    pub fail: usize,
    /// It is not known.
    pub undecided: usize,
}

impl VerdictCounts {
    /// "12 pass, 3 fail, 2 undecided".
    pub fn describe(self) -> String {
        format!(
            "{} pass, {} fail, {} undecided",
            self.pass, self.fail, self.undecided
        )
    }
}

/// The attempts of a case as they are added.
#[derive(Clone, Copy, Debug)]
pub struct SequentialRateTest {
    /// The demanded rate, above 0 and below 1.
    rate: f64,
    passed: u32,
    evaluated: u32,
    /// The logarithm of the ratio of both probabilities.
    log_ratio: f64,
    verdict: RateVerdict,
}

impl SequentialRateTest {
    /// A test without attempts. `rate` is above 0 and below 1.
    pub fn new(rate: f64) -> SequentialRateTest {
        SequentialRateTest {
            rate,
            passed: 0,
            evaluated: 0,
            log_ratio: 0.0,
            verdict: RateVerdict::Undecided,
        }
    }

    /// Adds attempts in their order. Those that were not evaluated say nothing about the rate. After a decision, others change
    /// nothing.
    pub fn add(&mut self, statuses: impl IntoIterator<Item = Status>) {
        for status in statuses.into_iter().filter(|status| status.is_evaluated()) {
            if self.verdict != RateVerdict::Undecided {
                return;
            }
            let has_passed = status == Status::Passed;
            // The probability that the mixture, given the attempts before, assigns to a pass.
            let expected = (f64::from(self.passed) + 0.5) / (f64::from(self.evaluated) + 1.0);
            self.log_ratio += match has_passed {
                true => (expected / self.rate).ln(),
                false => ((1.0 - expected) / (1.0 - self.rate)).ln(),
            };
            self.evaluated += 1;
            self.passed += u32::from(has_passed);
            if self.log_ratio >= (1.0 / UNTIL_LEVEL).ln() {
                let share = f64::from(self.passed) / f64::from(self.evaluated);
                self.verdict = match share > self.rate {
                    true => RateVerdict::Passes,
                    false => RateVerdict::Fails,
                };
            }
        }
    }

    /// What the attempts so far show.
    pub fn verdict(&self) -> RateVerdict {
        self.verdict
    }

    /// The number of evaluated attempts until the decision, or so far.
    pub fn evaluated(&self) -> u32 {
        self.evaluated
    }
}

/// What attempts, each with its number from 1 and in their order, show about a demanded rate. Only those count before which none
/// is missing: otherwise the decision would depend on which attempts are slow.
pub fn rate_verdict(rate: f64, attempts: impl IntoIterator<Item = (u32, Status)>) -> RateVerdict {
    let mut test = SequentialRateTest::new(rate);
    let numbered = (1..).zip(attempts);
    let without_gap =
        numbered.map_while(|(expected, (number, status))| (number == expected).then_some(status));
    test.add(without_gap);
    test.verdict()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform numbers, the same ones each time (SplitMix64).
    struct Uniform(u64);

    impl Uniform {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// The shares of verdicts passes and fails of cases with a rate, and the mean number of attempts.
    fn simulated(rate: f64, demanded: f64, most: u32, cases: u32) -> (f64, f64, f64) {
        let mut random = Uniform(u64::from(most) ^ rate.to_bits() ^ demanded.to_bits());
        let (mut passes, mut fails, mut attempts) = (0, 0, 0);
        for _ in 0..cases {
            let mut test = SequentialRateTest::new(demanded);
            while test.verdict() == RateVerdict::Undecided && test.evaluated() < most {
                let status = match random.next() < rate {
                    true => Status::Passed,
                    false => Status::Failed,
                };
                test.add([status]);
            }
            passes += u32::from(test.verdict() == RateVerdict::Passes);
            fails += u32::from(test.verdict() == RateVerdict::Fails);
            attempts += test.evaluated();
        }
        let share = |count: u32| f64::from(count) / f64::from(cases);
        (share(passes), share(fails), share(attempts))
    }

    #[test]
    fn wrong_decisions_are_within_the_level() {
        for demanded in [0.5, 0.8, 0.9, 0.95] {
            for most in [20, 50, 200] {
                // At the demanded rate, each decision is wrong.
                let (passes, fails, _) = simulated(demanded, demanded, most, 10_000);
                assert!(
                    passes + fails <= UNTIL_LEVEL,
                    "{demanded} {most}: {passes} {fails}"
                );
                let (passes, ..) = simulated(demanded - 0.1, demanded, most, 10_000);
                assert!(passes <= UNTIL_LEVEL, "{demanded} {most}: {passes}");
                let (_, fails, _) = simulated(demanded + 0.04, demanded, most, 10_000);
                assert!(fails <= UNTIL_LEVEL, "{demanded} {most}: {fails}");
            }
        }
    }

    /// The share of cases with a rate that the usual rule decides wrongly: it stops as soon as the Wilson interval of 95 % excludes
    /// the demanded rate.
    fn wrong_by_interval(rate: f64, demanded: f64, most: u32, cases: u32) -> f64 {
        let mut random = Uniform(u64::from(most) ^ rate.to_bits());
        let is_decided = |passed: f64, count: f64| {
            let (z2, share) = (1.96f64.powi(2), passed / count);
            let middle = (share + z2 / (2.0 * count)) / (1.0 + z2 / count);
            let half = 1.96 / (1.0 + z2 / count)
                * (share * (1.0 - share) / count + z2 / (4.0 * count * count)).sqrt();
            demanded < middle - half || demanded > middle + half
        };
        let mut decided = 0;
        for _ in 0..cases {
            let mut passed = 0.0;
            decided += u32::from((1..=most).any(|count| {
                passed += f64::from(random.next() < rate);
                is_decided(passed, f64::from(count))
            }));
        }
        f64::from(decided) / f64::from(cases)
    }

    /// The table of docs/statistics.md.
    #[test]
    #[ignore = "prints a table"]
    fn table_of_decisions() {
        for most in [50, 200] {
            for rate in [0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0] {
                let (passes, fails, attempts) = simulated(rate, 0.8, most, 10_000);
                let percent = |share: f64| format!("{:.1} %", share * 100.0);
                println!(
                    "| {rate} | {most} | {} | {} | {} | {attempts:.1} |",
                    percent(passes),
                    percent(fails),
                    percent(1.0 - passes - fails)
                );
            }
        }
        for most in [20, 50] {
            let wrong = wrong_by_interval(0.8, 0.8, most, 10_000);
            println!(
                "by the interval, at most {most} attempts: {:.1} %",
                wrong * 100.0
            );
        }
    }

    #[test]
    fn clear_cases_take_few_attempts() {
        let (passes, _, attempts) = simulated(1.0, 0.8, 50, 100);
        assert_eq!((passes, attempts), (1.0, 24.0));
        let (_, fails, attempts) = simulated(0.4, 0.8, 50, 10_000);
        assert!(fails > 0.97 && attempts < 13.0, "{fails} {attempts}");
    }

    #[test]
    fn attempts_after_the_decision_change_nothing() {
        let failed = std::iter::repeat_n(Status::Failed, 10);
        let passed = std::iter::repeat_n(Status::Passed, 1000);
        let verdict =
            |statuses: &mut dyn Iterator<Item = Status>| rate_verdict(0.8, (1..).zip(statuses));
        assert_eq!(verdict(&mut failed.chain(passed)), RateVerdict::Fails);
        let mut none = std::iter::repeat_n(Status::NotEvaluated, 100);
        assert_eq!(verdict(&mut none), RateVerdict::Undecided);
    }

    #[test]
    fn attempts_after_a_missing_one_do_not_count() {
        let failed = |numbers: &[u32]| {
            let attempts = numbers.iter().map(|number| (*number, Status::Failed));
            rate_verdict(0.8, attempts.collect::<Vec<_>>())
        };
        assert_eq!(failed(&[1, 2, 3]), RateVerdict::Fails);
        assert_eq!(failed(&[2, 3, 4, 5, 6, 7, 8, 9]), RateVerdict::Undecided);
        assert_eq!(failed(&[1, 2, 4, 5, 6]), RateVerdict::Undecided);
    }

    #[test]
    fn high_rates_need_more_attempts() {
        let least = [0.5, 0.8, 0.9, 0.95, 0.99].map(least_attempts);
        assert_eq!(least[1..], [24, 53, 116, 680].map(Some));
        assert_eq!(least_attempts(0.9999), None);
        assert_eq!([0.5, 0.8, 0.9].map(usual_attempts), [50, 50, 106]);
    }
}
