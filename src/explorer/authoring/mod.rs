//! Changing eval sets: what is proposed, looked at, made and taken back.

pub(crate) mod accepting;
pub mod capture;
mod cases;
pub(crate) mod conditions;
pub(crate) mod criteria;
pub mod identifiers;
pub mod notes;
pub mod quarantine;
mod set_files;
pub mod sets;

pub(crate) use set_files::shown_path;

use crate::explorer::authoring::proposal::Proposal;
use crate::explorer::shared::case_lines::PieceLine;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{EditEffect, Effect, SetEffect};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::outcomes::CaseOutcome;
use crate::explorer::what_if;
use evaltrail_core::diff::{AcceptablePart, accept_in_case, same_calls};
use evaltrail_core::domain::{EndedAttempt, EvalCase, Invocation, Status};
use evaltrail_core::formats::{Edit, SetFile};
use evaltrail_engine::store::{FileEdit, Reversal};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The difference under the cursor.
pub(crate) fn accept_difference(model: &mut Model) -> Vec<Effect> {
    let Some(case) = model.shown_case() else {
        return Vec::new();
    };
    if let Some(attempt) = lacking_answers(model) {
        return vec![Effect::Sets(SetEffect::FindAnswers(
            case.at,
            attempt.clone(),
        ))];
    }
    let Some(PieceLine { piece, turn, .. }) = case.current_piece().cloned() else {
        let words = format!("nothing differs in turn {}", case.turn + 1);
        return notices::notify_position(model, words);
    };
    let at = case.at;
    let ran = model.shown_attempt().cloned();
    match accepted(model, at, ran, |now| (now == turn).then(|| piece.clone())) {
        Ok(meant) => match shown_turns(model, at, turn) {
            Some((expected, actual)) => {
                let words = format!(
                    "accept {} in {}",
                    piece.describe(&expected, &actual),
                    model.eval_id(at)
                );
                propose(
                    model,
                    at.set,
                    vec![Edit::Case(at.index, Box::new(meant))],
                    words,
                )
            }
            None => {
                let why = "the case was edited since; try again when it is loaded";
                notices::notify(model, why.into(), true)
            }
        },
        Err(why) => notices::notify(model, why, true),
    }
}

/// The attempt on the screen, if it is errored because calls of tools had no answer.
pub(crate) fn lacking_answers(model: &Model) -> Option<&Arc<EndedAttempt>> {
    model
        .shown_attempt()
        .filter(|attempt| lacks_answers(attempt))
}

/// Whether an attempt is errored because calls of tools had no answer.
pub(crate) fn lacks_answers(attempt: &EndedAttempt) -> bool {
    attempt.status == Status::Errored && attempt.tools.is_some_and(|tools| tools.missing > 0)
}

/// Answers were found for calls that had none.
pub(crate) fn answers_found(
    model: &mut Model,
    found: Result<(String, FileEdit), String>,
) -> Vec<Effect> {
    match found {
        Ok(_) if model.view.open_dialog.is_some() => {
            let words = "answers for the calls were found; accept again to see them";
            notices::notify(model, words.into(), false)
        }
        Ok((words, job)) => {
            let proposal = Proposal::new(words, vec![job], |job| shown_path(model, &job.path));
            show(model, proposal)
        }
        Err(why) => notices::notify(model, why, true),
    }
}

/// The turns that are compared on the screen, the expected one as the file spells it, if the file still expects what stands
/// there: pieces are known by their positions.
fn shown_turns(model: &Model, at: CaseRef, turn: usize) -> Option<(Invocation, Invocation)> {
    let ran = model.shown_attempt()?.read().ok()?;
    let recorded_turn = if ran.turn.is_some() { 0 } else { turn };
    let (expected, actual) = (
        ran.expected.get(recorded_turn)?,
        ran.actual.get(recorded_turn)?,
    );
    let case = case_now(model, at).ok()?;
    let now = case.turns().get(turn)?;
    same_calls(&now.calls(), &expected.calls()).then(|| (now.clone(), actual.clone()))
}

/// All that the agent did: in the case on the screen, or in the selected ones.
pub(crate) fn accept_cases(model: &mut Model) -> Vec<Effect> {
    let selected = model.is_on(Context::Browse) && !model.view.browse.selected.is_empty();
    let chosen: Vec<CaseRef> = match selected {
        true => model.view.browse.selected.iter().copied().collect(),
        false => model.current_case().into_iter().collect(),
    };
    let each: Vec<(CaseRef, u32)> = chosen.iter().map(|case| (*case, 0)).collect();
    let (mut by_set, refused) = accepting_edits(model, &each);
    let refused: Vec<String> = refused
        .into_iter()
        .map(|(at, why)| format!("{}: {why}", model.eval_id(at)))
        .collect();
    let count: usize = by_set.values().map(Vec::len).sum();
    let words = match (count, chosen.as_slice()) {
        (1, [one]) => format!("accept what the agent did in {}", model.eval_id(*one)),
        _ => format!("accept what the agent did in {count} cases"),
    };
    if let Some(why) = refused.first() {
        let more = refused.len() - 1;
        let more = if more > 0 {
            format!(" (and {more} more)")
        } else {
            String::new()
        };
        notices::notify(model, format!("left out: {why}{more}"), true);
    }
    match by_set.len() {
        0 if refused.is_empty() => notices::notify(
            model,
            "the agent did what is expected; nothing would change".into(),
            false,
        ),
        0 => Vec::new(),
        1 => match by_set.pop_first() {
            Some((set, edits)) => propose(model, set, edits, words),
            None => Vec::new(),
        },
        _ => propose_many(model, by_set, words),
    }
}

/// Cases whose actual side cannot be accepted, with the reasons.
pub(crate) type NotAccepted = Vec<(CaseRef, String)>;

/// The edits that make everything the agent did in these cases expected, given with the number of the attempt or 0, by set, and the cases for which there are
/// none, with the reasons.
pub(crate) fn accepting_edits(
    model: &Model,
    cases: &[(CaseRef, u32)],
) -> (BTreeMap<usize, Vec<Edit>>, NotAccepted) {
    let mut by_set: BTreeMap<usize, Vec<Edit>> = BTreeMap::new();
    let mut refused = Vec::new();
    for (at, number) in cases {
        let attempts = model
            .view
            .outcomes
            .get(*at)
            .map(|outcome| &outcome.attempts[..])
            .unwrap_or_default();
        let numbered = attempts
            .iter()
            .find(|attempt| attempt.key.attempt == *number);
        let ran = numbered.or_else(|| attempt_to_accept(model, *at)).cloned();
        match accepted(model, *at, ran, |_| Some(AcceptablePart::Turn)) {
            Ok(meant) if Some(&meant) == case_now(model, *at).ok().as_ref() => {}
            Ok(meant) => by_set
                .entry(at.set)
                .or_default()
                .push(Edit::Case(at.index, Box::new(meant))),
            Err(why) => refused.push((*at, why)),
        }
    }
    (by_set, refused)
}

/// Whether what the agent did in a case can probably be made expected. Some reasons against it are only found when the
/// attempt is read.
pub(crate) fn can_be_accepted(model: &Model, at: CaseRef) -> bool {
    let is_editable = model
        .file(at.set)
        .is_some_and(|file| evaltrail_core::formats::is_editable(file).is_ok());
    let outcome = model
        .view
        .outcomes
        .get(at)
        .filter(|outcome| !outcome.is_foreign());
    is_editable
        && outcome
            .and_then(CaseOutcome::worst_attempt)
            .is_some_and(|ran| ran.error.is_none())
}

/// The attempt on the case screen; for cases of a list, the one to look at first.
pub(crate) fn attempt_to_accept(model: &Model, at: CaseRef) -> Option<&Arc<EndedAttempt>> {
    match model.open_case() {
        Some(case) if case.at == at => model.shown_attempt(),
        _ => model.view.outcomes.get(at)?.worst_attempt(),
    }
}

fn case_now(model: &Model, at: CaseRef) -> Result<EvalCase, String> {
    let file: &Arc<SetFile> = model.file(at.set).ok_or("the file is not read yet")?;
    file.case(at.index).map_err(|problem| problem.to_string())
}

/// The case with pieces of what an attempt did taken over.
fn accepted(
    model: &Model,
    at: CaseRef,
    ran: Option<Arc<EndedAttempt>>,
    piece: impl Fn(usize) -> Option<AcceptablePart>,
) -> Result<EvalCase, String> {
    if model
        .view
        .outcomes
        .get(at)
        .is_some_and(CaseOutcome::is_foreign)
    {
        return Err(
            "the result is from a foreign run, which was not recorded by you on this machine"
                .into(),
        );
    }
    let ran = ran.ok_or("the case has not been run yet")?.read()?;
    accept_in_case(&case_now(model, at)?, &ran, piece).map_err(|error| error.to_string())
}

/// A case's text as the file would have it.
pub(crate) fn drafted(file: &SetFile, at: usize, draft: &EvalCase) -> Option<String> {
    let range = file.range(at)?;
    let change = evaltrail_core::formats::change_case(file, at, draft).ok()?;
    let grown: isize = change
        .0
        .iter()
        .map(|one| one.new.len() as isize - one.old.len() as isize)
        .sum();
    let after = change.apply(file.text())?;
    after
        .get(range.start..range.end.checked_add_signed(grown)?)
        .map(str::to_string)
}

/// Shows what would change. An active what-if is dropped first: it shows outcomes that are not stored.
pub(crate) fn propose(
    model: &mut Model,
    set: usize,
    edits: Vec<Edit>,
    words: String,
) -> Vec<Effect> {
    match model.propose(set, edits, words) {
        Ok(proposal) => show(model, proposal),
        Err(why) => notices::notify(model, why, true),
    }
}

fn propose_many(
    model: &mut Model,
    by_set: BTreeMap<usize, Vec<Edit>>,
    words: String,
) -> Vec<Effect> {
    let mut all: Option<Proposal> = None;
    for (set, edits) in by_set {
        match model.propose(set, edits, words.clone()) {
            Ok(proposal) => match &mut all {
                Some(all) => {
                    all.jobs.extend(proposal.jobs);
                    all.lines.extend(proposal.lines);
                    all.meant = None;
                }
                None => all = Some(proposal),
            },
            Err(why) => return notices::notify(model, why, true),
        }
    }
    all.map_or_else(Vec::new, |proposal| show(model, proposal))
}

pub(crate) fn show(model: &mut Model, proposal: Proposal) -> Vec<Effect> {
    let effects = what_if::drop_what_if(model);
    model.view.open_dialog = Some(Box::new(proposal));
    effects
}

/// Undoes the last change of a file of the workspace, or makes it again.
pub(crate) fn undo_or_redo(model: &mut Model, undo: bool) -> Vec<Effect> {
    let mut effects = what_if::drop_what_if(model);
    let shown = model.current_set_path();
    let reversal = if undo { Reversal::Undo } else { Reversal::Redo };
    effects.push(Effect::Edits(EditEffect::UndoOrRedo {
        reversal,
        shown,
        confirmed: None,
    }));
    effects
}
pub mod proposal;
