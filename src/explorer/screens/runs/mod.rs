//! The runs of the folder, newest first.

pub mod state;
mod update;
mod view;

pub(crate) use update::{
    can_change, can_compare, can_export, can_name, can_pin, compare, export, has_folder, has_run_here, leave,
    listed, mark, pin, remove, remove_confirmed, removed, rename, show,
};

use super::ScreenEntry;
use crate::explorer::context::Context;

/// The functions of this screen.
pub static SCREEN: ScreenEntry = ScreenEntry {
    context: Context::Runs,
    layout: view::layout,
    title: view::title,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: update::open,
    back: update::back,
    text: None,
};
