//! The screen of an attempt in flight: its live transcript.

pub mod state;
mod update;
mod view;

pub(crate) use update::{ended, open};

use super::{ScreenEntry, nothing};
use crate::explorer::context::Context;

/// The functions of this screen.
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
