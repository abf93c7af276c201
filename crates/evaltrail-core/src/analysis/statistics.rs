//! Statistical tests for paired results. Two-sided p-values.

/// The maximum number of differences whose distribution is computed exactly.
const MAX_EXACT: usize = 60;

/// The exact McNemar test: the probability of a split at least as uneven as `broke` and `fixed` if each change were
/// equally likely in both directions. 1 without changes.
///
/// Definition: McNemar (1947), exact form by the binomial distribution, as in statsmodels' `mcnemar(exact=True)`.
pub fn mcnemar(broke: usize, fixed: usize) -> f64 {
    let changes = broke + fixed;
    let fewer = broke.min(fixed);
    // ln(2^-n) + ln(n choose k), summed from k = 0: no factorial overflows.
    let mut log = -(changes as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=fewer {
        tail += log.exp();
        log += ((changes - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    (2.0 * tail).min(1.0)
}

/// The Wilcoxon signed-rank test of paired differences. Differences of zero are left out; equal ones share the mean of
/// their ranks. `None` without a difference other than zero, and for values that are not numbers.
///
/// Up to 60 differences the distribution is exact (all signs equally likely, given the ranks); above, it is the normal
/// approximation with the correction for ties and none for continuity. Definition: Wilcoxon (1945), as in scipy's
/// `wilcoxon(zero_method="wilcox")`.
pub fn wilcoxon(differences: &[f64]) -> Option<f64> {
    if differences.iter().any(|difference| difference.is_nan()) {
        return None;
    }
    let mut sorted: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|difference| *difference != 0.0)
        .collect();
    if sorted.is_empty() {
        return None;
    }
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    // Ranks are stored doubled, because the mean rank of equal values can end in one half.
    let mut ranks: Vec<usize> = Vec::with_capacity(sorted.len());
    let mut ties = 0.0;
    for equal in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        let first = ranks.len() + 1;
        let count = equal.len();
        ranks.extend(std::iter::repeat_n(2 * first + count - 1, count));
        ties += (count as f64).powi(3) - count as f64;
    }
    let sum: usize = ranks.iter().sum();
    let positive: usize = ranks
        .iter()
        .zip(&sorted)
        .filter(|(_, difference)| **difference > 0.0)
        .map(|(rank, _)| rank)
        .sum();
    let lower = positive.min(sum - positive);
    Some(match ranks.len() {
        0..=MAX_EXACT => exact(&ranks, sum, lower),
        count => approximate(count as f64, ties, lower as f64 / 2.0),
    })
}

/// The probability that the ranks with a positive sign sum to at most `lower`, or at least `sum - lower`.
fn exact(ranks: &[usize], sum: usize, lower: usize) -> f64 {
    let mut chances = vec![0.0; sum + 1];
    chances[0] = 1.0;
    let mut reached = 0;
    for &rank in ranks {
        reached += rank;
        for at in (0..=reached).rev() {
            let with = if at >= rank { chances[at - rank] } else { 0.0 };
            chances[at] = (chances[at] + with) / 2.0;
        }
    }
    let tail: f64 = chances[..=lower].iter().sum();
    (2.0 * tail).min(1.0)
}

fn approximate(count: f64, ties: f64, lower: f64) -> f64 {
    let mean = count * (count + 1.0) / 4.0;
    let variance = count * (count + 1.0) * (2.0 * count + 1.0) / 24.0 - ties / 48.0;
    libm::erfc((mean - lower) / variance.sqrt() / std::f64::consts::SQRT_2).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(actual: f64, expected: f64) {
        assert!(
            (actual - expected).abs() <= 1e-9 * expected.max(1e-3),
            "{actual} is not {expected}"
        );
    }

    /// The first value is the example in statsmodels' documentation of `mcnemar`. The others were computed with
    /// `binomtest(b, b + c).pvalue` of scipy 1.17.1.
    #[test]
    fn mcnemar_is_as_published() {
        near(mcnemar(121, 59), 4.434_449_263_755_51e-6);
        near(mcnemar(10, 2), 0.038_574_218_75);
        near(mcnemar(0, 6), 0.031_25);
        assert_eq!((mcnemar(0, 0), mcnemar(3, 3)), (1.0, 1.0));
        assert!(
            mcnemar(5_000, 5_400) < 1e-4 && mcnemar(5_000, 5_400) > 1e-5,
            "large counts do not overflow"
        );
    }

    /// Darwin's heights of maize (Fisher, The Design of Experiments, 1935), the example of scipy's documentation of
    /// `wilcoxon`.
    #[test]
    fn wilcoxon_is_as_published() {
        let maize = [
            6., 8., 14., 16., 23., 24., 28., 29., 41., -48., 49., 56., 60., -67., 75.,
        ];
        near(wilcoxon(&maize).unwrap(), 0.041_259_765_625);
        let with_zeros: Vec<f64> = maize.iter().copied().chain([0.0; 4]).collect();
        near(wilcoxon(&with_zeros).unwrap(), 0.041_259_765_625);
        assert_eq!(
            (wilcoxon(&[0.0, 0.0]), wilcoxon(&[]), wilcoxon(&[f64::NAN])),
            (None, None, None)
        );
    }

    /// Ties: counted over all 1,024 assignments of signs. 100 differences: scipy 1.17.1,
    /// `wilcoxon(d, zero_method="wilcox", method="approx", correction=False)`.
    #[test]
    fn ties_and_many_differences() {
        near(
            wilcoxon(&[1., 1., -1., 2., 2., 2., -3., 4., 4., 5.]).unwrap(),
            0.068_359_375,
        );
        let many: Vec<f64> = (0..100)
            .map(|at| f64::from((at * 37) % 101 - 45) / 10.0)
            .collect();
        near(wilcoxon(&many).unwrap(), 0.113_047_094_871_726_48);
    }

    proptest! {
        #[test]
        fn the_direction_does_not_matter(differences in prop::collection::vec(-5i8..6, 1..90)) {
            let of = |sign: f64| -> Vec<f64> { differences.iter().map(|d| sign * f64::from(*d)).collect() };
            let (one, other) = (wilcoxon(&of(1.0)), wilcoxon(&of(-1.0)));
            prop_assert_eq!(one, other);
            prop_assert!(one.is_none_or(|p| (0.0..=1.0).contains(&p)));
        }
    }
}
