//! Reads the outcomes of runs, from the cache or from the runs themselves.

use super::adk_results::open_result;
use super::index::{History, stamp_of};
use super::latest::{HistorySet, matching};
use super::outcomes::{RunOutcomes, SetOutcomes};
use super::read_summary::attempts_of_result;
use super::run_summary::{RunSource, RunSummary};
use crate::store::load_run;
use evaltrail_core::domain::RunState;
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// The outcomes of a run, with the files that they belong to.
pub(super) type OutcomesByFile = Vec<(PathBuf, SetOutcomes)>;

impl History {
    /// The outcomes of runs, which are read at the same time.
    pub(super) fn read_together<'a>(
        &self,
        runs: &[&'a RunSummary],
        sets: &[HistorySet],
    ) -> Vec<(&'a RunSummary, Result<OutcomesByFile, String>)> {
        let outcomes_of = |run: &'a RunSummary| {
            (
                run,
                self.outcomes_of(run)
                    .map(|outcomes| by_file(run, outcomes, sets)),
            )
        };
        runs.par_iter().copied().map(outcomes_of).collect()
    }

    /// Stores the outcomes of a run that is in memory, so that they need not be read from its journal.
    pub fn store_outcomes(&self, state: &RunState) {
        let is_it = |run: &&RunSummary| run.run_id == state.plan.run_id && run.is_ours();
        let Some((run, cache)) = self.runs.iter().find(is_it).zip(self.cache.as_ref()) else {
            return;
        };
        let stamp = stamp_of(&run.path, false);
        if cache.read(&run.path, &stamp).is_none() {
            cache.write(&run.path, &stamp, &RunOutcomes::of_run(state));
        }
    }

    /// The outcomes of a run, from the cache or from the run. Errors: it cannot be read any more.
    fn outcomes_of(&self, summary: &RunSummary) -> Result<RunOutcomes, String> {
        let app_dir = match &summary.source {
            RunSource::Adk { app_dir, .. } => Some(app_dir.as_path()),
            RunSource::Evaltrail { .. } => None,
        };
        let stamp = stamp_of(&summary.path, app_dir.is_some());
        let stored = self
            .cache
            .as_ref()
            .and_then(|cache| cache.read(&summary.path, &stamp));
        if let Some(stored) = stored {
            return Ok(stored);
        }
        let outcomes = match app_dir {
            None => {
                let run = load_run(&summary.path, self.key.as_ref())
                    .map_err(|error| format!("{}: {error}", summary.path.display()))?;
                // The index may be outdated.
                if run.is_signed {
                    RunOutcomes::of_run(&run.state)
                } else {
                    RunOutcomes::default()
                }
            }
            Some(_) => {
                RunOutcomes::of_result(&attempts_of_result(&Arc::new(open_result(&summary.path)?)))
            }
        };
        if let Some(cache) = &self.cache {
            cache.write(&summary.path, &stamp, &outcomes);
        }
        Ok(outcomes)
    }
}

/// The outcomes with the files that they belong to.
fn by_file(run: &RunSummary, outcomes: RunOutcomes, sets: &[HistorySet]) -> OutcomesByFile {
    let of_adk = match &run.source {
        RunSource::Evaltrail { .. } => None,
        RunSource::Adk {
            app_dir, set_id, ..
        } => Some(matching(sets, app_dir, set_id)),
    };
    let file_of = |set: &SetOutcomes| match &of_adk {
        None => Some(set.path.clone()),
        Some(matching) => matching.first().map(|set| set.path.clone()),
    };
    outcomes
        .sets
        .into_iter()
        .filter_map(|set| Some((file_of(&set)?, set)))
        .collect()
}
