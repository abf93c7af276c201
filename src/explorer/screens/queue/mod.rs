//! The triage queue: one failure after the other, each with a decision. Files are written at the end, after a summary.
//!
//! ```text
//! failures by cause ─▶ case on the screen ─▶ decision (stored at once) ─▶ next case
//!                                     all decided ─▶ summary ─▶ files written, cases run again
//! ```

mod apply;
mod count;
mod decide;
pub mod state;
mod update;
mod view;

pub(crate) use apply::{applied, criteria_planned, summary};
pub(crate) use count::count;
pub(crate) use decide::{
    Choice, add_criteria, can_accept, can_decide, can_relax, can_undo, decide, decide_group,
    has_rest_of_group, take, undo,
};
pub(crate) use update::{can_open, next, open, previous, resume, skip};

use super::{ScreenEntry, case, nothing};
use crate::explorer::context::Context;

/// The functions of this screen: the case screen, below two lines about the queue.
pub static SCREEN: ScreenEntry = ScreenEntry {
    context: Context::Queue,
    layout: view::layout,
    title: case::SCREEN.title,
    draw: view::draw,
    scroll: case::SCREEN.scroll,
    mouse: case::SCREEN.mouse,
    open: nothing,
    back: update::back,
    text: None,
};
