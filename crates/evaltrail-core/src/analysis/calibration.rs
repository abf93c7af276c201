//! How far a judge can be believed: how often it finds what people find, with the uncertainty of few labels, and pass rates that are
//! corrected for its errors.
//!
//! A label is the verdict of a person on something that the judge gave a verdict on as well. The true positive rate is the share of
//! what people accept that the judge accepts, the true negative rate the share of what people refuse that the judge refuses. Labels
//! of one class say nothing about the other: a judge that accepts everything agrees with people wherever they accept.

use super::repeats::{PassCount, wilson_interval};
use crate::metrics::Agreement;

/// The quantile of a two-sided interval of 95 %.
const Z: f64 = 1.959_963_984_540_054;
/// More labels are not asked for.
const MOST_LABELS: usize = 5_000;

/// The lower bound that both rates must reach, so that a judge counts as calibrated.
pub const LEAST_RATE: f64 = 0.8;

/// What labels say about a judge's verdicts on one metric or rubric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Of what people accept, how much the judge accepts.
    pub accepted: PassCount,
    /// Of what people refuse, how much the judge refuses.
    pub refused: PassCount,
}

/// Whether a judge's verdicts can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrationVerdict {
    /// The lower bounds of both rates are at least [`LEAST_RATE`].
    Calibrated,
    /// A rate is too low, or there are too few labels: how many more of each class would be enough at the rates so far. `None`:
    /// no number would.
    NotCalibrated {
        /// Of labels that accept.
        accepting: Option<usize>,
        /// Of labels that refuse.
        refusing: Option<usize>,
    },
    /// There is no label of one class, so that a rate is not known at all.
    NotMeasurable,
}

/// A pass rate that is corrected for the errors of the judge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrectedRate {
    /// The estimate, from 0 to 1.
    pub rate: f64,
    /// The interval that contains the true rate with about 95 % confidence.
    pub interval: (f64, f64),
}

impl Calibration {
    /// What the verdicts of people and of a judge say. Labels without a verdict of the judge are left out.
    pub fn new(of: &Agreement) -> Calibration {
        let count = |passed: u32, others: u32| PassCount {
            passed: passed as usize,
            of: (passed + others) as usize,
        };
        Calibration {
            accepted: count(of.both_yes, of.judge_no),
            refused: count(of.both_no, of.judge_yes),
        }
    }

    /// The share of labels with which a judge would agree that always gives the more frequent verdict; `None` without labels.
    pub fn constant_agreement(&self) -> Option<f64> {
        let all = self.accepted.of + self.refused.of;
        (all > 0).then(|| self.accepted.of.max(self.refused.of) as f64 / all as f64)
    }

    /// Whether the judge's verdicts can be believed.
    pub fn verdict(&self) -> CalibrationVerdict {
        if self.accepted.of == 0 || self.refused.of == 0 {
            return CalibrationVerdict::NotMeasurable;
        }
        match (missing_labels(self.accepted), missing_labels(self.refused)) {
            (Some(0), Some(0)) => CalibrationVerdict::Calibrated,
            (accepting, refusing) => CalibrationVerdict::NotCalibrated {
                accepting,
                refusing,
            },
        }
    }

    /// The rate at which people would accept what the judge accepted so often. `None` if a rate of the judge is not known, or if it
    /// is no better than chance, and if nothing was judged.
    ///
    /// Definition: the estimator of Rogan and Gladen (1978), with the interval of Lang and Reiczigel (2014), which adds labels
    /// (Agresti and Coull) so that it holds for few of them.
    pub fn corrected_rate(&self, accepted: PassCount) -> Option<CorrectedRate> {
        let (sensitivity, specificity) = (self.accepted.rate()?, self.refused.rate()?);
        let judged = accepted.rate()?;
        if sensitivity + specificity <= 1.0 {
            return None;
        }
        let estimate = (judged + specificity - 1.0) / (sensitivity + specificity - 1.0);
        let n = accepted.of as f64 + Z * Z;
        let p = (accepted.passed as f64 + Z * Z / 2.0) / n;
        let with_two = |count: PassCount| {
            let of = count.of as f64 + 2.0;
            ((count.passed as f64 + 1.0) / of, of)
        };
        let ((se, of_se), (sp, of_sp)) = (with_two(self.accepted), with_two(self.refused));
        let scale = se + sp - 1.0;
        if scale <= 0.0 {
            return None;
        }
        let middle = (p + sp - 1.0) / scale;
        let (var_se, var_sp) = (se * (1.0 - se) / of_se, sp * (1.0 - sp) / of_sp);
        let shift = 2.0 * Z * Z * (middle * var_se - (1.0 - middle) * var_sp);
        let variance =
            p * (1.0 - p) / n + middle * middle * var_se + (1.0 - middle) * (1.0 - middle) * var_sp;
        let half = Z * variance.sqrt() / scale;
        let inside = |rate: f64| rate.clamp(0.0, 1.0);
        Some(CorrectedRate {
            rate: inside(estimate),
            interval: (inside(middle + shift - half), inside(middle + shift + half)),
        })
    }
}

/// How many more labels of a class would bring the lower bound of its rate to [`LEAST_RATE`], if the judge goes on as so far; 0 if it
/// is there, `None` if no number would.
fn missing_labels(count: PassCount) -> Option<usize> {
    let rate = count.rate()?;
    let is_enough = |labels: usize| wilson_interval(rate, labels).0 >= LEAST_RATE;
    let enough = (count.of..=MOST_LABELS.max(count.of)).find(|labels| is_enough(*labels))?;
    Some(enough - count.of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    fn count(passed: usize, of: usize) -> PassCount {
        PassCount { passed, of }
    }

    fn calibration(accepted: (usize, usize), refused: (usize, usize)) -> Calibration {
        Calibration {
            accepted: count(accepted.0, accepted.1),
            refused: count(refused.0, refused.1),
        }
    }

    #[test]
    fn both_classes_need_labels() {
        use CalibrationVerdict::{Calibrated, NotCalibrated, NotMeasurable};
        assert_eq!(calibration((50, 50), (0, 0)).verdict(), NotMeasurable);
        assert_eq!(calibration((0, 0), (0, 0)).verdict(), NotMeasurable);
        // The lower bound of 16 of 16 is 0.806.
        assert_eq!(calibration((16, 16), (16, 16)).verdict(), Calibrated);
        let few = NotCalibrated {
            accepting: Some(1),
            refusing: Some(0),
        };
        assert_eq!(calibration((15, 15), (40, 41)).verdict(), few);
        let wrong = NotCalibrated {
            accepting: Some(0),
            refusing: None,
        };
        assert_eq!(calibration((100, 100), (75, 100)).verdict(), wrong);
    }

    #[test]
    fn constant_judge_is_not_calibrated() {
        let constant = calibration((90, 90), (0, 10));
        assert_eq!(constant.constant_agreement(), Some(0.9));
        assert!(matches!(
            constant.verdict(),
            CalibrationVerdict::NotCalibrated { refusing: None, .. }
        ));
        assert_eq!(
            constant.corrected_rate(count(70, 100)),
            None,
            "no better than chance"
        );
    }

    #[test]
    fn correction_is_that_of_rogan_and_gladen() {
        let corrected = calibration((90, 100), (80, 100))
            .corrected_rate(count(550, 1000))
            .unwrap();
        assert!((corrected.rate - 0.5).abs() < 1e-12, "{corrected:?}");
        let all = calibration((30, 30), (30, 30))
            .corrected_rate(count(10, 10))
            .unwrap();
        assert_eq!((all.rate, all.interval.1), (1.0, 1.0));
        assert_eq!(
            calibration((3, 4), (0, 0)).corrected_rate(count(1, 2)),
            None
        );
    }

    /// 1,000 simulated runs with judges of any quality and any number of labels: the true rate is in the interval in at least 95 %.
    #[test]
    fn true_rate_is_in_the_interval() {
        let mut random = StdRng::seed_from_u64(11);
        let mut inside = 0;
        for _ in 0..1000 {
            let mut between = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
            let (truth, sensitivity, specificity) =
                (between(0.3, 0.98), between(0.75, 0.98), between(0.75, 0.98));
            let (labels, judged) = (between(20.0, 100.0), between(50.0, 300.0));
            let mut draw = |of: f64, rate: f64| {
                let of = of as usize;
                let passed = (0..of).filter(|_| random.random_bool(rate)).count();
                count(passed, of)
            };
            let known = Calibration {
                accepted: draw(labels, sensitivity),
                refused: draw(labels, specificity),
            };
            let rate = truth * sensitivity + (1.0 - truth) * (1.0 - specificity);
            let found = known.corrected_rate(draw(judged, rate)).unwrap();
            inside += usize::from(found.interval.0 <= truth && truth <= found.interval.1);
        }
        assert!(inside >= 950, "{inside}");
    }
}
