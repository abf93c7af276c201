//! Commands that change cases, sets and criteria.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{can_accept_all, can_accept_here, can_capture, can_edit, can_write_set, has_set};
use super::{Command, Group, LIST_OR_CASE, LISTS, SCREENS};
use crate::explorer::authoring::{self, capture, identifiers, sets};
use crate::explorer::context::Context;
use crate::explorer::effect::Effect;
use crate::explorer::effect::TerminalEffect;
use crate::explorer::model::{Model, Screen};
use crate::explorer::screens::{chat, edit, run};
use crate::explorer::{dialogs, global};

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::Author, ..super::BASE };

pub static ACCEPT: Command = Command {
    name: "accept",
    help: "accept the difference under the cursor as expected, or add the answer that a tool lacked; the change is shown first",
    hint: Some("accept"),
    contexts: SCREENS,
    default_keys: &["a"],
    enabled: can_accept_here,
    run: accept,
    ..BASE
};

pub static ACCEPT_ALL: Command = Command {
    name: "accept all",
    help: "accept everything the agent did in the case, or in the selected cases",
    hint: Some("accept all"),
    contexts: LISTS,
    default_keys: &["A"],
    enabled: can_accept_all,
    run: authoring::accept_cases,
    ..BASE
};

pub static EDIT: Command = Command {
    name: "edit",
    help: "edit the case: turns, expected calls and responses, session",
    hint: Some("edit"),
    contexts: LIST_OR_CASE,
    default_keys: &["e"],
    enabled: can_edit,
    run: edit::open,
    ..BASE
};

pub static UNDO: Command = Command {
    name: "undo",
    help: "undo the last change: of the draft, or of any file of the workspace",
    contexts: &[Context::Browse, Context::Case, Context::Edit],
    default_keys: &["u"],
    run: |model| undo_or_redo(model, true),
    ..BASE
};

pub static REDO: Command = Command {
    name: "redo",
    help: "redo the change that was undone last",
    contexts: &[Context::Browse, Context::Case, Context::Edit],
    default_keys: &["U", "ctrl-r"],
    run: |model| undo_or_redo(model, false),
    ..BASE
};

pub static NEW_CASE: Command = Command {
    name: "new case",
    help: "add a case to the set",
    contexts: &[Context::Browse],
    default_keys: &["c n"],
    enabled: can_write_set,
    run: identifiers::ask_new_case,
    ..BASE
};

pub static COPY_CASE: Command = Command {
    name: "copy",
    help: "copy the case, or the set when the cursor is in the sets",
    contexts: &[Context::Browse],
    default_keys: &["c c"],
    enabled: can_edit,
    run: identifiers::ask_copy,
    ..BASE
};

pub static MOVE_CASES: Command = Command {
    name: "move",
    help: "move the selected cases to another set, or the set to another folder",
    contexts: &[Context::Browse],
    default_keys: &["c m"],
    enabled: can_edit,
    run: dialogs::move_to::open,
    ..BASE
};

pub static DELETE_CASES: Command = Command {
    name: "delete",
    help: "delete the selected cases, or the set when the cursor is in the sets",
    contexts: &[Context::Browse],
    default_keys: &["c d", "delete"],
    enabled: can_write_set,
    run: sets::delete,
    ..BASE
};

pub static RENAME: Command = Command {
    name: "rename",
    help: "rename the case, or the set when the cursor is in the sets",
    contexts: &[Context::Browse],
    default_keys: &["c r"],
    enabled: can_write_set,
    run: identifiers::ask_rename,
    ..BASE
};

pub static NEW_SET: Command = Command {
    name: "new set",
    help: "create an eval set",
    contexts: &[Context::Browse],
    default_keys: &["c s"],
    run: identifiers::ask_new_set,
    ..BASE
};

pub static CAPTURE: Command = Command {
    name: "capture",
    help: "save a conversation as a case: of an ADK session, a recording or a trace",
    contexts: &[Context::Browse],
    default_keys: &["c g"],
    enabled: can_capture,
    run: capture::ask_source,
    ..BASE
};

pub static TAGS: Command = Command {
    name: "tags",
    help: "tag the selected cases; tag:word in the filter finds them",
    contexts: LISTS,
    default_keys: &["c t"],
    enabled: can_edit,
    run: identifiers::ask_tags,
    ..BASE
};

pub static QUARANTINE: Command = Command {
    name: "quarantine case",
    help: "count failures of the selected cases apart until a date, or end that",
    contexts: LISTS,
    default_keys: &["c q"],
    enabled: can_edit,
    run: authoring::quarantine::ask_quarantine,
    ..BASE
};

pub static VARIANTS: Command = Command {
    name: "variants",
    help: "allow other trajectories, or remove those that are allowed",
    contexts: &[Context::Case],
    default_keys: &["c v"],
    enabled: can_edit,
    run: dialogs::variants::open,
    ..BASE
};

pub static CRITERIA: Command = Command {
    name: "criteria",
    help: "edit the criteria of the set (test_config.json) in $EDITOR",
    contexts: LISTS,
    default_keys: &["c k"],
    enabled: has_set,
    run: edit_criteria,
    ..BASE
};

pub static EDITOR: Command = Command {
    name: "open in editor",
    help: "open the file in $EDITOR at the case",
    contexts: LISTS,
    default_keys: &["c e"],
    enabled: has_set,
    run: global::editor,
    ..BASE
};

pub static CHAT: Command = Command {
    name: "chat",
    help: "chat with the agent; the conversation can be saved as a case",
    contexts: LISTS,
    default_keys: &["C"],
    enabled: has_set,
    run: chat::open,
    ..BASE
};

fn undo_or_redo(model: &mut Model, undo: bool) -> Vec<Effect> {
    match model.view.screen {
        Screen::Edit(_) => edit::undo_or_redo(model, undo),
        _ => authoring::undo_or_redo(model, undo),
    }
}

fn edit_criteria(model: &mut Model) -> Vec<Effect> {
    model.current_set().map(|set| Effect::Terminal(TerminalEffect::EditCriteria(set))).into_iter().collect()
}

fn accept(model: &mut Model) -> Vec<Effect> {
    match model.view.screen {
        Screen::Run => run::accept(model),
        _ => authoring::accept_difference(model),
    }
}
