//! Commands of the case editor and of the dialog for a proposed change.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{can_save, can_save_new_file};
use super::{Command, CommandGroup};
use crate::explorer::dialogs::proposal;
use crate::explorer::screens::edit;
use crate::explorer::shared::command_names;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::Edit,
    contexts: &[Context::Edit],
    ..super::BASE
};

pub static EDIT_FIELD: Command = Command {
    id: &CommandName {
        name: "edit field",
        default_keys: &["enter"],
    },
    help: "type another value; it is checked while you type",
    hint: Some("edit"),
    run: edit::edit_field,
    ..BASE
};

pub static ADD_FIELD: Command = Command {
    id: &CommandName {
        name: "add",
        default_keys: &["+"],
    },
    help: "add after this: a turn, a call, an argument, a rubric, an intermediate response",
    hint: Some("add"),
    run: edit::add_field,
    ..BASE
};

pub static REMOVE_FIELD: Command = Command {
    id: &CommandName {
        name: "remove",
        default_keys: &["-", "delete"],
    },
    help: "remove this",
    hint: Some("remove"),
    run: edit::remove_field,
    ..BASE
};

pub static DUPLICATE_FIELD: Command = Command {
    id: &CommandName {
        name: "duplicate",
        default_keys: &["D"],
    },
    help: "add a copy of the turn or call after it",
    run: edit::duplicate_field,
    ..BASE
};

pub static FIELD_UP: Command = Command {
    id: &CommandName {
        name: "move up",
        default_keys: &["{", "alt-up"],
    },
    help: "move the turn, call or rubric up",
    hint: Some("move up"),
    run: |model| edit::move_field(model, false),
    ..BASE
};

pub static FIELD_DOWN: Command = Command {
    id: &CommandName {
        name: "move down",
        default_keys: &["}", "alt-down"],
    },
    help: "move the turn, call or rubric down",
    hint: Some("move down"),
    run: |model| edit::move_field(model, true),
    ..BASE
};

pub static FIELD_IN_EDITOR: Command = Command {
    id: &CommandName {
        name: "field in editor",
        default_keys: &["E"],
    },
    help: "edit the value in $EDITOR",
    run: edit::in_editor,
    ..BASE
};

pub static CASE_IN_EDITOR: Command = Command {
    id: &CommandName {
        name: "case in editor",
        default_keys: &["ctrl-e"],
    },
    help: "edit the whole case as JSON in $EDITOR",
    run: edit::open_in_editor,
    ..BASE
};

pub static SAVE_CASE: Command = Command {
    id: &command_names::SAVE_CASE,
    help: "show what changes in the file, and save it",
    hint: Some("save"),
    run: edit::save,
    ..BASE
};

pub static SAVE: Command = Command {
    id: &command_names::SAVE,
    help: "save the change that is shown",
    hint: Some("save"),
    contexts: &[Context::Proposal],
    enabled: can_save,
    run: proposal::save,
    ..BASE
};

pub static SAVE_BESIDE: Command = Command {
    id: &command_names::SAVE_BESIDE,
    help: "save your version to a second file; keep theirs",
    hint: Some("write yours beside"),
    contexts: &[Context::Proposal],
    enabled: can_save_new_file,
    run: proposal::save_new_file,
    ..BASE
};

pub static DISCARD: Command = Command {
    id: &command_names::DISCARD,
    help: "change nothing",
    hint: Some("change nothing"),
    contexts: &[Context::Proposal],
    run: proposal::discard,
    ..BASE
};
