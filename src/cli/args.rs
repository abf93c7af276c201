//! The arguments of the command line.

pub(super) use super::arg_values::{ColorWhen, FailOn, ReportTo, RuleArgs, RunFailOn};
pub(super) use super::run_args::{CaseArgs, MergeArgs, RunArgs, ScoreArgs};

use clap::Parser;
use evaltrail_core::formats::ColumnMap;
use std::path::PathBuf;

/// A terminal explorer for agent evaluations.
#[derive(Parser, Debug)]
#[command(
    name = "evaltrail",
    version,
    about = "Explore agent evaluations: which cases failed, where they differ from what is expected, and why",
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  evaltrail demo                       explore a sample workspace
  evaltrail                            explore the eval sets of this folder
  evaltrail run . --agent NAME         run all cases, and report the results
  evaltrail run . --failed             run again what did not pass
  evaltrail help run                   all options of a command

Exit codes: 0 all passed, 1 something failed, errored or was not evaluated, 2 invalid usage or input, or an agent that cannot be used, 130 interrupted."
)]
pub(super) struct Cli {
    /// Folder or file to explore
    pub(super) path: Option<PathBuf>,
    /// Colour theme: default, dark, light, high-contrast, colour-blind, white-on-black, mono, or one from your config.toml
    #[arg(long)]
    pub(super) theme: Option<String>,
    /// Read these columns of data sets as those that evaltrail knows, e.g. prompt=question,reference=answer
    #[arg(long, value_name = "KNOWN=NAME,...", value_parser = ColumnMap::parse, default_value = "", hide_default_value = true)]
    pub(super) columns: ColumnMap,
}
