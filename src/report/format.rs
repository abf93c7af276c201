//! The forms a report can be written in.

use super::{csv, html, junit, markdown, vertex, write_json_report};
use crate::domain::RunState;
use std::io::{self, Write};

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

    /// Writes the report of a run. The errors are those of `out`.
    pub fn write(self, state: &RunState, out: &mut dyn Write) -> io::Result<()> {
        match self {
            ReportFormat::Json => {
                write_json_report(state, out)?;
                out.write_all(b"\n")
            }
            ReportFormat::Junit => junit::write_junit_report(state, out),
            ReportFormat::Markdown => out.write_all(markdown::markdown_report(state).as_bytes()),
            ReportFormat::Html => html::write_html_report(state, out),
            ReportFormat::Csv => csv::write_csv_report(state, out),
            ReportFormat::Vertex => vertex::write_metrics_table(state, out),
            ReportFormat::VertexSummary => {
                serde_json::to_writer_pretty(&mut *out, &vertex::summary(state))?;
                out.write_all(b"\n")
            }
            ReportFormat::EvaluationResult => vertex::write_evaluation_result(state, out),
        }
    }
}
