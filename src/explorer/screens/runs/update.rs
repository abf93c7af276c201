//! Updates of the screen of runs.

use crate::explorer::case_list::listing::relist;
use crate::explorer::prompts::ask::Purpose;
use crate::explorer::prompts::{ask, confirm};
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, HistoryEffect, ResultEffect, ScreenRequest};
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::layout::case_rows;
use crate::explorer::shared::message::Mouse;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::notices;
use crate::explorer::shared::run_list::RunsScreen;
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::ticket::Ticket;
use crate::explorer::{opened_run, what_if};
use evaltrail_core::domain::counted;
use evaltrail_engine::history::{History, RunSummary};
use evaltrail_engine::report::export_name_problem;
use evaltrail_engine::store::{file_id, run_name_error};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Shows the runs of the folder. Those that were shown last are visible until they are read again.
pub(crate) fn show(model: &mut Model) -> Vec<Effect> {
    // A past run was opened from this screen.
    opened_run::close(model);
    model.show(RunsScreen);
    vec![Effect::History(HistoryEffect::List(model.ticket()))]
}

/// Shows the runs from another screen than one that was opened from them: with the cursor on the newest one.
pub(crate) fn show_newest(model: &mut Model) -> Vec<Effect> {
    if model.opened_run.is_none() {
        (model.runs.cursor, model.runs.offset) = (0, 0);
        model.runs.follows_newest = true;
    }
    show(model)
}

/// The runs of the folder arrived.
pub(crate) fn listed(model: &mut Model, ticket: Ticket, history: Arc<History>) -> Vec<Effect> {
    let runs = &mut model.runs;
    if ticket > runs.read {
        runs.read = ticket;
        runs.put(history);
    }
    Vec::new()
}

/// Lists the runs after one was changed. The request is made after the change, so its reply shows it: that of a request which
/// was made before may have read the runs before the change.
pub(crate) fn list_again(model: &mut Model) -> Effect {
    Effect::History(HistoryEffect::List(model.ticket()))
}

pub(crate) fn back(model: &mut Model) -> Vec<Effect> {
    model.show(BrowseScreen);
    Vec::new()
}

/// Condition for showing the runs of the folder: a run from a file has none.
pub(crate) fn has_folder(model: &Model) -> Enabled {
    if model.is_run_file {
        Err("this run is from a file")
    } else {
        Ok(())
    }
}

pub(crate) fn has_run_here(model: &Model) -> Enabled {
    model
        .runs
        .selected()
        .map(|_| ())
        .ok_or("there is no run here")
}

/// Runs of evaltrail can be deleted; evaltrail does not change results of ADK.
pub(crate) fn can_change(model: &Model) -> Enabled {
    has_run_here(model)?;
    let is_evaltrails = model.runs.selected().is_some_and(RunSummary::is_evaltrail);
    is_evaltrails
        .then_some(())
        .ok_or("it is a result of ADK, which evaltrail does not change")
}

/// Only own runs have names.
pub(crate) fn can_name(model: &Model) -> Enabled {
    has_run_here(model)?;
    let is_ours = model.runs.selected().is_some_and(RunSummary::is_ours);
    is_ours
        .then_some(())
        .ok_or("only your own runs can be named")
}

pub(crate) fn can_pin(model: &Model) -> Enabled {
    has_run_here(model)?;
    let run = model.runs.selected().ok_or("there is no run here")?;
    match () {
        () if !run.is_ours() => Err("only your own runs can be pinned"),
        () if !run.is_finished() => Err("the run is unfinished"),
        () if run.turn.is_some() => Err("the run is of one turn alone"),
        () if run.shard.is_some() => {
            Err("the run is of one shard alone; evaltrail merge merges them")
        }
        () => Ok(()),
    }
}

pub(crate) fn can_compare(model: &Model) -> Enabled {
    has_run_here(model)?;
    let runs = &model.runs;
    let after = runs.selected().ok_or("there is no run here")?;
    if !after.is_usable() {
        return Err("foreign runs cannot be compared");
    }
    let before = runs
        .first_of_comparison()
        .ok_or("there is no run before it; space marks another one")?;
    if !before.is_usable() {
        return Err("the marked run is foreign; it cannot be compared");
    }
    if before.path == after.path {
        return Err("it is the marked run; go to another one");
    }
    if before.turn != after.turn {
        return Err("one run is of all turns, the other of one turn alone");
    }
    Ok(())
}

pub(crate) fn can_compare_with_baseline(model: &Model) -> Enabled {
    has_run_here(model)?;
    let here = model.runs.selected().ok_or("there is no run here")?;
    let baseline = model.runs.baseline();
    let baseline = baseline.ok_or("no run here is the baseline; pin one first")?;
    if !here.is_usable() {
        return Err("foreign runs cannot be compared");
    }
    if baseline.path == here.path {
        return Err("it is the baseline; go to another run");
    }
    match baseline.turn == here.turn {
        true => Ok(()),
        false => Err("one run is of all turns, the other of one turn alone"),
    }
}

/// Opens the run under the cursor: its cases as they were.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    model.runs.follows_newest = false;
    let run = model.runs.selected().cloned();
    run.into_iter()
        .map(|run| Effect::History(HistoryEffect::Open(Box::new(run))))
        .collect()
}

/// Marks the run as the first of a comparison, or removes the mark.
pub(crate) fn mark(model: &mut Model) -> Vec<Effect> {
    let runs = &mut model.runs;
    runs.follows_newest = false;
    if let Some(path) = runs.selected().map(|run| run.path.clone()) {
        runs.marked = Some(path).filter(|path| runs.marked.as_ref() != Some(path));
    }
    Vec::new()
}

/// Compares the marked run, or else the newest earlier one of the same sets, with the run under the cursor.
pub(crate) fn compare(model: &mut Model) -> Vec<Effect> {
    let first = model.runs.first_of_comparison().cloned();
    compare_with(model, first)
}

/// Compares the baseline with the run under the cursor.
pub(crate) fn compare_with_baseline(model: &mut Model) -> Vec<Effect> {
    let baseline = model.runs.baseline().cloned();
    compare_with(model, baseline)
}

/// Compares a run with the one under the cursor; the older one comes first.
fn compare_with(model: &mut Model, other: Option<RunSummary>) -> Vec<Effect> {
    model.runs.follows_newest = false;
    let effect = |(other, here): (RunSummary, RunSummary)| {
        let (before, after) = match other.started <= here.started {
            true => (other, here),
            false => (here, other),
        };
        Effect::History(HistoryEffect::Compare(Box::new(before), Box::new(after)))
    };
    let pair = other.zip(model.runs.selected().cloned());
    pair.map(effect).into_iter().collect()
}

/// Pins the run under the cursor: it is kept, and is the baseline. A pinned one is pinned no longer.
pub(crate) fn pin(model: &mut Model) -> Vec<Effect> {
    let Some(run) = model.runs.selected().cloned() else {
        return Vec::new();
    };
    let is_pinned = model.runs.is_pinned(&run) || model.runs.is_baseline(&run);
    vec![Effect::History(match is_pinned {
        true => HistoryEffect::Unpin(run.run_id),
        false => HistoryEffect::Pin(Box::new(run)),
    })]
}

/// Asks for a name for the run under the cursor.
pub(crate) fn rename(model: &mut Model) -> Vec<Effect> {
    let Some(run_id) = model.runs.selected().map(|run| run.run_id.clone()) else {
        return Vec::new();
    };
    let named = model
        .runs
        .selected()
        .and_then(|run| model.runs.name_of(run));
    let value = named.unwrap_or_default().to_string();
    ask::open(model, NameOfRun { run_id }, value)
}

#[derive(Debug)]
struct NameOfRun {
    run_id: String,
}

impl Purpose for NameOfRun {
    fn prompt(&self, _: &Model) -> Cow<'static, str> {
        "name of the run: ".into()
    }

    fn example(&self) -> &'static str {
        "before the new prompt; empty removes the name"
    }

    fn wrong(&self, _: &Model, typed: &str) -> Option<String> {
        run_name_error(typed.trim())
    }

    fn accept(&self, _: &mut Model, typed: &str) -> Vec<Effect> {
        let name = Some(typed.to_string()).filter(|name| !name.is_empty());
        vec![Effect::History(HistoryEffect::Name(
            self.run_id.clone(),
            name,
        ))]
    }
}

pub(crate) fn can_export(model: &Model) -> Enabled {
    has_run_here(model)?;
    let is_usable = model.runs.selected().is_some_and(RunSummary::is_usable);
    is_usable
        .then_some(())
        .ok_or("foreign runs cannot be exported")
}

/// Asks for the file to which the run under the cursor is written.
pub(crate) fn export(model: &mut Model) -> Vec<Effect> {
    let Some(run) = model.runs.selected().cloned() else {
        return Vec::new();
    };
    let value = format!("run-{}.evaltrail", file_id(&run.run_id));
    let run = Box::new(run);
    ask::open(model, ExportFile { run }, value)
}

/// Asks for another file after a run could not be written to this one.
pub(crate) fn not_exported(
    model: &mut Model,
    run: Box<RunSummary>,
    to: &Path,
    why: String,
) -> Vec<Effect> {
    if model.view.open_dialog.is_some() || !model.is_on(Context::Runs) {
        return notices::notify(model, format!("the run is not exported: {why}"), true);
    }
    let typed = to.to_string_lossy().into_owned();
    ask::open_again(model, ExportFile { run }, typed, why)
}

#[derive(Debug)]
struct ExportFile {
    run: Box<RunSummary>,
}

impl Purpose for ExportFile {
    fn prompt(&self, _: &Model) -> Cow<'static, str> {
        "export the run to ".into()
    }

    fn example(&self) -> &'static str {
        "a file"
    }

    fn hint(&self, typed: &str) -> Option<&'static str> {
        let is_run = typed.trim().ends_with(".evaltrail");
        is_run.then_some("or .html .md .xml .json .csv")
    }

    fn wrong(&self, _: &Model, typed: &str) -> Option<String> {
        match typed.trim() {
            "" => Some("a file is needed".into()),
            name => export_name_problem(Path::new(name)),
        }
    }

    fn accept(&self, _: &mut Model, typed: &str) -> Vec<Effect> {
        vec![Effect::History(HistoryEffect::Export(
            self.run.clone(),
            typed.trim().into(),
        ))]
    }
}

/// Asks whether to delete the run under the cursor.
pub(crate) fn remove(model: &mut Model) -> Vec<Effect> {
    let Some(run) = model.runs.selected().cloned() else {
        return Vec::new();
    };
    let attempts = counted(run.totals.ended(), "attempt");
    let mut lines = vec![format!("{attempts}, in {}", run.path.display())];
    lines.push(
        "The results of its cases are those of older runs again. This cannot be undone.".into(),
    );
    let is_pinned = model.runs.is_pinned(&run);
    if model.runs.is_baseline(&run) {
        lines.push("It is the baseline; evaltrail-baseline.json stays.".into());
    }
    let title = if is_pinned {
        "Delete this run, which is pinned?"
    } else {
        "Delete this run?"
    };
    confirm::open(model, title, lines, ScreenRequest::RemoveRun(run.path))
}

/// Deletes a run after the confirmation.
pub(crate) fn remove_confirmed(path: PathBuf) -> Vec<Effect> {
    vec![Effect::History(HistoryEffect::Remove(path))]
}

/// A run was deleted: results that were from it are those of older runs.
pub(crate) fn removed(model: &mut Model, run_id: &str) -> Vec<Effect> {
    if let Some(history) = &model.runs.history {
        let mut left = History::clone(history);
        left.runs.retain(|run| run.run_id != run_id);
        model.runs.put(Arc::new(left));
    }
    notices::notify(model, format!("run {run_id} was deleted"), false);
    // A what-if was computed from these results, too.
    let mut effects = what_if::drop_what_if(model);
    if model.view.outcomes.forget(run_id) {
        relist(model);
        effects.push(Effect::Results(ResultEffect::ReadAgain(
            model.ticket(),
            model.read_files(),
        )));
    }
    effects.push(list_again(model));
    effects.extend(model.read_summaries_of_runs());
    effects
}

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let page = usize::from(case_rows(&layout(model)).height);
    let runs = &mut model.runs;
    runs.follows_newest = false;
    runs.cursor = motion.target(runs.cursor, runs.rows.len(), page);
    runs.offset = runs.offset.clamp(
        runs.cursor.saturating_sub(page.saturating_sub(1)),
        runs.cursor,
    );
}

pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    if let Some(motion) = mouse.kind.wheel() {
        (0..3).for_each(|_| scroll(model, motion));
        return Vec::new();
    }
    let rows = case_rows(&layout(model));
    if !rows.contains(ratatui::layout::Position {
        x: mouse.x,
        y: mouse.y,
    }) {
        return Vec::new();
    }
    let runs = &mut model.runs;
    let row = runs.offset + usize::from(mouse.y - rows.y);
    if row >= runs.rows.len() {
        return Vec::new();
    }
    runs.follows_newest = false;
    if runs.cursor == row {
        return open(model);
    }
    runs.cursor = row;
    Vec::new()
}
