//! Values of arguments that several commands take.

use crate::analysis::{ChangeEvidence, ComparisonRule};
use crate::config::{parse_evidence, parse_level};
use crate::report::ReportFormat;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailOn {
    /// A case broke, or the pass rate of all cases fell significantly
    Broke,
    /// A case that passed is removed
    Removed,
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
    #[arg(long, value_name = "P", value_parser = parse_level)]
    pub(super) level: Option<f64>,
    /// What counts as evidence that a case broke or was fixed: complete (default), significant or any
    #[arg(long, value_name = "KIND", value_parser = parse_evidence)]
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
    pub(super) format: ReportFormat,
    pub(super) file: PathBuf,
}

pub(super) fn parse_report(text: &str) -> Result<ReportTo, String> {
    let (format, file) = text.split_once('=').ok_or("write FORMAT=FILE, for example json=report.json")?;
    let format = ReportFormat::named(format).ok_or_else(|| {
        let known: Vec<&str> = ReportFormat::ALL.iter().map(|format| format.name()).collect();
        format!("unknown format {format:?}; the formats are {}", known.join(", "))
    })?;
    if file.is_empty() {
        return Err("the file is missing".into());
    }
    Ok(ReportTo { format, file: PathBuf::from(file) })
}

pub(super) fn parse_comparison_report(text: &str) -> Result<ReportTo, String> {
    let to = parse_report(text)?;
    match to.format {
        ReportFormat::Json | ReportFormat::Markdown => Ok(to),
        other => Err(format!("a comparison is written as json or markdown, not as {}", other.name())),
    }
}
