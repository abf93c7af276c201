//! Charts as inline SVG: the distribution of the scores of each metric, and the attempts of each case.

use super::case::anchor;
use super::escape::text;
use evaltrail_core::domain::{RunState, statistic_text};
use evaltrail_core::metrics::{Aggregate, INTERVALS};
use std::fmt::Write;

/// The size of a distribution, in pixels.
const WIDTH: usize = 96;
const HEIGHT: usize = 20;
/// The maximum number of cases whose attempts are drawn.
const MAX_CASES: usize = 500;
/// The size of the square of an attempt with its gap, in pixels.
const CELL: usize = 12;
/// The number of cases in one column of squares.
const ROWS: usize = 50;

/// Bars for the numbers of scores in the intervals of a distribution.
pub(super) fn distribution(of: &Aggregate) -> String {
    let scores = &of.distribution;
    if of.valid == 0 {
        return String::new();
    }
    let width = WIDTH / INTERVALS;
    let mut out = format!(
        "<svg class=\"bars\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\"><title>{} scores from {} to {}</title>",
        of.valid,
        statistic_text(scores.low),
        statistic_text(scores.high)
    );
    let counts = scores.counts.iter().enumerate();
    for (bar, count) in counts.filter(|(_, count)| **count > 0) {
        let height = (count * HEIGHT).div_ceil(scores.most()).max(2);
        let (x, y) = (bar * width, HEIGHT - height.min(HEIGHT));
        let _ = write!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{height}\"/>",
            width - 1
        );
    }
    out + "</svg>"
}

/// A square for each attempt of repeated cases, a row for each case: which cases are flaky. Each square leads to its attempt.
pub(super) fn attempts_of_cases(state: &RunState, out: &mut String) {
    let repeat = state.plan.options.repeat as usize;
    let cases = state.plan.cases.len().min(MAX_CASES);
    if repeat < 2 || cases == 0 {
        return;
    }
    let columns = cases.div_ceil(ROWS);
    let (column, rows) = ((repeat + 1) * CELL, cases.min(ROWS));
    let _ = writeln!(
        out,
        "<h2>Attempts of each case</h2>\n<svg class=\"attempts\" width=\"{}\" height=\"{}\" role=\"img\">",
        columns * column,
        rows * CELL
    );
    for case in 0..cases {
        let (left, y) = (case / ROWS * column, case % ROWS * CELL);
        for attempt in state.attempts_of(case) {
            let x = left + (attempt.key.attempt as usize).saturating_sub(1) * CELL;
            let title = format!(
                "{} › {}: {}",
                state.plan.case_location(case),
                attempt.title(state.plan.options.repeat),
                attempt.status.label()
            );
            let _ = writeln!(
                out,
                "<a href=\"#{}\"><rect class=\"{}\" x=\"{x}\" y=\"{y}\" width=\"{size}\" height=\"{size}\"><title>{}</title></rect></a>",
                anchor(&attempt),
                attempt.status.key(),
                text(&title),
                size = CELL - 2
            );
        }
    }
    out.push_str("</svg>\n");
    if state.plan.cases.len() > cases {
        let _ = writeln!(
            out,
            "<p>the first {cases} of {} cases</p>",
            state.plan.cases.len()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::metrics::Distribution;

    #[test]
    fn bars_show_where_scores_are() {
        let of_scores = |scores: &[f64]| {
            distribution(&Aggregate {
                valid: scores.len(),
                distribution: Distribution::new(scores),
                ..Aggregate::default()
            })
        };
        let svg = of_scores(&[0.0, 0.0, 1.0]);
        assert_eq!(svg.matches("<rect").count(), 2);
        assert!(
            svg.contains("<rect x=\"0\" y=\"0\" width=\"3\" height=\"20\"/>"),
            "{svg}"
        );
        assert!(
            svg.contains("<rect x=\"92\" y=\"10\" width=\"3\" height=\"10\"/>"),
            "{svg}"
        );
        assert!(svg.contains("3 scores from 0.000 to 1.000"), "{svg}");
        assert!(of_scores(&[5.0, -3.0]).contains("2 scores from -3.000 to 5.000"));
        assert_eq!(of_scores(&[]), "");
    }
}
