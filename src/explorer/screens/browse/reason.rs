//! Why a case did not pass, and what else to know about its result.

use crate::explorer::case_list::causes::new_cause_text;
use crate::explorer::shared::case_list::Narrowing;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::CaseOutcome;
use crate::explorer::shared::set_view::CaseSummary;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::reason_in_border;
use evaltrail_core::domain::{AttemptSummary, Status, clean_line};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::borrow::Cow;

/// Why the case under the cursor did not pass or cannot be read, on the lower border.
pub(super) fn note_reason(model: &Model, area: Rect, theme: &Theme, buffer: &mut Buffer) {
    let Some(case) = model
        .view
        .browse
        .visible
        .get(model.view.browse.cursor)
        .copied()
    else {
        return;
    };
    let (status, reason) = match model.view.outcomes.get(case) {
        Some(outcome) => {
            let worst = outcome
                .attempts
                .iter()
                .find(|attempt| attempt.status == outcome.worst);
            (
                outcome.worst,
                worst
                    .map(|attempt| whole_reason(model, attempt))
                    .unwrap_or_default(),
            )
        }
        None => {
            let summaries = model.view.sets[case.set].summaries.as_ref();
            let summary = summaries.and_then(|summaries| summaries.get(case.index));
            (
                Status::Errored,
                summary
                    .and_then(|summary| summary.problem.clone())
                    .unwrap_or_default(),
            )
        }
    };
    reason_in_border(area, status, &reason, theme, buffer);
}

/// The reason of a row: why the case cannot be read, else what was decided, what to know beside the outcome, why the
/// case did not pass, and whether the result is older than the criteria. Each text with its style.
pub(super) fn reason_parts(
    model: &Model,
    case: CaseRef,
    problem: Option<&str>,
    theme: &Theme,
) -> Vec<(String, Style)> {
    if let Some(problem) = problem {
        return vec![(first_line(problem), theme.style(Role::Bad))];
    }
    let worst = model
        .view
        .outcomes
        .get(case)
        .and_then(CaseOutcome::worst_attempt);
    let Some(attempt) = worst else {
        return Vec::new();
    };
    let note = theme.style(Role::Note);
    if attempt.status == Status::Passed {
        return vec![(attempt.remarks(), note)];
    }
    let mut remarks = attempt.remarks();
    if !remarks.is_empty() {
        remarks += "; ";
    }
    let older = match model.older_result_in_list(case) {
        text if text.is_empty() => text,
        text => format!("  ({text})"),
    };
    vec![
        (model.decided_text(case), note),
        (new_cause_text(model, case), note),
        (remarks, note),
        (
            first_line(&reason_in_list(model, attempt)),
            theme.status(attempt.status),
        ),
        (clean_line(&older).into_owned(), note),
    ]
}

/// [`reason_in_list`], after the errors that the model reported.
fn whole_reason(model: &Model, attempt: &AttemptSummary) -> String {
    match attempt.model_errors.is_empty() {
        true => reason_in_list(model, attempt).into_owned(),
        false => attempt.reason_with_model_errors(),
    }
}

/// Why an attempt did not pass: in a list that is narrowed to a cause, why it has this cause.
fn reason_in_list<'a>(model: &Model, attempt: &'a AttemptSummary) -> Cow<'a, str> {
    let narrowing = model.view.browse.narrowing.as_ref();
    match narrowing.map(|narrowed| &narrowed.what) {
        Some(Narrowing::Cause(cause) | Narrowing::Others(cause)) => attempt.reason_for(cause),
        _ => attempt.reason(),
    }
}

/// What is known of a case without reading it.
pub(super) fn summary_of(model: &Model, case: CaseRef) -> Option<&CaseSummary> {
    let summaries = model.view.sets[case.set].summaries.as_ref()?;
    summaries.get(case.index)
}

/// The first line of what the user of a case asks first, behind an id that was made from the content: that says nothing to a
/// person.
pub(super) fn prompt_behind_id<'a>(model: &'a Model, case: CaseRef, id: &str) -> Option<&'a str> {
    let summary = summary_of(model, case).filter(|_| id.starts_with("row-"))?;
    Some(&summary.prompt)
}

/// What the user of a case asks first, for a row without a reason. Empty if it is behind the id.
pub(super) fn prompt_text(model: &Model, case: CaseRef) -> String {
    match summary_of(model, case) {
        Some(summary) if !model.shown_id(case).starts_with("row-") => summary.prompt.to_string(),
        _ => String::new(),
    }
}

/// No column is wider, in characters. It bounds the time for a row with a very long reason.
const MAX_CHARS: usize = 400;

/// The first line of a reason; the case has all lines.
fn first_line(reason: &str) -> String {
    let mut lines = reason.lines();
    let mut chars = lines.next().unwrap_or_default().chars();
    let first: String = chars.by_ref().take(MAX_CHARS).collect();
    match chars.next().is_some() || lines.next().is_some() {
        true => first + " …",
        false => first,
    }
}
