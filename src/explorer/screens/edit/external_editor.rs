//! Editing of a field, a case or criteria in `$EDITOR`.

use crate::explorer::authoring;
use crate::explorer::authoring::proposal::{NOTHING, Proposal};
use crate::explorer::prompts::confirm;
use crate::explorer::screens::edit::cursor::{field, screen};
use crate::explorer::screens::edit::state::{EditScreen, Typing};
use crate::explorer::screens::edit::typing::take;
use crate::explorer::shared::case_field::{CaseField, value_of};
use crate::explorer::shared::completion_cycle::CompletionCycle;
use crate::explorer::shared::effect::{EditorOf, Effect, TerminalEffect};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::notices;
use evaltrail_core::formats::Edit;
use evaltrail_core::formats::adk::read_config;
use evaltrail_core::formats::json::TextChange;
use evaltrail_engine::store::{FileAction, FileEdit};
use std::path::PathBuf;
use std::sync::Arc;
use tui_input::Input;

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
                cycle: CompletionCycle::default(),
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
