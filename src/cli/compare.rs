//! `evaltrail compare`: what became of the cases from one run to another.

use super::Exit;
use super::args::{ColorWhen, CompareArgs, FailOn};
use super::find_run::find_run;
use super::output::{paint, say, say_json};
use crate::analysis::{CaseFate, RunToCompare, compare_runs};
use crate::report::ComparedRuns;
use crate::store::{BASELINE_FILE, Baseline, read_baseline};
use crate::workspace::Workspace;
use anyhow::{Context, bail};

pub(super) fn compare(args: CompareArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.folder)?;
    let side = |named: &str| compared_side(&workspace, named);
    let (first, second) = (side(&args.first)?, side(&args.second)?);
    let (before, after) = (&first.state, &second.state);
    if before.plan.run_id == after.plan.run_id {
        bail!("{} and {} are the same run", args.first, args.second);
    }
    let turns = (before.plan.options.turn, after.plan.options.turn);
    if turns.0 != turns.1 {
        let words =
            |turn: Option<u32>| turn.map_or("all turns".to_string(), |turn| format!("turn {turn} alone"));
        let (first, second) = (words(turns.0), words(turns.1));
        bail!(
            "the first run is of {first}, the second of {second}: they cannot be compared; name two runs of the same turns (evaltrail runs lists them)"
        );
    }
    let found = compare_runs(to_compare(&first), to_compare(&second));
    let compared = ComparedRuns { before, after, found: &found };
    match args.json {
        true => say_json(&serde_json::to_string_pretty(&compared.json())?),
        false => say(&compared.text(paint(ColorWhen::Auto))),
    };
    let broke = found.of(CaseFate::Broke).next().is_some();
    Ok(if broke && args.fail_on == Some(FailOn::Broke) { Exit::Failures } else { Exit::Success })
}

/// A run, or the baseline.
fn compared_side(workspace: &Workspace, named: &str) -> anyhow::Result<Baseline> {
    if named != "baseline" {
        return Ok(Baseline { state: find_run(workspace, named)?.state, expectations: Vec::new() });
    }
    let missing = || format!("there is no {BASELINE_FILE} here; evaltrail runs pin RUN writes one");
    read_baseline(&workspace.root)?.with_context(missing)
}

fn to_compare(side: &Baseline) -> RunToCompare<'_> {
    RunToCompare { state: &side.state, expectations: &side.expectations }
}
