//! Loading of set files and past results.

use crate::explorer::case_list::listing::{node_of_set, relist, relist_with_results};
use crate::explorer::sets::edited_cases;
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::{Effect, HistoryEffect, ResultEffect, SetEffect};
use crate::explorer::shared::message::{OpenedSet, SetLoaded};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices::notify_about;
use crate::explorer::shared::set_view::{CaseSummary, SetState, SetView};
use crate::explorer::shared::ticket::Ticket;
use evaltrail_core::domain::RunRef;
use evaltrail_core::formats::{Notes, SetFile};
use evaltrail_engine::history::{PastResult, is_unchanged};
use evaltrail_engine::workspace::SetPath;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Requests that a set's file be loaded.
pub fn load_set(model: &mut Model, set: usize) -> Effect {
    Effect::Sets(SetEffect::Load {
        set,
        ticket: model.ticket(),
    })
}

/// Shows a loaded file unless a newer one is already shown. A reply is not dropped only because the file was
/// requested again in the meantime: otherwise a file that changes all the time would never be shown.
pub(crate) fn set_loaded(model: &mut Model, loaded: SetLoaded) -> Vec<Effect> {
    let SetLoaded {
        set,
        ticket,
        result,
    } = loaded;
    let Some(view) = model
        .view
        .sets
        .get_mut(set)
        .filter(|view| view.exists() && ticket > view.loaded)
    else {
        return Vec::new();
    };
    view.loaded = ticket;
    let mut effects = Vec::new();
    match result {
        Ok(OpenedSet {
            file,
            digest,
            agent,
            notes,
            stubs,
        }) => {
            view.stubs = stubs;
            view.agent = agent;
            effects.extend(put_notes(model, set, notes));
            if matches!(&model.view.sets[set].state, SetState::Ready(_, known) if *known == digest)
            {
                return effects;
            }
            let view = &model.view.sets[set];
            let is_repaired = matches!(view.state, SetState::Failed(_)) && view.read.is_none();
            effects.extend(put_file(model, set, file, digest));
            if is_repaired {
                // When the results were read, the cases of this file were not known.
                effects.extend(records_changed(model));
            }
        }
        Err(why) => effects.extend(put_failure(model, set, why)),
    }
    relist(model);
    dialog::on_set_loaded(model);
    close_lost_case(model, set);
    effects
}

/// Updates the notes of a set. If they cannot be read, shows the error and keeps the previous ones.
pub(crate) fn put_notes(
    model: &mut Model,
    set: usize,
    notes: Result<Notes, String>,
) -> Vec<Effect> {
    match notes {
        Ok(notes) if *model.view.sets[set].notes != notes => {
            model.view.sets[set].notes = Arc::new(notes);
            let cases = with_outcomes(model, set);
            let effects = edited_cases::reevaluate_cases(model, set, cases);
            if !model.view.browse.query.is_empty() {
                relist(model);
            }
            effects
        }
        Ok(_) => Vec::new(),
        Err(why) => crate::explorer::shared::notices::notify(model, why, true),
    }
}

/// Shows a new version of a file. Results move with their cases.
pub(crate) fn put_file(
    model: &mut Model,
    set: usize,
    file: Arc<SetFile>,
    digest: String,
) -> Vec<Effect> {
    let view = &mut model.view.sets[set];
    // Pending requests are for an older version of the file.
    view.is_behind |= view.reevaluating > 0;
    let was = view.read.replace(file.clone());
    view.state = SetState::Ready(file.clone(), digest.clone());
    view.summaries = None;
    let mut effects = vec![Effect::Sets(SetEffect::Summarise { set, digest, file })];
    effects.extend(match was {
        Some(was) => edited_cases::follow(model, set, &was),
        None => edited_cases::reevaluate_cases(model, set, with_outcomes(model, set)),
    });
    effects.extend(place_waiting(model, set));
    effects.extend(catch_up(model, set));
    effects
}

/// Re-evaluates all outcomes of a set if replies for an older version of the file were dropped.
pub(crate) fn catch_up(model: &mut Model, set: usize) -> Vec<Effect> {
    let is_ready = |view: &SetView| view.is_behind && matches!(view.state, SetState::Ready(..));
    let Some(view) = model.view.sets.get_mut(set).filter(|view| is_ready(view)) else {
        return Vec::new();
    };
    view.is_behind = false;
    let cases = with_outcomes(model, set);
    edited_cases::reevaluate_cases(model, set, cases)
}

/// Shows why the file cannot be read, in the place of its cases. An open case stays open: another program may be writing the
/// file, or the user may be repairing it.
fn put_failure(model: &mut Model, set: usize, why: String) -> Vec<Effect> {
    let view = &mut model.view.sets[set];
    view.state = SetState::Failed(why.clone());
    let shown = view.path.shown.clone();
    let is_open = model.open_case().is_some_and(|case| case.at.set == set);
    let rest = if is_open {
        ", its last version is shown"
    } else {
        ""
    };
    let text = format!("{shown} cannot be read{rest}: {why}");
    notify_about(model, format!("{shown} cannot be read"), text, true)
}

/// Closes the case screen if its case no longer exists.
fn close_lost_case(model: &mut Model, set: usize) {
    if let Some(preview) = &mut model.view.browse.preview {
        preview.is_stale = true;
    }
    let Some(case) = model.open_case_mut() else {
        return;
    };
    case.is_stale = true;
    let at = case.at;
    let is_lost = match &model.view.sets[set].state {
        SetState::Ready(file, _) => at.index >= file.len(),
        SetState::Gone => true,
        SetState::Loading | SetState::Failed(_) => false,
    };
    if at.set == set && is_lost {
        model.show(BrowseScreen);
    }
}

/// Stores the summaries of a file, unless they are for another version of it.
pub(crate) fn summarised(
    model: &mut Model,
    set: usize,
    digest: &str,
    summaries: Arc<Vec<CaseSummary>>,
) -> Vec<Effect> {
    let Some(view) = model.view.sets.get_mut(set) else {
        return Vec::new();
    };
    if matches!(&view.state, SetState::Ready(_, shown) if shown == digest) {
        view.summaries = Some(summaries);
        if !model.view.browse.query.is_empty() {
            relist(model);
        }
    }
    Vec::new()
}

/// Reads the results again that another program may have recorded. Results of a run of this explorer arrive as its events.
pub(crate) fn records_changed(model: &mut Model) -> Vec<Effect> {
    if model.run.as_ref().is_some_and(|run| run.is_live()) {
        return Vec::new();
    }
    model.others_results = model.ticket();
    let mut effects = vec![Effect::Results(ResultEffect::ReadAgain(
        model.others_results,
        model.read_files(),
    ))];
    if model.is_on(Context::Runs) {
        effects.push(Effect::History(HistoryEffect::List(model.ticket())));
    }
    effects
}

/// The runs of the shown results, each with the number of its cases.
fn shown_runs(model: &Model) -> BTreeMap<String, usize> {
    let mut runs = BTreeMap::new();
    for (run, cases) in (0..model.view.sets.len()).flat_map(|set| model.view.outcomes.runs(set)) {
        *runs.entry(run.id.clone()).or_default() += cases;
    }
    runs
}

/// Says which runs of other programs are shown now.
fn notify_new_runs(model: &mut Model, before: &BTreeMap<String, usize>) {
    let new: Vec<String> = shown_runs(model)
        .into_iter()
        .filter(|(run, _)| !before.contains_key(run))
        .map(|(run, cases)| {
            format!(
                "run {run} ({cases} {})",
                if cases == 1 { "case" } else { "cases" }
            )
        })
        .collect();
    if !new.is_empty() {
        let topic = "results recorded by another program are shown";
        notify_about(
            model,
            topic.into(),
            format!("{topic}: {}", new.join(", ")),
            false,
        );
    }
}

/// Adds past results, oldest run first, so that the newest one of each case is shown. Results whose cases have not
/// been read yet are stored until they are.
pub(crate) fn history(model: &mut Model, ticket: Ticket, results: Vec<PastResult>) -> Vec<Effect> {
    if ticket <= model.history {
        return Vec::new();
    }
    // A later request does not end the ones before it.
    let is_of_others = ticket <= model.others_results && model.history != Ticket::default();
    model.history = ticket;
    let before = is_of_others.then(|| shown_runs(model));
    let mut of_sets: Vec<Vec<PastResult>> = model.view.sets.iter().map(|_| Vec::new()).collect();
    let slots: HashMap<&Path, usize> = model
        .view
        .sets
        .iter()
        .enumerate()
        .map(|(at, view)| (view.path.path.as_path(), at))
        .collect();
    let mut results = results.into_iter().peekable();
    while let Some(first) = results.peek() {
        let origin = first.origin.clone();
        let of_file =
            std::iter::from_fn(|| results.next_if(|next| Arc::ptr_eq(&next.origin, &origin)));
        match slots.get(origin.file.as_path()) {
            Some(set) => of_sets[*set].extend(of_file),
            None => of_file.for_each(drop),
        }
    }
    let place = |(set, results): (usize, Vec<PastResult>)| {
        model.view.sets[set].past = results;
        place_waiting(model, set)
    };
    let effects = of_sets.into_iter().enumerate().flat_map(place).collect();
    // Results of others that come in later do not move the cursor to another case.
    match before {
        None => relist_with_results(model),
        Some(_) => relist(model),
    }
    if let Some(before) = before {
        notify_new_runs(model, &before);
    }
    effects
}

/// Shows the waiting results whose cases have been read. It does not replace newer results.
fn place_waiting(model: &mut Model, set: usize) -> Vec<Effect> {
    let Some(file) = model.view.sets[set].read.clone() else {
        return Vec::new();
    };
    let notes = model.view.sets[set].notes.clone();
    let (past, waiting) = {
        let view = &mut model.view.sets[set];
        (
            std::mem::take(&mut view.past),
            std::mem::take(&mut view.waiting),
        )
    };
    let mut cases = Vec::new();
    // The content hash of a result in `waiting` is from the time when it was stored, not when it ran.
    for (results, has_content) in [(past, true), (waiting, false)] {
        for mut result in results {
            let Some(index) = result.place_in(&file) else {
                let view = &mut model.view.sets[set];
                if has_content {
                    &mut view.past
                } else {
                    &mut view.waiting
                }
                .push(result);
                continue;
            };
            let case = CaseRef { set, index };
            if is_newer(model, case, &result.origin.run) {
                if !(has_content && is_unchanged(&file, &notes, index, &result)) {
                    cases.push(case);
                }
                model.add_outcomes(
                    case,
                    &result.origin.run,
                    std::mem::take(&mut result.attempts),
                );
            }
        }
    }
    cases.sort();
    cases.dedup();
    edited_cases::reevaluate_cases(model, set, cases)
}

/// Whether a run is the one whose result is shown for the case, or a later one.
fn is_newer(model: &Model, case: CaseRef, run: &RunRef) -> bool {
    let shown = model.view.outcomes.get(case).map(|outcome| &outcome.run);
    shown.is_none_or(|shown| shown.id == run.id || run.started_at() >= shown.started_at())
}

fn with_outcomes(model: &Model, set: usize) -> Vec<CaseRef> {
    model
        .view
        .outcomes
        .cases()
        .map(|(case, _)| case)
        .filter(|case| case.set == set)
        .collect()
}

/// Updates the list of sets with the files that exist now, and loads them all again.
pub(crate) fn found(model: &mut Model, sets: Vec<SetPath>) -> Vec<Effect> {
    model.is_searching = false;
    let shown = model.listed_sets().count();
    let known = |set: &SetPath| {
        model
            .view
            .sets
            .iter()
            .any(|view| view.exists() && view.path == *set)
    };
    if sets.len() != shown || !sets.iter().all(known) {
        model.put_sets(sets);
        relist(model);
    }
    let sets: Vec<usize> = model.listed_sets().collect();
    sets.into_iter().map(|set| load_set(model, set)).collect()
}

/// Moves the cursors to a set, given by its displayed path, and to one of its cases.
pub fn go_to(model: &mut Model, shown: &str, index: Option<usize>) {
    let set = model
        .view
        .sets
        .iter()
        .position(|set| set.path.shown == shown);
    if let Some(node) = set.and_then(|set| node_of_set(model, set)) {
        model.view.browse.node = node;
        relist(model);
        let wanted = |case: &CaseRef| Some(case.index) == index;
        if let Some(at) = model.view.browse.visible.iter().position(wanted) {
            model.view.browse.cursor = at;
        }
    }
}
