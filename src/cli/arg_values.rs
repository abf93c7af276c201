//! Values of arguments that several commands take.

use clap::{Args, ValueEnum};
use evaltrail_core::analysis::{ChangeEvidence, ComparisonRule, CoverageShare};
use evaltrail_engine::config::{checked_share, parse_evidence, parse_level};
use evaltrail_engine::report::{REPORTS, ReportFormat, report_format};
use std::path::PathBuf;

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailOn {
    /// A case broke, or the pass rate of all cases fell significantly
    Broke,
    /// A case that passed is removed
    Removed,
}

/// What fails a run.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunFailOn {
    /// A case broke since the baseline, or the pass rate of all cases fell significantly
    Broke,
    /// A case that passed in the baseline is removed
    Removed,
    /// Cases fail for a cause that no earlier run had, or that came back
    NewCause,
}

impl RunFailOn {
    /// The kind of difference to the baseline that it names; `None` for conditions that need no baseline.
    pub(super) fn difference(self) -> Option<FailOn> {
        match self {
            RunFailOn::Broke => Some(FailOn::Broke),
            RunFailOn::Removed => Some(FailOn::Removed),
            RunFailOn::NewCause => None,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// How runs are compared.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct RuleArgs {
    /// Level of significance of comparisons with other runs, between 0 and 1 [default: 0.05]
    #[arg(long, value_name = "P", value_parser = parse_level, hide_short_help = true)]
    pub(super) level: Option<f64>,
    /// What counts as evidence that a case broke or was fixed: complete (default), significant or any
    #[arg(long, value_name = "KIND", value_parser = parse_evidence, hide_short_help = true)]
    pub(super) evidence: Option<ChangeEvidence>,
}

impl RuleArgs {
    /// The rule. Flags override the configuration.
    pub(super) fn rule(self, configured: ComparisonRule) -> ComparisonRule {
        ComparisonRule {
            level: self.level.unwrap_or(configured.level),
            evidence: self.evidence.unwrap_or(configured.evidence),
        }
    }
}

/// A report to write.
#[derive(Clone, Debug)]
pub(super) struct ReportTo {
    pub(super) format: &'static ReportFormat,
    pub(super) file: PathBuf,
}

pub(super) fn parse_report(text: &str) -> Result<ReportTo, String> {
    let (format, file) = text
        .split_once('=')
        .ok_or("write FORMAT=FILE, for example json=report.json")?;
    let format = report_format(format).ok_or_else(|| {
        format!(
            "unknown format {format:?}; the formats are {}",
            names_of(REPORTS).join(", ")
        )
    })?;
    if file.is_empty() {
        return Err("the file is missing".into());
    }
    Ok(ReportTo {
        format,
        file: PathBuf::from(file),
    })
}

/// Parses a demanded share of `coverage`: `tools=0.9`.
pub(super) fn parse_min(text: &str) -> Result<(CoverageShare, f64), String> {
    let (name, number) = text.split_once('=').ok_or_else(|| {
        let names = CoverageShare::ALL.map(CoverageShare::name).join(", ");
        format!("expected SHARE=NUMBER, such as tools=0.9; the shares are {names}")
    })?;
    let number = number
        .parse()
        .map_err(|_| format!("{number:?} is not a number"))?;
    checked_share(name, number)
}

/// Parses tools that are left out, with the reason: `debug_*=only for developers`.
pub(super) fn parse_waived(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((tools, reason)) if !tools.is_empty() && !reason.trim().is_empty() => {
            Ok((tools.to_string(), reason.trim().to_string()))
        }
        _ => Err("expected TOOLS=REASON, such as 'debug_*=only for developers'".into()),
    }
}

pub(super) fn parse_comparison_report(text: &str) -> Result<ReportTo, String> {
    let to = parse_report(text)?;
    match to.format.write_comparison {
        Some(_) => Ok(to),
        None => Err(format!(
            "a comparison is written as {}, not as {}",
            names_of(&comparison_formats()).join(" or "),
            to.format.name
        )),
    }
}

fn names_of(formats: &[&ReportFormat]) -> Vec<&'static str> {
    formats.iter().map(|format| format.name).collect()
}

fn comparison_formats() -> Vec<&'static ReportFormat> {
    REPORTS
        .iter()
        .copied()
        .filter(|format| format.write_comparison.is_some())
        .collect()
}

/// The help of `--report` for a run.
pub(super) fn report_help() -> String {
    format!(
        "Write a report: {} (repeatable)",
        listed(&names_of(REPORTS))
    )
}

/// The help of `--report` for a comparison.
pub(super) fn comparison_report_help() -> String {
    format!(
        "Write the comparison to a file: {} (repeatable)",
        listed(&names_of(&comparison_formats()))
    )
}

/// "a, b or c".
fn listed(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.join(""),
    }
}
