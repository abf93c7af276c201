//! A past run with its cases as they were when it ran, independent of the files as they are now.

use super::index::{History, RunHead, RunSource, open_result};
use crate::domain::{AttemptRecords, EndedAttempt, InMemory, RunBy, RunRef, RunState};
use crate::formats::{RecordedCase, SetFile};
use crate::store::load_run_with;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A past run.
#[derive(Clone, Debug)]
pub struct PastRun {
    /// The run.
    pub run: Arc<RunRef>,
    /// Its sets, in the order of its plan.
    pub sets: Vec<PastSet>,
}

/// A set of a past run.
#[derive(Clone, Debug)]
pub struct PastSet {
    /// The file of the cases, which may have changed or no longer exist.
    pub path: PathBuf,
    /// The name of the agent; empty for ADK's results, which do not contain one.
    pub agent: String,
    /// The cases as they were.
    pub file: Arc<SetFile>,
    /// The attempts of each case that ended, by the position of the case in `file`.
    pub attempts: Vec<Vec<Arc<EndedAttempt>>>,
}

impl History {
    /// Reads the state of a run of evaltrail. Errors: for example that the run was removed in the meantime.
    pub fn run_state(&self, head: &RunHead) -> Result<RunState, String> {
        let run = load_run_with(&head.path, self.key.as_ref(), InMemory::Whole);
        run.map(|run| run.state).map_err(|error| error.to_string())
    }

    /// Reads a run with its cases. Errors: for example that the run was removed in the meantime.
    pub fn past_run(&self, head: &RunHead) -> Result<PastRun, String> {
        match &head.source {
            RunSource::Evaltrail { .. } => {
                let run = load_run_with(&head.path, self.key.as_ref(), InMemory::Whole);
                let run = run.map_err(|error| error.to_string())?;
                // The index may be outdated.
                let by = if run.is_signed { RunBy::Evaltrail } else { RunBy::Foreign };
                let reference = RunRef { by, ..head.run_ref() };
                Ok(PastRun { run: Arc::new(reference), sets: sets_of_run(&run.state) })
            }
            RunSource::Adk { app_dir, set_id, .. } => {
                let file = app_dir.join(set_id);
                let set = set_of_result(head, file).ok_or("the result file cannot be read")?;
                Ok(PastRun { run: Arc::new(head.run_ref()), sets: vec![set] })
            }
        }
    }
}

fn sets_of_run(state: &RunState) -> Vec<PastSet> {
    let set = |at: usize| {
        let planned = &state.plan.sets[at];
        let cases = state.plan.cases.iter().enumerate().filter(|(_, case)| case.set == at);
        let (cases, attempts) = cases
            .map(|(case, planned)| {
                let attempts: Vec<_> = state.attempts_of(case).into_iter().cloned().collect();
                let attempt = attempts.first().cloned();
                (RecordedCase { eval_id: planned.eval_id.clone(), attempt }, attempts)
            })
            .unzip();
        let file = Arc::new(SetFile::of_recorded(cases, &planned.id));
        PastSet { path: planned.path.clone(), agent: planned.agent_name.clone(), file, attempts }
    };
    (0..state.plan.sets.len()).map(set).collect()
}

fn set_of_result(head: &RunHead, path: PathBuf) -> Option<PastSet> {
    let file = open_result(&head.path).map(Arc::new)?;
    let records: Arc<dyn AttemptRecords> = file.clone();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let (mut cases, mut attempts): (Vec<RecordedCase>, Vec<Vec<Arc<EndedAttempt>>>) = Default::default();
    for (at, entry) in file.entries.iter().enumerate() {
        let Ok(attempt) = file.attempt(at) else { continue };
        let ended = EndedAttempt::recorded(attempt, file.recorded_at(at), &records, InMemory::Whole);
        let ended = Arc::new(ended);
        let place = *places.entry(&entry.eval_id).or_insert_with(|| {
            cases.push(RecordedCase { eval_id: entry.eval_id.clone(), attempt: Some(ended.clone()) });
            attempts.push(Vec::new());
            cases.len() - 1
        });
        attempts[place].push(ended);
    }
    let set = Arc::new(SetFile::of_recorded(cases, &file.set_id));
    Some(PastSet { path, agent: String::new(), file: set, attempts })
}
