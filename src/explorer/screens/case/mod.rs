//! The screen of one case: expected and actual side by side, timeline, judges and metrics.

pub mod body;
pub mod body_lines;
mod body_data;
mod compare;
mod judged;
mod pieces;
pub mod state;
mod strip;
mod timeline;
mod title;
mod update;
pub mod verdict;
mod view;

pub(crate) use view::{body_line as draw_body_line, is_wide, verdict_line as draw_verdict_line};

pub(crate) use update::{
    attempt, attempt_read, body_built, difference, judges, next_failing, next_tab, next_trajectory, open,
    open_at, refresh_body, scroll_beside, show, toggle_identical, toggle_mode, turn, view_of,
};

use super::{ScreenEntry, nothing};
use crate::explorer::context::Context;

/// The functions of this screen.
pub static SCREEN: ScreenEntry = ScreenEntry {
    context: Context::Case,
    layout: view::layout,
    title: title::title,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: nothing,
    back: update::back,
    text: None,
};
