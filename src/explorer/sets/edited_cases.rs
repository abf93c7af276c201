//! Results after a file was edited. They move with their cases and are re-evaluated, that is, compared with the cases
//! as they are now.

use crate::explorer::case_list::decisions::real;
use crate::explorer::case_list::listing::relist;
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::effect::{Effect, SetEffect};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::outcomes::{CaseAttempts, CaseOutcome};
use crate::explorer::shared::set_view::SetState;
use crate::explorer::what_if;
use evaltrail_core::domain::EndedAttempt;
use evaltrail_core::formats::{Notes, SetFile};
use evaltrail_engine::history::{PastResult, ResultOrigin, reevaluate};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of attempts that are re-evaluated immediately; more are re-evaluated in the background.
const AT_ONCE: usize = 20;
/// The same limit in bytes that have to be read.
const READ_AT_ONCE: u64 = 128 << 10;

/// Re-evaluated attempts by case.
type ReevaluatedCases = Vec<(CaseRef, Vec<Arc<EndedAttempt>>)>;

/// The new positions of the cases of a file. Cases are matched by id; if several have the same id, the n-th is
/// matched to the n-th. A case whose id no longer exists is matched to the new case at the same position if the two
/// differ only in their ids.
pub(crate) fn positions(was: &SetFile, now: &SetFile) -> Vec<Option<usize>> {
    let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, id) in now
        .eval_ids()
        .enumerate()
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
    {
        by_id.entry(id.into_owned()).or_default().push(at);
    }
    let mut found: Vec<Option<usize>> = was
        .eval_ids()
        .map(|id| by_id.get_mut(id.as_ref()).and_then(Vec::pop))
        .collect();
    if was.len() == now.len() {
        let free: HashSet<usize> = by_id.into_values().flatten().collect();
        for (at, position) in found.iter_mut().enumerate() {
            if position.is_none() && free.contains(&at) && is_renamed(was, now, at) {
                *position = Some(at);
            }
        }
    }
    found
}

/// Whether the cases at this position differ only in their ids.
fn is_renamed(was: &SetFile, now: &SetFile, at: usize) -> bool {
    let without_id = |file: &SetFile| {
        let id = serde_json::Value::from(file.eval_id(at).into_owned()).to_string();
        file.text_of(at).map(|text| text.replace(&id, ""))
    };
    without_id(was).is_some_and(|text| Some(text) == without_id(now))
}

/// The first case of a file that differs from the case at its position in an earlier version; `None` if cases were added or
/// removed.
pub(crate) fn first_changed(was: &SetFile, now: &SetFile) -> Option<usize> {
    let is_same_length = was.len() == now.len();
    (0..now.len()).find(|at| is_same_length && was.text_of(*at) != now.text_of(*at))
}

/// Updates the positions of the cases of an edited file, and re-evaluates the cases whose content changed.
pub(crate) fn follow(model: &mut Model, set: usize, was: &SetFile) -> Vec<Effect> {
    let Some(now) = model.file(set).cloned() else {
        return Vec::new();
    };
    let new_positions = positions(was, &now);
    let new = |case: CaseRef| match case.set == set {
        true => new_positions
            .get(case.index)
            .copied()
            .flatten()
            .map(|index| CaseRef { set, index }),
        false => Some(case),
    };
    let changed: Vec<usize> = (0..was.len())
        .filter_map(|at| Some((at, new_positions[at]?)))
        .filter(|(at, now_at)| {
            was.text_of(*at).is_none() || was.text_of(*at) != now.text_of(*now_at)
        })
        .map(|(_, now_at)| now_at)
        .collect();
    let mut effects = Vec::new();
    if was.len() != now.len()
        || new_positions
            .iter()
            .enumerate()
            .any(|(at, position)| *position != Some(at))
    {
        store_results(model, set, was, &new_positions);
        effects.extend(move_cases(model, set, new));
    }
    let cases = changed
        .into_iter()
        .map(|index| CaseRef { set, index })
        .collect::<Vec<_>>();
    effects.extend(reevaluate_cases(model, set, cases));
    effects
}

/// Stores the results of cases that no longer exist, in case they reappear: the file may be only partly written, or
/// another branch may be checked out for a while.
fn store_results(model: &mut Model, set: usize, was: &SetFile, new_positions: &[Option<usize>]) {
    let file = model.view.sets[set].path.path.as_path();
    let gone = (0..was.len()).filter(|index| new_positions[*index].is_none());
    let result = |index: usize| {
        let outcome = real(model).get(CaseRef { set, index })?;
        Some(PastResult {
            origin: ResultOrigin::new(file, outcome.run.clone()),
            eval_id: was.eval_id(index).into_owned(),
            content: was.content_hash(index),
            attempts: outcome.as_they_ran().to_vec(),
            planned: None,
            found: None,
        })
    };
    let results: Vec<PastResult> = gone.filter_map(result).collect();
    model.view.sets[set].store_until_read(results);
}

/// Updates everything that refers to cases of a set after their positions changed.
fn move_cases(
    model: &mut Model,
    _set: usize,
    new: impl Fn(CaseRef) -> Option<CaseRef>,
) -> Vec<Effect> {
    let effects = what_if::follow(model, &new);
    model.view.outcomes.follow(&new);
    model.view.browse.selected = model
        .view
        .browse
        .selected
        .iter()
        .filter_map(|case| new(*case))
        .collect();
    if let Some(queue) = &mut model.queue {
        queue.follow(&new);
    }
    if let Some(narrowing) = &mut model.view.browse.narrowing {
        narrowing.cases = narrowing
            .cases
            .iter()
            .filter_map(|case| new(*case))
            .collect();
    }
    let cursor = model
        .view
        .browse
        .visible
        .get(model.view.browse.cursor)
        .copied()
        .and_then(&new);
    model.view.browse.visible = model
        .view
        .browse
        .visible
        .iter()
        .filter_map(|case| new(*case))
        .collect();
    if let Some(at) = cursor.and_then(|case| {
        model
            .view
            .browse
            .visible
            .iter()
            .position(|other| *other == case)
    }) {
        model.view.browse.cursor = at;
    }
    let view = &mut model.view;
    for dialog in [&mut view.open_dialog, &mut view.covered_dialog] {
        dialog.take_if(|dialog| !dialog.follow(&new));
    }
    if view.open_dialog.is_none() {
        view.open_dialog = view.covered_dialog.take();
    }
    // The preview is opened again for the case under the cursor.
    (model.view.preview, model.view.previewed) = (None, None);
    if !model.view.screen.follow(&new) {
        model.show(BrowseScreen);
    }
    effects
}

/// Re-evaluates cases of a set: immediately if there are few attempts, otherwise in the background.
pub(crate) fn reevaluate_cases(model: &mut Model, set: usize, cases: Vec<CaseRef>) -> Vec<Effect> {
    let SetState::Ready(file, digest) = &model.view.sets[set].state else {
        return Vec::new();
    };
    let (file, digest, notes) = (
        file.clone(),
        digest.clone(),
        model.view.sets[set].notes.clone(),
    );
    let ran = |case: CaseRef| {
        let outcome = real(model).get(case)?;
        Some(CaseAttempts {
            case,
            revision: outcome.revision,
            attempts: outcome.as_they_ran().to_vec(),
        })
    };
    let cases: Vec<CaseAttempts> = cases.into_iter().filter_map(ran).collect();
    let attempts = || cases.iter().flat_map(|one| &one.attempts);
    match attempts().count() {
        0 => Vec::new(),
        1..=AT_ONCE
            if attempts()
                .map(|attempt| attempt.bytes_to_read())
                .sum::<u64>()
                <= READ_AT_ONCE =>
        {
            let found = reevaluated(&file, &notes, &cases);
            show(model, &requested_cases(&cases), found)
        }
        _ => {
            model.view.sets[set].reevaluating += 1;
            vec![Effect::Sets(SetEffect::Reevaluate {
                set,
                digest,
                file,
                notes,
                cases,
            })]
        }
    }
}

/// The requested cases, with the revisions of their outcomes.
pub fn requested_cases(cases: &[CaseAttempts]) -> Vec<(CaseRef, u64)> {
    cases.iter().map(|one| (one.case, one.revision)).collect()
}

/// Re-evaluates attempts with the cases of a file. Cases whose content did not change are left out.
pub fn reevaluated(file: &SetFile, notes: &Notes, cases: &[CaseAttempts]) -> ReevaluatedCases {
    let of = |one: &CaseAttempts| {
        Some((
            one.case,
            reevaluate(file, notes, one.case.index, &one.attempts)?,
        ))
    };
    cases.iter().filter_map(of).collect()
}

/// Handles the reply to [`SetEffect::Reevaluate`]. A reply for another version of the file is dropped, and the set is
/// marked so that all its outcomes are re-evaluated.
pub(crate) fn answered(
    model: &mut Model,
    set: usize,
    digest: &str,
    requested: &[(CaseRef, u64)],
    results: ReevaluatedCases,
) -> Vec<Effect> {
    let Some(view) = model.view.sets.get_mut(set) else {
        return Vec::new();
    };
    view.reevaluating = view.reevaluating.saturating_sub(1);
    if !matches!(&view.state, SetState::Ready(_, known) if known == digest) {
        view.is_behind = true;
        return Vec::new();
    }
    show(model, requested, results)
}

/// Shows re-evaluated results, except for cases that were run again since the request.
fn show(model: &mut Model, requested: &[(CaseRef, u64)], results: ReevaluatedCases) -> Vec<Effect> {
    let mut results: HashMap<CaseRef, Vec<Arc<EndedAttempt>>> = results.into_iter().collect();
    let is_current = |(case, revision): &&(CaseRef, u64)| {
        real(model)
            .get(*case)
            .is_some_and(|outcome| outcome.revision == *revision)
    };
    let is_other = |case: &CaseRef| {
        results.contains_key(case) || real(model).get(*case).is_some_and(CaseOutcome::is_edited)
    };
    let requested = requested.iter().filter(is_current).map(|(case, _)| *case);
    let others: Vec<CaseRef> = requested.filter(is_other).collect();
    if others.is_empty() {
        return Vec::new();
    }
    let outcomes = match &mut model.view.what_if {
        Some(what_if) => Arc::make_mut(&mut what_if.before),
        None => &mut model.view.outcomes,
    };
    for case in others {
        outcomes.reevaluate(case, results.remove(&case));
    }
    // An active what-if is applied to the new results.
    let effects = what_if::rescore(model);
    if let Some(case) = model.shown_case_mut() {
        case.is_stale = true;
    }
    relist(model);
    effects
}
