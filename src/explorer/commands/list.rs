//! Commands for the selection, filter, columns and order of the list.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{has_failure, has_rows, has_something_to_clear};
use super::{Access, Command, CommandGroup, LIST_OR_ENDED_RUN, in_list};
use crate::explorer::authoring::conditions::has_case;
use crate::explorer::dialogs;
use crate::explorer::screens::browse;
use crate::explorer::shared::command_names;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::List,
    contexts: &[Context::Browse],
    ..super::BASE
};

pub static SELECT: Command = Command {
    id: &CommandName {
        name: "select",
        default_keys: &["space"],
    },
    help: "select or deselect the case",
    hint: Some("select"),
    access: Access::Reads,
    enabled: has_case,
    run: browse::select,
    ..BASE
};

pub static SELECT_ALL: Command = Command {
    id: &CommandName {
        name: "select all",
        default_keys: &["*", "ctrl-a"],
    },
    help: "select every listed case, or none",
    access: Access::Reads,
    enabled: has_case,
    run: browse::select_all,
    ..BASE
};

pub static CLEAR: Command = Command {
    id: &command_names::CLEAR,
    help: "clear the selection, then the cause, then the filter; in a past run, go back to the runs",
    hint: Some("back"),
    access: Access::Reads,
    enabled: has_something_to_clear,
    run: browse::clear,
    ..BASE
};

pub static FILTER: Command = Command {
    id: &CommandName {
        name: "filter",
        default_keys: &["/"],
    },
    help: "list only what matches, for example status:failed tool:set_light",
    hint: Some("filter"),
    access: Access::Reads,
    enabled: has_rows,
    run: dialogs::filter::open,
    ..BASE
};

pub static CAUSES: Command = Command {
    id: &CommandName {
        name: "failures by cause",
        default_keys: &["F"],
    },
    help: "list the causes that failures share, and the cases of one",
    hint: Some("causes"),
    access: Access::Reads,
    contexts: LIST_OR_ENDED_RUN,
    enabled: has_failure,
    run: |model| in_list(model, dialogs::causes::open),
    ..BASE
};

pub static COLUMNS: Command = Command {
    id: &CommandName {
        name: "columns",
        default_keys: &["#"],
    },
    help: "choose the columns of the list, or sort it by one of them",
    access: Access::Reads,
    run: dialogs::columns::open,
    ..BASE
};

pub static SORT: Command = Command {
    id: &CommandName {
        name: "order",
        default_keys: &["o"],
    },
    help: "sort the list: as in the file, failing first, by cause, slowest first, most disputed first",
    access: Access::Reads,
    run: browse::sort,
    ..BASE
};
