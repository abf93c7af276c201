//! Whether two runs scored a set by the same criteria.

use super::run_summary::{RunSource, RunSummary};
use std::path::Path;

/// What is known of the criteria of a set: a hash of them, which is comparable with that of a run of the same program, and
/// the metrics that decided with their thresholds.
struct KnownCriteria<'a> {
    is_adk: bool,
    id: u64,
    deciding: &'a [String],
}

impl RunSummary {
    /// Whether a set was scored by other criteria than in another run. Of a run of evaltrail and a result of ADK, metrics
    /// and thresholds are compared, because ADK writes the options of a criterion in its own form.
    pub fn has_other_criteria(&self, other: &RunSummary, set: &Path) -> bool {
        match (self.known_criteria(set), other.known_criteria(set)) {
            (Some(a), Some(b)) if a.is_adk == b.is_adk => a.id != b.id,
            (Some(a), Some(b)) => {
                a.deciding != b.deciding && !a.deciding.is_empty() && !b.deciding.is_empty()
            }
            _ => false,
        }
    }

    /// Whether a metric was computed in another way than in another run, as far as that is known of both.
    pub fn has_other_scoring(&self, other: &RunSummary, set: &Path, metric: &str) -> bool {
        let scoring = |run: &RunSummary| run.set(set)?.scoring.get(metric).copied();
        scoring(self)
            .zip(scoring(other))
            .is_some_and(|(a, b)| a != b)
    }

    fn known_criteria(&self, set: &Path) -> Option<KnownCriteria<'_>> {
        match &self.source {
            RunSource::Evaltrail { .. } => {
                let counted = self.set(set)?;
                let (id, deciding) = (counted.criteria_id, counted.results.criteria.as_slice());
                Some(KnownCriteria {
                    is_adk: false,
                    id,
                    deciding,
                })
            }
            RunSource::Adk {
                results,
                criteria_id,
                ..
            } => Some(KnownCriteria {
                is_adk: true,
                id: *criteria_id,
                deciding: &results.criteria,
            }),
        }
    }
}
