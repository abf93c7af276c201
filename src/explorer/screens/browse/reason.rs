//! Why a case did not pass, and what else to know about its result.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::CaseOutcome;
use crate::explorer::shared::set_view::CaseSummary;
use crate::explorer::shared::theme::{Role, Theme};
use crate::explorer::widgets::text::put;
use evaltrail_core::domain::Status;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

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
                    .map(|attempt| attempt.reason_with_model_errors())
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
    if !reason.is_empty() && area.width > 20 {
        let words = format!(" {} {reason} ", status.glyph());
        put(
            buffer,
            area.x + 2,
            area.bottom() - 1,
            area.width - 4,
            &words,
            theme.status(status),
        );
    }
}

/// The reason of a row: why the case cannot be read, else what was decided, what to know beside the outcome, and why the
/// case did not pass. Each text with its style.
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
    vec![
        (model.decided_text(case), note),
        (remarks, note),
        (first_line(&attempt.reason()), theme.status(attempt.status)),
    ]
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
