//! The run screen: a run while it is live and after it ended.

pub mod state;
mod update;
mod view;

pub(crate) use update::{
    accept, against_of, cancel_all, cancel_one, cases_in_scope, confirm_failures, finished_under_cursor,
    judge_again, list_with, next_failing, pause, rerun_failed, run_msg, run_selected, run_turn, scope, start,
    switch_pane, watch,
};

use super::ScreenEntry;
use crate::explorer::context::Context;

/// The functions of this screen.
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
