//! Statistics of a metric over cases and repeats. Errors are counted separately from the mean, never dropped.

use super::distribution::Distribution;
use crate::domain::{AttemptKey, AttemptSummary, Status};
use std::collections::HashMap;
use std::ops::Deref;

/// A metric over many attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// The metric, label included.
    pub metric: String,
    /// Mean of the valid scores, in which every case counts the same: the mean of the means of the cases.
    pub mean: Option<f64>,
    /// The mean with every error counted as 0.
    pub mean_errors_as_zero: Option<f64>,
    /// Sample standard deviation (n − 1) of the valid scores of all attempts; `None` below two values.
    pub std: Option<f64>,
    /// Lowest valid score.
    pub min: Option<f64>,
    /// Median of the valid scores.
    pub median: Option<f64>,
    /// 90th percentile of the valid scores, with linear interpolation.
    pub p90: Option<f64>,
    /// 95th percentile of the valid scores, with linear interpolation.
    pub p95: Option<f64>,
    /// The numbers of valid scores in intervals.
    pub distribution: Distribution,
    /// Attempts with a score.
    pub valid: usize,
    /// Attempts without a score because the agent or the metric failed.
    pub errored: usize,
    /// Attempts for which it was requested: valid, errored and not evaluated.
    pub total: usize,
    /// Attempts that passed it.
    pub passed: usize,
    /// Why the first attempt without a score has none; empty if there is none, or it errored before it was scored.
    pub why_none: String,
}

/// Vertex's metrics of how an agent ran, which its client adds to every summary.
const LATENCY: &str = "latency_in_seconds";
const FAILURE: &str = "failure";

/// Statistics of every metric of these attempts of one run, in the order in which the metrics first appear; after them,
/// those of Vertex's metrics of how the agent ran, where that is known.
pub fn aggregates<P>(attempts: impl IntoIterator<Item = P>) -> Vec<Aggregate>
where
    P: Deref<Target: AsRef<AttemptSummary>>,
{
    let of_run = |attempt: P| {
        let case = (*attempt).as_ref().key.case;
        (case, attempt)
    };
    aggregates_by_case(attempts.into_iter().map(of_run))
}

/// Like [`aggregates`], for attempts of several runs, each with a number that identifies its case.
pub fn aggregates_by_case<P>(attempts: impl IntoIterator<Item = (usize, P)>) -> Vec<Aggregate>
where
    P: Deref<Target: AsRef<AttemptSummary>>,
{
    let (mut found, mut of_agent) = (Aggregation::default(), Aggregation::default());
    for (case, attempt) in attempts {
        let attempt = (*attempt).as_ref();
        found.add_to_case(case, attempt);
        of_agent.add_agent(case, attempt);
    }
    let requested = found.finish();
    let is_new = |one: &Aggregate| requested.iter().all(|other| other.metric != one.metric);
    let added: Vec<Aggregate> = of_agent.finish().into_iter().filter(is_new).collect();
    requested.into_iter().chain(added).collect()
}

/// Collects the scores of attempts.
#[derive(Default)]
pub struct Aggregation {
    /// Aggregates with their scores, in the order in which they first appear.
    aggregates: Vec<(Aggregate, Scores)>,
    positions: HashMap<String, usize>,
}

/// The scores of a metric.
#[derive(Default)]
struct Scores {
    valid: Vec<f64>,
    /// The case of each valid score.
    cases: Vec<u32>,
    /// The case of each attempt without a score that errored.
    errored: Vec<u32>,
    /// Whether a case may have several attempts.
    has_repeats: bool,
}

impl Aggregation {
    /// Adds an attempt. It counts for a metric if it has a result of it, or if it failed before the requested metric was
    /// evaluated.
    pub fn add(&mut self, attempt: &AttemptSummary) {
        self.add_to_case(attempt.key.case, attempt);
    }

    fn add_to_case(&mut self, case: usize, attempt: &AttemptSummary) {
        let at = AttemptKey {
            case,
            attempt: attempt.key.attempt,
        };
        let has_errored = attempt.status == Status::Errored;
        for metric in &attempt.metrics {
            let (aggregate, scores) = self.entry(&metric.metric);
            aggregate.total += 1;
            aggregate.passed += usize::from(metric.status == Status::Passed);
            if metric.score.is_none() && aggregate.why_none.is_empty() {
                aggregate.why_none.clone_from(&metric.explanation);
            }
            scores.add(
                at,
                metric.score(),
                has_errored || metric.status == Status::Errored,
            );
        }
        let has = |name: &&String| attempt.metrics.iter().any(|metric| metric.metric == **name);
        for name in attempt.asked.iter().filter(|name| !has(name)) {
            let (aggregate, scores) = self.entry(name);
            aggregate.total += 1;
            scores.add(at, None, true);
        }
    }

    /// Adds how the agent ran, as Vertex's metrics. Nothing is added if it is not known.
    fn add_agent(&mut self, case: usize, attempt: &AttemptSummary) {
        let at = AttemptKey {
            case,
            attempt: attempt.key.attempt,
        };
        let failure = attempt.failed.map(|failed| f64::from(u8::from(failed)));
        // Stored summaries of older versions contain 0 where it was not known.
        let latency = attempt.latency_s.filter(|seconds| *seconds > 0.0);
        for (name, score) in [(LATENCY, latency), (FAILURE, failure)] {
            if score.is_some() || attempt.failed.is_some() {
                let (aggregate, scores) = self.entry(name);
                aggregate.total += 1;
                scores.add(at, score, attempt.status == Status::Errored);
            }
        }
    }

    /// The statistics of every metric, in the order in which the metrics first appeared.
    pub fn finish(self) -> Vec<Aggregate> {
        self.aggregates
            .into_iter()
            .map(|(aggregate, scores)| scores.describe(aggregate))
            .collect()
    }

    fn entry(&mut self, name: &str) -> (&mut Aggregate, &mut Scores) {
        let at = match self.positions.get(name) {
            Some(at) => *at,
            None => {
                let named = Aggregate {
                    metric: name.to_string(),
                    ..Aggregate::default()
                };
                self.positions
                    .insert(name.to_string(), self.aggregates.len());
                self.aggregates.push((named, Scores::default()));
                self.aggregates.len() - 1
            }
        };
        let (aggregate, scores) = &mut self.aggregates[at];
        (aggregate, scores)
    }
}

impl Scores {
    fn add(&mut self, at: AttemptKey, score: Option<f64>, errored: bool) {
        self.has_repeats |= at.attempt > 1;
        match score.filter(|score| score.is_finite()) {
            Some(score) => {
                self.valid.push(score);
                self.cases.push(at.case as u32);
            }
            None if errored => self.errored.push(at.case as u32),
            None => {}
        }
    }

    fn describe(mut self, counted: Aggregate) -> Aggregate {
        let mean = self.mean_of_cases(&[]);
        let mean_errors_as_zero = self.mean_of_cases(&self.errored);
        let of_attempts = super::measure::mean(self.valid.iter().copied());
        let std = of_attempts.and_then(|mean| deviation(&self.valid, mean));
        self.valid.sort_by(f64::total_cmp);
        Aggregate {
            mean,
            mean_errors_as_zero,
            std,
            min: self.valid.first().copied(),
            median: quantile(&self.valid, 0.5),
            p90: quantile(&self.valid, 0.9),
            p95: quantile(&self.valid, 0.95),
            distribution: Distribution::new(&self.valid),
            valid: self.valid.len(),
            errored: self.errored.len(),
            ..counted
        }
    }

    /// The mean of the means of the cases, with a score of 0 for each of `zeros`; `None` without scores. If all cases
    /// have as many scores, it is the mean of the scores.
    fn mean_of_cases(&self, zeros: &[u32]) -> Option<f64> {
        let zeros = zeros.iter().map(|case| (*case, 0.0));
        let scores = self
            .cases
            .iter()
            .copied()
            .zip(self.valid.iter().copied())
            .chain(zeros);
        let mut counts: HashMap<u32, u32> = HashMap::new();
        if self.has_repeats {
            scores
                .clone()
                .for_each(|(case, _)| *counts.entry(case).or_default() += 1);
        }
        let mut each = counts.values();
        let first = each.next();
        if each.all(|count| Some(count) == first) {
            return super::measure::mean(scores.map(|(_, score)| score));
        }
        let share = |(case, score): (u32, f64)| {
            score / counts.get(&case).map_or(1.0, |count| f64::from(*count))
        };
        let cases = counts.len() as f64;
        let sum: f64 = scores.clone().map(share).sum();
        Some(if sum.is_finite() {
            sum / cases
        } else {
            scores.map(|one| share(one) / cases).sum()
        })
    }
}

fn deviation(scores: &[f64], mean: f64) -> Option<f64> {
    if scores.len() < 2 {
        return None;
    }
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    // The squares of very large differences are not finite.
    Some((squares / (scores.len() - 1) as f64).sqrt()).filter(|deviation| deviation.is_finite())
}

/// Interpolates linearly between the two nearest values, as numpy and pandas do.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = share * last as f64;
    let (below, above) = (
        sorted[position.floor() as usize],
        sorted[position.ceil() as usize],
    );
    let (between, distance) = (position.fract(), above - below);
    Some(match distance.is_finite() {
        true => below + distance * between,
        false => below * (1.0 - between) + above * between,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Attempt, Criterion, MetricResult, Score};
    use crate::metrics::unscored;

    fn attempt(score: Option<f64>, status: Status) -> AttemptSummary {
        let metric = MetricResult {
            score: score.and_then(Score::new),
            ..unscored(&Criterion::new("m", Some(0.5)), 0, status, "")
        };
        let has_errored = status == Status::Errored;
        let (metrics, asked) = if has_errored {
            (vec![], vec!["m".into()])
        } else {
            (vec![metric], vec![])
        };
        Attempt {
            status,
            metrics,
            asked,
            ..Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "x",
            )
        }
        .summary()
    }

    #[test]
    fn aggregates_equal_reference_values() {
        let attempts: Vec<AttemptSummary> = [1.0, 2.0, 3.0, 4.0]
            .map(|score| attempt(Some(score), Status::Passed))
            .into();
        let found = aggregates(&attempts).remove(0);
        assert_eq!(
            (found.mean, found.median, found.min),
            (Some(2.5), Some(2.5), Some(1.0))
        );
        // numpy: percentile([1, 2, 3, 4], 90) and std(ddof=1).
        assert!(
            (found.p90.unwrap() - 3.7).abs() < 1e-12 && (found.p95.unwrap() - 3.85).abs() < 1e-12
        );
        assert!((found.std.unwrap() - 1.2909944487358056).abs() < 1e-12);
    }

    #[test]
    fn statistics_of_very_large_scores_are_finite() {
        let scores = [1e308, 1e308, 1e308, -1e308];
        let attempts: Vec<AttemptSummary> = scores
            .into_iter()
            .map(|score| attempt(Some(score), Status::Passed))
            .collect();
        let found = aggregates(&attempts).remove(0);
        let numbers = [
            found.mean,
            found.std,
            found.min,
            found.median,
            found.p90,
            found.p95,
        ];
        assert!(
            numbers.iter().flatten().all(|number| number.is_finite()),
            "{found:?}"
        );
        assert_eq!((found.mean, found.median), (Some(5e307), Some(1e308)));
        let cases: Vec<AttemptSummary> = [(0, 1), (1, 1), (1, 2)]
            .map(|(case, number)| of_case(case, number, 1e308))
            .into();
        assert_eq!(aggregates(&cases).remove(0).mean, Some(1e308));
    }

    #[test]
    fn two_scores_have_a_deviation() {
        let found =
            aggregates(&[1.0, 3.0].map(|score| attempt(Some(score), Status::Passed))).remove(0);
        assert_eq!(found.std, Some(std::f64::consts::SQRT_2));
    }

    #[test]
    fn errors_stay_in_the_denominator() {
        let attempts = [
            attempt(Some(1.0), Status::Passed),
            attempt(None, Status::Errored),
            attempt(None, Status::NotEvaluated),
        ];
        let found = aggregates(&attempts).remove(0);
        assert_eq!(
            (found.valid, found.errored, found.total, found.passed),
            (1, 1, 3, 1)
        );
        assert_eq!(
            (found.mean, found.std, found.mean_errors_as_zero),
            (Some(1.0), None, Some(0.5))
        );
        let unknown = aggregates(&[attempt(None, Status::NotEvaluated)]).remove(0);
        assert_eq!(
            (unknown.mean, unknown.mean_errors_as_zero),
            (None, None),
            "an attempt without a score does not count as zero"
        );
    }

    #[test]
    fn error_counts_only_for_requested_metrics() {
        let other = AttemptSummary {
            asked: vec!["n".into()],
            ..attempt(None, Status::Errored)
        };
        let found = aggregates(&[attempt(Some(1.0), Status::Passed), other]);
        let counts: Vec<_> = found
            .iter()
            .map(|one| (one.metric.as_str(), one.valid, one.errored, one.total))
            .collect();
        assert_eq!(counts, [("m", 1, 0, 1), ("n", 0, 1, 1)]);
        assert_eq!(found[0].mean_errors_as_zero, Some(1.0));
        assert_eq!(
            (found[1].mean, found[1].mean_errors_as_zero),
            (None, Some(0.0))
        );
    }
    fn of_case(case: usize, number: u32, score: f64) -> AttemptSummary {
        AttemptSummary {
            key: AttemptKey {
                case,
                attempt: number,
            },
            ..attempt(Some(score), Status::Passed)
        }
    }

    #[test]
    fn every_case_counts_the_same_in_the_mean() {
        let attempts = [
            of_case(0, 1, 1.0),
            of_case(1, 1, 0.0),
            of_case(1, 2, 0.0),
            of_case(1, 3, 0.3),
        ];
        let found = aggregates(&attempts).remove(0);
        assert!((found.mean.unwrap() - 0.55).abs() < 1e-12, "{found:?}");
        assert_eq!((found.valid, found.median), (4, Some(0.15)));
        let errored = AttemptSummary {
            key: AttemptKey {
                case: 0,
                attempt: 2,
            },
            ..attempt(None, Status::Errored)
        };
        let found = aggregates(attempts.iter().chain([&errored])).remove(0);
        assert!(
            (found.mean_errors_as_zero.unwrap() - 0.3).abs() < 1e-12,
            "{found:?}"
        );
        let equal = [
            of_case(0, 1, 0.1),
            of_case(0, 2, 0.2),
            of_case(1, 1, 0.3),
            of_case(1, 2, 0.7),
        ];
        let plain = super::super::measure::mean([0.1, 0.2, 0.3, 0.7].into_iter());
        assert_eq!(aggregates(&equal).remove(0).mean, plain);
    }

    /// Vertex's client has both in every summary. What is not known is no value, and no 0.
    #[test]
    fn latency_and_failure_are_summarised_if_known() {
        let ran = |latency_s, failed| {
            let blank = Attempt::blank(
                AttemptKey {
                    case: 0,
                    attempt: 1,
                },
                "x",
            );
            Attempt {
                latency_s,
                failed,
                status: Status::Passed,
                ..blank
            }
            .summary()
        };
        let means = |attempts: &[AttemptSummary]| -> Vec<(String, Option<f64>, usize, usize)> {
            let found = aggregates(attempts).into_iter();
            found
                .map(|one| (one.metric, one.mean, one.valid, one.total))
                .collect()
        };
        let live = [
            ran(Some(1.0), Some(false)),
            ran(Some(2.0), Some(true)),
            ran(None, Some(false)),
        ];
        assert_eq!(
            means(&live),
            [
                ("latency_in_seconds".to_string(), Some(1.5), 2, 3),
                ("failure".into(), Some(1.0 / 3.0), 3, 3)
            ]
        );
        assert_eq!(means(&[ran(None, None)]), [], "a row without these columns");
        let of_older_version = AttemptSummary {
            latency_s: Some(0.0),
            ..ran(None, None)
        };
        assert_eq!(
            means(&[of_older_version, ran(Some(0.0), None)]),
            [],
            "0 is not a measured latency"
        );
        assert_eq!(
            means(&[ran(Some(3.0), None)]),
            [("latency_in_seconds".to_string(), Some(3.0), 1, 1)]
        );
    }

    #[test]
    fn a_metric_without_any_score_has_a_reason() {
        let none = unscored(
            &Criterion::new("bleu", None),
            0,
            Status::NotEvaluated,
            "no reference",
        );
        let blank = Attempt::blank(
            AttemptKey {
                case: 0,
                attempt: 1,
            },
            "x",
        );
        let found = aggregates(&[Attempt {
            metrics: vec![none],
            ..blank
        }
        .summary()])
        .remove(0);
        assert_eq!(
            (found.valid, found.total, found.why_none.as_str()),
            (0, 1, "no reference")
        );
    }
}
