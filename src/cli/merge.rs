//! `evaltrail merge`: merges the runs of shards to one run.

use super::Exit;
use super::addresses::{can_write_output, copy_at};
use super::args::MergeArgs;
use super::exit_code::{AllowedFailures, exit_of};
use super::output::{is_output_redirected, json_output, paint, print_line, print_note};
use super::paths::workspace_argument;
use super::run_results::{trends_for_reports, without_reader, write_reports};
use super::shard_status::runs_below;
use super::subcommand::CliCommand;
use anyhow::Context;
use evaltrail_core::domain::{PlannedSet, RunState, clean_line, criteria_by_metric};
use evaltrail_core::formats::json::JsonLayout;
use evaltrail_engine::history::{MergedRun, merge_shards};
use evaltrail_engine::report::{
    EarlierRuns, NextCommands, SummaryStyle, Verbosity, rerun_of_plan, run_summary,
    write_json_report,
};
use evaltrail_engine::runner::{RunIdentity, history_of};
use evaltrail_engine::store::RunKey;
use evaltrail_engine::workspace::{OpenSet, SetPath, Workspace, criteria_for, open_set};
use std::collections::HashSet;

impl CliCommand for MergeArgs {
    const NAME: &'static str = "merge";

    fn run(self) -> anyhow::Result<Exit> {
        merge(self)
    }
}

/// What follows the command that runs the failures again if the workspace has other criteria than the run.
const OTHER_CRITERIA: &str =
    "  (add --config and --metric of the run: it had other criteria than the files have)";

/// Whether the files, without options, have other criteria than those of a run.
fn has_other_criteria(workspace: &Workspace, state: &RunState) -> bool {
    state.plan.sets.iter().any(|planned| {
        let set = SetPath::of_file(&planned.path, &workspace.root);
        let of_file = |open: OpenSet| criteria_for(workspace, &set, &open.file, None, &[]).ok();
        let now = open_set(&set)
            .ok()
            .and_then(of_file)
            .map(|(criteria, _)| criteria);
        now.is_some_and(|now| {
            let now = PlannedSet {
                criteria: now,
                ..planned.clone()
            }
            .without_secrets()
            .criteria;
            criteria_by_metric(&now) != criteria_by_metric(&planned.without_secrets().criteria)
        })
    })
}

pub(super) fn merge(args: MergeArgs) -> anyhow::Result<Exit> {
    for to in &args.report {
        can_write_output(&to.file).with_context(|| format!("--report {}", to.file.display()))?;
    }
    let mut into = args.into.clone();
    copy_at(&mut into)?;
    let folder = std::path::absolute(&into)?;
    let paths = args
        .paths
        .iter()
        .map(|path| runs_below(path))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let workspace = Workspace::open(&folder)?;
    let history = history_of(&workspace);
    let complete = history.ours().filter(|run| run.is_finished());
    let merged_before: HashSet<String> = complete
        .flat_map(|run| run.merged.iter().cloned())
        .collect();
    let run_id = RunIdentity::now().run_id;
    let MergedRun {
        state,
        remarks,
        problems,
        unreadable,
    } = merge_shards(
        &paths,
        &workspace.root,
        &run_id,
        &merged_before,
        RunKey::find(),
    )?;
    remarks
        .iter()
        .for_each(|remark| print_note(&clean_line(remark)));
    problems
        .iter()
        .for_each(|(file, why)| print_note(&clean_line(&format!("{file}: {why}"))));
    let trends = trends_for_reports(&args.report, &workspace, &state);
    let earlier = EarlierRuns {
        trends: trends.as_ref(),
        ..EarlierRuns::default()
    };
    let mut failed = write_reports(&args.report, args.pretty, &state, earlier);
    failed.extend(print_merged(&args, &workspace, &state));
    failed.iter().for_each(super::print_error);
    let tolerated = AllowedFailures {
        failures: args.max_failures,
        changed: None,
    };
    match exit_of(&state, &tolerated, false, !problems.is_empty()) {
        Exit::Success | Exit::Failures if !failed.is_empty() => Ok(Exit::UsageError),
        // A run that cannot be read may be that of a shard with failures.
        Exit::Success if unreadable > 0 => Ok(Exit::Failures),
        exit => Ok(exit),
    }
}

/// Prints the merged run, as text or as JSON. Returns the error of JSON that could not be written.
fn print_merged(
    args: &MergeArgs,
    workspace: &Workspace,
    state: &RunState,
) -> Option<anyhow::Error> {
    if args.json {
        let mut out = json_output();
        let written = write_json_report(
            state,
            EarlierRuns::default(),
            JsonLayout::Indented,
            &mut out,
        );
        let written = written.and_then(|()| out.end());
        return written.or_else(without_reader).context("--json").err();
    }
    let argument = workspace_argument(&workspace.root);
    let command = rerun_of_plan(&state.plan, &argument);
    let other = match has_other_criteria(workspace, state) {
        true => OTHER_CRITERIA,
        false => "",
    };
    let style = SummaryStyle {
        paint: paint(args.color),
        verbosity: Verbosity::Normal,
        lists_all: is_output_redirected(),
    };
    let commands = NextCommands {
        workspace: &argument,
        rerun: &(command + other),
        resume: None,
    };
    print_line(&run_summary(state, None, style, commands));
    None
}
