//! The pass rate and the metrics of the run's sets over the runs of the workspace, as inline SVG.

use super::escape::text;
use crate::history::{RunTrends, Series};
use crate::report::started_text;
use evaltrail_core::domain::statistic_text;
use std::fmt::Write;

/// The size of a chart, in pixels.
const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 40.0;
/// The space around the points, in pixels.
const MARGIN: f64 = 4.0;
/// The maximum number of runs in a chart, the latest ones.
const MAX_RUNS: usize = 50;

/// A table with a chart for each number. Runs with other criteria than the run before are not joined to it.
pub(super) fn trends_over_runs(trends: &RunTrends, out: &mut String) {
    if trends.series.is_empty() {
        return;
    }
    out.push_str("<h2>Over the runs of the workspace</h2>\n<table><tr><th>set<th>metric<th class=\"n\">latest<th class=\"n\">before<th>runs, the latest at the right</tr>\n");
    for series in &trends.series {
        let value = |back: usize| {
            let point = series.points.iter().rev().nth(back);
            point.map_or("—".into(), |point| series.describe(point.value))
        };
        let _ = writeln!(
            out,
            "<tr><td>{}<td>{}<td class=\"n\">{}<td class=\"n\">{}<td>{}</tr>",
            text(&series.set),
            text(series.name()),
            value(0),
            value(1),
            chart(series, trends)
        );
    }
    out.push_str("</table>\n<p>Points are joined where the criteria are the same. Runs of only some of the cases of a set are left out.</p>\n");
}

fn chart(series: &Series, trends: &RunTrends) -> String {
    let first = series.points.len().saturating_sub(MAX_RUNS);
    let points = &series.points[first..];
    let (low, high) = match series.range() {
        (low, high) if low >= 0.0 && high <= 1.0 => (0.0, 1.0),
        (low, high) if low < high => (low, high),
        (low, _) => (low - 1.0, low + 1.0),
    };
    let step = (WIDTH - 2.0 * MARGIN) / (points.len().max(2) - 1) as f64;
    let x = |at: usize| MARGIN + step * at as f64;
    let y = |value: f64| MARGIN + (HEIGHT - 2.0 * MARGIN) * (1.0 - (value - low) / (high - low));
    let mut out = format!(
        "<svg class=\"runs\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\"><title>{} of {} in {} runs, from {} to {}</title>",
        text(series.name()),
        text(&series.set),
        points.len(),
        statistic_text(low),
        statistic_text(high)
    );
    for (at, pair) in points.windows(2).enumerate() {
        if pair[0].criteria == pair[1].criteria {
            let _ = write!(
                out,
                "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
                x(at),
                y(pair[0].value),
                x(at + 1),
                y(pair[1].value)
            );
        }
    }
    for (at, point) in points.iter().enumerate() {
        let run = trends.runs.get(point.run);
        let name = run.map_or(String::new(), |run| {
            format!("{} UTC, run {}", started_text(&run.started), run.run_id)
        });
        let _ = write!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>{}: {}</title></circle>",
            x(at),
            y(point.value),
            text(&name),
            text(&series.describe(point.value))
        );
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::SeriesPoint;

    #[test]
    fn runs_with_other_criteria_are_not_joined() {
        let point = |value: f64, criteria: u32| SeriesPoint {
            run: 0,
            value,
            attempts: 4,
            interval: None,
            criteria,
        };
        let series = Series {
            set: "<beds>".into(),
            path: "/w/beds".into(),
            metric: None,
            points: vec![point(0.0, 0), point(1.0, 0), point(0.5, 1)],
        };
        let trends = RunTrends {
            runs: Vec::new(),
            series: vec![series],
        };
        let mut out = String::new();
        trends_over_runs(&trends, &mut out);
        assert_eq!(out.matches("<circle").count(), 3);
        assert_eq!(out.matches("<line").count(), 1);
        assert!(
            out.contains("x1=\"4.0\" y1=\"36.0\" x2=\"130.0\" y2=\"4.0\""),
            "{out}"
        );
        assert!(
            out.contains("<td>&lt;beds&gt;<td>passed<td class=\"n\">50 %<td class=\"n\">100 %"),
            "{out}"
        );
        let mut none = String::new();
        trends_over_runs(&RunTrends::default(), &mut none);
        assert_eq!(none, "");
    }
}
