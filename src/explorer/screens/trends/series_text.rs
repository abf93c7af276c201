//! Texts for a value over runs: its change, and its line.

use crate::explorer::case_list::trend::OTHER_CRITERIA;
use evaltrail_core::analysis::block;
use evaltrail_core::domain::difference_text;
use evaltrail_engine::history::Series;

/// A difference between two values, with its sign: in percentage points for the share that passed.
pub(super) fn difference_of(series: &Series, difference: f64) -> String {
    match series.metric {
        None => format!("{:+.0} pp", difference * 100.0),
        Some(_) => difference_text(difference, 2),
    }
}

/// The latest value minus the one of the run before, with a sign if that run had other criteria.
pub(super) fn change(series: &Series) -> Option<String> {
    let mut latest = series.points.iter().rev();
    let (last, before) = (latest.next()?, latest.next()?);
    let sign = if last.criteria == before.criteria {
        ""
    } else {
        "≠"
    };
    Some(format!(
        "{sign}{}",
        difference_of(series, last.value - before.value)
    ))
}

/// Whether a run had other criteria than the one before it.
pub(super) fn has_other_criteria(series: &Series) -> bool {
    series
        .points
        .windows(2)
        .any(|pair| pair[0].criteria != pair[1].criteria)
}

/// The values as blocks, at most `width`, the latest last; a line where the criteria changed.
pub(super) fn sparkline(series: &Series, width: usize) -> String {
    let mut signs = Vec::new();
    for (at, point) in series.points.iter().enumerate() {
        if at > 0 && series.points[at - 1].criteria != point.criteria {
            signs.push(OTHER_CRITERIA);
        }
        signs.push(block(point.value, line_scale(series)));
    }
    signs[signs.len().saturating_sub(width)..].iter().collect()
}

/// The lowest and the highest value of the sparkline, if they are not 0 and 1.
pub(super) fn scale_text(series: &Series) -> Option<String> {
    let (low, high) = line_scale(series);
    ((low, high) != (0.0, 1.0))
        .then(|| format!("{} to {}", series.describe(low), series.describe(high)))
}

/// The lowest and the highest value of the sparkline: 0 and 1 if all values are between, as for a case.
fn line_scale(series: &Series) -> (f64, f64) {
    let (lowest, highest) = series.range();
    if lowest >= 0.0 && highest <= 1.0 {
        (0.0, 1.0)
    } else {
        series.scale()
    }
}
