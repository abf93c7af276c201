//! A run in every form that leaves evaltrail. Whatever came from outside is cleaned before it is written.

mod csv;
mod format;
mod html;
mod json;
mod junit;
mod markdown;
mod text;
mod vertex;

pub use format::ReportFormat;
pub use json::write_json_report;
pub use text::{Paint, case_line, run_summary};

use crate::domain::{EndedAttempt, RunState};

/// The attempts in the plan's order.
fn attempts_in_order(state: &RunState) -> Vec<&EndedAttempt> {
    let cases = 0..state.plan.cases.len();
    cases.flat_map(|case| state.attempts_of(case)).map(|attempt| attempt.as_ref()).collect()
}

/// The metrics of these attempts, in the order they first appear.
fn metric_names<'a>(attempts: &[&'a EndedAttempt]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for metric in attempts.iter().flat_map(|attempt| &attempt.metrics) {
        if !names.contains(&metric.metric.as_str()) {
            names.push(&metric.metric);
        }
    }
    names
}
