//! A conversation with an agent.

pub mod state;
mod update;
mod view;

pub(crate) use update::{
    again, ask_state, ask_to_save, close, event, leave, on_saved, open, restart,
};

use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::{CommandTarget, Screen, ScreenFunctions, TextEntry};
use crate::explorer::shared::screen::nothing;
use state::{ChatScreen, ChatStatus};

/// The screen's entry.
static SCREEN: ScreenFunctions = ScreenFunctions {
    context: Context::Chat,
    layout: view::layout,
    title: view::title,
    status: None,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: nothing,
    back: update::leave,
    text: Some(TextEntry {
        commands_first: true,
        takes: |_| true,
        key: update::key,
        paste: update::paste,
    }),
};

impl Screen for ChatScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        &SCREEN
    }

    fn target(&self) -> CommandTarget {
        CommandTarget::Set(self.set)
    }

    fn is_animated(&self) -> bool {
        matches!(self.status, ChatStatus::Opening | ChatStatus::Working(_))
    }

    fn unsaved(&self) -> Option<(&'static str, &'static str)> {
        let words = (
            "The conversation is not saved. Quit?",
            "Not all of its turns are saved as a case.",
        );
        self.has_unsaved_turns().then_some(words)
    }
}
