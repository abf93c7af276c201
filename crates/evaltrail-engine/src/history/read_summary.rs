//! Reads what the list of runs contains of a run, from its journal or from a result of ADK.

use crate::history::adk_results::{ended_attempt, open_result};
use crate::history::criteria::{DecidingMetrics, criteria_id, scoring_of};
use crate::history::{MetricMean, RunSource, RunSummary, SetCount, SetResults};
use crate::store::{LoadedRun, RunKey, load_run};
use evaltrail_core::analysis::{PassRateCollector, RunSetup};
use evaltrail_core::domain::{
    AttemptKey, AttemptSummary, Criterion, InMemory, PlannedSet, RunPlan, Totals, WorkedTime,
    rfc3339,
};
use evaltrail_core::formats::adk::ResultFile;
use evaltrail_core::metrics::{Aggregate, Aggregation, criterion_of};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Reads the summary of a run of evaltrail, or of a result of the agent in `app_dir`.
pub(super) fn read_summary(
    path: &Path,
    app_dir: Option<&Path>,
    key: Option<&RunKey>,
) -> Result<RunSummary, String> {
    match app_dir {
        None => load_run(path, key)
            .map(|run| summary_of_run(path, &run))
            .map_err(|error| error.to_string()),
        Some(app_dir) => {
            open_result(path).map(|file| summary_of_result(path, app_dir, &Arc::new(file)))
        }
    }
}

/// Collects the results of a set.
#[derive(Default)]
pub(super) struct CollectedResults {
    totals: Totals,
    pass_rate: PassRateCollector,
    metrics: Aggregation,
    criteria: DecidingMetrics,
    setup: RunSetup,
}

impl CollectedResults {
    fn add(&mut self, attempt: &AttemptSummary) {
        self.totals.add(attempt.status);
        self.pass_rate.add(attempt.key, attempt.status);
        self.metrics.add(attempt);
        self.criteria.add(attempt);
        if let Some(setup) = &attempt.setup {
            self.setup.add(setup);
        }
    }

    fn finish(self) -> SetResults {
        let mean = |of: Aggregate| MetricMean {
            metric: of.metric,
            mean: of.mean,
            scored: of.valid,
        };
        let metrics = self.metrics.finish().into_iter().map(mean).collect();
        SetResults {
            totals: self.totals,
            pass_rate: self.pass_rate.finish(),
            metrics,
            criteria: self.criteria.finish(),
        }
    }
}

pub(super) fn summary_of_run(path: &Path, run: &LoadedRun) -> RunSummary {
    let (state, plan) = (&run.state, &run.state.plan);
    let mut by_set: Vec<CollectedResults> = plan.sets.iter().map(|_| Default::default()).collect();
    let mut worked = WorkedTime::new(plan);
    for attempt in state.finished.iter() {
        by_set[plan.cases.set_of(attempt.key.case)].add(&attempt);
        worked.add(&attempt);
    }
    let mut cases = vec![0; plan.sets.len()];
    plan.cases.iter().for_each(|case| cases[case.set] += 1);
    let mut is_complete = vec![true; plan.sets.len()];
    for case in (0..plan.cases.len()).filter(|case| state.lacks_attempts(*case)) {
        is_complete[plan.cases.set_of(case)] = false;
    }
    let sets = plan.sets.iter().zip(cases).zip(by_set).zip(is_complete);
    // A filter may leave no case of a set.
    let sets = sets.filter(|(((_, cases), _), _)| *cases > 0);
    let sets = sets
        .map(|(((set, cases), results), is_complete)| counted(set, cases, results, is_complete))
        .collect();
    RunSummary {
        run_id: plan.run_id.clone(),
        path: path.to_path_buf(),
        started: plan.started.clone(),
        commit: plan.commit.clone(),
        source: RunSource::Evaltrail {
            sets,
            is_foreign: !run.is_signed,
        },
        agent: plan.agent_label(),
        criteria: criteria_of(plan),
        judge: plan.judge.label(),
        duration_s: worked.seconds(),
        spent: state.spent(),
        turn: plan.options.turn,
        attempts: state.needed_attempts(),
        totals: state.totals,
        ended: run.ended,
        number: run.number,
        shard: plan.options.shard,
        merged: plan.options.merged.clone(),
        is_in_merged: false,
    }
}

/// A set of a run with its results.
pub(super) fn counted(
    set: &PlannedSet,
    cases: usize,
    mut results: CollectedResults,
    is_complete: bool,
) -> SetCount {
    let setup = std::mem::take(&mut results.setup);
    let results = results.finish();
    SetCount {
        path: set.path.clone(),
        cases,
        is_whole: set
            .file_cases
            .map(|in_file| cases >= in_file && is_complete),
        agent: set.agent_label(),
        agent_files: set.agent_files.clone(),
        setup,
        criteria: criteria_text(&set.criteria),
        criteria_id: criteria_id(&set.criteria),
        scoring: scoring_of(&set.criteria),
        results,
    }
}

/// The metrics of a run with their thresholds, each once.
pub(super) fn criteria_of(plan: &RunPlan) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for words in plan
        .sets
        .iter()
        .flat_map(|set| criteria_text(&set.criteria))
    {
        if !found.contains(&words) {
            found.push(words);
        }
    }
    found
}

/// Metrics with their thresholds, as "tool_trajectory_avg_score 1".
pub(super) fn criteria_text(criteria: &[Criterion]) -> Vec<String> {
    let words = |criterion: &Criterion| {
        let threshold = criterion
            .threshold
            .map(|threshold| format!(" {threshold}"))
            .unwrap_or_default();
        format!("{}{threshold}", criterion.metric)
    };
    criteria.iter().map(words).collect()
}

/// The attempts of a result.
pub(super) fn attempts_of_result(file: &Arc<ResultFile>) -> Vec<AttemptSummary> {
    let key = |at: usize| AttemptKey {
        case: at,
        attempt: file.entries[at].attempt,
    };
    let attempt = |at: usize| ended_attempt(file, at, key(at), None, InMemory::Summary);
    (0..file.entries.len())
        .map(|at| attempt(at).summary().clone())
        .collect()
}

/// A hash of the criteria of a result's metrics with thresholds.
pub(super) fn criteria_of_result(file: &ResultFile) -> u64 {
    let mut found: BTreeMap<String, Criterion> = BTreeMap::new();
    for attempt in (0..file.entries.len()).filter_map(|at| file.attempt(at).ok()) {
        for metric in attempt
            .metrics
            .iter()
            .filter(|metric| metric.threshold.is_some())
        {
            found
                .entry(metric.metric.clone())
                .or_insert_with(|| criterion_of(metric));
        }
    }
    criteria_id(&found.into_values().collect::<Vec<_>>())
}

pub(super) fn summary_of_result(path: &Path, app_dir: &Path, file: &Arc<ResultFile>) -> RunSummary {
    let mut totals = Totals::default();
    let mut results = CollectedResults::default();
    let attempts = attempts_of_result(file);
    for attempt in &attempts {
        totals.add(attempt.status);
        results.add(attempt);
    }
    let cases: HashSet<&str> = attempts.iter().map(|one| one.eval_id.as_str()).collect();
    RunSummary {
        run_id: file.id.clone(),
        path: path.to_path_buf(),
        started: rfc3339(file.created),
        commit: None,
        source: RunSource::Adk {
            app_dir: app_dir.to_path_buf(),
            set_id: file.set_id.clone(),
            by_evaltrail: file.by_evaltrail(),
            copied_run: file.copied_run(),
            results: results.finish(),
            cases: cases.len(),
            criteria_id: criteria_of_result(file),
        },
        agent: String::new(),
        criteria: Vec::new(),
        judge: None,
        duration_s: None,
        spent: None,
        turn: None,
        attempts: file.entries.len(),
        totals,
        ended: true,
        number: 0,
        shard: None,
        merged: Vec::new(),
        is_in_merged: false,
    }
}
