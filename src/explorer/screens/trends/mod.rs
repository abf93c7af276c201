//! The pass rate and the metrics of each set over the runs of the folder.

mod chart;
pub mod state;
mod update;
mod view;

pub(crate) use update::{has_points, listed, next_run, previous_run, show};

use super::ScreenEntry;
use crate::explorer::context::Context;

/// The functions of this screen.
pub static SCREEN: ScreenEntry = ScreenEntry {
    context: Context::Trends,
    layout: view::layout,
    title: view::title,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: update::open,
    back: update::back,
    text: None,
};
