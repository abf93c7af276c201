//! What came of cases before: ADK's own results, scores that data sets bring along, our runs.

use super::hands::Borrowed;
use crate::app::CaseRef;
use crate::domain::{Attempt, AttemptKey, PlannedCase, adk_status, case_status};
use crate::formats::adk::ResultFile;
use crate::store::{HistoryEntry, adk_results, load_run, our_runs};
use crate::workspace::{open_set, read_text};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Runs of the past that are read when the explorer opens.
const PAST_RUNS: usize = 12;

/// Past outcomes, oldest first, so that the newest stay: ADK's own results, then our runs.
pub(super) fn history(hands: &Borrowed) -> Vec<(String, CaseRef, Arc<Attempt>)> {
    let mut places = Places::new(hands);
    let mut found: Vec<_> = recorded(hands);
    found.extend(hands.workspace.agents.iter().flat_map(|agent| adk_history(hands, &agent.path)));
    let mut runs = our_runs(&hands.workspace.root);
    runs.truncate(PAST_RUNS);
    for entry in runs.into_iter().rev() {
        let Ok(run) = load_run(&entry.path) else { continue };
        let plan = run.state.plan.clone();
        for attempt in &run.state.finished {
            let planned = &plan.cases[attempt.key.case];
            let path = &plan.sets[planned.set].path;
            let Some(set) = hands.sets.iter().position(|set| set.path == *path) else { continue };
            if let Some(index) = places.index(set, planned) {
                found.push((plan.run_id.clone(), CaseRef { set, index }, attempt.clone()));
            }
        }
    }
    found
}

/// The scores that data sets bring along: what was computed elsewhere is shown until it is scored here.
fn recorded(hands: &Borrowed) -> Vec<(String, CaseRef, Arc<Attempt>)> {
    let mut found = Vec::new();
    for (set, path) in hands.sets.iter().enumerate() {
        let Ok(file) = open_set(path).map(|open| open.file) else { continue };
        let has_scores = |at: usize| file.case(at).is_ok_and(|case| !case.recorded.is_empty());
        if file.form.is_adk() || !file.is_held() || file.is_empty() || !has_scores(0) {
            continue;
        }
        for index in 0..file.len() {
            let Ok(case) = file.case(index) else { continue };
            let key = AttemptKey { case: index, attempt: 1 };
            let saved = case.saved.clone().unwrap_or_default();
            let attempt = Attempt {
                expected: case.turns().into(),
                status: case_status(&case.recorded),
                adk_status: adk_status(&case.recorded),
                metrics: case.recorded,
                actual: saved.turns.into(),
                latency_s: saved.latency_s.unwrap_or(0.0),
                ..Attempt::blank(key, &case.eval_id)
            };
            found.push(("in the file".to_string(), CaseRef { set, index }, Arc::new(attempt)));
        }
    }
    found
}

/// The newest results that ADK has of an application's sets, by the cases' ids.
fn adk_history(hands: &Borrowed, app_dir: &Path) -> Vec<(String, CaseRef, Arc<Attempt>)> {
    let mut results = adk_results(app_dir);
    results.truncate(PAST_RUNS);
    let open = |entry: &HistoryEntry| ResultFile::open(Arc::from(read_text(&entry.path).ok()?)).ok();
    results.iter().rev().filter_map(open).flat_map(|result| outcomes_of(hands, &result)).collect()
}

fn outcomes_of(hands: &Borrowed, result: &ResultFile) -> Vec<(String, CaseRef, Arc<Attempt>)> {
    let Some(set) = hands.sets.iter().position(|set| set.stem == result.set_id) else { return Vec::new() };
    let Ok(file) = open_set(&hands.sets[set]).map(|open| open.file) else { return Vec::new() };
    let index_of: HashMap<_, usize> =
        file.eval_ids().enumerate().map(|(at, eval_id)| (eval_id, at)).collect();
    (0..result.entries.len())
        .filter_map(|at| {
            let index = *index_of.get(result.entries[at].eval_id.as_str())?;
            Some((result.id.clone(), CaseRef { set, index }, Arc::new(result.attempt(at).ok()?)))
        })
        .collect()
}

/// Where the cases of runs are now: their files may have been edited since.
struct Places<'a> {
    hands: &'a Borrowed,
    ids: HashMap<usize, Vec<String>>,
}

impl<'a> Places<'a> {
    fn new(hands: &'a Borrowed) -> Places<'a> {
        Places { hands, ids: HashMap::new() }
    }

    fn index(&mut self, set: usize, planned: &PlannedCase) -> Option<usize> {
        let ids = self.ids.entry(set).or_insert_with(|| {
            let open = open_set(&self.hands.sets[set]);
            open.map(|open| open.file.eval_ids().map(|id| id.into_owned()).collect()).unwrap_or_default()
        });
        match ids.get(planned.index) == Some(&planned.eval_id) {
            true => Some(planned.index),
            false => ids.iter().position(|id| *id == planned.eval_id),
        }
    }
}
