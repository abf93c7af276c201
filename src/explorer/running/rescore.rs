//! Scores recorded responses again whose criteria were changed since, without running an agent.

use super::start;
use crate::explorer::prompts::confirm;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::command_names::SCORE_OUTDATED;
use crate::explorer::shared::effect::{Effect, ScreenRequest};
use crate::explorer::shared::enabled::{Enabled, can_run};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::run_target::RunTarget;
use crate::explorer::what_if;
use evaltrail_core::domain::{DecisionKind, EndedAttempt, RunRef, counted};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The listed cases with recorded responses whose results are older than their criteria.
pub(crate) fn outdated_cases(model: &Model) -> Vec<CaseRef> {
    // It is the same for all results of a run in a set.
    let mut known: HashMap<(usize, *const RunRef), bool> = HashMap::new();
    let mut has_older_criteria = |case: CaseRef| {
        let run = model
            .view
            .outcomes
            .get(case)
            .map(|outcome| Arc::as_ptr(&outcome.run));
        run.is_some_and(|run| {
            let is_older = || model.older_criteria_of_result(case).is_some();
            *known.entry((case.set, run)).or_insert_with(is_older)
        })
    };
    let listed = model.view.browse.visible.iter().copied();
    let outdated = |case: &CaseRef| {
        is_recorded(model, *case)
            && (has_older_criteria(*case) || model.relaxed_by(*case).is_some())
    };
    listed.filter(outdated).collect()
}

/// Called for each frame, so that it looks at no other case than the one under the cursor.
pub(crate) fn can_score_outdated(model: &Model) -> Enabled {
    can_run(model)?;
    let may_be_outdated = !model.criteria_edits.is_empty()
        || model.decisions.has_any_of_kind(DecisionKind::Relax)
        || model
            .current_case()
            .is_some_and(|case| is_outdated(model, case));
    let none = "the result of this case is not older than its criteria";
    may_be_outdated.then_some(()).ok_or(none)
}

fn is_outdated(model: &Model, case: CaseRef) -> bool {
    let is_older =
        || model.older_criteria_of_result(case).is_some() || model.relaxed_by(case).is_some();
    is_recorded(model, case) && is_older()
}

/// Whether all attempts of a case have responses, so that they can be scored again.
fn is_recorded(model: &Model, case: CaseRef) -> bool {
    let is_whole = |attempt: &Arc<EndedAttempt>| attempt.actual_turns > 0 && attempt.turn.is_none();
    let outcome = model.view.outcomes.get(case);
    outcome.is_some_and(|outcome| outcome.attempts.iter().all(is_whole))
}

/// Scores the listed cases again whose results are older than their criteria. If a judge is needed, asks first. A run has the
/// same number of attempts for each case: of several numbers, the cases with the most frequent one are scored.
pub(crate) fn score_outdated(model: &mut Model) -> Vec<Effect> {
    let all = outdated_cases(model);
    let mut by_attempts: BTreeMap<usize, Vec<CaseRef>> = BTreeMap::new();
    for case in &all {
        let attempts = model.view.outcomes.get(*case).map(|one| one.attempts.len());
        by_attempts
            .entry(attempts.unwrap_or(0))
            .or_default()
            .push(*case);
    }
    let most = by_attempts.into_values().max_by_key(Vec::len);
    let Some(cases) = most else {
        let words = "no result of the listed cases is older than its criteria";
        return notices::notify(model, words.into(), false);
    };
    let attempts = || {
        let of = |case: &CaseRef| Some((*case, model.view.outcomes.get(*case)?));
        let outcomes = cases.iter().filter_map(of);
        outcomes
            .flat_map(|(case, outcome)| outcome.attempts.iter().map(move |one| (case, one.clone())))
    };
    let judged = attempts()
        .filter(|(_, attempt)| attempt.metrics.iter().any(|metric| metric.judged))
        .count();
    let kept: Vec<_> = attempts().collect();
    let (count, left) = (cases.len(), all.len() - cases.len());
    let recorded = RunTarget::Recorded(Arc::new(kept));
    if judged == 0 {
        return score_again(model, cases, recorded, left);
    }
    let title = format!("Score {} again?", counted(count, "case"));
    let are = if judged == 1 { "is" } else { "are" };
    let lines = vec![format!(
        "{} {are} judged: a judge model answers what has no saved answer",
        counted(judged, "attempt")
    )];
    let request = ScreenRequest::ScoreAgain {
        cases,
        recorded,
        left,
    };
    confirm::open(model, title, lines, request)
}

/// Scores recorded responses of these cases again. `left` is the number of other cases whose results are older than their criteria.
pub(crate) fn score_again(
    model: &mut Model,
    cases: Vec<CaseRef>,
    recorded: RunTarget,
    left: usize,
) -> Vec<Effect> {
    let mut effects = start::start(model, cases, recorded);
    // The results will be those of the criteria that were written.
    if model
        .view
        .what_if
        .as_ref()
        .is_some_and(|what_if| what_if.is_written)
    {
        effects.extend(what_if::drop_what_if(model));
    }
    if left > 0 {
        let key = SCORE_OUTDATED.key();
        let words = match left {
            1 => format!("1 case with another number of attempts is left; {key} scores it"),
            _ => {
                format!("{left} cases with another number of attempts are left; {key} scores them")
            }
        };
        effects.extend(notices::notify(model, words, false));
    }
    effects
}
