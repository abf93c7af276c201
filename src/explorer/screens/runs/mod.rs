//! The runs of the folder, newest first.

mod columns;
mod details;
mod run_text;
mod update;
mod view;

pub(crate) use update::{
    can_change, can_compare, can_compare_with_baseline, can_export, can_name, can_pin, compare,
    compare_with_baseline, export, has_folder, has_run_here, list_again, listed, mark,
    not_exported, pin, remove, remove_confirmed, removed, rename, show, show_newest,
};

use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::{Screen, ScreenFunctions};
use crate::explorer::shared::run_list::RunsScreen;

/// The functions of this screen.
static SCREEN: ScreenFunctions = ScreenFunctions {
    context: Context::Runs,
    layout: view::layout,
    title: view::title,
    status: Some(|_| String::new()),
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: update::open,
    back: update::back,
    text: None,
};

impl Screen for RunsScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        &SCREEN
    }
}
