//! Statistics of a metric over cases and repeats. Errors are counted separately from the mean, never dropped.

use crate::domain::{AttemptSummary, Status};
use std::collections::HashMap;
use std::ops::Deref;

/// A metric over many attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// The metric, label included.
    pub metric: String,
    /// Mean of the valid scores.
    pub mean: Option<f64>,
    /// The mean with every error counted as 0.
    pub mean_errors_as_zero: Option<f64>,
    /// Sample standard deviation (n − 1); `None` below two values.
    pub std: Option<f64>,
    /// Lowest valid score.
    pub min: Option<f64>,
    /// Median of the valid scores.
    pub median: Option<f64>,
    /// 90th percentile of the valid scores, with linear interpolation.
    pub p90: Option<f64>,
    /// 95th percentile of the valid scores, with linear interpolation.
    pub p95: Option<f64>,
    /// Attempts with a score.
    pub valid: usize,
    /// Attempts without a score because the agent or the metric failed.
    pub errored: usize,
    /// Attempts for which it was requested: valid, errored and not evaluated.
    pub total: usize,
    /// Attempts that passed it.
    pub passed: usize,
}

/// Statistics of every metric of these attempts, in the order in which the metrics first appear.
pub fn aggregates<P>(attempts: impl IntoIterator<Item = P>) -> Vec<Aggregate>
where
    P: Deref<Target: AsRef<AttemptSummary>>,
{
    let mut found = Aggregation::default();
    attempts.into_iter().for_each(|attempt| found.add((*attempt).as_ref()));
    found.finish()
}

/// Collects the scores of attempts.
#[derive(Default)]
pub struct Aggregation {
    /// Aggregates with their scores, in the order in which they first appear.
    aggregates: Vec<(Aggregate, Vec<f64>)>,
    places: HashMap<String, usize>,
}

impl Aggregation {
    /// Adds an attempt. It counts for a metric if it has a result of it, or if it failed before the requested metric was
    /// evaluated.
    pub fn add(&mut self, attempt: &AttemptSummary) {
        let broke = attempt.status == Status::Errored;
        for metric in &attempt.metrics {
            let score = metric.score.filter(|score| score.is_finite());
            let (aggregate, scores) = self.of(&metric.metric);
            aggregate.total += 1;
            aggregate.passed += usize::from(metric.status == Status::Passed);
            let errored = score.is_none() && (broke || metric.status == Status::Errored);
            aggregate.errored += usize::from(errored);
            scores.extend(score);
        }
        let has = |name: &&String| attempt.metrics.iter().any(|metric| metric.metric == **name);
        for name in attempt.asked.iter().filter(|name| !has(name)) {
            let (aggregate, _) = self.of(name);
            aggregate.total += 1;
            aggregate.errored += 1;
        }
    }

    /// The statistics of every metric, in the order in which the metrics first appeared.
    pub fn finish(self) -> Vec<Aggregate> {
        self.aggregates.into_iter().map(|(aggregate, scores)| described(scores).named(aggregate)).collect()
    }

    fn of(&mut self, name: &str) -> &mut (Aggregate, Vec<f64>) {
        let at = match self.places.get(name) {
            Some(at) => *at,
            None => {
                let named = Aggregate { metric: name.to_string(), ..Aggregate::default() };
                self.places.insert(name.to_string(), self.aggregates.len());
                self.aggregates.push((named, Vec::new()));
                self.aggregates.len() - 1
            }
        };
        &mut self.aggregates[at]
    }
}

impl Aggregate {
    fn named(self, from: Aggregate) -> Aggregate {
        let zeros =
            self.mean.map(|mean| mean * self.valid as f64 / (self.valid + from.errored).max(1) as f64);
        let all_broken = (self.valid == 0 && from.errored > 0).then_some(0.0);
        Aggregate {
            metric: from.metric,
            passed: from.passed,
            errored: from.errored,
            total: from.total,
            mean_errors_as_zero: zeros.or(all_broken),
            ..self
        }
    }
}

fn described(mut scores: Vec<f64>) -> Aggregate {
    let mean = super::measure::mean(scores.iter().copied());
    scores.sort_by(f64::total_cmp);
    Aggregate {
        std: mean.and_then(|mean| deviation(&scores, mean)),
        min: scores.first().copied(),
        median: quantile(&scores, 0.5),
        p90: quantile(&scores, 0.9),
        p95: quantile(&scores, 0.95),
        valid: scores.len(),
        mean,
        ..Aggregate::default()
    }
}

fn deviation(scores: &[f64], mean: f64) -> Option<f64> {
    if scores.len() < 2 {
        return None;
    }
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    Some((squares / (scores.len() - 1) as f64).sqrt())
}

/// Interpolates linearly between the two nearest values, as numpy and pandas do.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Attempt, AttemptKey, Criterion, MetricResult};
    use crate::metrics::unscored;

    fn attempt(score: Option<f64>, status: Status) -> AttemptSummary {
        let metric = MetricResult { score, ..unscored(&Criterion::new("m", Some(0.5)), 0, status, "") };
        let broke = status == Status::Errored;
        let (metrics, asked) = if broke { (vec![], vec!["m".into()]) } else { (vec![metric], vec![]) };
        Attempt { status, metrics, asked, ..Attempt::blank(AttemptKey { case: 0, attempt: 1 }, "x") }
            .summary()
    }

    #[test]
    fn known_numbers() {
        let attempts: Vec<AttemptSummary> =
            [1.0, 2.0, 3.0, 4.0].map(|score| attempt(Some(score), Status::Passed)).into();
        let found = aggregates(&attempts).remove(0);
        assert_eq!((found.mean, found.median, found.min), (Some(2.5), Some(2.5), Some(1.0)));
        // numpy: percentile([1, 2, 3, 4], 90) and std(ddof=1).
        assert!((found.p90.unwrap() - 3.7).abs() < 1e-12 && (found.p95.unwrap() - 3.85).abs() < 1e-12);
        assert!((found.std.unwrap() - 1.2909944487358056).abs() < 1e-12);
    }

    #[test]
    fn two_scores_have_a_deviation() {
        let found = aggregates(&[1.0, 3.0].map(|score| attempt(Some(score), Status::Passed))).remove(0);
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
        assert_eq!((found.valid, found.errored, found.total, found.passed), (1, 1, 3, 1));
        assert_eq!((found.mean, found.std, found.mean_errors_as_zero), (Some(1.0), None, Some(0.5)));
        let unknown = aggregates(&[attempt(None, Status::NotEvaluated)]).remove(0);
        assert_eq!(
            (unknown.mean, unknown.mean_errors_as_zero),
            (None, None),
            "an attempt without a score does not count as zero"
        );
    }

    #[test]
    fn an_error_counts_for_what_was_asked_there_alone() {
        let other = AttemptSummary { asked: vec!["n".into()], ..attempt(None, Status::Errored) };
        let found = aggregates(&[attempt(Some(1.0), Status::Passed), other]);
        let counts: Vec<_> =
            found.iter().map(|one| (one.metric.as_str(), one.valid, one.errored, one.total)).collect();
        assert_eq!(counts, [("m", 1, 0, 1), ("n", 0, 1, 1)]);
        assert_eq!(found[0].mean_errors_as_zero, Some(1.0));
        assert_eq!((found[1].mean, found[1].mean_errors_as_zero), (None, Some(0.0)));
    }
}
