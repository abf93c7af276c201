//! What is written after a run: reports, the recording, the summary, and answers of tools.

use super::addresses::{can_write_output, fill_result};
use super::args::{CaseArgs, ReportTo};
use super::output::{json_output, print_line, print_note};
use super::write::make_asking;
use super::{github, print_error};
use anyhow::Context;
use evaltrail_core::domain::RunState;
use evaltrail_core::formats::json::JsonLayout;
use evaltrail_core::formats::recording::recording_line;
use evaltrail_engine::history::RunTrends;
use evaltrail_engine::report::{
    BaselineText, CauseStates, EarlierRuns, NextCommands, run_summary, write_json_report,
};
use evaltrail_engine::runner::{self, BaselineChange};
use evaltrail_engine::workspace::Workspace;
use std::path::Path;

/// Checks before the run whether the files of reports can be written, so that no work is lost. Existing files are not
/// changed before the reports are written.
pub(super) fn check_report_files(args: &CaseArgs, record: Option<&Path>) -> anyhow::Result<()> {
    let reports = args.report.iter().map(|to| ("--report", to.file.as_path()));
    for (flag, file) in reports.chain(record.map(|file| ("--record", file))) {
        can_write_output(file).with_context(|| format!("{flag} {}", file.display()))?;
    }
    Ok(())
}

/// How a run compares with earlier ones.
#[derive(Clone, Copy)]
pub(super) struct Earlier<'a> {
    /// The differences to the baseline.
    pub(super) change: Option<&'a BaselineChange>,
    /// What became of the causes of failures.
    pub(super) causes: Option<CauseStates<'a>>,
}

/// Prints the results and writes the reports, without secrets if that is requested. Returns whether all were written.
pub(super) fn write_results(
    cases: &CaseArgs,
    record: Option<&Path>,
    (state, workspace): (&RunState, &Workspace),
    Earlier { change, causes }: Earlier<'_>,
    next: NextCommands<'_>,
) -> anyhow::Result<bool> {
    let redacted = match cases
        .redact
        .then(|| runner::redacted(workspace, state))
        .transpose()
    {
        Ok(redacted) => redacted,
        Err(error) => {
            print_error(&anyhow::anyhow!("--redact: {error}; no report was written"));
            let summary = run_summary(state, None, cases.style(), next);
            print_line(&runner::redacted_text(workspace, &state.plan, &summary));
            return Ok(false);
        }
    };
    let shown = redacted.as_ref().unwrap_or(state);
    let compared = change.map(|change| match redacted {
        None => change.words.clone(),
        Some(_) => runner::redacted_text(workspace, &state.plan, &change.words),
    });
    // What is replaced in a run stands in its earlier runs as well, so that a redacted report has none of them.
    let is_redacted = redacted.is_some();
    let trends = match is_redacted {
        false => trends_for_reports(&cases.report, workspace, state),
        true => None,
    };
    let earlier = EarlierRuns {
        trends: trends.as_ref(),
        causes: causes.filter(|_| !is_redacted),
        baseline: compared
            .as_deref()
            .zip(change)
            .map(|(words, change)| BaselineText {
                words,
                broke: &change.broke_cases,
            }),
    };
    let all_written = finish(cases, record, shown, earlier, next)?;
    if cases.github {
        github::write((shown, earlier), &state.plan, &workspace.root, cases.json);
    }
    Ok(all_written)
}

/// The numbers of the sets of a run over the runs of the workspace, if a report shows them.
pub(super) fn trends_for_reports(
    reports: &[ReportTo],
    workspace: &Workspace,
    state: &RunState,
) -> Option<RunTrends> {
    let is_shown = |to: &ReportTo| to.format.has_trends;
    let is_any = reports.iter().any(is_shown);
    is_any.then(|| runner::trends_of_run(workspace, &state.plan))
}

/// Writes the reports, the recording and the summary, independently of each other. Returns `false` if a file could not
/// be written.
fn finish(
    args: &CaseArgs,
    record: Option<&Path>,
    state: &RunState,
    earlier: EarlierRuns<'_>,
    next: NextCommands<'_>,
) -> anyhow::Result<bool> {
    let mut failed = write_reports(&args.report, args.pretty, state, earlier);
    if let Some(file) = record {
        let attempts = (0..state.plan.cases.len()).flat_map(|case| state.attempts_of(case));
        let write = |out: &mut dyn std::io::Write| {
            attempts.into_iter().try_for_each(|attempt| {
                writeln!(out, "{}", recording_line(&*attempt.read_to_write()?))
            })
        };
        let written = fill_result(file, write);
        failed.extend(
            written
                .with_context(|| format!("--record {}", file.display()))
                .err(),
        );
    }
    if args.json {
        let mut out = json_output();
        let written = write_json_report(state, earlier, JsonLayout::Indented, &mut out);
        let written = written.and_then(|()| out.end());
        failed.extend(written.or_else(without_reader).context("--json").err());
    } else if !state.unavailable.is_empty() && state.totals.ended() == 0 {
        // The errors of the agents are all that is to be said.
    } else {
        print_line(&run_summary(state, earlier.causes, args.style(), next));
    }
    failed.iter().for_each(print_error);
    Ok(failed.is_empty())
}

/// Writes the requested reports, those in JSON indented if `pretty`, and returns the errors.
pub(super) fn write_reports(
    reports: &[ReportTo],
    pretty: bool,
    state: &RunState,
    earlier: EarlierRuns<'_>,
) -> Vec<anyhow::Error> {
    let write = |ReportTo { format, file }: &ReportTo| {
        let format = if pretty { format.indented() } else { **format };
        let written = fill_result(file, |out| format.write_named(state, earlier, file, out));
        written.with_context(|| format!("--report {}", file.display()))
    };
    reports.iter().filter_map(|to| write(to).err()).collect()
}

/// Ignores the error if standard output was closed or is full: it does not count as a failure of the run.
pub(super) fn without_reader(error: std::io::Error) -> std::io::Result<()> {
    use std::io::ErrorKind::{BrokenPipe, StorageFull};
    if matches!(error.kind(), BrokenPipe | StorageFull) {
        Ok(())
    } else {
        Err(error)
    }
}

/// Records what tools answered beside the sets.
pub(super) fn record_answers(state: &RunState, workspace: &Workspace) -> anyhow::Result<()> {
    let recordings = runner::record_tools(state, workspace).map_err(anyhow::Error::msg)?;
    let jobs: Vec<_> = recordings
        .iter()
        .filter_map(|recording| recording.job.clone())
        .collect();
    if !jobs.is_empty() {
        let done = make_asking(&workspace.root, "record the answers of tools", &jobs)?;
        done.note.iter().for_each(|note| print_note(note));
    }
    recordings
        .iter()
        .for_each(|recording| print_note(&recording.words));
    Ok(())
}
