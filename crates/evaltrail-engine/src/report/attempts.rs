//! The attempts, cases and metrics of a run in the order of reports.

use evaltrail_core::domain::{EndedAttempt, RunState};
use evaltrail_core::metrics::Aggregate;
use std::sync::Arc;

/// The cases of which an attempt was planned and has not ended, in the plan's order. A case that is run until its pass rate is known
/// needs no more when it is decided.
pub(super) fn cases_not_run(state: &RunState) -> impl Iterator<Item = usize> {
    (0..state.plan.cases.len()).filter(|case| state.lacks_attempts(*case))
}

/// The attempts in the plan's order.
pub(super) fn attempts_in_order(state: &RunState) -> impl Iterator<Item = Arc<EndedAttempt>> {
    (0..state.plan.cases.len()).flat_map(|case| state.attempts_of(case))
}

/// The statistics of the metrics of a run, for a table: a metric that the sets of the run compute in different ways has a
/// remark in its name.
pub(super) fn titled(state: &RunState, aggregates: Vec<Aggregate>) -> Vec<Aggregate> {
    let titled = |of: Aggregate| match state.plan.has_different_scoring(&of.metric) {
        true => Aggregate {
            metric: format!("{} (different options)", of.metric),
            ..of
        },
        false => of,
    };
    aggregates.into_iter().map(titled).collect()
}

/// Why a metric has no score at all, to be put behind its name; empty if it has one, or the reason is not known.
pub(super) fn no_score_text(of: &Aggregate) -> String {
    match of.valid == 0 && !of.why_none.is_empty() {
        true => format!(" (no score: {})", of.why_none),
        false => String::new(),
    }
}

/// The metrics of a run, in the order they first appear.
pub(super) fn metric_names(state: &RunState) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for attempt in attempts_in_order(state) {
        for metric in &attempt.metrics {
            if !names.contains(&metric.metric) {
                names.push(metric.metric.clone());
            }
        }
    }
    names
}
