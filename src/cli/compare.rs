//! `evaltrail compare`: what became of the cases from one run to another.

use super::Exit;
use super::addresses::copy_at;
use super::addresses::fill_result;
use super::arg_values::{comparison_report_help, parse_comparison_report};
use super::args::FailOn;
use super::args::RuleArgs;
use super::args::{ColorWhen, ReportTo};
use super::exit_code::{counted_changes, no_baseline};
use super::find_run::{find_run, predecessor_id};
use super::output::{paint, print_json, print_line, print_note};
use super::subcommand::CliCommand;
use anyhow::{Context, bail};
use clap::Args;
use evaltrail_core::analysis::{RunConditions, RunToCompare, compare_runs};
use evaltrail_core::domain::RunState;
use evaltrail_engine::report::{ComparedRuns, shell_word};
use evaltrail_engine::runner::removed_cases;
use evaltrail_engine::store::read_baseline;
use evaltrail_engine::workspace::Workspace;
use std::path::{Path, PathBuf};

/// Compare two runs case by case: what broke, what was fixed, and whether it is more than noise
#[derive(Args, Debug)]
pub(super) struct CompareArgs {
    /// The first run: `last`, `previous`, `baseline`, the beginning of its id, its name, or its folder [default: the
    /// newest earlier run of all cases of its sets, else of a part of them]
    pub(super) first: Option<String>,
    /// The second run
    #[arg(default_value = "last")]
    pub(super) second: String,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(super) json: bool,
    #[arg(long, help = comparison_report_help(), value_name = "FORMAT=FILE", value_parser = parse_comparison_report)]
    pub(super) report: Vec<ReportTo>,
    /// Exit with 1 if a case broke, or a case that passed is removed (`broke,removed` for both)
    #[arg(long, value_enum, value_name = "WHAT,...", value_delimiter = ',')]
    pub(super) fail_on: Vec<FailOn>,
    #[command(flatten)]
    pub(super) rule: RuleArgs,
    /// The folder of the runs
    #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
}

impl CliCommand for CompareArgs {
    const NAME: &'static str = "compare";

    fn copy_inputs(&mut self) -> anyhow::Result<()> {
        copy_at(&mut self.folder)
    }

    fn run(self) -> anyhow::Result<Exit> {
        compare(self)
    }
}

pub(super) fn compare(args: CompareArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.folder)?;
    let side = |named: &str| compared_side(&workspace, named);
    let second = side(&args.second)?;
    let named = match args.first {
        Some(named) => named,
        None => predecessor_id(&workspace, &second.state.plan.run_id)?,
    };
    let first = side(&named)?;
    let (before, after) = (&first.state, &second.state);
    if before.plan.run_id == after.plan.run_id {
        bail!("{named} and {} are the same run", args.second);
    }
    let turns = (before.plan.options.turn, after.plan.options.turn);
    if turns.0 != turns.1 {
        let words = |turn: Option<u32>| {
            turn.map_or("all turns".to_string(), |turn| format!("turn {turn} alone"))
        };
        let (first, second) = (words(turns.0), words(turns.1));
        bail!(
            "the first run has {first}, the second {second}: they cannot be compared; choose two runs of the same turns from the list of `evaltrail runs`"
        );
    }
    let (before_side, after_side) = (first.to_compare(), second.to_compare());
    let found = compare_runs(
        before_side,
        after_side,
        &args.rule.rule(workspace.config.comparison),
    );
    let removed = removed_cases(&found, before_side, &workspace.root);
    let compared = ComparedRuns {
        before: before_side,
        after: after_side,
        found: &found,
        removed: &removed,
    };
    match args.json {
        true => print_json(&serde_json::to_string_pretty(&compared.json())?),
        false => print_line(&compared.text(paint(ColorWhen::Auto))),
    };
    for to in &args.report {
        write_report(&compared, to)?;
    }
    let broke = found.lost(before, after).count();
    let changes = counted_changes(&args.fail_on, broke, found.fall().is_some(), removed.len());
    changes.iter().for_each(|words| print_note(words));
    Ok(match changes.is_empty() {
        true => Exit::Success,
        false => Exit::Failures,
    })
}

fn write_report(
    compared: &ComparedRuns,
    ReportTo { format, file }: &ReportTo,
) -> anyhow::Result<()> {
    let Some(write) = format.write_comparison else {
        bail!("{} has no form for comparisons", format.name)
    };
    fill_result(file, |out| write(compared, out))
        .with_context(|| format!("--report {}", file.display()))
}

/// A run, or the baseline.
fn compared_side(workspace: &Workspace, named: &str) -> anyhow::Result<Side> {
    if named != "baseline" {
        return Ok(Side {
            state: find_run(workspace, named)
                .map_err(|error| with_folder_hint(named, error))?
                .state,
            conditions: None,
        });
    }
    let baseline = read_baseline(&workspace.root)?.with_context(no_baseline)?;
    Ok(Side {
        state: baseline.state,
        conditions: Some(baseline.conditions),
    })
}

/// The error that there is no such run; if it is a folder, how to compare the runs in it.
fn with_folder_hint(named: &str, error: anyhow::Error) -> anyhow::Error {
    let path = Path::new(named);
    if !path.is_dir() || path.join("run.json").is_file() {
        return error;
    }
    anyhow::anyhow!(
        "{named}: it is a folder, not a run; `evaltrail compare --in {}` compares the last two runs of that folder",
        shell_word(named)
    )
}

/// A run, or the baseline.
struct Side {
    state: RunState,
    conditions: Option<RunConditions>,
}

impl Side {
    fn to_compare(&self) -> RunToCompare<'_> {
        RunToCompare {
            state: &self.state,
            conditions: self.conditions.as_ref(),
        }
    }
}
