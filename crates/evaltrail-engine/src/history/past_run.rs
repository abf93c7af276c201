//! A past run with its cases as they were when it ran, independent of the files as they are now.

use super::adk_run::run_of_result;
use super::index::History;
use super::latest::HistorySet;
use super::run_summary::{RunSource, RunSummary};
use crate::store::{LoadedRun, load_run_with};
use evaltrail_core::domain::{
    EndedAttempt, InMemory, PlannedCase, Quarantine, RunBy, RunRef, RunState,
};
use evaltrail_core::formats::{RecordedCase, SetFile};
use std::path::PathBuf;
use std::sync::Arc;

/// A past run.
#[derive(Clone, Debug)]
pub struct PastRun {
    /// The run.
    pub run: Arc<RunRef>,
    /// Its sets, in the order of its plan.
    pub sets: Vec<PastSet>,
    /// The number of attempts of its plan that did not end.
    pub not_run: usize,
    /// The number of attempts that cannot be shown, because their records are damaged or too large.
    pub damaged: usize,
}

/// A set of a past run.
#[derive(Clone, Debug)]
pub struct PastSet {
    /// The file of the cases, which may have changed or no longer exist.
    pub path: PathBuf,
    /// The name of the agent; for ADK's results, that of the agent's folder.
    pub agent: String,
    /// The cases as they were.
    pub file: Arc<SetFile>,
    /// The attempts of each case that ended, by the position of the case in `file`.
    pub attempts: Vec<Vec<Arc<EndedAttempt>>>,
    /// The quarantines that held when the run was planned, by case id.
    pub quarantines: Vec<(String, Quarantine)>,
}

impl History {
    /// Reads a run. A result of ADK is the result of one of `sets`, or of a set that is no longer there. Errors: for example
    /// that the run was removed in the meantime.
    pub fn load(&self, run: &RunSummary, sets: &[HistorySet]) -> Result<LoadedRun, String> {
        match &run.source {
            RunSource::Evaltrail { .. } => {
                load_run_with(&run.path, self.key.as_ref(), InMemory::Whole)
                    .map_err(|error| error.to_string())
            }
            RunSource::Adk { .. } => {
                run_of_result(run, sets).map(|state| LoadedRun::of_result(run.path.clone(), state))
            }
        }
    }

    /// Reads a run with its cases, like [`History::load`].
    pub fn past_run(&self, summary: &RunSummary, sets: &[HistorySet]) -> Result<PastRun, String> {
        match &summary.source {
            RunSource::Evaltrail { .. } => {
                let run = load_run_with(&summary.path, self.key.as_ref(), InMemory::Whole);
                let run = run.map_err(|error| error.to_string())?;
                // The index may be outdated.
                let by = if run.is_signed {
                    RunBy::Evaltrail
                } else {
                    RunBy::Foreign
                };
                let reference = RunRef {
                    by,
                    ..summary.run_ref()
                };
                let (sets, damaged) = (sets_of_run(&run.state), run.damaged);
                let not_run = run.state.count_outstanding();
                Ok(PastRun {
                    run: Arc::new(reference),
                    sets,
                    not_run,
                    damaged,
                })
            }
            RunSource::Adk { .. } => {
                let sets = sets_of_run(&run_of_result(summary, sets)?);
                Ok(PastRun {
                    run: Arc::new(summary.run_ref()),
                    sets,
                    not_run: 0,
                    damaged: 0,
                })
            }
        }
    }
}

fn sets_of_run(state: &RunState) -> Vec<PastSet> {
    let mut by_set: Vec<Vec<(usize, PlannedCase)>> = vec![Vec::new(); state.plan.sets.len()];
    for (at, case) in state.plan.cases.iter().enumerate() {
        by_set[case.set].push((at, case));
    }
    let set = |(at, cases): (usize, Vec<(usize, PlannedCase)>)| {
        let planned = &state.plan.sets[at];
        let quarantine = |case: &PlannedCase| {
            Some((
                case.eval_id.to_string(),
                case.quarantine.as_deref()?.clone(),
            ))
        };
        let quarantines = cases
            .iter()
            .filter_map(|(_, case)| quarantine(case))
            .collect();
        let (cases, attempts) = cases
            .into_iter()
            .map(|(case, planned)| {
                let attempts = state.attempts_of(case);
                let attempt = attempts.first().cloned();
                (
                    RecordedCase {
                        eval_id: planned.eval_id.into_owned(),
                        attempt,
                    },
                    attempts,
                )
            })
            .unzip();
        let file = Arc::new(SetFile::of_recorded(cases, &planned.id));
        PastSet {
            path: planned.path.clone(),
            agent: planned.agent_name.clone(),
            file,
            attempts,
            quarantines,
        }
    };
    by_set.into_iter().enumerate().map(set).collect()
}
