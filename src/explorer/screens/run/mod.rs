//! A run: live, and after it ended.

pub mod state;
mod update;
mod view;

pub(crate) use update::{
    cancel_all, cancel_one, judge_again, pause, rerun_failed, run_msg, run_selected, run_turn, switch_pane,
    watch,
};

use super::ScreenEntry;
use crate::explorer::commands::Context;

/// The screen's entry.
pub static SCREEN: ScreenEntry = ScreenEntry {
    context: Context::Run,
    layout: view::layout,
    title: view::title,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: update::open,
    back: update::back,
    text: None,
};
