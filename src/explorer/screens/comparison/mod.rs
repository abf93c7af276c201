//! Two runs compared case by case, and one case of them in columns: expected, first run, second run.

mod columns;
mod draw_case;
mod extra_rows;
pub mod state;
mod update;
mod view;

pub(crate) use update::{
    compared, has_case_to_step_to, hide_identical, listed, next_case, previous_case, rebuild,
    switch_pane, without_expected,
};

use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::{Screen, ScreenFunctions};
use crate::explorer::shared::screen::nothing;
use state::ComparisonScreen;

/// The functions of the list of cases.
static LIST: ScreenFunctions = ScreenFunctions {
    context: Context::Comparison,
    layout: view::layout,
    title: view::title,
    status: Some(view::position_text),
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: update::open,
    back: update::back,
    text: None,
};

/// The functions of one case.
static CASE: ScreenFunctions = ScreenFunctions {
    context: Context::ComparedCase,
    layout: |base, _| base,
    title: draw_case::title,
    status: Some(view::position_text),
    draw: draw_case::draw,
    scroll: update::scroll_case,
    mouse: update::mouse_on_case,
    open: nothing,
    back: update::back_to_list,
    text: None,
};

impl Screen for ComparisonScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        if self.case.is_some() { &CASE } else { &LIST }
    }
}
