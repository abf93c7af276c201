//! Loading of set files.

use crate::explorer::case_list::listing::{node_of_set, relist};
use crate::explorer::sets::edited_cases;
use crate::explorer::sets::past_results::{records_changed, show_waiting};
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::dialog;
use crate::explorer::shared::effect::{Effect, SetEffect};
use crate::explorer::shared::message::{OpenedSet, SetLoaded};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices::{notify, notify_about};
use crate::explorer::shared::set_view::{CaseSummary, SetState, SetView};
use evaltrail_core::formats::{Notes, SetFile};
use evaltrail_engine::workspace::SetPath;
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
            criteria,
        }) => {
            view.stubs = stubs;
            view.criteria = criteria;
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
        Err(why) => notify(model, why, true),
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
    effects.extend(show_waiting(model, set));
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
    if let Some(preview) = &mut model.view.preview {
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
        view.is_malformed = summaries.iter().any(|summary| summary.is_syntax_error);
        view.summaries = Some(summaries);
        if !model.view.browse.query.is_empty() {
            relist(model);
        }
    }
    Vec::new()
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
