//! What the list of runs contains of each run.

use evaltrail_core::analysis::RunSetup;
use evaltrail_core::domain::{JudgeUsage, RunBy, RunRef, Shard, Totals, stored_path};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A summary of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The run's id, or the id of ADK's result.
    pub run_id: String,
    /// The run's folder, or the result file.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// When the run started, in RFC 3339; for ADK's results, when they were written.
    pub started: String,
    /// The version-control commit of the workspace when the run was planned, if it is known.
    pub commit: Option<String>,
    /// The origin of the run.
    pub source: RunSource,
    /// The labels of its agents; empty for ADK's results, which do not name one.
    pub agent: String,
    /// The metrics with their thresholds, as "tool_trajectory_avg_score 1"; empty for ADK's results.
    pub criteria: Vec<String>,
    /// The judge of the run, if it was not left to the criteria.
    pub judge: Option<String>,
    /// Seconds from its start to the last response of an agent, without the time between the parts of a run that was resumed;
    /// `None` without an attempt that ended, and for ADK's results. Of a merged run, which machines may have run at different
    /// times, the span over all of them.
    pub duration_s: Option<f64>,
    /// What its judges spent, if one was used.
    pub spent: Option<JudgeUsage>,
    /// The only turn that was run, from 1; all turns when `None`.
    pub turn: Option<u32>,
    /// The number of planned attempts.
    pub attempts: usize,
    /// The numbers of attempts that ended, by status.
    pub totals: Totals,
    /// Whether the run is marked as complete.
    pub ended: bool,
    /// The run's number in the order of this user's runs; 0 for all others.
    pub number: u64,
    /// The part of a larger run that this one is; `None` for a whole run.
    pub shard: Option<Shard>,
    /// The ids of the runs from which this one was merged.
    pub merged: Vec<String>,
    /// Whether a run that was merged from this one is there too: it has the same results.
    #[serde(skip)]
    pub is_in_merged: bool,
}

/// The origin of a run, and its cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunSource {
    /// evaltrail.
    Evaltrail {
        /// The files, with the numbers of their cases and their results.
        sets: Vec<SetCount>,
        /// Whether it is not signed with this user's key: it was recorded elsewhere, or added by someone else.
        is_foreign: bool,
    },
    /// ADK.
    Adk {
        /// The agent's folder.
        #[serde(with = "stored_path")]
        app_dir: PathBuf,
        /// The set's id in the result.
        set_id: String,
        /// Whether evaltrail wrote the file at the end of a run, which is not here any more.
        by_evaltrail: bool,
        /// The id of that run, if the file contains it.
        copied_run: Option<String>,
        /// The results.
        results: SetResults,
        /// The number of cases with a result.
        cases: usize,
        /// A hash of the criteria that decided, with all their options.
        criteria_id: u64,
    },
}

/// The results of a set in a run, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SetResults {
    /// The numbers of attempts that ended, by status.
    pub totals: Totals,
    /// The mean over the cases of the share of their evaluated attempts that passed; `None` if none was evaluated.
    pub pass_rate: Option<f64>,
    /// The mean of each metric's scores, in the order in which the metrics first appear.
    pub metrics: Vec<MetricMean>,
    /// The metrics that decided, with their thresholds, in alphabetical order.
    pub criteria: Vec<String>,
}

/// The mean of the scores of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricMean {
    /// The criterion's metric, label included.
    pub metric: String,
    /// The mean over the cases of the means of their attempts with a score; `None` if no attempt has one.
    pub mean: Option<f64>,
    /// The number of attempts with a score.
    pub scored: usize,
}

/// A file in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetCount {
    /// The file.
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// The number of its cases in the plan.
    pub cases: usize,
    /// Whether all cases of the file were run to their end; `None` if it is not known.
    pub is_whole: Option<bool>,
    /// The label of its agent.
    pub agent: String,
    /// A hash of the files of its agent, if they are known.
    pub agent_files: Option<String>,
    /// What its agents reported of themselves.
    pub setup: RunSetup,
    /// Its metrics with their thresholds.
    pub criteria: Vec<String>,
    /// A hash of its criteria with all their options.
    pub criteria_id: u64,
    /// For each metric, a hash of how it is computed, without the threshold.
    pub scoring: BTreeMap<String, u64>,
    /// The results of its cases.
    pub results: SetResults,
}

impl RunSummary {
    /// The number of sets of the run.
    pub fn set_count(&self) -> usize {
        match &self.source {
            RunSource::Evaltrail { sets, .. } => sets.len(),
            RunSource::Adk { .. } => 1,
        }
    }

    /// What identifies the sets of the run: their files, or in a result of ADK the agent's folder and the set's id.
    pub fn set_keys(&self) -> BTreeSet<(&Path, &str)> {
        match &self.source {
            RunSource::Evaltrail { sets, .. } => {
                sets.iter().map(|set| (set.path.as_path(), "")).collect()
            }
            RunSource::Adk {
                app_dir, set_id, ..
            } => BTreeSet::from([(app_dir.as_path(), set_id.as_str())]),
        }
    }

    /// The reference to the run that its results contain.
    pub fn run_ref(&self) -> RunRef {
        let by = match &self.source {
            RunSource::Adk { .. } => RunBy::Adk,
            RunSource::Evaltrail {
                is_foreign: true, ..
            } => RunBy::Foreign,
            _ => RunBy::Evaltrail,
        };
        RunRef {
            id: self.run_id.clone(),
            started: self.started.clone(),
            by,
        }
    }

    /// A name for a column: the beginning of the id; for a result of ADK, whose id begins with the name of the application, the
    /// set without its folders.
    pub fn short_name(&self) -> String {
        match &self.source {
            RunSource::Adk { set_id, .. } => {
                let is_end = |part: &&str| !part.is_empty();
                set_id.rsplit('/').find(is_end).unwrap_or(set_id).into()
            }
            RunSource::Evaltrail { .. } => self.run_id.chars().take(12).collect(),
        }
    }

    /// A set of the run; `None` for results of ADK.
    pub fn set(&self, path: &Path) -> Option<&SetCount> {
        match &self.source {
            RunSource::Evaltrail { sets, .. } => sets.iter().find(|set| set.path == path),
            RunSource::Adk { .. } => None,
        }
    }

    /// The hash of the criteria by which a set was scored ([`crate::runner::current_criteria_id`]); `None` if it is not known.
    pub fn criteria_of(&self, set: &Path) -> Option<u64> {
        let id = self.set(set)?.criteria_id;
        (id != 0).then_some(id)
    }

    /// Whether it is a run of evaltrail that is signed with this user's key.
    pub fn is_ours(&self) -> bool {
        matches!(
            self.source,
            RunSource::Evaltrail {
                is_foreign: false,
                ..
            }
        )
    }

    /// Whether it is a run of evaltrail that is not signed with this user's key.
    pub fn is_foreign(&self) -> bool {
        matches!(
            self.source,
            RunSource::Evaltrail {
                is_foreign: true,
                ..
            }
        )
    }

    /// Whether other commands can use it: it is one of this user's runs, or a result of ADK.
    pub fn is_usable(&self) -> bool {
        !self.is_foreign()
    }

    /// Whether it is part of trends: it is not foreign, not part of a merged run, and of all turns.
    pub fn is_in_trends(&self) -> bool {
        !self.is_foreign() && !self.is_in_merged && self.turn.is_none()
    }

    /// Whether it is complete and no result is missing, so that it cannot be resumed.
    pub fn is_finished(&self) -> bool {
        self.ended && self.totals.ended() >= self.attempts
    }

    /// Whether it is a run of evaltrail, signed or not.
    pub fn is_evaltrail(&self) -> bool {
        matches!(self.source, RunSource::Evaltrail { .. })
    }
}
