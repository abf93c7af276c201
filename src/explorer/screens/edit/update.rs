//! Updates of the case editor: opening, changing fields, saving and leaving.

use crate::explorer::authoring;
use crate::explorer::authoring::proposal::{NOTHING, Proposal};
use crate::explorer::prompts::confirm;
use crate::explorer::screens::edit::actual::{
    actual_values, field_of_piece, first_difference, take_value, usable_attempts,
};
use crate::explorer::screens::edit::apply;
use crate::explorer::screens::edit::cursor::{field, keep_in_sight, screen};
use crate::explorer::screens::edit::state::EditScreen;
use crate::explorer::screens::edit::typing::{self, edit_field};
use crate::explorer::shared::case_field::CaseField;
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::CaseOrigin;
use crate::explorer::shared::command_names::SAVE_CASE;
use crate::explorer::shared::effect::{Effect, ScreenRequest, SetEffect};
use crate::explorer::shared::enabled::Enabled;
use crate::explorer::shared::key::{Key, parse_key};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shown_case::refresh;
use evaltrail_core::domain::{EvalCase, Part};
use evaltrail_core::formats::Edit;

/// Opens the editor for the current case.
pub(crate) fn open(model: &mut Model) -> Vec<Effect> {
    let Some(at) = model.current_case() else {
        return Vec::new();
    };
    let Some(file) = model.file(at.set) else {
        return Vec::new();
    };
    match file.case(at.index) {
        Ok(case) => {
            let from = model.open_case().map(|case| case.from);
            let marked = model
                .open_case()
                .and_then(|open| open.current_piece())
                .map(|piece| field_of_piece(piece.turn, &piece.piece, &case));
            let mut screen = EditScreen::new(at, file.clone(), case, from);
            screen.actual = usable_attempts(model, at, &screen.draft);
            let first = || first_difference(&screen.draft, &screen.actual);
            if let Some(field) = marked.or_else(first) {
                screen.go_to(&field);
            }
            model.show(screen);
            keep_in_sight(model);
            vec![Effect::Sets(SetEffect::CollectTools(at.set))]
        }
        Err(problem) => notices::notify(model, problem.to_string(), true),
    }
}

/// Opens the editor. If it opens at a value, an argument or a response, begins to type another one.
pub(crate) fn open_at_value(model: &mut Model) -> Vec<Effect> {
    let mut effects = open(model);
    let at = screen(model).and_then(|edit| field(edit));
    if matches!(at, Some(CaseField::Argument(..) | CaseField::Response(_))) {
        effects.extend(edit_field(model));
    }
    effects
}

/// Takes the value that the agent gave the field under the cursor; if the draft has it already, the next one.
pub(crate) fn take_actual(model: &mut Model) -> Vec<Effect> {
    let Some(edit) = screen(model) else {
        return Vec::new();
    };
    let Some(field) = field(edit) else {
        return Vec::new();
    };
    let values = actual_values(&edit.draft, &field, &edit.actual);
    let taken: Vec<EvalCase> = values
        .iter()
        .filter_map(|value| take_value(&edit.draft, &field, value, &edit.actual))
        .collect();
    let now = taken.iter().position(|draft| *draft == edit.draft);
    let next = now.map_or(0, |at| (at + 1) % taken.len());
    let Some(draft) = taken.into_iter().nth(next) else {
        return Vec::new();
    };
    edit.take(draft, Some(&field));
    keep_in_sight(model);
    Vec::new()
}

/// Whether an attempt has another value for the field under the cursor.
pub(crate) fn can_take_actual(model: &Model) -> Enabled {
    let edit = model.screen::<EditScreen>();
    let field = edit.and_then(|edit| Some((edit, edit.row()?.field.clone())));
    let (edit, field) = field.ok_or("there is no field here")?;
    let values = actual_values(&edit.draft, &field, &edit.actual);
    if values.is_empty() {
        return Err("no attempt has a value for this field");
    }
    let differs = |value| {
        let taken = take_value(&edit.draft, &field, value, &edit.actual);
        taken.is_some_and(|draft| draft != edit.draft)
    };
    let differs = values.iter().any(differs);
    differs
        .then_some(())
        .ok_or("no attempt has another value here")
}

/// Edits a case that is not in its file yet.
pub(crate) fn open_new(model: &mut Model, at: CaseRef, case: EvalCase) -> Vec<Effect> {
    let Some(file) = model.file(at.set).cloned() else {
        return Vec::new();
    };
    let mut screen = EditScreen::new(at, file, case, None);
    screen.is_new = true;
    screen.cursor = 2;
    model.show(screen);
    let mut effects = vec![Effect::Sets(SetEffect::CollectTools(at.set))];
    effects.extend(edit_field(model));
    effects
}

pub(crate) fn remove_field(model: &mut Model) -> Vec<Effect> {
    change(model, |case, field| {
        apply::remove(case, field).map(|()| field.clone())
    })
}

pub(crate) fn duplicate_field(model: &mut Model) -> Vec<Effect> {
    change(model, apply::duplicate)
}

pub(crate) fn move_field(model: &mut Model, down: bool) -> Vec<Effect> {
    change(model, |case, field| apply::move_field(case, field, down))
}

/// Undoes or redoes the last change of the draft.
pub(crate) fn undo_or_redo(model: &mut Model, undo: bool) -> Vec<Effect> {
    let Some(edit) = screen(model) else {
        return Vec::new();
    };
    let done = if undo { edit.undo() } else { edit.redo() };
    keep_in_sight(model);
    match (done, undo) {
        (true, _) => Vec::new(),
        (false, true) => notices::notify(model, "nothing to undo".into(), false),
        (false, false) => notices::notify(model, "nothing to redo".into(), false),
    }
}

/// Changes the draft at the field under the cursor, or shows why this is not possible.
fn change(
    model: &mut Model,
    change: impl FnOnce(&mut EvalCase, &CaseField) -> Result<CaseField, String>,
) -> Vec<Effect> {
    let Some(edit) = screen(model) else {
        return Vec::new();
    };
    let Some(field) = field(edit) else {
        return Vec::new();
    };
    let mut draft = edit.draft.clone();
    let effects = match change(&mut draft, &field) {
        Ok(field) => {
            edit.take(draft, Some(&field));
            Vec::new()
        }
        Err(why) => notices::notify(model, why, false),
    };
    keep_in_sight(model);
    effects
}

/// Handles a key while a value is typed. The key that saves takes the value first.
pub(crate) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    let saves =
        (key.ctrl || key.alt) && SAVE_CASE.keys().iter().any(|of| parse_key(of) == Some(key));
    if !saves {
        return typing::key(model, key);
    }
    let effects = typing::take(model);
    match typing::takes_text(model) {
        true => effects,
        false => save(model),
    }
}

pub(crate) fn save(model: &mut Model) -> Vec<Effect> {
    let Some(edit) = model.screen::<EditScreen>() else {
        return Vec::new();
    };
    if !edit.is_changed() {
        return notices::notify(model, NOTHING.into(), false);
    }
    let draft = Box::new(edit.draft.clone());
    let is_blank = |part: &Part| !part.has_text() && part.label().is_none();
    let without_message = draft
        .turns()
        .iter()
        .position(|turn| turn.user.parts.iter().all(is_blank));
    let (edits, words) = match edit.is_new {
        true => (
            vec![Edit::Insert(edit.index, draft)],
            format!("create {}", edit.draft.eval_id),
        ),
        false => (
            vec![Edit::Case(edit.index, draft)],
            format!("edit {}", edit.before.eval_id),
        ),
    };
    // The change is relative to the file as it was when the editor opened. Changes by others are detected when it is
    // saved.
    match model.propose_in(edit.at.set, &edit.file, edits, words) {
        Ok(mut proposal) => {
            if let Err(why) = notes_follow(model, &mut proposal) {
                return notices::notify(model, why, true);
            }
            proposal.problem =
                without_message.map(|turn| format!("turn {} has no user message", turn + 1));
            authoring::show(model, proposal)
        }
        Err(why) => notices::notify(model, why, true),
    }
}

/// Adds the change of the file beside the set if the id of the case changed: its notes are by id.
fn notes_follow(model: &Model, proposal: &mut Proposal) -> Result<(), String> {
    let Some(edit) = model.screen::<EditScreen>() else {
        return Ok(());
    };
    let (from, to) = (edit.before.eval_id.clone(), edit.draft.eval_id.clone());
    if edit.is_new || from == to {
        return Ok(());
    }
    let job = authoring::notes::notes_job(model, edit.at.set, |notes| {
        if let Some(kept) = notes.remove(&from) {
            notes.insert(to, kept);
        }
    })?;
    if let Some(job) = job {
        authoring::notes::add_job(proposal, job, model);
    }
    Ok(())
}

/// Closes the editor. Asks for confirmation first if changes would be lost.
pub(crate) fn leave(model: &mut Model) -> Vec<Effect> {
    let Some(edit) = screen(model) else {
        return Vec::new();
    };
    if edit.is_changed() {
        let lines = vec!["The changes are lost.".into()];
        return confirm::open_refusing_enter(
            model,
            "Leave without saving?",
            lines,
            ScreenRequest::CloseEditor,
        );
    }
    close(model)
}

/// Closes the editor and goes back to the case, the triage queue or the list.
pub(crate) fn close(model: &mut Model) -> Vec<Effect> {
    let Some(edit) = model.screen::<EditScreen>() else {
        return Vec::new();
    };
    let (at, from) = (edit.at, edit.from);
    model.show(BrowseScreen);
    let exists = model.file(at.set).is_some_and(|file| at.index < file.len());
    match from.filter(|_| exists) {
        Some(CaseOrigin::Queue) => return vec![ScreenRequest::ContinueTriage.into()],
        Some(from) => refresh::open(model, at, from),
        None => {
            if let Some(row) = model
                .view
                .browse
                .visible
                .iter()
                .position(|case| *case == at)
            {
                model.view.browse.cursor = row;
            }
        }
    }
    Vec::new()
}
