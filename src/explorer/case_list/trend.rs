//! The outcomes of a case over the past runs: since when it fails, and a sparkline.

use crate::explorer::case_list::causes::cause_trend;
use crate::explorer::shared::case_list::Narrowing;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use evaltrail_core::analysis::{CasePoint, CauseState, block, failing_since};
use evaltrail_core::domain::{Status, counted};
use evaltrail_engine::history::RunSummary;
use ratatui::buffer::Buffer;
use ratatui::style::Style;

/// Between the results of runs with other criteria.
pub(crate) const OTHER_CRITERIA: char = '│';
/// Number of characters of ids of runs and commits that are shown.
const ID_SHOWN: usize = 12;

/// The outcomes of a case over the runs of the folder, oldest first; none while a past run is open, in which the later
/// ones are not known.
pub(crate) fn points(model: &Model, case: CaseRef) -> &[CasePoint] {
    match model.opened_run {
        Some(_) => &[],
        None => model
            .trends
            .of_case(&model.view.sets[case.set].path.path, &model.eval_id(case)),
    }
}

/// The run since which a case does not pass, as a position among those of the trends; `None` if it passed in the latest
/// one.
pub(crate) fn first_failed_run(model: &Model, case: CaseRef) -> Option<usize> {
    failing_since(points(model, case)).map(|since| since.first.run)
}

/// Since when a case fails, with the commits of the workspace then; `None` if it passed in the latest run, or has only
/// one.
pub(crate) fn since_text(model: &Model, case: CaseRef) -> Option<String> {
    let points = points(model, case);
    let since =
        failing_since(points).filter(|since| since.runs > 1 || since.last_passed.is_some())?;
    let run = |point: CasePoint| &model.trends.runs[point.run];
    let first = run(since.first);
    let Some(last_passed) = since.last_passed.map(run) else {
        let all = if model.trends.is_complete {
            "its"
        } else {
            "its latest"
        };
        let words = if since.is_flaky {
            "not all attempts passed"
        } else {
            "did not pass"
        };
        let has_others = points
            .iter()
            .any(|point| point.criteria != since.first.criteria);
        let criteria = if has_others {
            " with these criteria"
        } else {
            ""
        };
        return Some(format!(
            "{words} in any of {all} {} runs{criteria}",
            since.runs
        ));
    };
    let count = if since.runs == 1 {
        String::new()
    } else {
        format!(", {} runs", since.runs)
    };
    let passed = named(model, last_passed) + &since.last_passed.map(rate_text).unwrap_or_default();
    let mut changed = last_passed.changes_until(first, &model.view.sets[case.set].path.path);
    if since.was_edited() {
        changed.insert(0, "the case".into());
    }
    let changed = match changed.is_empty() {
        true => String::new(),
        false => format!("; changed in between: {}", changed.join(", ")),
    };
    let words = if since.is_flaky {
        "not all attempts pass since"
    } else {
        "failing since"
    };
    let first = named(model, first) + &rate_text(since.first);
    Some(format!(
        "{words} {first}{count}; passed before in {passed}{changed}"
    ))
}

/// How many attempts of the case passed in a run, where there were several: more attempts fail together more often.
fn rate_text(point: CasePoint) -> String {
    if point.evaluated > 1 {
        format!(" with {}/{} attempts", point.passed, point.evaluated)
    } else {
        String::new()
    }
}

/// What became of a cause over the runs: since when it is there, and what changed then. `None` if that is not known.
pub(crate) fn cause_text(model: &Model, what: &Narrowing) -> Option<String> {
    let trend = cause_trend(model, what)?;
    let run = |at: usize| &model.trends.runs[at];
    let since = named(model, run(trend.since));
    let (seen, all) = (trend.seen.len(), model.trends.runs.len());
    let words = match (trend.state(), trend.gone_before) {
        (CauseState::New, _) => format!("new: first seen in {since}"),
        (CauseState::Back, Some(gone)) => {
            let gone = named(model, run(gone));
            format!("back: again since {since}, was gone since {gone}")
        }
        (CauseState::Gone, _) => return None,
        _ => {
            let is_latest = trend.last_seen() + 1 == all;
            let joined = match trend.joined {
                joined if joined > 0 && is_latest => format!("{}, ", counted(joined, "new case")),
                _ => String::new(),
            };
            format!("{joined}seen in {seen} of {all} runs, since {since}")
        }
    };
    let changed = match model.trends.changes_at(trend) {
        changed if changed.is_empty() => String::new(),
        changed => format!("; changed then: {}", changed.join(", ")),
    };
    Some(words + &changed)
}

/// A run by its id, its time and the commit of the workspace then.
fn named(model: &Model, run: &RunSummary) -> String {
    let commit = run
        .commit
        .as_ref()
        .map(|commit| format!(", commit {}", short(commit)))
        .unwrap_or_default();
    format!(
        "run {} ({}{commit})",
        run.short_name(),
        model.started_text(&run.started)
    )
}

/// The beginning of an id.
pub(crate) fn short(id: &str) -> String {
    id.chars().take(ID_SHOWN).collect()
}

/// Draws the latest outcomes of a case: for each run the share of attempts that passed as a block, or the sign of an
/// error or of what was not evaluated; a line where the criteria changed. Returns the number of columns.
pub(crate) fn put_sparkline(
    model: &Model,
    case: CaseRef,
    (x, y): (u16, u16),
    width: u16,
    style: Style,
    theme: &Theme,
    buffer: &mut Buffer,
) -> u16 {
    let points = points(model, case);
    let latest = &points[points.len().saturating_sub(usize::from(width))..];
    let mut signs: Vec<(String, Style)> = Vec::new();
    let mut criteria = latest.first().map(|point| point.criteria);
    for point in latest {
        if criteria.replace(point.criteria) != Some(point.criteria) {
            signs.push((OTHER_CRITERIA.to_string(), theme.style(Role::Faint)));
        }
        let sign = match point.status {
            Status::Passed | Status::Failed => block(
                f64::from(point.passed) / f64::from(point.evaluated.max(1)),
                (0.0, 1.0),
            )
            .to_string(),
            other => other.glyph().to_string(),
        };
        signs.push((sign, theme.status(point.status)));
    }
    let shown = &signs[signs.len().saturating_sub(usize::from(width))..];
    for (column, (sign, look)) in shown.iter().enumerate() {
        put(
            buffer,
            x + column as u16,
            y,
            1,
            sign,
            theme.within(style, *look),
        );
    }
    shown.len() as u16
}
