//! Lines about an attempt, for a terminal or a log: its status, its scores, and why it did not pass.

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

/// Lines with why an attempt errored, its scores, and why no criterion decided it, each after a line break.
pub fn score_lines(attempt: &AttemptSummary, paint: Paint) -> String {
    let mut out = String::new();
    if let Some(error) = &attempt.error {
        let _ = write!(
            out,
            "\n    {}",
            paint.status(Status::Errored, &clean_line(error))
        );
    }
    for metric in &attempt.metrics {
        let _ = write!(out, "\n    {}", metric_line(metric, paint));
    }
    if attempt.error.is_none()
        && !attempt.metrics.iter().any(is_reason)
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

fn is_reason(metric: &MetricSummary) -> bool {
    matches!(
        metric.status,
        Status::Failed | Status::NotEvaluated | Status::Errored
    )
}

/// The name of a metric, its score of its threshold, its status and its explanation.
fn metric_line(metric: &MetricSummary, paint: Paint) -> String {
    let number = match (metric.score(), metric.threshold) {
        (Some(score), Some(threshold)) => {
            let (score, threshold) = compared_texts(score, threshold);
            format!(" {score} of {threshold},")
        }
        (Some(score), None) => format!(" {},", score_text(score)),
        (None, _) => ":".to_string(),
    };
    let status = match (metric.status, metric.score()) {
        (Status::Informational, None) => Status::NotEvaluated,
        (status, _) => status,
    };
    let name = clean_line(&metric.metric);
    let metric_text = paint.status(status, &format!("{name}{number} {}", status.label()));
    match clean_line(&metric.explanation) {
        why if why.is_empty() => metric_text,
        why => format!("{metric_text}  {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evaltrail_core::domain::{Attempt, AttemptKey, MetricResult, Score};

    fn metric(name: &str, score: Option<f64>, status: Status) -> MetricResult {
        MetricResult {
            metric: name.into(),
            score: score.and_then(Score::new),
            threshold: (status != Status::Informational).then_some(0.8),
            status,
            explanation: String::new(),
            findings: Vec::new(),
            per_invocation: Vec::new(),
            rubrics: Vec::new(),
            criterion: None,
            details: None,
            judgement: None,
        }
    }

    #[test]
    fn scores_of_all_metrics_have_their_status() {
        let key = AttemptKey {
            case: 0,
            attempt: 1,
        };
        let attempt = Attempt {
            status: Status::Failed,
            metrics: vec![
                metric("a", Some(1.0), Status::Passed),
                metric("b", Some(0.5), Status::Failed),
                metric("c", Some(0.25), Status::Informational),
                metric("d", None, Status::Informational),
                metric("e", None, Status::Errored),
            ],
            ..Attempt::blank(key, "x")
        };
        let expected = "
    a 1.00 of 0.80, passed
    b 0.50 of 0.80, failed
    c 0.25, informational
    d: not evaluated
    e: errored  no reason is recorded";
        assert_eq!(
            score_lines(&attempt.summary(), Paint { on: false }),
            expected
        );
    }
}
