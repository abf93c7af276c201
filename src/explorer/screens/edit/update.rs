//! Updates of the case editor.

use crate::explorer::authoring;
use crate::explorer::authoring::proposal::{NOTHING, Proposal};
use crate::explorer::prompts::confirm;
use crate::explorer::screens::edit::actual::{
    actual_values, field_of_piece, take_value, usable_attempts,
};
use crate::explorer::screens::edit::apply::{add_after, argument_warning, wrong_value};
use crate::explorer::screens::edit::complete::completions;
use crate::explorer::screens::edit::state;
use crate::explorer::screens::edit::state::{EditScreen, Typing};
use crate::explorer::shared::case_field::{Adding, CaseField, adding_after, value_of};
use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::case_screen::CaseOrigin;
use crate::explorer::shared::effect::{EditorOf, Effect, ScreenRequest, SetEffect, TerminalEffect};
use crate::explorer::shared::key::{Key, KeyCode, request};
use crate::explorer::shared::layout::inside;
use crate::explorer::shared::message::Mouse;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::notices;
use crate::explorer::shared::screen::layout;
use crate::explorer::shared::tools::KnownTools;
use crate::explorer::shown_case::refresh;
use evaltrail_core::domain::{EvalCase, Part, eval_id_error};
use evaltrail_core::formats::Edit;
use evaltrail_core::formats::adk::read_config;
use evaltrail_core::formats::json::TextChange;
use evaltrail_engine::store::{FileAction, FileEdit};
use std::path::PathBuf;
use std::sync::Arc;
use tui_input::{Input, InputRequest};

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
            if let Some(field) = marked {
                screen.go_to(&field);
            }
            model.show(screen);
            keep_in_sight(model);
            vec![Effect::Sets(SetEffect::CollectTools(at.set))]
        }
        Err(problem) => notices::notify(model, problem.to_string(), true),
    }
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
        let why = "no attempt has a value for this field";
        return notices::notify(model, why.into(), false);
    };
    if draft == edit.draft {
        let why = "no attempt has another value here";
        return notices::notify(model, why.into(), false);
    }
    edit.take(draft, Some(&field));
    keep_in_sight(model);
    Vec::new()
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

fn screen(model: &mut Model) -> Option<&mut EditScreen> {
    model.screen_mut()
}

/// Whether a value is being typed.
pub(crate) fn takes_text(model: &Model) -> bool {
    model.view.open_dialog.is_none()
        && model
            .screen::<EditScreen>()
            .is_some_and(|screen| screen.typing.is_some())
}

/// The field under the cursor.
fn field(edit: &EditScreen) -> Option<CaseField> {
    edit.row().map(|row| row.field.clone())
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

pub(crate) fn remove_field(model: &mut Model) -> Vec<Effect> {
    change(model, |case, field| {
        state::remove(case, field).map(|()| field.clone())
    })
}

pub(crate) fn duplicate_field(model: &mut Model) -> Vec<Effect> {
    change(model, state::duplicate)
}

pub(crate) fn move_field(model: &mut Model, down: bool) -> Vec<Effect> {
    change(model, |case, field| state::move_field(case, field, down))
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

pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    let page = page(model);
    if let Some(edit) = screen(model) {
        edit.cursor = motion.target(edit.cursor, edit.rows.len(), page);
    }
    keep_in_sight(model);
}

fn page(model: &Model) -> usize {
    usize::from(inside(layout(model).main).height)
}

fn keep_in_sight(model: &mut Model) {
    let page = page(model).max(1);
    if let Some(edit) = screen(model) {
        edit.scroll = edit
            .scroll
            .min(edit.cursor)
            .max((edit.cursor + 1).saturating_sub(page));
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

/// Handles a key while a value is typed.
pub(crate) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
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
            if let Some(first) = typing.completions.first().cloned() {
                typing.input = Input::new(first);
                look(edit);
            }
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
fn take(model: &mut Model) -> Vec<Effect> {
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
        None => state::set(&mut draft, &field, &typed).map(|()| field),
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

pub(crate) fn in_editor(model: &mut Model) -> Vec<Effect> {
    let Some(edit) = screen(model) else {
        return Vec::new();
    };
    let Some(field) = field(edit) else {
        return Vec::new();
    };
    let (name, ending) = match field {
        CaseField::Argument(..)
        | CaseField::State
        | CaseField::FinalState
        | CaseField::Scenario => ("value", "json"),
        CaseField::User(_)
        | CaseField::Response(_)
        | CaseField::Said(..)
        | CaseField::RubricText(..) => ("text", "txt"),
        _ => ("value", "txt"),
    };
    let text = value_of(&edit.draft, &field);
    vec![Effect::Terminal(TerminalEffect::EditText {
        text,
        name: name.into(),
        ending,
        of: EditorOf::Field(field),
    })]
}

pub(crate) fn open_in_editor(model: &mut Model) -> Vec<Effect> {
    let Some(edit) = model.screen::<EditScreen>() else {
        return Vec::new();
    };
    let text = match edit.is_changed() {
        // The draft as it would be written to the file.
        true => authoring::drafted(&edit.file, edit.index, &edit.draft),
        false => edit.file.text_of(edit.index).map(str::to_string),
    };
    let name = edit.before.eval_id.clone();
    match text {
        Some(text) => vec![Effect::Terminal(TerminalEffect::EditText {
            text,
            name,
            ending: "json",
            of: EditorOf::Case,
        })],
        None => notices::notify(model, "files of this format cannot be edited".into(), true),
    }
}

/// Handles a text that was edited in `$EDITOR`. An invalid text is retained, so that the user can correct it.
pub(crate) fn edited_text(model: &mut Model, of: EditorOf, text: String) -> Vec<Effect> {
    match of {
        EditorOf::Field(field) => {
            let Some(edit) = screen(model) else {
                return Vec::new();
            };
            let text = text.strip_suffix('\n').unwrap_or(&text).to_string();
            if text == value_of(&edit.draft, &field) {
                return Vec::new();
            }
            let input = Input::new(text);
            edit.typing = Some(Typing {
                field,
                adding: None,
                input,
                wrong: None,
                warning: None,
                completions: Vec::new(),
            });
            take(model)
        }
        EditorOf::Criteria(path, read) => criteria_typed(model, path, read, text),
        EditorOf::Case => {
            let Some(edit) = model.screen::<EditScreen>() else {
                return Vec::new();
            };
            let edits = vec![Edit::Typed(edit.index, text.clone())];
            let words = format!("edit {}", edit.before.eval_id);
            let proposed = model.propose_in(edit.at.set, &edit.file, edits, words);
            match proposed {
                Ok(proposal) => authoring::show(model, proposal),
                Err(why) if why == NOTHING => notices::notify(model, why, false),
                Err(why) => ask_again(model, why, edit_again(EditorOf::Case, text)),
            }
        }
    }
}

/// Handles criteria that were edited in `$EDITOR`. If they are invalid, shows the error and offers to edit them
/// again.
fn criteria_typed(
    model: &mut Model,
    path: PathBuf,
    read: Option<Arc<str>>,
    text: String,
) -> Vec<Effect> {
    if let Err(error) = read_config(&text) {
        let then = edit_again(EditorOf::Criteria(path, read), text);
        return ask_again(model, error.to_string(), then);
    }
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let action = match read {
        Some(read) if *read == *text => return notices::notify(model, NOTHING.into(), false),
        Some(read) => {
            let change = TextChange::one(0, &read, &text);
            FileAction::Change(read, change)
        }
        None => FileAction::Create(text),
    };
    let proposal = Proposal::new(
        "edit the criteria".into(),
        vec![FileEdit { path, action }],
        |_| name.clone(),
    );
    authoring::show(model, proposal)
}

fn ask_again(model: &mut Model, why: String, then: Effect) -> Vec<Effect> {
    let lines = vec![
        why,
        "Nothing was changed. The text is kept until you answer.".into(),
    ];
    confirm::open(
        model,
        "The text cannot be used. Open it again?",
        lines,
        then,
    )
}

/// Opens an invalid text in `$EDITOR` again.
fn edit_again(of: EditorOf, text: String) -> Effect {
    Effect::Terminal(TerminalEffect::EditText {
        text,
        name: "again".into(),
        ending: "json",
        of,
    })
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

/// Handles the mouse: the wheel moves the cursor, and a click moves it to a row.
pub(crate) fn mouse(model: &mut Model, mouse: Mouse) -> Vec<Effect> {
    let inner = inside(layout(model).main);
    if let Some(motion) = mouse.kind.wheel() {
        scroll(model, motion);
    } else if let Some(edit) = screen(model)
        && edit.typing.is_none()
        && (inner.y..inner.bottom()).contains(&mouse.y)
    {
        let at = edit.scroll + usize::from(mouse.y - inner.y);
        edit.cursor = at.min(edit.rows.len().saturating_sub(1));
    }
    keep_in_sight(model);
    Vec::new()
}

/// Updates the known tools.
pub(crate) fn tools_seen(model: &mut Model, set: usize, tools: KnownTools) -> Vec<Effect> {
    if let Some(edit) = screen(model).filter(|edit| edit.at.set == set) {
        edit.tools = Arc::new(tools);
        look(edit);
    }
    Vec::new()
}
