//! A conversation with an agent.

pub mod state;
mod update;
mod view;

pub(crate) use update::{again, ask_state, ask_to_keep, close, event, leave, open, restart, was_kept};

use super::{ScreenEntry, TextEntry, nothing};
use crate::explorer::context::Context;

/// The screen's entry.
pub static SCREEN: ScreenEntry = ScreenEntry {
    context: Context::Chat,
    layout: view::layout,
    title: view::title,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: nothing,
    back: update::leave,
    text: Some(TextEntry { commands_first: true, takes: |_| true, key: update::key, paste: update::paste }),
};
