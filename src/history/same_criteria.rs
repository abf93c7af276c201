//! Whether two runs scored a set by the same criteria.

use super::index::{RunHead, RunSource};
use std::path::Path;

/// What is known of the criteria of a set: a hash of them, unless ADK ran them, and the metrics that decided.
type KnownCriteria<'a> = (Option<u64>, &'a [String]);

impl RunHead {
    /// Whether a set was scored by other criteria than in another run. With a result of ADK, metrics and thresholds are
    /// compared, because it has no more.
    pub fn has_other_criteria(&self, other: &RunHead, set: &Path) -> bool {
        match (self.known_criteria(set), other.known_criteria(set)) {
            (Some((Some(a), _)), Some((Some(b), _))) => a != b,
            (Some((_, a)), Some((_, b))) => a != b && !a.is_empty() && !b.is_empty(),
            _ => false,
        }
    }

    /// Whether a metric was computed in another way than in another run, as far as that is known of both.
    pub fn has_other_scoring(&self, other: &RunHead, set: &Path, metric: &str) -> bool {
        let scoring = |head: &RunHead| head.set(set)?.scoring.get(metric).copied();
        scoring(self).zip(scoring(other)).is_some_and(|(a, b)| a != b)
    }

    fn known_criteria(&self, set: &Path) -> Option<KnownCriteria<'_>> {
        match &self.source {
            RunSource::Evaltrail { .. } => {
                let counted = self.set(set)?;
                Some((Some(counted.criteria_id), &counted.results.criteria))
            }
            RunSource::Adk { results, .. } => Some((None, &results.criteria)),
        }
    }
}
