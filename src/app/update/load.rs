//! Files that were read, and past outcomes.

use super::browse::{node_of_set, relist};
use super::hold;
use crate::app::effect::Effect;
use crate::app::model::{CaseRef, CaseSummary, Model, Screen, SetState};
use crate::app::msg::{OpenedSet, SetLoaded};
use crate::domain::Attempt;
use crate::formats::{Notes, SetFile};
use crate::workspace::SetPath;
use std::sync::Arc;

pub(super) fn set_loaded(model: &mut Model, loaded: SetLoaded) -> Vec<Effect> {
    let SetLoaded { set, generation, result } = loaded;
    if generation != model.generation || set >= model.sets.len() {
        return Vec::new();
    }
    let mut effects = Vec::new();
    match result {
        Ok(OpenedSet { file, digest, agent, notes }) => {
            model.sets[set].agent = agent;
            effects.extend(put_notes(model, set, notes));
            if matches!(&model.sets[set].state, SetState::Ready(_, known) if *known == digest) {
                return effects;
            }
            effects.extend(put_file(model, set, file, digest));
        }
        Err(why) => model.sets[set].state = SetState::Failed(why),
    }
    relist(model);
    super::overlay::find_again(model);
    close_lost_case(model, set);
    effects
}

/// Takes over what is kept beside a file; what cannot be read is said, and the last that could stays.
fn put_notes(model: &mut Model, set: usize, notes: Result<Notes, String>) -> Vec<Effect> {
    match notes {
        Ok(notes) if *model.sets[set].notes != notes => {
            model.sets[set].notes = Arc::new(notes);
            let cases = with_outcomes(model, set);
            let effects = hold::ask(model, set, cases);
            if !model.browse.query.is_empty() {
                relist(model);
            }
            effects
        }
        Ok(_) => Vec::new(),
        Err(why) => super::global::tell(model, why, true),
    }
}

/// Shows a file as it is now; what came of its cases follows them.
pub(super) fn put_file(model: &mut Model, set: usize, file: Arc<SetFile>, digest: String) -> Vec<Effect> {
    let view = &mut model.sets[set];
    let before = std::mem::replace(&mut view.state, SetState::Ready(file, digest));
    view.summaries = None;
    let mut effects = vec![Effect::Summarise { set, generation: model.generation }];
    effects.extend(match before {
        SetState::Ready(was, _) => hold::follow(model, set, &was),
        _ => hold::ask(model, set, with_outcomes(model, set)),
    });
    effects
}

/// A case that is open and no longer there closes.
fn close_lost_case(model: &mut Model, set: usize) {
    let Screen::Case(case) = &mut model.screen else { return };
    let lost = case.at.set == set;
    case.key = None;
    let at = case.at;
    let there = model.file(set).is_some_and(|file| at.index < file.len());
    if lost && !there {
        model.screen = Screen::Browse;
    }
}

pub(super) fn summarised(
    model: &mut Model,
    set: usize,
    generation: u64,
    summaries: Arc<Vec<CaseSummary>>,
) -> Vec<Effect> {
    if generation == model.generation && set < model.sets.len() {
        model.sets[set].summaries = Some(summaries);
        if !model.browse.query.is_empty() {
            relist(model);
        }
    }
    Vec::new()
}

/// Past outcomes, the oldest run first, so that the newest stays.
pub(super) fn history(
    model: &mut Model,
    generation: u64,
    attempts: Vec<(String, CaseRef, Arc<Attempt>)>,
) -> Vec<Effect> {
    if generation == model.generation {
        for (run_id, case, attempt) in attempts {
            if model.sets.get(case.set).is_some() {
                model.add_outcome(case, &run_id, attempt);
            }
        }
        relist(model);
        return (0..model.sets.len())
            .flat_map(|set| hold::ask(model, set, with_outcomes(model, set)))
            .collect();
    }
    Vec::new()
}

fn with_outcomes(model: &Model, set: usize) -> Vec<CaseRef> {
    let mut cases: Vec<CaseRef> =
        model.outcomes.cases().map(|(case, _)| case).filter(|case| case.set == set).collect();
    cases.sort();
    cases
}

/// Looks which files there are now, and reads them all again. What came of cases stays.
pub(super) fn found(model: &mut Model, sets: Vec<SetPath>) -> Vec<Effect> {
    model.looking = false;
    let known = |set: &SetPath| model.sets.iter().any(|view| view.path == *set);
    if sets.len() != model.sets.len() || !sets.iter().all(known) {
        model.put_sets(sets);
        relist(model);
    }
    model.generation += 1;
    let generation = model.generation;
    (0..model.sets.len()).map(|set| Effect::LoadSet { set, generation }).collect()
}

/// Goes to a set by its shown path and to a case of it, as remembered.
pub fn go_to(model: &mut Model, shown: &str, index: Option<usize>) {
    let set = model.sets.iter().position(|set| set.path.shown == shown);
    if let Some(node) = set.and_then(|set| node_of_set(model, set)) {
        model.browse.node = node;
        relist(model);
        let wanted = |case: &CaseRef| Some(case.index) == index;
        if let Some(at) = model.browse.visible.iter().position(wanted) {
            model.browse.cursor = at;
        }
    }
}
