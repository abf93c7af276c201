//! Texts about the chosen run of a row.

use super::series_text::difference_of;
use crate::explorer::case_list::trend::short;
use crate::explorer::shared::model::Model;
use evaltrail_core::domain::counted;
use evaltrail_engine::history::{RunSummary, Series};
use std::path::Path;

/// About the chosen run: when it was, its value, and what differs from the run before.
pub(super) fn facts_of(
    model: &Model,
    series: &Series,
    chosen: usize,
    run: &RunSummary,
    before: Option<&RunSummary>,
) -> Vec<String> {
    let point = &series.points[chosen];
    let previous = chosen.checked_sub(1).map(|at| &series.points[at]);
    let difference = previous.map(|previous| {
        let other = if previous.criteria == point.criteria {
            ""
        } else {
            ", other criteria"
        };
        format!(
            " ({}{other})",
            difference_of(series, point.value - previous.value)
        )
    });
    let attempts = counted(point.attempts, "attempt");
    let interval = point.interval.map(|(low, high)| {
        let [low, high] = [low, high].map(|bound| bound * 100.0);
        format!(", 95 % interval {low:.0}–{high:.0} %")
    });
    let id = run.short_name();
    let of = if series.metric.is_none() {
        " of"
    } else {
        ", mean of"
    };
    let first = format!(
        "run {} of {}: {id}, {}   {}{of} {attempts}{}{}",
        chosen + 1,
        series.points.len(),
        model.started_text(&run.started),
        series.describe(point.value),
        difference.unwrap_or_default(),
        interval.unwrap_or_default(),
    );
    let agent = run.set(&series.path).map_or(&run.agent, |set| &set.agent);
    let agent = Some(agent.clone()).filter(|agent| !agent.is_empty());
    let commit = run
        .commit
        .as_ref()
        .map(|commit| format!("commit {}", short(commit)));
    let second: Vec<String> = agent.into_iter().chain(commit).collect();
    vec![
        first,
        second.join("  ·  "),
        before
            .map(|before| changed_text(before, run, &series.path))
            .unwrap_or_default(),
    ]
}

fn changed_text(before: &RunSummary, run: &RunSummary, set: &Path) -> String {
    let mut changed = before.changes_until(run, set);
    if before.commit.is_some() && run.commit.is_some() && before.commit != run.commit {
        changed.push("the commit".into());
    }
    match changed.is_empty() {
        true => String::new(),
        false => format!("changed since the run before: {}", changed.join(", ")),
    }
}
