//! The run screen: a run while it is live and after it ended.

mod finished;
mod rows;
mod update;
mod view;

pub(crate) use update::{
    accept, cancel_all, cancel_one, finished_under_cursor, has_row_here, next_failing, pause,
    switch_pane, watch,
};

use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::{Model, Screen, ScreenFunctions};
use crate::explorer::shared::run_screen::RunScreen;

/// The functions of this screen.
static SCREEN: ScreenFunctions = ScreenFunctions {
    context: Context::Run,
    layout: view::layout,
    title: view::title,
    status: None,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: update::open,
    back: update::back,
    text: None,
};

impl Screen for RunScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        &SCREEN
    }

    fn previewed(&self, model: &Model) -> Option<CaseRef> {
        update::finished_case(model)
    }
}
