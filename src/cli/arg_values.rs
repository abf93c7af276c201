//! Values of arguments that several commands take.

use crate::report::ReportFormat;
use clap::ValueEnum;
use std::path::PathBuf;

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailOn {
    Broke,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorWhen {
    Auto,
    Always,
    Never,
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
