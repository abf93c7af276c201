//! Typing of a value in the case editor.

use crate::explorer::screens::edit::apply::{add_after, argument_warning, set, wrong_value};
use crate::explorer::screens::edit::complete::completions;
use crate::explorer::screens::edit::cursor::{field, keep_in_sight, screen};
use crate::explorer::screens::edit::state::{EditScreen, Typing};
use crate::explorer::shared::case_field::{Adding, CaseField, adding_after, value_of};
use crate::explorer::shared::completion_cycle::CompletionCycle;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::key::{Key, KeyCode, request};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use crate::explorer::shared::tools::KnownTools;
use evaltrail_core::domain::eval_id_error;
use std::sync::Arc;
use tui_input::{Input, InputRequest};

/// Whether a value is being typed.
pub(crate) fn takes_text(model: &Model) -> bool {
    model.view.open_dialog.is_none()
        && model
            .screen::<EditScreen>()
            .is_some_and(|screen| screen.typing.is_some())
}

pub(crate) fn edit_field(model: &mut Model) -> Vec<Effect> {
    if let Some(edit) = screen(model)
        && let Some(field) = field(edit)
    {
        type_value(edit, field);
    }
    keep_in_sight(model);
    Vec::new()
}

pub(crate) fn add_field(model: &mut Model) -> Vec<Effect> {
    let Some(edit) = screen(model) else {
        return Vec::new();
    };
    let Some(field) = field(edit) else {
        return Vec::new();
    };
    match adding_after(&field) {
        Some(adding) => type_new(edit, field, adding),
        None => {
            let why = "nothing can be added here; add to turns, calls, arguments or rubrics";
            return notices::notify(model, why.into(), false);
        }
    }
    keep_in_sight(model);
    Vec::new()
}

fn type_value(edit: &mut EditScreen, field: CaseField) {
    if matches!(
        field,
        CaseField::Turn(_) | CaseField::Calls(_) | CaseField::Rubrics
    ) {
        if let Some(adding) = adding_after(&field) {
            type_new(edit, field, adding);
        }
        return;
    }
    let value = value_of(&edit.draft, &field);
    edit.typing = Some(Typing {
        field,
        adding: None,
        input: Input::new(value),
        wrong: None,
        warning: None,
        completions: Vec::new(),
        cycle: CompletionCycle::default(),
    });
    look(edit);
}

fn type_new(edit: &mut EditScreen, field: CaseField, adding: Adding) {
    let input = Input::default();
    edit.typing = Some(Typing {
        field,
        adding: Some(adding),
        input,
        wrong: None,
        warning: None,
        completions: Vec::new(),
        cycle: CompletionCycle::default(),
    });
    look(edit);
    // No error is shown before something is typed.
    if let Some(typing) = &mut edit.typing {
        typing.wrong = None;
    }
}

/// Updates the error and the completions for the text typed so far.
fn look(edit: &mut EditScreen) {
    if let Some(typing) = &mut edit.typing {
        let typed = typing.input.value();
        typing.wrong = wrong_value(&edit.draft, &typing.field, typing.adding, typed);
        typing.warning = match typing.wrong {
            Some(_) => None,
            None => argument_warning(
                &edit.draft,
                &edit.tools,
                &typing.field,
                typing.adding,
                typed,
            ),
        };
        typing.completions = completions(
            &edit.draft,
            &edit.tools,
            &typing.field,
            typing.adding,
            typed,
        );
    }
}

/// Completes the text. If repeated, uses the next completion, which is then the first one that is listed.
fn complete(edit: &mut EditScreen) {
    let Some(typing) = &mut edit.typing else {
        return;
    };
    let (before, known) = (typing.input.value(), typing.completions.clone());
    let Some(completed) = typing.cycle.next(before, || known.clone()) else {
        return;
    };
    typing.input = Input::new(completed.to_string());
    look(edit);
    let Some(typing) = &mut edit.typing else {
        return;
    };
    // What was completed is not finished, and is no error yet.
    typing.wrong = None;
    if typing.cycle.has_others() {
        typing.completions = typing.cycle.others();
    }
}

/// Handles a key while a value is typed.
pub(super) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(edit) = screen(model) else {
        return Vec::new();
    };
    let Some(typing) = &mut edit.typing else {
        return Vec::new();
    };
    match (key.code, key.ctrl, key.alt) {
        (KeyCode::Esc, ..) | (KeyCode::Char('c'), true, _) => edit.typing = None,
        (KeyCode::Enter, _, true) | (KeyCode::Char('j'), true, _) => {
            typing.input.handle(InputRequest::InsertChar('\n'));
            look(edit);
        }
        (KeyCode::Enter, ..) => return take(model),
        (KeyCode::Tab, ..) => {
            complete(edit);
        }
        _ => {
            if let Some(request) = request(key) {
                typing.input.handle(request);
                look(edit);
            }
        }
    }
    Vec::new()
}

/// Inserts pasted text. Line breaks are kept: values may contain them.
pub(crate) fn paste(model: &mut Model, text: &str) {
    let Some(edit) = screen(model) else { return };
    if let Some(typing) = &mut edit.typing {
        for c in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            typing.input.handle(InputRequest::InsertChar(c));
        }
        look(edit);
    }
}

/// Applies the typed value to the draft. An invalid one stays in the text field with its error.
pub(super) fn take(model: &mut Model) -> Vec<Effect> {
    let others = other_ids(model);
    let Some(edit) = screen(model) else {
        return Vec::new();
    };
    let Some(typing) = &mut edit.typing else {
        return Vec::new();
    };
    let typed = typing.input.value().to_string();
    if typing.field == CaseField::EvalId && typed != edit.before.eval_id {
        typing.wrong = eval_id_error(&typed, others.iter().map(|id| id.as_str().into()));
        if typing.wrong.is_some() {
            return Vec::new();
        }
    }
    let mut draft = edit.draft.clone();
    let field = typing.field.clone();
    let taken = match typing.adding {
        None => set(&mut draft, &field, &typed).map(|()| field),
        Some(adding) => add_after(&mut draft, &field, adding, &typed),
    };
    match taken {
        Ok(field) => {
            let more = next_to_type(typing.adding, &field);
            edit.typing = None;
            edit.take(draft, Some(&field));
            match more {
                Some(Adding::Rubric) => type_value(edit, field),
                Some(adding) => type_new(edit, field, adding),
                None => {}
            }
        }
        Err(why) => typing.wrong = Some(why),
    }
    keep_in_sight(model);
    Vec::new()
}

/// The ids of the other cases of the set.
fn other_ids(model: &Model) -> Vec<String> {
    let Some(edit) = model.screen::<EditScreen>() else {
        return Vec::new();
    };
    let Some(file) = model.file(edit.at.set) else {
        return Vec::new();
    };
    let ids = file
        .eval_ids()
        .enumerate()
        .filter(|(at, _)| *at != edit.at.index);
    ids.map(|(_, id)| id.into_owned()).collect()
}

/// What is typed next: a new call is followed by its arguments, a new rubric by its text.
fn next_to_type(added: Option<Adding>, field: &CaseField) -> Option<Adding> {
    match (added, field) {
        (Some(Adding::Call), CaseField::Call(..)) => Some(Adding::Argument),
        (Some(Adding::Rubric), _) => Some(Adding::Rubric),
        _ => None,
    }
}

/// Updates the known tools.
pub(crate) fn tools_seen(model: &mut Model, set: usize, tools: KnownTools) -> Vec<Effect> {
    if let Some(edit) = screen(model).filter(|edit| edit.at.set == set) {
        edit.tools = Arc::new(tools);
        look(edit);
    }
    Vec::new()
}
