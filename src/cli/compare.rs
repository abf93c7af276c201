//! `evaltrail compare`: what became of the cases from one run to another.

use super::Exit;
use super::args::{ColorWhen, CompareArgs, FailOn};
use super::find_run::find_run;
use super::output::{paint, say, say_json};
use crate::analysis::{CaseFate, compare_runs};
use crate::report::ComparedRuns;
use crate::workspace::Workspace;

pub(super) fn compare(args: CompareArgs) -> anyhow::Result<Exit> {
    let workspace = Workspace::open(&args.folder)?;
    let before = find_run(&workspace, &args.first)?.state;
    let after = find_run(&workspace, &args.second)?.state;
    let found = compare_runs(&before, &after);
    let compared = ComparedRuns { before: &before, after: &after, found: &found };
    match args.json {
        true => say_json(&serde_json::to_string_pretty(&compared.json())?),
        false => say(&compared.text(paint(ColorWhen::Auto))),
    };
    let broke = found.of(CaseFate::Broke).next().is_some();
    Ok(if broke && args.fail_on == Some(FailOn::Broke) { Exit::Failures } else { Exit::Success })
}
