//! One attempt while it runs: its transcript, as it is written.

pub mod state;
mod update;
mod view;

pub(crate) use update::{ended, open};

use super::{ScreenEntry, nothing};
use crate::explorer::commands::Context;

/// The screen's entry.
pub static SCREEN: ScreenEntry = ScreenEntry {
    context: Context::Live,
    layout: |base, _| base,
    title: view::title,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: nothing,
    back: update::back,
    text: None,
};
