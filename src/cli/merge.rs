//! `evaltrail merge`: merges the runs of shards to one run.

use super::Exit;
use super::args::MergeArgs;
use super::exit_code::{Tolerated, exit_of};
use super::output::{json_output, paint, say, tell};
use super::run::write_reports;
use crate::domain::clean_line;
use crate::history::{MergedRun, merge_shards};
use crate::report::{run_summary, write_json_report};
use crate::runner::Stamp;
use crate::store::{RunKey, can_write};
use crate::workspace::root_of;
use anyhow::Context;

pub(super) fn merge(args: MergeArgs) -> anyhow::Result<Exit> {
    for to in &args.report {
        can_write(&to.file).with_context(|| format!("--report {}", to.file.display()))?;
    }
    let folder = std::path::absolute(&args.into)?;
    let paths = args.paths.iter().map(std::path::absolute).collect::<std::io::Result<Vec<_>>>()?;
    let MergedRun { state, remarks } =
        merge_shards(&paths, &root_of(&folder), &Stamp::now().run_id, RunKey::find())?;
    remarks.iter().for_each(|remark| tell(&clean_line(remark)));
    let failed = write_reports(&args.report, &state);
    failed.iter().for_each(super::print_error);
    if args.json {
        let mut out = json_output();
        write_json_report(&state, &mut out).and_then(|()| out.end()).context("--json")?;
    } else {
        say(&run_summary(&state, paint(args.color)));
    }
    let tolerated = Tolerated { failures: args.max_failures, broke: None };
    match exit_of(&state, &tolerated, false, false) {
        Exit::Success | Exit::Failures if !failed.is_empty() => Ok(Exit::UsageError),
        exit => Ok(exit),
    }
}
