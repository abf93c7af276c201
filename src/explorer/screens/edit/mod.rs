//! The screen on which a case is edited.

mod actual;
mod apply;
mod complete;
mod cursor;
mod external_editor;
pub mod state;
mod typing;
mod update;
mod view;

pub(crate) use external_editor::{edited_text, in_editor, open_in_editor};
pub(crate) use typing::{add_field, edit_field, tools_seen};
pub(crate) use update::{
    can_take_actual, close, duplicate_field, move_field, open, open_at_value, open_new,
    remove_field, save, take_actual, undo_or_redo,
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
    scroll: cursor::scroll,
    mouse: cursor::mouse,
    open: nothing,
    back: update::leave,
    text: Some(TextEntry {
        commands_first: false,
        takes: typing::takes_text,
        key: update::key,
        paste: typing::paste,
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
