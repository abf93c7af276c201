//! Commands for the selection, filter, columns and order of the list.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{has_case, has_failure, has_rows, has_something_to_clear};
use super::{Access, Command, Group};
use crate::explorer::context::Context;
use crate::explorer::dialogs;
use crate::explorer::screens::browse;

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::List, contexts: &[Context::Browse], ..super::BASE };

pub static SELECT: Command = Command {
    name: "select",
    help: "select or deselect the case",
    hint: Some("select"),
    access: Access::Reads,
    default_keys: &["space"],
    enabled: has_case,
    run: browse::select,
    ..BASE
};

pub static SELECT_ALL: Command = Command {
    name: "select all",
    help: "select every listed case, or none",
    access: Access::Reads,
    default_keys: &["*", "ctrl-a"],
    enabled: has_case,
    run: browse::select_all,
    ..BASE
};

pub static CLEAR: Command = Command {
    name: "clear",
    help: "clear the selection, then the cause, then the filter; in a past run, go back to the runs",
    hint: Some("back"),
    access: Access::Reads,
    default_keys: &["esc"],
    enabled: has_something_to_clear,
    run: browse::clear,
    ..BASE
};

pub static FILTER: Command = Command {
    name: "filter",
    help: "list only what matches, for example status:failed tool:set_light",
    hint: Some("filter"),
    access: Access::Reads,
    default_keys: &["/"],
    enabled: has_rows,
    run: dialogs::filter::open,
    ..BASE
};

pub static CAUSES: Command = Command {
    name: "failures by cause",
    help: "list the causes that failures share, and the cases of one",
    hint: Some("causes"),
    access: Access::Reads,
    default_keys: &["F"],
    enabled: has_failure,
    run: dialogs::causes::open,
    ..BASE
};

pub static COLUMNS: Command = Command {
    name: "columns",
    help: "choose the columns of the list, and the column that orders it",
    access: Access::Reads,
    default_keys: &["#"],
    run: dialogs::columns::open,
    ..BASE
};

pub static SORT: Command = Command {
    name: "order",
    help: "order the list: as in the file, failing first, by cause, slowest first, most disputed first",
    access: Access::Reads,
    default_keys: &["o"],
    run: browse::sort,
    ..BASE
};
