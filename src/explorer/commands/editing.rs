//! Commands of the case editor and of the dialog for a proposed change.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{can_save, can_save_beside};
use super::{Command, Group};
use crate::explorer::context::Context;
use crate::explorer::dialogs::proposal;
use crate::explorer::screens::edit;

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::Edit, contexts: &[Context::Edit], ..super::BASE };

pub static EDIT_FIELD: Command = Command {
    name: "edit field",
    help: "type another value; it is checked while you type",
    hint: Some("edit"),
    default_keys: &["enter"],
    run: edit::edit_field,
    ..BASE
};

pub static ADD_FIELD: Command = Command {
    name: "add",
    help: "add after this: a turn, a call, an argument, a rubric, an intermediate response",
    hint: Some("add"),
    default_keys: &["+"],
    run: edit::add_field,
    ..BASE
};

pub static REMOVE_FIELD: Command = Command {
    name: "remove",
    help: "remove this",
    hint: Some("remove"),
    default_keys: &["-", "delete"],
    run: edit::remove_field,
    ..BASE
};

pub static DUPLICATE_FIELD: Command = Command {
    name: "duplicate",
    help: "add a copy of the turn or call after it",
    default_keys: &["D"],
    run: edit::duplicate_field,
    ..BASE
};

pub static FIELD_UP: Command = Command {
    name: "move up",
    help: "move the turn, call or rubric up",
    hint: Some("move up"),
    default_keys: &["{", "alt-up"],
    run: |model| edit::move_field(model, false),
    ..BASE
};

pub static FIELD_DOWN: Command = Command {
    name: "move down",
    help: "move the turn, call or rubric down",
    hint: Some("move down"),
    default_keys: &["}", "alt-down"],
    run: |model| edit::move_field(model, true),
    ..BASE
};

pub static FIELD_IN_EDITOR: Command = Command {
    name: "field in editor",
    help: "edit the value in $EDITOR",
    default_keys: &["E"],
    run: edit::in_editor,
    ..BASE
};

pub static CASE_IN_EDITOR: Command = Command {
    name: "case in editor",
    help: "edit the whole case as JSON in $EDITOR",
    default_keys: &["ctrl-e"],
    run: edit::whole_in_editor,
    ..BASE
};

pub static SAVE_CASE: Command = Command {
    name: "save case",
    help: "show what changes in the file, and save it",
    hint: Some("save"),
    default_keys: &["ctrl-s"],
    run: edit::save,
    ..BASE
};

pub static SAVE: Command = Command {
    name: "save",
    help: "save the change that is shown",
    hint: Some("save"),
    contexts: &[Context::Proposal],
    default_keys: &["enter", "y"],
    enabled: can_save,
    run: proposal::save,
    ..BASE
};

pub static SAVE_BESIDE: Command = Command {
    name: "save beside",
    help: "save your version to a second file; keep theirs",
    hint: Some("write yours beside"),
    contexts: &[Context::Proposal],
    default_keys: &["b"],
    enabled: can_save_beside,
    run: proposal::save_beside,
    ..BASE
};

pub static DISCARD: Command = Command {
    name: "cancel",
    help: "change nothing",
    hint: Some("change nothing"),
    contexts: &[Context::Proposal],
    default_keys: &["esc", "n", "q"],
    run: proposal::discard,
    ..BASE
};
