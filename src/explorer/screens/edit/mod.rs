//! The screen on which a case is edited.

mod actual;
mod apply;
mod complete;
pub mod state;
mod update;
mod view;

pub(crate) use update::{
    add_field, close, duplicate_field, edit_field, edited_text, in_editor, move_field, open,
    open_in_editor, open_new, remove_field, save, take_actual, tools_seen, undo_or_redo,
};

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::{CommandTarget, Screen, ScreenFunctions, TextEntry};
use crate::explorer::shared::screen::nothing;
use state::EditScreen;

/// The functions of this screen.
static SCREEN: ScreenFunctions = ScreenFunctions {
    context: Context::Edit,
    layout: view::layout,
    title: view::title,
    status: None,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: nothing,
    back: update::leave,
    text: Some(TextEntry {
        commands_first: false,
        takes: update::takes_text,
        key: update::key,
        paste: update::paste,
    }),
};

impl Screen for EditScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        &SCREEN
    }

    fn target(&self) -> CommandTarget {
        CommandTarget::Case(self.at)
    }

    fn unsaved(&self) -> Option<(&'static str, &'static str)> {
        self.is_changed().then_some((
            "The case is not saved. Quit?",
            "The changes in the editor are lost.",
        ))
    }

    fn follow(&mut self, new: &dyn Fn(CaseRef) -> Option<CaseRef>) -> bool {
        self.at = new(self.at).unwrap_or(self.at);
        true
    }
}
