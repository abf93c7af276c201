//! Two runs compared case by case, and one case of them in columns: expected, first run, second run.

mod columns;
mod draw_case;
pub mod state;
mod update;
mod view;

pub(crate) use update::{
    compared, has_case_to_step_to, hide_identical, next_case, previous_case, rebuild, switch_pane,
    without_expected,
};

use super::{ScreenEntry, nothing};
use crate::explorer::context::Context;

/// The functions of the list of cases.
pub static LIST: ScreenEntry = ScreenEntry {
    context: Context::Comparison,
    layout: view::layout,
    title: view::title,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: update::open,
    back: update::back,
    text: None,
};

/// The functions of one case.
pub static CASE: ScreenEntry = ScreenEntry {
    context: Context::ComparedCase,
    layout: |base, _| base,
    title: draw_case::title,
    draw: draw_case::draw,
    scroll: update::scroll_case,
    mouse: update::mouse_on_case,
    open: nothing,
    back: update::back_to_list,
    text: None,
};
