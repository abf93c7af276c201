//! The formats of reports.

use super::{csv, html, junit, markdown, vertex, write_json_report};
use crate::domain::RunState;
use std::io::{self, Write};
use std::path::Path;

/// A format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// evaltrail's own format, with all results.
    Json,
    /// JUnit XML, for CI.
    Junit,
    /// A summary for a pull request.
    Markdown,
    /// One HTML page without scripts.
    Html,
    /// A table with one row per attempt.
    Csv,
    /// Vertex's metrics table as JSON Lines, or as CSV in a file whose name ends in `.csv`.
    Vertex,
    /// Vertex's summary of metrics.
    VertexSummary,
    /// The newer client's `EvaluationResult`.
    EvaluationResult,
}

impl ReportFormat {
    /// All formats.
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

    /// Returns the format with a name.
    pub fn named(name: &str) -> Option<ReportFormat> {
        let name = match name {
            "xml" => "junit",
            "md" => "markdown",
            other => other,
        };
        ReportFormat::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// Writes the report of a run to a file of this name: Vertex's table is CSV if the name ends in `.csv`. Errors: as of
    /// [`ReportFormat::write`].
    pub fn write_named(self, state: &RunState, file: &Path, out: &mut dyn Write) -> io::Result<()> {
        let is_csv = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        match self {
            ReportFormat::Vertex if is_csv => vertex::write_metrics_csv(state, out),
            format => format.write(state, out),
        }
    }

    /// Writes the report of a run. Errors: those of `out`, and attempts that cannot be read.
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
