//! A score as a number that is finite by construction.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A score of a metric, a turn, a rubric or a sample of a judge. It is never NaN or infinite: such a number is no
/// measurement, and compares with no threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Score(f64);

/// A number that is no score, because it is NaN or infinite.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the score is {0}, which is not a finite number")]
pub struct NotFinite(pub f64);

impl Score {
    /// The worst and the best score of metrics whose scores are from 0 to 1.
    pub const ZERO: Score = Score(0.0);
    /// See [`Score::ZERO`].
    pub const ONE: Score = Score(1.0);

    /// A number as a score; `None` if it is NaN or infinite.
    pub fn new(number: f64) -> Option<Score> {
        number.is_finite().then_some(Score(number))
    }

    /// 1 or 0.
    pub fn of_flag(yes: bool) -> Score {
        if yes { Score::ONE } else { Score::ZERO }
    }

    /// A computed or received number as a score. Fails if it is NaN or infinite.
    pub fn check(number: Option<f64>) -> Result<Option<Score>, NotFinite> {
        number.map(Score::try_from).transpose()
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Score {
    type Error = NotFinite;

    fn try_from(number: f64) -> Result<Score, NotFinite> {
        Score::new(number).ok_or(NotFinite(number))
    }
}

impl From<Score> for f64 {
    fn from(score: Score) -> f64 {
        score.0
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The mean of finite numbers, which is finite: sums that would overflow are computed from shares. `None` without
/// numbers.
pub fn mean(numbers: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let (sum, count) = numbers.clone().fold((0.0, 0u32), |(sum, count), number| {
        (sum + number, count + 1)
    });
    let count = f64::from(count);
    let mean = || {
        if f64::is_finite(sum) {
            sum / count
        } else {
            numbers.map(|number| number / count).sum()
        }
    };
    (count > 0.0).then(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_not_finite_is_no_score() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Score::new(number), None);
            let why = Score::check(Some(number)).unwrap_err().to_string();
            assert!(why.ends_with("which is not a finite number"), "{why}");
        }
        assert_eq!(Score::check(None).unwrap(), None);
        assert_eq!(serde_json::from_str::<Score>("0.5").unwrap().get(), 0.5);
        assert_eq!(serde_json::to_string(&Score::new(0.1)).unwrap(), "0.1");
        for text in ["1e9999", "-1e9999", "-0e+9999", "null", "\"1\""] {
            let read = serde_json::from_str::<Score>(text);
            assert!(
                read.as_ref().map_or(true, |score| score.get() == 0.0),
                "{text}: {read:?}"
            );
        }
    }

    #[test]
    fn the_mean_of_finite_numbers_is_finite() {
        assert_eq!(mean([1e308, 1e308, 1e308].into_iter()), Some(1e308));
        assert_eq!(
            mean([f64::MAX, -f64::MAX, f64::MAX, f64::MAX].into_iter()),
            Some(f64::MAX / 2.0)
        );
        assert_eq!(
            mean([0.1, 0.2, 0.3].into_iter()),
            Some((0.1 + 0.2 + 0.3) / 3.0)
        );
        assert_eq!(mean(std::iter::empty()), None);
    }
}
