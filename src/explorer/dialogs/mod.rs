//! Dialogs over a screen. Each file contains the state, keys and drawing of one dialog.
//!
//! A dialog is a type that implements [`Dialog`], in a file of its own.

pub mod agreement;
pub mod ask;
pub mod causes;
pub mod columns;
pub mod confirm;
pub mod conversations;
pub mod filter;
pub mod flips;
pub mod help;
pub mod jump;
mod line;
pub mod messages;
pub mod metrics;
pub mod move_to;
pub mod palette;
pub mod proposal;
pub mod question;
pub mod rule;
pub mod run_options;
pub mod statistics;
pub mod themes;
pub mod trust;
pub mod variants;
pub mod verdicts;

use crate::explorer::case_ref::CaseRef;
use crate::explorer::context::Context;
use crate::explorer::effect::Effect;
use crate::explorer::key::{Key, KeyCode};
use crate::explorer::layout::Layout;
use crate::explorer::model::Model;
use crate::explorer::motion::Motion;
use crate::explorer::theme::Theme;
use crate::explorer::widgets::text_field::request;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use std::any::{Any, TypeId};
use std::fmt;
use tui_input::InputRequest;

/// The keys and the drawing of a dialog. In the methods that get `&mut Model`, `model.view.open_dialog` is empty.
pub trait Dialog: Any + fmt::Debug {
    /// The context of the commands that apply while the dialog is open. `None`: keys are text or move the cursor.
    fn context(&self) -> Option<Context> {
        None
    }

    /// Handles keys that are specific to this dialog. Returns whether the key was one.
    fn own_key(&mut self, _: Key) -> bool {
        false
    }

    /// Edits the text of the dialog.
    fn edit(&mut self, _: &mut Model, _: InputRequest) {}

    /// Moves the cursor, or scrolls.
    fn scroll(&mut self, _: &mut Model, _: Motion) {}

    /// Handles `esc`. The dialog closes afterwards.
    fn cancel(&mut self, _: &mut Model) {}

    /// Handles `enter`. `None`: the dialog stays open.
    fn choose(&mut self, _: &mut Model) -> Option<Vec<Effect>> {
        Some(Vec::new())
    }

    /// Draws the dialog. Returns the position of the text cursor, if it has one.
    fn draw(&self, model: &Model, areas: &Layout, theme: &Theme, buffer: &mut Buffer) -> Option<Position>;

    /// Updates cases whose positions changed. Returns false if the case of the dialog no longer exists and the dialog
    /// should close.
    fn follow(&mut self, _: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        true
    }
}

/// The type of a dialog.
pub(super) fn kind(dialog: &dyn Dialog) -> TypeId {
    let any: &dyn Any = dialog;
    any.type_id()
}

impl Model {
    /// The open dialog, if it is of this type.
    pub fn dialog<T: Dialog>(&self) -> Option<&T> {
        let any: &dyn Any = self.view.open_dialog.as_deref()?;
        any.downcast_ref()
    }

    /// The open dialog, if it is of this type.
    pub(crate) fn dialog_mut<T: Dialog>(&mut self) -> Option<&mut T> {
        let any: &mut dyn Any = self.view.open_dialog.as_deref_mut()?;
        any.downcast_mut()
    }

    /// Closes the open dialog if it is of this type, and returns it.
    pub(crate) fn take_dialog<T: Dialog>(&mut self) -> Option<T> {
        self.dialog::<T>()?;
        let any: Box<dyn Any> = self.view.open_dialog.take()?;
        any.downcast().ok().map(|dialog| *dialog)
    }
}

/// Opens a dialog.
pub(crate) fn open(model: &mut Model, dialog: impl Dialog) -> Vec<Effect> {
    model.view.open_dialog = Some(Box::new(dialog));
    Vec::new()
}

/// Whether the open dialog takes text.
pub(crate) fn takes_text(model: &Model) -> bool {
    model.view.open_dialog.as_ref().is_some_and(|dialog| dialog.context().is_none())
}

/// Handles a key while a dialog that takes text is open.
pub(crate) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(mut dialog) = model.view.open_dialog.take() else { return Vec::new() };
    if !dialog.own_key(key) {
        match (key.code, key.ctrl) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), true) => {
                dialog.cancel(model);
                return Vec::new();
            }
            (KeyCode::Enter, _) => {
                if let Some(effects) = dialog.choose(model) {
                    return effects;
                }
            }
            (KeyCode::Up, _) | (KeyCode::Char('p'), true) => dialog.scroll(model, Motion::Up),
            (KeyCode::Down, _) | (KeyCode::Char('n'), true) => dialog.scroll(model, Motion::Down),
            (KeyCode::PageUp, _) => dialog.scroll(model, Motion::PageUp),
            (KeyCode::PageDown, _) => dialog.scroll(model, Motion::PageDown),
            _ => request(key).into_iter().for_each(|request| dialog.edit(model, request)),
        }
    }
    model.view.open_dialog = Some(dialog);
    Vec::new()
}

/// Inserts pasted text without control characters.
pub(crate) fn paste(model: &mut Model, text: &str) {
    if !takes_text(model) {
        return;
    }
    if let Some(mut dialog) = model.view.open_dialog.take() {
        for c in text.chars().filter(|c| !c.is_control()) {
            dialog.edit(model, InputRequest::InsertChar(c));
        }
        model.view.open_dialog = Some(dialog);
    }
}

/// Scrolls the open dialog.
pub(crate) fn scroll(model: &mut Model, motion: Motion) {
    if let Some(mut dialog) = model.view.open_dialog.take() {
        dialog.scroll(model, motion);
        model.view.open_dialog = Some(dialog);
    }
}

/// Updates cases whose positions changed. Returns false if none of them exists any more.
pub(super) fn follow_all(cases: &mut Vec<CaseRef>, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
    *cases = cases.iter().filter_map(|case| new(*case)).collect();
    !cases.is_empty()
}
