//! The screen of an attempt in flight: its live transcript.

mod update;
mod view;

use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::{Screen, ScreenFunctions};
use crate::explorer::shared::run_screen::LiveScreen;
use crate::explorer::shared::screen::nothing;

/// The functions of this screen.
static SCREEN: ScreenFunctions = ScreenFunctions {
    context: Context::Live,
    layout: |base, _| base,
    title: view::title,
    status: None,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: nothing,
    back: update::back,
    text: None,
};

impl Screen for LiveScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        &SCREEN
    }
}
