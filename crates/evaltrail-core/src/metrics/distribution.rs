//! How the scores of a metric are distributed.

/// The number of intervals of a distribution.
pub const INTERVALS: usize = 24;

/// The numbers of scores in intervals of equal width.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// The beginning of the first interval: 0 or, if it is less, the lowest score.
    pub low: f64,
    /// The end of the last interval: 1 or, if it is more, the highest score.
    pub high: f64,
    /// The number of scores in each interval. A score at the border of two intervals is in the second one, and the highest
    /// score is in the last one.
    pub counts: [usize; INTERVALS],
}

impl Distribution {
    /// The distribution of finite scores.
    pub fn new(scores: &[f64]) -> Distribution {
        let low = scores.iter().copied().fold(0.0, f64::min);
        let high = scores.iter().copied().fold(1.0, f64::max);
        let mut counts = [0; INTERVALS];
        for score in scores {
            // The difference of very large scores is not finite.
            let share = (score / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
            let interval = (share * INTERVALS as f64) as usize;
            counts[interval.min(INTERVALS - 1)] += 1;
        }
        Distribution { low, high, counts }
    }

    /// The largest number of scores in an interval.
    pub fn most(&self) -> usize {
        self.counts.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn scores_are_counted_in_equal_intervals() {
        let found = Distribution::new(&[0.0, 0.04, 0.5, 1.0, 1.0]);
        assert_eq!((found.low, found.high), (0.0, 1.0));
        assert_eq!(
            (found.counts[0], found.counts[12], found.counts[23]),
            (2, 1, 2)
        );
        let wide = Distribution::new(&[-3.0, 21.0]);
        assert_eq!((wide.low, wide.high), (-3.0, 21.0));
        assert_eq!((wide.counts[0], wide.counts[23]), (1, 1));
        assert_eq!(Distribution::new(&[]).most(), 0);
    }

    proptest! {
        #[test]
        fn every_score_is_counted_once(scores in prop::collection::vec(prop::num::f64::NORMAL, 0..50)) {
            let found = Distribution::new(&scores);
            prop_assert_eq!(found.counts.iter().sum::<usize>(), scores.len());
            prop_assert!(scores.iter().all(|score| (found.low..=found.high).contains(score)));
        }
    }
}
