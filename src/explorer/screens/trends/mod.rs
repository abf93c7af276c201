//! The pass rate and the metrics of each set over the runs of the folder.

mod chart;
mod run_facts;
mod series_text;
pub mod state;
mod update;
mod view;

pub(crate) use update::{has_points, listed, next_run, previous_run, show};

use crate::explorer::shared::context::Context;
use crate::explorer::shared::model::{Screen, ScreenFunctions};
use state::TrendsScreen;

/// The functions of this screen.
static SCREEN: ScreenFunctions = ScreenFunctions {
    context: Context::Trends,
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

impl Screen for TrendsScreen {
    fn functions(&self) -> &'static ScreenFunctions {
        &SCREEN
    }
}
