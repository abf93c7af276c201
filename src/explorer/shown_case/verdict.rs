//! The lines of the metrics of a case: why it errored, the status in ADK if it differs, and every metric with its
//! reason. Failed metrics come first and with their full reason.

use crate::explorer::case_list::trend::since_text;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::{
    APPLY_SUGGESTION, JUDGE_AGAIN, QUEUE_RELAX, RUN, SCORE,
};
use crate::explorer::shared::context::Context;
use crate::explorer::shared::enabled::can_score;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::older_criteria::OlderCriteria;
use crate::explorer::shown_case::body_data::human_verdicts;
use crate::explorer::widgets::text::fit;
use evaltrail_core::diff::{Line, Span, Tone, wrap_line};
use evaltrail_core::domain::{
    AttemptSummary, HumanVerdict, MetricSummary, Status, clean_line, compared_texts, score_text,
};
use evaltrail_core::metrics::WhatIf;

/// Columns before the reason of a metric: symbol, name, numbers.
pub const REASON_AT: usize = 48;
/// Indentation of the reason below its metric on narrow screens, in columns.
const NARROW_REASON_AT: usize = 4;
/// Width in columns from which the reason is on the line of its metric.
const NARROW: usize = 100;

/// A line of the metrics of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum VerdictLine {
    /// Text over the whole width, in the style of a status.
    Words(Status, Line),
    /// A note of evaltrail.
    Note(String),
    /// A metric: its status, name, numbers, and the first line of its reason.
    Metric(Status, String, String, Line),
    /// A metric in one line: its status, its name, and the line.
    Brief(Status, String, String),
    /// Continuation of a reason, with its indentation in columns.
    More(usize, Line),
}

/// Builds the lines for the visible attempt, `width` columns wide. If `whole`, metrics that passed have their full reason,
/// and informational metrics a line each; otherwise reasons are cut to a line, and informational metrics share one.
pub fn verdict_lines(model: &Model, width: usize, whole: bool) -> Vec<VerdictLine> {
    let running = running_text(model);
    let Some(attempt) = model.shown_attempt() else {
        let words = running.unwrap_or_else(|| not_run_text(model));
        return notes(&words, width).collect();
    };
    let mut lines: Vec<VerdictLine> = running
        .iter()
        .flat_map(|words| notes(words, width))
        .collect();
    if let Some(words) = attempt.model_error_text() {
        let wrapped = wrap_line(&[plain(&format!("⚠ {words}"))], width.saturating_sub(2));
        lines.extend(
            wrapped
                .into_iter()
                .map(|line| VerdictLine::Words(Status::NotEvaluated, line)),
        );
    }
    if let Some(error) = &attempt.error {
        lines.extend(error_lines(error, width));
        let tries = if attempt.tries > 1 {
            format!("; tried {} times", attempt.tries)
        } else {
            String::new()
        };
        lines.extend(notes(
            &format!("ADK reports failed, because it has no status for errors{tries}"),
            width,
        ));
    } else if attempt.status != attempt.adk_status || !attempt.model_errors.is_empty() {
        let said = attempt.adk_status.label();
        lines.extend(notes(
            &format!("{} here; ADK reports {said}", attempt.status.label()),
            width,
        ));
    }
    case_notes(model, attempt, width, &mut lines);
    let metrics = in_order(attempt);
    let (failed, others) =
        metrics.split_at(metrics.partition_point(|one| one.status == Status::Failed));
    let overruled = overruled(model, attempt);
    let add = |metric: &MetricSummary, lines: &mut Vec<VerdictLine>| {
        metric_lines(metric, width, whole, lines);
        let mine = overruled.iter().filter(|one| one.metric == metric.metric);
        lines.extend(mine.flat_map(|one| notes(&overruled_text(one), width)));
    };
    failed.iter().for_each(|metric| add(metric, &mut lines));
    let suggestion = model.shown_case().and_then(|case| case.suggestion.as_ref());
    if let Some(change) = suggestion.filter(|_| older_criteria(model).is_none()) {
        lines.extend(notes(&suggestion_text(model, change), width));
    }
    if !attempt.undecided.is_empty() {
        lines.extend(notes(&clean_line(&attempt.undecided), width));
    }
    let (informational, deciding): (Vec<&MetricSummary>, Vec<_>) = others
        .iter()
        .partition(|one| !whole && one.status == Status::Informational);
    deciding.iter().for_each(|metric| add(metric, &mut lines));
    if !informational.is_empty() {
        lines.extend(numbers_line(&informational, width));
    }
    lines
}

/// The case whose comparison is visible; without one, the case that commands act on.
fn visible_case(model: &Model) -> Option<CaseRef> {
    let shown = model.shown_case().map(|case| case.at);
    shown.or_else(|| model.current_case())
}

/// How the criteria of the visible result differ from the current ones.
fn older_criteria(model: &Model) -> Option<OlderCriteria> {
    model.older_criteria(visible_case(model)?)
}

/// What a change of criteria would do, with the key that tries it; if the criteria were changed since the run, that they were.
pub(super) fn suggestion_text(model: &Model, change: &WhatIf) -> String {
    if let Some(older) = older_criteria(model) {
        let again = JUDGE_AGAIN.key();
        return format!("{}  ({again} score it again)", older.describe());
    }
    let words = change.describe().join(" + ");
    let hint = match model.screen_context() {
        Context::Queue => {
            let criteria = model.changed_criteria_text(change);
            format!("  ({} loosens {criteria})", QUEUE_RELAX.key())
        }
        // The preview of a run: its rows are as they were recorded.
        Context::Run => String::new(),
        _ => format!("  ({} try it)", APPLY_SUGGESTION.key()),
    };
    format!("would pass with {}{hint}", clean_line(&words))
}

/// The score and the threshold of a metric.
pub(super) fn numbers_text(metric: &MetricSummary) -> String {
    match (metric.score(), metric.threshold) {
        (Some(score), Some(threshold)) => {
            let (score, threshold) = compared_texts(score, threshold);
            format!("{score} / {threshold}")
        }
        (Some(score), None) => score_text(score),
        _ => String::new(),
    }
}

/// Informational metrics one after the other: `· tool calls 2 · tokens 619`.
fn numbers_line(metrics: &[&MetricSummary], width: usize) -> impl Iterator<Item = VerdictLine> {
    let number = |score: f64| (score * 100.0).round() / 100.0;
    let text = |metric: &&MetricSummary| {
        let name = metric.metric.trim_end_matches("_v1").replace('_', " ");
        let score = metric
            .score()
            .map_or("?".into(), |score| number(score).to_string());
        format!("· {} {score}", clean_line(&name))
    };
    let words = metrics.iter().map(text).collect::<Vec<_>>().join("  ");
    wrap_line(&[plain(&words)], width.saturating_sub(2))
        .into_iter()
        .map(|line| VerdictLine::Words(Status::Informational, line))
}

/// More lines of an error, such as the frames of a long traceback, are only counted.
const MAX_ERROR_LINES: usize = 40;
/// Longer lines are cut, in characters.
const MAX_ERROR_LINE: usize = 2000;

/// An error with its line breaks: a traceback is read line by line.
fn error_lines(error: &str, width: usize) -> Vec<VerdictLine> {
    let mut texts: Vec<String> = error
        .lines()
        .take(MAX_ERROR_LINES)
        .enumerate()
        .map(|(at, line)| {
            let sign = if at == 0 { "! errored" } else { "" };
            let end = line.char_indices().nth(MAX_ERROR_LINE);
            match end {
                Some((end, _)) => format!("{sign}  {}…", clean_line(&line[..end])),
                None => format!("{sign}  {}", clean_line(line)),
            }
        })
        .collect();
    match error.lines().count().saturating_sub(MAX_ERROR_LINES) {
        0 => {}
        more => texts.push(format!("  … {more} more lines")),
    }
    let wrap = |text: &String| wrap_line(&[plain(text)], width.saturating_sub(2));
    let lines = texts.iter().flat_map(wrap);
    lines
        .map(|line| VerdictLine::Words(Status::Errored, line))
        .collect()
}

/// The user's verdicts on the attempt that differ from the computed ones.
fn overruled(model: &Model, attempt: &AttemptSummary) -> Vec<HumanVerdict> {
    let Some(case) = model.shown_case() else {
        return Vec::new();
    };
    let differs = |one: &HumanVerdict| one.verdict.is_some() && one.verdict != one.computed;
    human_verdicts(model, case, attempt)
        .into_iter()
        .filter(differs)
        .collect()
}

/// A verdict of the user beside the computed one, which it does not replace.
fn overruled_text(one: &HumanVerdict) -> String {
    let word = |verdict: Option<bool>| match verdict {
        Some(true) => "✓ yes",
        Some(false) => "✗ no",
        None => "none",
    };
    let about = one
        .rubric_id
        .as_ref()
        .map(|rubric| format!(" on {rubric}"))
        .unwrap_or_default();
    let note = if one.note.is_empty() {
        String::new()
    } else {
        format!(": {}", one.note)
    };
    let (own, computed) = (word(one.verdict), word(one.computed));
    clean_line(&format!(
        "your verdict{about}: {own}{note}  (computed: {computed})"
    ))
    .into_owned()
}

/// Notes about the case and its result: what was run, whether the case was edited, what was decided, since when it fails.
fn case_notes(model: &Model, attempt: &AttemptSummary, width: usize, lines: &mut Vec<VerdictLine>) {
    if let Some(turn) = attempt.turn {
        let words = format!(
            "turn {turn} was run alone, on the turns that the case expects before it; {} {} the case",
            RUN.key(),
            RUN.name
        );
        lines.extend(notes(&words, width));
    }
    let edited = visible_case(model)
        .and_then(|case| model.view.outcomes.get(case))
        .is_some_and(|o| o.is_edited())
        && attempt.turn.is_none();
    if let Some(words) = edited_text(edited, older_criteria(model)) {
        lines.extend(notes(&words, width));
    }
    let decided = visible_case(model)
        .map(|case| model.decided_text(case))
        .unwrap_or_default();
    if !decided.is_empty() && attempt.status != Status::Passed {
        lines.extend(notes(&clean_line(&decided), width));
    }
    let older = visible_case(model)
        .filter(|_| attempt.status != Status::Passed && older_criteria(model).is_none())
        .map(|case| model.older_result_text(case))
        .filter(|text| !text.is_empty());
    if let Some(older) = older {
        let words = format!("{older}  ({} score it again)", JUDGE_AGAIN.key());
        lines.extend(notes(&clean_line(&words), width));
    }
    let since =
        visible_case(model).filter(|_| attempt.status != Status::Passed && attempt.turn.is_none());
    if let Some(words) = since.and_then(|case| since_text(model, case)) {
        lines.extend(notes(&clean_line(&words), width));
    }
    if let Some(name) = attempt.variant() {
        let words = format!("expected is the variant {name:?}, which matches");
        lines.extend(notes(&clean_line(&words), width));
    }
}

/// What was edited since the run, the case or its criteria, and what the result is then.
fn edited_text(is_case_edited: bool, criteria: Option<OlderCriteria>) -> Option<String> {
    let (run, judge) = (RUN.key(), JUDGE_AGAIN.key());
    let keys = format!("({judge} score it again, {run} run the case)");
    let text = match (is_case_edited, criteria) {
        (false, None) => return None,
        (true, None) => {
            "edited since this run, and compared with the case as it is now".to_string()
        }
        (false, Some(older)) => {
            format!(
                "{}; this is the result by the criteria of the run",
                older.describe()
            )
        }
        (true, Some(older)) => format!(
            "the case was edited since this run, and compared as it is now; {}",
            older.describe()
        ),
    };
    Some(format!("{text}  {keys}"))
}

/// A wrapped note.
fn notes(words: &str, width: usize) -> impl Iterator<Item = VerdictLine> + use<> {
    let text = |line: Line| line.into_iter().map(|span| span.text).collect::<String>();
    let lines = wrap_line(&[plain(words)], width.saturating_sub(2).max(1));
    lines
        .into_iter()
        .map(move |line| VerdictLine::Note(text(line)))
}

/// Text for a case that was not run.
fn not_run_text(model: &Model) -> String {
    if let Some(problem) = visible_case(model).and_then(|case| model.problem_of(case)) {
        return format!("this case cannot be read: {}", clean_line(&problem));
    }
    let score = match can_score(model) {
        Ok(()) => format!(", {} score the saved responses", SCORE.key()),
        Err(_) => String::new(),
    };
    format!("not run yet  ({} run{score})", RUN.key())
}

/// Text for a case that the live run will run again.
fn running_text(model: &Model) -> Option<String> {
    let case = visible_case(model).filter(|case| model.is_superseded(*case))?;
    let doing = match model.in_flight(case) {
        Some(flight) if flight.turn.0 > 0 => {
            format!("running now, turn {} of {}", flight.turn.0, flight.turn.1)
        }
        Some(_) => "running now".to_string(),
        None => "queued in the current run".to_string(),
    };
    Some(match model.shown_attempt().is_some() {
        true => format!("{doing}; the results shown are from an earlier run"),
        false => doing,
    })
}

fn plain(text: &str) -> Span {
    Span {
        text: text.to_string(),
        tone: Tone::Plain,
        changed: false,
    }
}

/// The metrics of an attempt, those that failed first.
pub(super) fn in_order(attempt: &AttemptSummary) -> Vec<&MetricSummary> {
    let mut metrics: Vec<&MetricSummary> = attempt.metrics.iter().collect();
    metrics.sort_by_key(|metric| match metric.status {
        Status::Failed => 0,
        Status::Errored | Status::NotEvaluated => 1,
        Status::Passed => 2,
        Status::Informational => 3,
    });
    metrics
}

fn metric_lines(metric: &MetricSummary, width: usize, whole: bool, lines: &mut Vec<VerdictLine>) {
    let numbers = numbers_text(metric);
    let narrow = width < NARROW;
    let reason_at = if narrow { NARROW_REASON_AT } else { REASON_AT };
    let room = width.saturating_sub(reason_at + 1).max(10);
    let mut reason = wrap_line(&[plain(&clean_line(&metric.explanation))], room);
    let is_whole = whole
        || matches!(
            metric.status,
            Status::Failed | Status::NotEvaluated | Status::Errored
        );
    if !is_whole && reason.len() > 1 {
        reason = vec![vec![plain(&fit(&metric.explanation, room))]];
    }
    if !is_whole && narrow {
        reason.clear();
    }
    let mut reason = reason.into_iter();
    let first = if narrow {
        Line::default()
    } else {
        reason.next().unwrap_or_default()
    };
    lines.push(VerdictLine::Metric(
        metric.status,
        metric.metric.clone(),
        numbers,
        first,
    ));
    lines.extend(reason.map(|line| VerdictLine::More(reason_at, line)));
}
