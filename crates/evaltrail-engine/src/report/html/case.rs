//! One attempt of a case: its metrics with their reasons, and what was expected beside what the agent did.

use super::compared::turns;
use super::escape::text;
use crate::report::open_command::open_command;
use crate::report::remarks::{MODEL_ERROR_SIGN, unsteady_text, why_not_counted};
use evaltrail_core::domain::{
    EndedAttempt, MetricResult, RunState, Status, compared_texts, score_text, seconds_text,
};
use std::fmt::Write;
use std::io;

/// Whether an attempt passed, or was only scored.
pub(super) fn has_passed_or_scored(status: Status) -> bool {
    matches!(status, Status::Passed | Status::Informational)
}

/// The id of the HTML element of an attempt: `case-3`, or `case-3-2` for the second attempt.
pub(super) fn anchor(ended: &EndedAttempt) -> String {
    let number = ended.key.case + 1;
    match ended.key.attempt {
        0 | 1 => format!("case-{number}"),
        attempt => format!("case-{number}-{attempt}"),
    }
}

pub(super) fn case(
    state: &RunState,
    ended: &EndedAttempt,
    passes_gate: bool,
    out: &mut String,
) -> io::Result<()> {
    let attempt = ended.read_to_write()?;
    let set = state.plan.case_location(attempt.key.case);
    let open = if has_passed_or_scored(attempt.status) {
        ""
    } else {
        " open"
    };
    let status = attempt.status;
    let _ = writeln!(
        out,
        "<details{open} id=\"{}\"><summary><span class=\"{}\">{} {}{}</span> {} › {}{}{}</summary>",
        anchor(ended),
        status.key(),
        status.glyph(),
        status.label(),
        unsteady_text(ended),
        text(&set),
        text(&ended.title(state.plan.options.repeat)),
        match attempt.latency_s {
            Some(_) => format!(" ({})", seconds_text(attempt.latency_s)),
            None => String::new(),
        },
        ended.model_error_text().map_or(String::new(), |words| {
            let words = text(&format!(
                "{MODEL_ERROR_SIGN} {words}; ADK status: {}",
                attempt.adk_status.label()
            ));
            format!(
                " <span class=\"{}\">{words}</span>",
                Status::NotEvaluated.key()
            )
        })
    );
    if let Some(error) = &attempt.error {
        let _ = writeln!(out, "<pre class=\"errored\">{}</pre>", text(error));
    }
    let remarks = ended.end_remarks();
    if !remarks.is_empty() {
        let _ = writeln!(out, "<p>{}</p>", text(&remarks));
    }
    let not_counted = why_not_counted(state, ended, passes_gate);
    if !not_counted.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"not_evaluated\">{}</p>",
            text(not_counted.trim_end_matches([':', ' ']))
        );
    }
    scores(&attempt.metrics, out);
    turns(&attempt, out);
    if !has_passed_or_scored(status) {
        let command = open_command(&state.plan, &attempt.eval_id);
        let _ = writeln!(out, "<p>to open it: <code>{}</code></p>", text(&command));
    }
    out.push_str("</details>\n");
    Ok(())
}

/// The metrics of an attempt: status, score, threshold and explanation.
fn scores(metrics: &[MetricResult], out: &mut String) {
    if metrics.is_empty() {
        return;
    }
    out.push_str(
        "<table><tr><th>metric<th class=\"n\">score<th class=\"n\">threshold<th>reason</tr>\n",
    );
    for metric in metrics {
        let (score, threshold) = match (metric.score(), metric.threshold) {
            (Some(score), Some(threshold)) => compared_texts(score, threshold),
            (score, threshold) => {
                let text = |value: Option<f64>| value.map(score_text).unwrap_or_default();
                (text(score), text(threshold))
            }
        };
        let _ = writeln!(
            out,
            "<tr><td class=\"{}\">{} {}<td class=\"n\">{}<td class=\"n\">{}<td>{}</tr>",
            metric.status.key(),
            metric.status.glyph(),
            text(&metric.metric),
            score,
            threshold,
            text(&metric.explanation)
        );
    }
    out.push_str("</table>\n");
}
