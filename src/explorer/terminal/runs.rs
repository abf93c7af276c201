//! Past runs for the explorer: reads, compares, labels and removes them.

use crate::explorer::opened_run::outcomes_of;
use crate::explorer::shared::compared_pair::{ComparedPair, ComparedRun};
use crate::explorer::shared::effect::HistoryEffect;
use crate::explorer::shared::message::{HistoryMsg, Msg};
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::terminal::task_context::TaskContext;
use evaltrail_core::analysis::compare_runs;
use evaltrail_engine::history::{History, PastRun, RunSummary};
use evaltrail_engine::report::{SetupDifference, export_as_named};
use evaltrail_engine::runner::{
    compared_with, history_of, load_past_run, name_run, past_run, pin_run, removed_cases, unpin_run,
};
use evaltrail_engine::store::{read_baseline, remove_run};
use std::path::Path;
use std::sync::Arc;

/// Executes an effect on past runs. Returns the reply.
pub(crate) fn reply(context: &TaskContext, effect: HistoryEffect) -> Msg {
    let (what, replied) = match effect {
        HistoryEffect::List(ticket) => return listed(context, ticket),
        HistoryEffect::Open(run) => ("the run cannot be opened", open(context, &run)),
        HistoryEffect::OpenFolder(run, case) => {
            ("the run cannot be opened", open_folder(context, &run, case))
        }
        HistoryEffect::Export(run, to) => {
            return export(context, &run, &to)
                .unwrap_or_else(|why| Msg::History(HistoryMsg::NotExported { run, to, why }));
        }
        HistoryEffect::Compare(before, after) => (
            "the runs cannot be compared",
            compare(context, &before, &after),
        ),
        HistoryEffect::Name(run_id, name) => {
            ("the name is not saved", rename(context, &run_id, name))
        }
        HistoryEffect::Unpin(run_id) => ("the run stays pinned", unpin(context, &run_id)),
        HistoryEffect::Pin(run) => ("the run is not pinned", pin(context, &run)),
        HistoryEffect::Remove(path) => ("the run is not deleted", remove(&path)),
    };
    replied.unwrap_or_else(|why| Msg::Failed(format!("{what}: {why}")))
}

fn listed(context: &TaskContext, ticket: Ticket) -> Msg {
    let history = Arc::new(history_of(&context.workspace));
    Msg::History(HistoryMsg::Listed { ticket, history })
}

fn open(context: &TaskContext, run: &RunSummary) -> Result<Msg, String> {
    let history = history_of(&context.workspace);
    let past = past_run(&context.workspace, &history, run)?;
    let name = history
        .labels
        .get(&run.run_id)
        .and_then(|label| label.name.clone());
    Ok(Msg::History(HistoryMsg::Opened {
        past: Box::new(past),
        name,
        case: None,
    }))
}

fn open_folder(context: &TaskContext, run: &Path, case: Option<String>) -> Result<Msg, String> {
    let past = Box::new(read_folder(context, run)?);
    Ok(Msg::History(HistoryMsg::Opened {
        past,
        name: None,
        case,
    }))
}

/// Reads the newer state of the open run, which is in a folder of the workspace.
pub(crate) fn renewed(context: &TaskContext, run: &Path) -> Result<Msg, String> {
    let past = Box::new(read_folder(context, run)?);
    let outcomes = Box::new(outcomes_of(&past));
    Ok(Msg::History(HistoryMsg::Renewed { past, outcomes }))
}

/// Reads the run in a folder of the workspace.
fn read_folder(context: &TaskContext, run: &Path) -> Result<PastRun, String> {
    let history = history_of(&context.workspace);
    let summary = history.runs.iter().find(|summary| summary.path == run);
    past_run(
        &context.workspace,
        &history,
        summary.ok_or("its plan or journal cannot be read")?,
    )
}

fn export(context: &TaskContext, summary: &RunSummary, to: &Path) -> Result<Msg, String> {
    let run = load_past_run(&context.workspace, &history_of(&context.workspace), summary)?;
    let to = context.workspace.root.join(to);
    if to.exists() {
        return Err(format!("{} exists already", to.display()));
    }
    let exported =
        export_as_named(&context.workspace, &run, &to).map_err(|error| error.to_string())?;
    let written = match exported.report {
        Some(format) => format!(
            "the {} report is in {}, without known secrets",
            format.name,
            to.display()
        ),
        None => format!(
            "the run is in {0}, without known secrets; evaltrail open {0} opens it anywhere",
            to.display()
        ),
    };
    Ok(Msg::Notice(match exported.not_recorded {
        Some(why) => format!("{written}; it may be listed as a data set: {why}"),
        None => written,
    }))
}

fn compare(context: &TaskContext, before: &RunSummary, after: &RunSummary) -> Result<Msg, String> {
    let history = history_of(&context.workspace);
    let side = |run: &RunSummary| compared_run(context, &history, run);
    let (before, after) = (side(before)?, side(after)?);
    let found = compare_runs(
        &before.state,
        &after.state,
        &context.workspace.config.comparison,
    );
    let removed = removed_cases(&found, (&before.state).into(), &context.workspace.root);
    let setup = SetupDifference::new(&before.state, &after.state);
    Ok(Msg::History(HistoryMsg::Compared(Arc::new(ComparedPair {
        setup,
        before,
        after,
        found,
        removed,
    }))))
}

fn compared_run(
    context: &TaskContext,
    history: &History,
    run: &RunSummary,
) -> Result<ComparedRun, String> {
    let name = history
        .labels
        .get(&run.run_id)
        .and_then(|label| label.name.clone());
    let name = name.unwrap_or_else(|| run.short_name());
    Ok(ComparedRun {
        state: load_past_run(&context.workspace, history, run)?.state,
        name,
    })
}

fn rename(context: &TaskContext, run_id: &str, name: Option<String>) -> Result<Msg, String> {
    name_run(&context.workspace, run_id, name.as_deref())?;
    Ok(Msg::History(HistoryMsg::Named))
}

fn unpin(context: &TaskContext, run_id: &str) -> Result<Msg, String> {
    let words = unpin_run(&context.workspace, run_id).map_err(|error| error.to_string())?;
    Ok(Msg::History(HistoryMsg::Pinned(words)))
}

fn pin(context: &TaskContext, run: &RunSummary) -> Result<Msg, String> {
    let state = load_past_run(&context.workspace, &history_of(&context.workspace), run)?.state;
    let words = pin_run(&context.workspace, &state).map_err(|error| error.to_string())?;
    Ok(Msg::History(HistoryMsg::Pinned(words)))
}

fn remove(path: &Path) -> Result<Msg, String> {
    match remove_run(path) {
        Ok(true) => {
            let run_id = path.file_name().unwrap_or_default().to_string_lossy();
            Ok(Msg::History(HistoryMsg::Removed(run_id.into_owned())))
        }
        Ok(false) => Err("it is being written".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// How the last run compares with the baseline, or why it cannot be compared; `None` without a baseline or a run of all turns.
pub(crate) fn compared_with_baseline(context: &TaskContext) -> Option<String> {
    let failed =
        |why: &dyn std::fmt::Display| Some(format!("cannot be compared with the baseline: {why}"));
    let baseline = match read_baseline(&context.workspace.root) {
        Ok(found) => found?,
        Err(error) => return failed(&error),
    };
    let history = history_of(&context.workspace);
    let last = history
        .ours()
        .find(|summary| summary.turn.is_none() && summary.is_finished())?;
    if last.run_id == baseline.state.plan.run_id {
        return Some("is the baseline".into());
    }
    let state = match load_past_run(&context.workspace, &history, last) {
        Ok(run) => run.state,
        Err(error) => return failed(&error),
    };
    let (rule, root) = (
        &context.workspace.config.comparison,
        &context.workspace.root,
    );
    Some(compared_with(&baseline, &state, rule, root).short)
}
