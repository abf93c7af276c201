//! Commands of the case editor and of the dialog for a proposed change.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{always, can_save, can_save_beside};
use super::{Command, Context, Group};
use crate::explorer::overlays::proposal;
use crate::explorer::screens::edit;

pub static EDIT_FIELD: Command = Command {
    name: "edit field",
    help: "type another value; it is checked while you type",
    hint: Some("edit"),
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Edit],
    default_keys: &["enter"],
    enabled: always,
    run: edit::edit_field,
};

pub static ADD_FIELD: Command = Command {
    name: "add",
    help: "add after this: a turn, a call, an argument, a rubric, an intermediate response",
    hint: Some("add"),
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Edit],
    default_keys: &["+"],
    enabled: always,
    run: edit::add_field,
};

pub static REMOVE_FIELD: Command = Command {
    name: "remove",
    help: "remove this",
    hint: Some("remove"),
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Edit],
    default_keys: &["-", "delete"],
    enabled: always,
    run: edit::remove_field,
};

pub static DUPLICATE_FIELD: Command = Command {
    name: "duplicate",
    help: "add a copy of the turn or call after it",
    hint: None,
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Edit],
    default_keys: &["D"],
    enabled: always,
    run: edit::duplicate_field,
};

pub static FIELD_UP: Command = Command {
    name: "move up",
    help: "move the turn, call or rubric up",
    hint: Some("move up"),
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Edit],
    default_keys: &["{", "alt-up"],
    enabled: always,
    run: |model| edit::move_field(model, false),
};

pub static FIELD_DOWN: Command = Command {
    name: "move down",
    help: "move the turn, call or rubric down",
    hint: Some("move down"),
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Edit],
    default_keys: &["}", "alt-down"],
    enabled: always,
    run: |model| edit::move_field(model, true),
};

pub static FIELD_IN_EDITOR: Command = Command {
    name: "field in editor",
    help: "edit the value in $EDITOR",
    hint: None,
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Edit],
    default_keys: &["E"],
    enabled: always,
    run: edit::in_editor,
};

pub static CASE_IN_EDITOR: Command = Command {
    name: "case in editor",
    help: "edit the whole case as JSON in $EDITOR",
    hint: None,
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Edit],
    default_keys: &["ctrl-e"],
    enabled: always,
    run: edit::whole_in_editor,
};

pub static SAVE_CASE: Command = Command {
    name: "save case",
    help: "show what changes in the file, and save it",
    hint: Some("save"),
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Edit],
    default_keys: &["ctrl-s"],
    enabled: always,
    run: edit::save,
};

pub static SAVE: Command = Command {
    name: "save",
    help: "save the change that is shown",
    hint: Some("save"),
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Proposal],
    default_keys: &["enter", "y"],
    enabled: can_save,
    run: proposal::save,
};

pub static SAVE_BESIDE: Command = Command {
    name: "save beside",
    help: "save your version to a second file; keep theirs",
    hint: Some("write yours beside"),
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Proposal],
    default_keys: &["b"],
    enabled: can_save_beside,
    run: proposal::save_beside,
};

pub static DISCARD: Command = Command {
    name: "cancel",
    help: "change nothing",
    hint: Some("change nothing"),
    scope: None,
    group: Group::Edit,
    contexts: &[Context::Proposal],
    default_keys: &["esc", "n", "q"],
    enabled: always,
    run: proposal::discard,
};
