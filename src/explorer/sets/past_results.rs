//! Past results: they are shown once their cases have been read.

use crate::explorer::case_list::listing::{relist, relist_with_results};
use crate::explorer::sets::edited_cases;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, HistoryEffect, ResultEffect};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices::notify_about;
use crate::explorer::shared::ticket::Ticket;
use evaltrail_core::domain::RunRef;
use evaltrail_engine::history::{PastResult, is_unchanged};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

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
    let lists = [Context::Runs, Context::Comparison, Context::ComparedCase];
    if lists.into_iter().any(|context| model.is_on(context)) {
        effects.push(Effect::History(HistoryEffect::List(model.ticket())));
    }
    effects
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
    let show = |(set, results): (usize, Vec<PastResult>)| {
        model.view.sets[set].past = results;
        show_waiting(model, set)
    };
    let effects = of_sets.into_iter().enumerate().flat_map(show).collect();
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

/// The ids of the runs of the shown results.
fn shown_runs(model: &Model) -> BTreeSet<String> {
    let sets = 0..model.view.sets.len();
    let runs = sets.flat_map(|set| model.view.outcomes.runs(set));
    runs.map(|(run, _)| run.id.clone()).collect()
}

/// Says which runs of other programs are shown now. How many cases they have is not known as long as sets are being read.
fn notify_new_runs(model: &mut Model, before: &BTreeSet<String>) {
    let new: Vec<String> = shown_runs(model)
        .difference(before)
        .map(|run| format!("run {run}"))
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

/// Shows the waiting results whose cases have been read. It does not replace newer results.
pub(super) fn show_waiting(model: &mut Model, set: usize) -> Vec<Effect> {
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
            let Some(index) = result.position_in(&file) else {
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
