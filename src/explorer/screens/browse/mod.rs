//! The home screen: a tree of eval sets, the list of their cases, and a preview.

mod case_row;
mod columns;
mod empty;
mod list;
mod reason;
mod update;
mod view;

use crate::explorer::shared::case_list::BrowseScreen;
use crate::explorer::shared::case_ref::CaseRef;
use crate::explorer::shared::model::{Model, Screen, ScreenFunctions};
pub(crate) use update::{clear, focus, keep_in_sight, select, select_all, sort, switch_pane};

use crate::explorer::shared::context::Context;
use crate::explorer::shared::screen::nothing;

/// The functions of this screen.
static SCREEN: ScreenFunctions = ScreenFunctions {
    context: Context::Browse,
    layout: view::layout,
    title: view::title,
    status: None,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: update::open,
    back: nothing,
    text: None,
};

impl Screen for BrowseScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        &SCREEN
    }

    fn previewed(&self, model: &Model) -> Option<CaseRef> {
        update::under_cursor(model)
    }
}
