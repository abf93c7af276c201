//! Statistics of a metric over cases and repeats. Errors are counted beside the mean, never dropped.

use crate::domain::{Attempt, Status};
use std::collections::HashMap;

/// A metric over many attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aggregate {
    /// The metric, label included.
    pub metric: String,
    /// Mean of the valid scores.
    pub mean: Option<f64>,
    /// The mean with every error counted as 0.
    pub mean_errors_as_zero: Option<f64>,
    /// Sample standard deviation (n − 1); nothing below two values.
    pub std: Option<f64>,
    /// Lowest valid score.
    pub min: Option<f64>,
    /// The middle one.
    pub median: Option<f64>,
    /// What nine of ten do not exceed (linear between neighbours).
    pub p90: Option<f64>,
    /// What 19 of 20 do not exceed.
    pub p95: Option<f64>,
    /// Attempts with a score.
    pub valid: usize,
    /// Attempts whose agent or metric broke.
    pub errored: usize,
    /// Attempts that it was asked of: valid, errored and not evaluated.
    pub total: usize,
    /// Attempts that passed it.
    pub passed: usize,
}

/// Statistics of every metric of these attempts, in the order they first appear.
pub fn aggregates<'a>(attempts: impl IntoIterator<Item = &'a Attempt>) -> Vec<Aggregate> {
    let mut found: Vec<(Aggregate, Vec<f64>)> = Vec::new();
    let mut place: HashMap<&str, usize> = HashMap::new();
    let (mut all, mut broken) = (0, 0);
    for attempt in attempts {
        all += 1;
        broken += usize::from(attempt.status == Status::Errored);
        for metric in &attempt.metrics {
            let at = *place.entry(&metric.metric).or_insert_with(|| {
                let named = Aggregate { metric: metric.metric.clone(), ..Aggregate::default() };
                found.push((named, Vec::new()));
                found.len() - 1
            });
            let (aggregate, scores) = &mut found[at];
            scores.extend(metric.score.filter(|score| score.is_finite()));
            aggregate.passed += usize::from(metric.status == Status::Passed);
            let here = attempt.status != Status::Errored;
            aggregate.errored += usize::from(here && metric.status == Status::Errored);
        }
    }
    let finish = |(aggregate, scores): (Aggregate, Vec<f64>)| {
        let errored = (aggregate.errored + broken).min(all.max(scores.len()) - scores.len());
        Aggregate { errored, total: all, ..described(scores) }.named(aggregate)
    };
    found.into_iter().map(finish).collect()
}

impl Aggregate {
    fn named(self, from: Aggregate) -> Aggregate {
        let zeros =
            self.mean.map(|mean| mean * self.valid as f64 / (self.valid + self.errored).max(1) as f64);
        let all_broken = (self.valid == 0 && self.errored > 0).then_some(0.0);
        Aggregate {
            metric: from.metric,
            passed: from.passed,
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

/// Linear between the two nearest, as numpy and pandas have it.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttemptKey, Criterion, MetricResult};
    use crate::metrics::unscored;

    fn attempt(score: Option<f64>, status: Status) -> Attempt {
        let metric = MetricResult { score, ..unscored(&Criterion::new("m", Some(0.5)), 0, status, "") };
        let metrics = if status == Status::Errored { vec![] } else { vec![metric] };
        Attempt { status, metrics, ..Attempt::blank(AttemptKey { case: 0, attempt: 1 }, "x") }
    }

    #[test]
    fn known_numbers() {
        let attempts: Vec<Attempt> =
            [1.0, 2.0, 3.0, 4.0].map(|score| attempt(Some(score), Status::Passed)).into();
        let found = aggregates(&attempts).remove(0);
        assert_eq!((found.mean, found.median, found.min), (Some(2.5), Some(2.5), Some(1.0)));
        // numpy: percentile([1, 2, 3, 4], 90) and std(ddof=1).
        assert!((found.p90.unwrap() - 3.7).abs() < 1e-12 && (found.p95.unwrap() - 3.85).abs() < 1e-12);
        assert!((found.std.unwrap() - 1.2909944487358056).abs() < 1e-12);
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
    }
}
