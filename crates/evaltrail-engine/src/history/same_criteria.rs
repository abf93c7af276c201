//! Whether two runs scored a set by the same criteria, and what else was the same.

use super::run_summary::{RunSource, RunSummary, SetCount};
use evaltrail_core::domain::AgentSpec;
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

    /// Whether the files of a set's agent were others than in another run, as far as they are known of both.
    pub fn has_other_agent_files(&self, other: &RunSummary, set: &Path) -> bool {
        let files = |run: &RunSummary| run.set(set)?.agent_files.clone();
        files(self).zip(files(other)).is_some_and(|(a, b)| a != b)
    }

    /// What else differs between this run and a later one for a set, beside the results and the commit, as far as it is known of
    /// both.
    pub fn changes_until(&self, later: &RunSummary, set: &Path) -> Vec<String> {
        let both = self.set(set).zip(later.set(set));
        let is_same_commit = self.commit.is_some() && self.commit == later.commit;
        let files = match is_same_commit {
            true => "the agent's files, without a commit",
            false => "the agent's files",
        };
        let changes = [
            (
                "the agent or how its tools are answered",
                both.is_some_and(|(a, b)| has_other_agent(a, b)),
            ),
            (files, self.has_other_agent_files(later, set)),
            ("the criteria", self.has_other_criteria(later, set)),
            ("the judge", both.is_some() && self.judge != later.judge),
        ];
        let differing = changes.into_iter().filter(|(_, differs)| *differs);
        let reported = both.map(|(a, b)| a.setup.changes_until(&b.setup).describe());
        differing
            .map(|(words, _)| words.to_string())
            .chain(reported.into_iter().flatten())
            .collect()
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
/// Whether a set was run by another agent. Which one made attempts that were scored again is not known.
fn has_other_agent(before: &SetCount, after: &SetCount) -> bool {
    let scored_again = AgentSpec::PriorAttempts.label();
    before.agent != after.agent && ![&before.agent, &after.agent].contains(&&scored_again)
}
