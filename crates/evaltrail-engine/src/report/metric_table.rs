//! The table of metrics at the end of a run, for a terminal or a log.

use super::attempts::titled;
use super::paint::Paint;
use evaltrail_core::domain::{Criterion, RunState, clean_line, score_text};
use evaltrail_core::metrics::{Aggregate, aggregates};
use std::fmt::Write;

/// The statistics that are shown. For a single attempt, those of the metrics that were requested or decide, and only if there is
/// one that does not decide, or one without a score: no other line has them.
fn shown_aggregates(state: &RunState) -> Vec<Aggregate> {
    let is_requested = |of: &Aggregate, is_wanted: fn(&Criterion) -> bool| {
        let mut criteria = state.plan.sets.iter().flat_map(|set| &set.criteria);
        criteria.any(|criterion| criterion.metric == of.metric && is_wanted(criterion))
    };
    let decides = |of: &Aggregate| {
        state.finished.iter().any(|attempt| {
            let mut metrics = attempt.metrics.iter();
            metrics.any(|metric| metric.metric == of.metric && metric.threshold.is_some())
        })
    };
    let mut shown = aggregates(state.finished.iter());
    shown.retain(|of| of.valid > 0 || is_requested(of, |_| true));
    if state.finished.len() > 1 {
        return shown;
    }
    let is_only_here = |of: &Aggregate| {
        of.valid == 0 || is_requested(of, |criterion| criterion.threshold.is_none())
    };
    match shown.iter().any(is_only_here) {
        true => shown.retain(|of| is_requested(of, |_| true) || decides(of)),
        false => shown.clear(),
    }
    shown
}

/// A table with the mean, the standard deviation and the counts of each metric, and with the distribution if that is wanted. A
/// requested metric without any score is in it, with the reason. Empty if there is nothing to show.
pub(super) fn metric_table(state: &RunState, paint: Paint, with_distribution: bool) -> String {
    let table = titled(state, shown_aggregates(state));
    if table.is_empty() {
        return String::new();
    }
    let names = table.iter().map(|of| of.metric.chars().count());
    let width = names.max().unwrap_or(0).max(6);
    let distribution = |cells: [&str; 4]| match with_distribution {
        true => cells.map(|cell| format!(" {cell:>7}")).concat(),
        false => String::new(),
    };
    let header = format!(
        "{:width$}  {:>8} {:>7} {:>18}{}",
        "metric",
        "mean",
        "std",
        "valid/error/total",
        distribution(["min", "median", "p90", "p95"])
    );
    let mut out = format!("\n{}\n", paint.faint(&header));
    for of in &table {
        let behind = format!("{}/{}/{}", of.valid, of.errored, of.total);
        let end = match of.valid {
            0 => format!("  {}", paint.faint(&why_no_score(of))),
            _ => {
                let values = [of.min, of.median, of.p90, of.p95].map(number);
                distribution(values.each_ref().map(String::as_str))
            }
        };
        let _ = writeln!(
            out,
            "{:width$}  {:>8} {:>7} {behind:>18}{end}",
            clean_line(&of.metric),
            number(of.mean),
            number(of.std)
        );
    }
    out
}

fn number(value: Option<f64>) -> String {
    value.map_or("—".into(), score_text)
}

/// Why a metric has no score at all.
fn why_no_score(of: &Aggregate) -> String {
    match of.why_none.as_str() {
        "" => format!(
            "{} of {} attempts errored before they were scored",
            of.errored, of.total
        ),
        why => clean_line(why).into_owned(),
    }
}
