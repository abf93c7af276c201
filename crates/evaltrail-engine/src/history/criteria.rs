//! Hashes of criteria, and of how metrics are computed.

use evaltrail_core::domain::{AttemptSummary, Criterion, criteria_by_metric};
use std::collections::{BTreeMap, BTreeSet};

/// A hash of criteria with all their options. Their order decides nothing.
pub(crate) fn criteria_id(criteria: &[Criterion]) -> u64 {
    hash_of(&criteria_by_metric(criteria))
}

/// For each metric, a hash of how it is computed: of its criterion without the threshold, which changes no score.
pub(super) fn scoring_of(criteria: &[Criterion]) -> BTreeMap<String, u64> {
    let scoring = |criterion: &Criterion| (criterion.metric.clone(), hash_of(&criterion.scoring()));
    criteria.iter().map(scoring).collect()
}

fn hash_of<T: serde::Serialize + ?Sized>(value: &T) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&serde_json::to_vec(value).unwrap_or_default())
}

/// The metrics that decided attempts, with their thresholds: what is also known of ADK's results.
#[derive(Default)]
pub(super) struct DecidingMetrics(BTreeSet<String>);

impl DecidingMetrics {
    pub(super) fn add(&mut self, attempt: &AttemptSummary) {
        for metric in &attempt.metrics {
            let name = metric.metric.split(':').next().unwrap_or_default();
            self.0.extend(
                metric
                    .threshold
                    .map(|threshold| format!("{name} {threshold}")),
            );
        }
    }

    pub(super) fn finish(self) -> Vec<String> {
        self.0.into_iter().collect()
    }
}

/// Numbers the criteria of runs: equal criteria have equal numbers.
#[derive(Debug, Default)]
pub struct CriteriaNumbers<T> {
    /// The first run with each number.
    first: Vec<T>,
}

impl<T> CriteriaNumbers<T> {
    /// The number of a run. `is_other` tells whether two runs have other criteria.
    pub fn number(&mut self, run: T, is_other: impl Fn(&T, &T) -> bool) -> u32 {
        let known = self.first.iter().position(|first| !is_other(first, &run));
        known.unwrap_or_else(|| {
            self.first.push(run);
            self.first.len() - 1
        }) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threshold_changes_criteria_but_not_scoring() {
        let criterion = |threshold: f64, option: &str| {
            let mut criterion = Criterion::new("m", Some(threshold));
            criterion
                .options
                .insert("threshold".into(), threshold.into());
            criterion.options.insert("match_type".into(), option.into());
            [criterion]
        };
        let (a, b, c) = (
            criterion(1.0, "EXACT"),
            criterion(0.5, "EXACT"),
            criterion(1.0, "ANY_ORDER"),
        );
        assert!(criteria_id(&a) != criteria_id(&b) && criteria_id(&a) != criteria_id(&c));
        assert_eq!(scoring_of(&a), scoring_of(&b));
        assert_ne!(scoring_of(&a), scoring_of(&c));
    }

    #[test]
    fn the_order_of_criteria_does_not_matter() {
        let [a, b] = ["a", "b"].map(|name| Criterion::new(name, Some(0.5)));
        assert_eq!(criteria_id(&[a.clone(), b.clone()]), criteria_id(&[b, a]));
    }

    #[test]
    fn recurring_criteria_have_the_same_number() {
        let mut numbers = CriteriaNumbers::default();
        let found: Vec<u32> = ["x", "y", "x", "x", "z"]
            .map(|run| numbers.number(run, |a, b| a != b))
            .into();
        assert_eq!(found, [0, 1, 0, 0, 2]);
    }
}
