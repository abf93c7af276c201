//! The lines of the metrics of a case where not all of them fit: no metric that failed is behind the reason of another one.

use crate::explorer::shared::command_names::METRICS_TAB;
use crate::explorer::shared::model::Model;
use crate::explorer::shown_case::verdict::{
    VerdictLine, in_order, numbers_text, suggestion_text, verdict_lines,
};
use crate::explorer::widgets::text::fit;
use evaltrail_core::domain::{MetricSummary, Status, clean_line};

/// The number of lines that the metrics have even if the comparison needs more.
pub(crate) const BRIEF_LINES: u16 = 2;

/// The lines of the metrics in at most `rows` rows: all of them, else the first ones if every metric that failed is among
/// them, else a line for each of those.
pub(crate) fn fitted_lines(model: &Model, width: usize, rows: usize) -> Vec<VerdictLine> {
    let mut lines = verdict_lines(model, width, false);
    let most = rows.saturating_sub(1);
    if lines.len() <= rows {
        return lines;
    }
    if rows <= usize::from(BRIEF_LINES) || !shows_every_failure(model, &lines, most) {
        return brief_lines(model, lines, width, rows);
    }
    let more = lines.len() - most;
    lines.truncate(most);
    let key = METRICS_TAB.key();
    lines.push(VerdictLine::Note(format!(
        "… {more} more lines  ({key} all metrics)"
    )));
    lines
}

/// The first of these lines, or a line for each metric that failed if not every one is among them.
pub(crate) fn fitted_reasons(
    model: &Model,
    mut lines: Vec<VerdictLine>,
    width: usize,
    rows: usize,
) -> Vec<VerdictLine> {
    if rows > 0 && !shows_every_failure(model, &lines, rows) {
        return brief_lines(model, lines, width, rows);
    }
    lines.truncate(rows);
    lines
}

/// Whether each metric that failed, and the one whose threshold a what-if changes, is in the first `rows` lines with the
/// beginning of its reason.
fn shows_every_failure(model: &Model, lines: &[VerdictLine], rows: usize) -> bool {
    let at_hand = metric_of_what_if(model).map(|metric| &metric.metric);
    let is_wanted = |line: &VerdictLine| match line {
        VerdictLine::Metric(status, ..) if is_reason(*status) => true,
        VerdictLine::Metric(_, name, ..) => Some(name) == at_hand,
        _ => false,
    };
    let reason_below = |at: usize| matches!(lines.get(at + 1), Some(VerdictLine::More(..)));
    let last = lines.iter().rposition(is_wanted);
    last.is_none_or(|at| at + usize::from(reason_below(at)) < rows)
}

/// A line for each of the metrics that failed, notes in the rows that are left, and in the last row what is not shown.
fn brief_lines(
    model: &Model,
    lines: Vec<VerdictLine>,
    width: usize,
    rows: usize,
) -> Vec<VerdictLine> {
    let (room, most) = (width.saturating_sub(2), rows.saturating_sub(1));
    let metrics = brief_metrics(model, most.max(1));
    if let ([only, ..], 0) = (&metrics[..], most) {
        return vec![brief_line(only, room)];
    }
    let shown = metrics.len().min(most);
    let hidden = metrics[shown..].iter();
    let hidden = hidden.filter(|metric| is_reason(metric.status));
    let last = unshown_text(model, hidden.count());
    let brief = metrics[..shown]
        .iter()
        .map(|metric| brief_line(metric, room));
    let notes = lines
        .into_iter()
        .take_while(|line| !matches!(line, VerdictLine::Metric(..)));
    let mut brief: Vec<VerdictLine> = brief.chain(notes).take(most).collect();
    brief.push(VerdictLine::Note(fit(&last, room).into_owned()));
    brief
}

/// The metrics that did not pass; before them the one whose threshold a what-if changes, if it would not be among the first
/// `most`. None if the attempt errored.
fn brief_metrics(model: &Model, most: usize) -> Vec<&MetricSummary> {
    let attempt = model.shown_attempt();
    let Some(attempt) = attempt.filter(|attempt| attempt.error.is_none()) else {
        return Vec::new();
    };
    let at_hand = metric_of_what_if(model);
    let is_at_hand = |one: &&MetricSummary| at_hand.is_some_and(|it| it.metric == one.metric);
    let mut metrics = in_order(attempt);
    let chosen = metrics.iter().copied().find(is_at_hand);
    metrics.retain(|one| is_reason(one.status));
    match chosen {
        Some(chosen) if !metrics.iter().take(most).any(&is_at_hand) => {
            metrics.retain(|one| !is_at_hand(one));
            metrics.insert(0, chosen);
        }
        _ => {}
    }
    metrics
}

/// Whether a metric with this status is a reason why the attempt did not pass.
fn is_reason(status: Status) -> bool {
    !matches!(status, Status::Passed | Status::Informational)
}

/// The metric whose threshold a what-if changes, or that the user chose for one, on a screen of one case.
fn metric_of_what_if(model: &Model) -> Option<&MetricSummary> {
    let is_chosen = model.view.what_if.is_some() || model.view.chosen_metric.is_some();
    let at_hand = model.metric_at_hand();
    at_hand.filter(|_| is_chosen && model.open_case().is_some())
}

/// A metric in one line, with the beginning of its reason.
fn brief_line(metric: &MetricSummary, room: usize) -> VerdictLine {
    let name = clean_line(&metric.metric);
    let (numbers, reason) = (numbers_text(metric), clean_line(&metric.explanation));
    let text = format!("{} {name} {numbers}  {reason}", metric.status.glyph());
    let text = fit(&text, room).into_owned();
    VerdictLine::Brief(metric.status, metric.metric.clone(), text)
}

/// How many metrics that did not pass are not shown, and the suggestion; else only that there is more.
fn unshown_text(model: &Model, hidden: usize) -> String {
    let hidden = match hidden {
        0 => None,
        1 => Some("1 more did not pass".to_string()),
        count => Some(format!("{count} more did not pass")),
    };
    let suggestion = model.shown_case().and_then(|case| case.suggestion.as_ref());
    let suggestion = suggestion.map(|change| suggestion_text(model, change));
    let texts: Vec<String> = hidden.into_iter().chain(suggestion).collect();
    let text = match texts.is_empty() {
        true => "… more".to_string(),
        false => texts.join("; "),
    };
    match model.open_case() {
        Some(_) => format!("{text}  ({} all metrics)", METRICS_TAB.key()),
        None => text,
    }
}
