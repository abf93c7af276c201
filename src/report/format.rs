//! The forms a report can be written in.

use super::{csv, html, json_report, junit_report, markdown, vertex};
use crate::domain::RunState;

/// A form of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// evaltrail's own, whole.
    Json,
    /// For CI.
    Junit,
    /// For a pull request.
    Markdown,
    /// One page without scripts.
    Html,
    /// A line a case.
    Csv,
    /// Vertex's metrics table as JSON Lines.
    Vertex,
    /// Vertex's summary of metrics.
    VertexSummary,
    /// The newer client's `EvaluationResult`.
    EvaluationResult,
}

impl ReportFormat {
    /// All of them.
    pub const ALL: &[ReportFormat] = &[
        ReportFormat::Json,
        ReportFormat::Junit,
        ReportFormat::Markdown,
        ReportFormat::Html,
        ReportFormat::Csv,
        ReportFormat::Vertex,
        ReportFormat::VertexSummary,
        ReportFormat::EvaluationResult,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ReportFormat::Json => "json",
            ReportFormat::Junit => "junit",
            ReportFormat::Markdown => "markdown",
            ReportFormat::Html => "html",
            ReportFormat::Csv => "csv",
            ReportFormat::Vertex => "vertex",
            ReportFormat::VertexSummary => "vertex-summary",
            ReportFormat::EvaluationResult => "evaluation-result",
        }
    }

    /// A form by its name.
    pub fn named(name: &str) -> Option<ReportFormat> {
        let name = match name {
            "xml" => "junit",
            "md" => "markdown",
            other => other,
        };
        ReportFormat::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The report of a run.
    pub fn write(self, state: &RunState) -> Result<String, String> {
        let pretty = |value: &serde_json::Value| {
            serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| error.to_string())
        };
        match self {
            ReportFormat::Json => pretty(&json_report(state)),
            ReportFormat::Junit => junit_report(state).map_err(|error| error.to_string()),
            ReportFormat::Markdown => Ok(markdown::markdown_report(state)),
            ReportFormat::Html => Ok(html::html_report(state)),
            ReportFormat::Csv => csv::csv_report(state),
            ReportFormat::Vertex => Ok(vertex::metrics_table(state)),
            ReportFormat::VertexSummary => pretty(&vertex::summary(state)),
            ReportFormat::EvaluationResult => pretty(&vertex::evaluation_result(state)),
        }
    }
}
