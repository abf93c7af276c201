//! The distribution of a sum of independent counts: exact, or for very many of them normal with a correction for skewness.

/// The maximum number of multiplications for an exact distribution.
const MAX_EXACT: usize = 200_000_000;
/// Values at either end with a smaller probability are left out of the distribution; their probability counts to both tails.
const NEGLIGIBLE: f64 = 1e-30;

/// The probability of each value of a count, from the smallest one.
#[derive(Clone, Debug)]
struct CountDistribution {
    smallest: usize,
    chances: Vec<f64>,
}

/// The sum of independent counts.
#[derive(Clone, Debug)]
pub(super) struct SumOfCounts {
    /// `None` if there were too many counts.
    exact: Option<CountDistribution>,
    /// The probability of the values that were left out.
    left_out: f64,
    /// The number of multiplications so far.
    work: usize,
    /// The mean, the variance and the third central moment.
    mean: f64,
    variance: f64,
    third: f64,
}

impl Default for SumOfCounts {
    fn default() -> SumOfCounts {
        let exact = Some(CountDistribution {
            smallest: 0,
            chances: vec![1.0],
        });
        SumOfCounts {
            exact,
            left_out: 0.0,
            work: 0,
            mean: 0.0,
            variance: 0.0,
            third: 0.0,
        }
    }
}

impl SumOfCounts {
    /// Adds equal counts, `times` of them: the smallest value, and the probability of each value from there.
    pub(super) fn add(&mut self, smallest: usize, chances: &[f64], times: usize) {
        let mean: f64 = chances
            .iter()
            .enumerate()
            .map(|(value, chance)| value as f64 * chance)
            .sum();
        let moment = |power: i32| -> f64 {
            let of = |(value, chance): (usize, &f64)| (value as f64 - mean).powi(power) * chance;
            chances.iter().enumerate().map(of).sum::<f64>() * times as f64
        };
        self.mean += (mean + smallest as f64) * times as f64;
        self.variance += moment(2);
        self.third += moment(3);
        let one = CountDistribution {
            smallest,
            chances: chances.to_vec(),
        };
        let all = self.exact.take().zip(self.repeated(one, times));
        self.exact = all.and_then(|(sum, counts)| self.sum(&sum, &counts));
    }

    /// Adds events, `times` of them, that happen with this probability each.
    pub(super) fn add_events(&mut self, chance: f64, times: usize) {
        self.add(0, &[1.0 - chance, chance], times);
    }

    /// The distribution of the sum of `times` equal counts, by repeated doubling.
    fn repeated(&mut self, one: CountDistribution, times: usize) -> Option<CountDistribution> {
        if let [chance] = one.chances[..] {
            return Some(CountDistribution {
                smallest: one.smallest * times,
                chances: vec![chance],
            });
        }
        let mut sum = CountDistribution {
            smallest: 0,
            chances: vec![1.0],
        };
        let (mut power, mut left) = (one, times);
        while left > 0 {
            if left % 2 == 1 {
                sum = self.sum(&sum, &power)?;
            }
            left /= 2;
            if left > 0 {
                power = self.sum(&power, &power)?;
            }
        }
        Some(sum)
    }

    /// `None` if it takes too many multiplications.
    fn sum(&mut self, a: &CountDistribution, b: &CountDistribution) -> Option<CountDistribution> {
        self.work = self
            .work
            .saturating_add(a.chances.len().saturating_mul(b.chances.len()));
        if self.work > MAX_EXACT {
            return None;
        }
        let all = convolved(&a.chances, &b.chances);
        let first = all
            .iter()
            .position(|chance| *chance >= NEGLIGIBLE)
            .unwrap_or(0);
        let end = all
            .iter()
            .rposition(|chance| *chance >= NEGLIGIBLE)
            .map_or(all.len(), |at| at + 1);
        self.left_out += all[..first].iter().chain(&all[end..]).sum::<f64>();
        Some(CountDistribution {
            smallest: a.smallest + b.smallest + first,
            chances: all[first..end].to_vec(),
        })
    }

    /// The probability that the sum is at least `value`.
    pub(super) fn at_least(&self, value: usize) -> f64 {
        match &self.exact {
            Some(CountDistribution { smallest, chances }) => {
                let tail: f64 = chances
                    .iter()
                    .skip(value.saturating_sub(*smallest))
                    .rev()
                    .sum();
                (tail + self.left_out).min(1.0)
            }
            None => self.normal_tail(value as f64 - 0.5 - self.mean, 1.0),
        }
    }

    /// The probability that the sum is at most `value`.
    pub(super) fn at_most(&self, value: usize) -> f64 {
        match &self.exact {
            Some(CountDistribution { smallest, chances }) => {
                let count = (value + 1).saturating_sub(*smallest);
                (chances.iter().take(count).sum::<f64>() + self.left_out).min(1.0)
            }
            None => self.normal_tail(self.mean - value as f64 - 0.5, -1.0),
        }
    }

    /// The largest probability, of at most `limit`, with which the sum is at least some value.
    pub(super) fn largest_upper_tail(&self, limit: f64) -> f64 {
        let exact = self.exact.as_ref();
        exact.map_or(limit, |of| {
            largest_tail(of.chances.iter().rev(), self.left_out, limit)
        })
    }

    /// The largest probability, of at most `limit`, with which the sum is at most some value.
    pub(super) fn largest_lower_tail(&self, limit: f64) -> f64 {
        let exact = self.exact.as_ref();
        exact.map_or(limit, |of| {
            largest_tail(of.chances.iter(), self.left_out, limit)
        })
    }

    /// Whether the sum can have only one value.
    pub(super) fn is_constant(&self) -> bool {
        self.variance == 0.0
    }

    /// The probability that the sum is beyond its mean by at least `distance`, above it with `side` 1 and below it with -1.
    ///
    /// Definition: the normal approximation with the first term of Edgeworth's series, which corrects for skewness.
    fn normal_tail(&self, distance: f64, side: f64) -> f64 {
        let skewness = side * self.third / self.variance.powf(1.5);
        edgeworth_tail(distance / self.variance.sqrt(), skewness)
    }
}

/// The probability that a standardized variable with this skewness is at least `x`, nearly.
pub(super) fn edgeworth_tail(x: f64, skewness: f64) -> f64 {
    let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let tail = libm::erfc(x / std::f64::consts::SQRT_2) / 2.0;
    (tail + skewness / 6.0 * (x * x - 1.0) * density).clamp(f64::MIN_POSITIVE, 1.0)
}

/// The largest sum, of at most `limit`, of the first of these probabilities; 0 if the first one is above it.
fn largest_tail<'a>(chances: impl Iterator<Item = &'a f64>, left_out: f64, limit: f64) -> f64 {
    let tails = chances.scan(left_out, |sum, chance| {
        *sum += chance;
        Some(*sum)
    });
    tails.take_while(|sum| *sum <= limit).last().unwrap_or(0.0)
}

fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    let (a, b) = if a.len() < b.len() { (a, b) } else { (b, a) };
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

    fn events(chance: f64, times: usize) -> SumOfCounts {
        let mut sum = SumOfCounts::default();
        sum.add_events(chance, times);
        sum
    }

    fn near(found: f64, expected: f64) {
        assert!(
            (found / expected - 1.0).abs() < 1e-9,
            "{found} is not {expected}"
        );
    }

    /// The moments of a sum are the sums of the moments.
    #[test]
    fn moments_are_added() {
        let mut sum = SumOfCounts::default();
        for added in 1..=2 {
            sum.add(2, &[0.2, 0.5, 0.3], 3);
            let times = f64::from(added * 3);
            // Of one count: 0.2 · 1.1² + 0.5 · 0.1² + 0.3 · 0.9² and -0.2 · 1.1³ - 0.5 · 0.1³ + 0.3 · 0.9³.
            near(sum.mean, times * 3.1);
            near(sum.variance, times * 0.49);
            near(sum.third, times * -0.048);
        }
        assert!(!sum.is_constant() && SumOfCounts::default().is_constant());
    }

    /// Python: `erfc(x / sqrt(2)) / 2 + s / 6 * (x * x - 1) * exp(-x * x / 2) / sqrt(2 * pi)`.
    #[test]
    fn tail_of_skewed_distribution_is_edgeworth() {
        for (x, skewness, expected) in EDGEWORTH {
            near(edgeworth_tail(x, skewness), expected);
        }
        assert_eq!(
            (edgeworth_tail(90.0, 0.1), edgeworth_tail(-90.0, 0.1)),
            (f64::MIN_POSITIVE, 1.0)
        );
        // A skewness of 0.2, and 1.25 standard deviations beyond the mean, from the middle between two counts.
        let sum = SumOfCounts {
            exact: None,
            mean: 10.0,
            variance: 4.0,
            third: 1.6,
            ..SumOfCounts::default()
        };
        near(sum.at_least(13), EDGEWORTH[4].2);
        near(sum.at_most(7), EDGEWORTH[5].2);
    }

    /// What is left out counts to both tails.
    #[test]
    fn negligible_values_are_left_out_and_count() {
        let mut sum = SumOfCounts::default();
        for times in [1.0, 2.0] {
            sum.add(0, &[1.0, 1e-31], 1);
            near(sum.left_out, times * 1e-31);
        }
        near(sum.at_least(1), 2e-31);
        let mut sum = SumOfCounts::default();
        sum.add(0, &[1e-31, 1.0], 1);
        near(sum.at_most(0), 1e-31);
    }

    /// scipy 1.17.1: `binom.sf(k - 1, n, p)` and `binom.cdf(k, n, p)`.
    #[test]
    fn equal_events_are_binomial() {
        let mut one_by_one = SumOfCounts::default();
        (0..40).for_each(|_| one_by_one.add_events(1.0 / 6.0, 1));
        for sum in [one_by_one, events(1.0 / 6.0, 40)] {
            near(sum.at_least(13), BINOMIAL_UPPER);
            near(sum.at_most(2), BINOMIAL_LOWER);
            near(sum.at_least(0), 1.0);
            assert!(sum.at_least(41) < 1e-25);
        }
    }

    const EDGEWORTH: [(f64, f64, f64); 6] = [
        (0.0, 0.3, 0.48005288597992835),
        (2.0, 0.3, 0.030848776925157428),
        (-1.0, 0.3, 0.8413447460685429),
        (-0.5, -0.6, 0.7178673607813356),
        (1.25, 0.2, 0.10907444401789944),
        (1.25, -0.2, 0.10222510331581112),
    ];

    const BINOMIAL_UPPER: f64 = 0.010576158047529607;
    const BINOMIAL_LOWER: f64 = 0.027351189039224625;

    #[test]
    fn largest_tail_is_an_attainable_probability() {
        let sum = events(0.5, 4);
        assert_eq!(
            (sum.largest_upper_tail(0.05), sum.largest_lower_tail(0.07)),
            (0.0, 0.0625)
        );
        assert_eq!(
            (sum.largest_upper_tail(0.4), sum.largest_lower_tail(0.4)),
            (0.3125, 0.3125)
        );
    }

    #[test]
    fn counts_that_are_constant_cost_nothing() {
        let mut sum = SumOfCounts::default();
        sum.add(1, &[1.0], 100_000);
        sum.add_events(0.5, 1_000);
        sum.add(0, &[1.0], 100_000);
        assert!(sum.exact.is_some());
        assert!((sum.at_most(100_500) - 0.5).abs() < 0.02);
    }

    /// scipy 1.17.1: `binom.sf(10_099, 20_000, 0.5)`, and `binom.sf(k - 1, 10_000_000, 1e-6)` for k = 19 and 20: a normal
    /// distribution gives less than a half.
    #[test]
    fn many_counts_and_rare_ones_are_exact() {
        let sum = events(0.5, 20_000);
        assert!((sum.at_least(10_100) / 0.07969171799236709 - 1.0).abs() < 1e-9);
        let rare = events(1e-6, 10_000_000);
        assert!(rare.exact.is_some());
        assert!(
            (rare.at_least(19) / RARE[0] - 1.0).abs() < 1e-6,
            "{}",
            rare.at_least(19)
        );
        assert!(
            (rare.at_least(20) / RARE[1] - 1.0).abs() < 1e-6,
            "{}",
            rare.at_least(20)
        );
    }

    const RARE: [f64; 2] = [0.00718647623943947, 0.0034543251811445298];

    /// scipy 1.17.1: `binom.sf(k - 1, 40_000_000, 1e-4)` and the lower tail.
    #[test]
    fn many_counts_use_skew_corrected_normal() {
        let mut sum = SumOfCounts::default();
        sum.add_events(0.5, 40_000_000);
        assert!(
            sum.exact.is_none(),
            "an exact distribution would take too long"
        );
        assert!(
            (sum.at_least(20_006_000) / BINOMIAL_MANY - 1.0).abs() < 1e-3,
            "{}",
            sum.at_least(20_006_000)
        );
        assert_eq!(
            (sum.largest_upper_tail(0.02), sum.largest_lower_tail(0.02)),
            (0.02, 0.02)
        );
        let skewed = SumOfCounts {
            exact: None,
            ..events(1e-4, 4_000_000)
        };
        for (found, expected) in [
            (skewed.at_least(446), SKEWED[0]),
            (skewed.at_most(354), SKEWED[1]),
        ] {
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{found} is not {expected}"
            );
        }
    }

    const BINOMIAL_MANY: f64 = 0.028900213223233728;
    const SKEWED: [f64; 2] = [0.012477665666328403, 0.01039095386349607];
}
