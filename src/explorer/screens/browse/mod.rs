//! The home screen: a tree of eval sets, the list of their cases, and a preview.

pub(crate) mod causes;
pub mod columns;
mod empty;
mod filtered_case;
mod list;
pub mod matched;
pub mod order;
mod preview;
mod reason;
pub mod state;
pub mod tree;
mod update;
mod view;

use view::cursor_style;

pub(crate) use update::{
    choose_node, clear, filtered, focus, follow_cursor, groups_here, keep_in_sight, narrow, next_failing,
    node_of_set, order_by, relist, select, select_all, set_filter, sort, switch_pane, toggle_column,
    tree_offset,
};

use super::{ScreenEntry, nothing};
use crate::explorer::context::Context;

/// The functions of this screen.
pub static SCREEN: ScreenEntry = ScreenEntry {
    context: Context::Browse,
    layout: view::layout,
    title: view::title,
    draw: view::draw,
    scroll: update::scroll,
    mouse: update::mouse,
    open: update::open,
    back: nothing,
    text: None,
};
