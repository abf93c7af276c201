//! Lines about an attempt, for a terminal or a log: its status, and why it did not pass.

use super::paint::Paint;
use super::remarks::{MODEL_ERROR_SIGN, unsteady_text};
use evaltrail_core::domain::{
    AttemptSummary, MetricSummary, RunState, Status, clean_line, compared_texts, score_text,
    seconds_text,
};
use std::fmt::Write;

/// A line for an attempt: its status, name and time.
pub fn attempt_line(state: &RunState, attempt: &AttemptSummary, paint: Paint) -> String {
    let set = state.plan.case_location(attempt.key.case);
    let title = attempt.title(state.plan.options.repeat);
    let name = format!("{} › {}", clean_line(&set), clean_line(&title));
    let time = attempt
        .latency_s
        .map(|_| paint.faint(&format!("  {}", seconds_text(attempt.latency_s))));
    let unsteady = unsteady_text(attempt);
    let reported = attempt.model_error_text();
    let warned = reported.map(|words| {
        paint.status(
            Status::NotEvaluated,
            &format!("  {MODEL_ERROR_SIGN} {words}"),
        )
    });
    let differs = attempt.status != attempt.adk_status || warned.is_some();
    let in_adk = match differs && attempt.status != Status::Errored {
        true => paint.faint(&format!("  ADK status: {}", attempt.adk_status.label())),
        false => String::new(),
    };
    let glyph = paint.status(attempt.status, attempt.status.glyph());
    format!(
        "{glyph} {name}{}{unsteady}{}{in_adk}",
        time.unwrap_or_default(),
        warned.unwrap_or_default()
    )
}

/// Lines with the reasons why an attempt did not pass, each after a line break; empty if it passed.
pub fn reason_lines(attempt: &AttemptSummary, paint: Paint) -> String {
    let mut out = String::new();
    if let Some(error) = &attempt.error {
        let _ = write!(
            out,
            "\n    {}",
            paint.status(Status::Errored, &clean_line(error))
        );
    }
    for metric in attempt
        .metrics
        .iter()
        .filter(|metric| is_worth_a_line(metric))
    {
        let _ = write!(out, "\n    {}", metric_line(metric, paint));
    }
    if attempt.error.is_none()
        && !attempt.metrics.iter().any(is_worth_a_line)
        && !attempt.reason().is_empty()
    {
        let _ = write!(
            out,
            "\n    {}",
            paint.status(attempt.status, &clean_line(&attempt.reason()))
        );
    }
    let remarks = attempt.end_remarks();
    if !remarks.is_empty() {
        let _ = write!(out, "\n    {}", paint.faint(&remarks));
    }
    out
}

fn is_worth_a_line(metric: &MetricSummary) -> bool {
    matches!(
        metric.status,
        Status::Failed | Status::NotEvaluated | Status::Errored
    )
}

fn metric_line(metric: &MetricSummary, paint: Paint) -> String {
    let number = match (metric.score(), metric.threshold) {
        (Some(score), Some(threshold)) => {
            let (score, threshold) = compared_texts(score, threshold);
            format!(" {score} of {threshold}")
        }
        (Some(score), None) => format!(" {}", score_text(score)),
        _ => format!(" {}", metric.status.label()),
    };
    let metric_text = paint.status(
        metric.status,
        &format!("{}{number}", clean_line(&metric.metric)),
    );
    format!("{metric_text}  {}", clean_line(&metric.explanation))
}
