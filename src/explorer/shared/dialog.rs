//! The open dialog: opening it, its keys, and what is scrolled or typed in it.

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::key::{Key, KeyCode, request};
use crate::explorer::shared::model::{Dialog, Model};
use crate::explorer::shared::motion::Motion;
use std::any::{Any, TypeId};
use tui_input::InputRequest;

/// The type of a dialog.
pub(crate) fn kind(dialog: &dyn Dialog) -> TypeId {
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

/// Opens a question that comes as a reply. A dialog in which the user is typing is open again after the answer.
pub(crate) fn cover(model: &mut Model, dialog: impl Dialog) {
    if let Some(covered) = model.view.open_dialog.replace(Box::new(dialog)) {
        model.view.covered_dialog.get_or_insert(covered);
    }
}

/// Whether the open dialog takes text.
pub(crate) fn takes_text(model: &Model) -> bool {
    model
        .view
        .open_dialog
        .as_ref()
        .is_some_and(|dialog| dialog.context().is_none())
}

/// Handles a key while a dialog that takes text is open.
pub(crate) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(mut dialog) = model.view.open_dialog.take() else {
        return Vec::new();
    };
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
        (KeyCode::Tab, _) => {
            if let Some(effects) = dialog.tab(model) {
                return effects;
            }
        }
        (KeyCode::Up, _) | (KeyCode::Char('p'), true) => dialog.scroll(model, Motion::Up),
        (KeyCode::Down, _) | (KeyCode::Char('n'), true) => dialog.scroll(model, Motion::Down),
        (KeyCode::PageUp, _) => dialog.scroll(model, Motion::PageUp),
        (KeyCode::PageDown, _) => dialog.scroll(model, Motion::PageDown),
        _ => request(key)
            .into_iter()
            .for_each(|request| dialog.edit(model, request)),
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
pub(crate) fn follow_all(
    cases: &mut Vec<CaseRef>,
    new: &dyn Fn(CaseRef) -> Option<CaseRef>,
) -> bool {
    *cases = cases.iter().filter_map(|case| new(*case)).collect();
    !cases.is_empty()
}

/// Tells the open dialog that the file of a set was read.
pub(crate) fn on_set_loaded(model: &mut Model) {
    if let Some(mut dialog) = model.view.open_dialog.take() {
        dialog.on_set_loaded(model);
        model.view.open_dialog = Some(dialog);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::prompts::trust::{self, AfterConsent};
    use crate::explorer::shared::layout::Layout;
    use crate::explorer::shared::run_target::RunTarget;
    use crate::explorer::shared::theme::Theme;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Position;

    #[derive(Debug)]
    struct Typed(&'static str);

    impl Dialog for Typed {
        fn draw(&self, _: &Model, _: &Layout, _: &Theme, _: &mut Buffer) -> Option<Position> {
            None
        }
    }

    #[test]
    fn dialog_is_open_again_after_a_question() {
        let mut model = Model::new("w".into(), Vec::new(), (80, 24));
        open(&mut model, Typed("half a line"));
        let then = AfterConsent::Run(Vec::new(), RunTarget::Agent);
        trust::open(&mut model, Vec::new(), then);
        assert!(model.is_trust_dialog_open());
        trust::answer(&mut model, false);
        let text = model.dialog::<Typed>().map(|dialog| dialog.0);
        assert_eq!(text, Some("half a line"));
        assert!(model.view.covered_dialog.is_none());
    }
}
