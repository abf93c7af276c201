//! The screen on which a case is edited.

mod apply;
mod complete;
mod field;
pub mod state;
mod update;
mod view;

pub(crate) use update::{
    add_field, close, duplicate_field, edit_field, edited_text, in_editor, move_field, open, remove_field,
    save, tools_seen, type_again, undo_or_redo, whole_in_editor,
};

use super::{ScreenEntry, TextEntry, nothing};
use crate::explorer::context::Context;

/// The functions of this screen.
pub static SCREEN: ScreenEntry = ScreenEntry {
    context: Context::Edit,
    layout: view::layout,
    title: view::title,
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
