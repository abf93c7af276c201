//! Commands that change cases, sets and criteria.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{can_accept_all, can_accept_here, can_capture, can_edit_value};
use super::{Command, CommandGroup, LIST_OR_CASE, LISTS};
use crate::explorer::authoring::conditions::{can_edit, can_write_set};
use crate::explorer::authoring::{self, capture, identifiers, sets};
use crate::explorer::commands::editor;
use crate::explorer::dialogs;
use crate::explorer::screens::{chat, edit, run};
use crate::explorer::shared::command_names;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::{Effect, TerminalEffect};
use crate::explorer::shared::enabled::has_set;
use crate::explorer::shared::model::Model;
use evaltrail_core::domain::Status;

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::Author,
    ..super::BASE
};

pub static ACCEPT: Command = Command {
    id: &command_names::ACCEPT,
    help: "accept the difference under the cursor as expected, or add the answer that a tool lacked; the change is shown first; in the editor, take what the agent did",
    hint: Some("accept"),
    contexts: &[Context::Browse, Context::Case, Context::Run, Context::Edit],
    enabled: can_accept_here,
    run: accept,
    ..BASE
};

pub static ACCEPT_ALL: Command = Command {
    id: &CommandName {
        name: "accept all",
        default_keys: &["A"],
    },
    help: "accept everything the agent did in the case, or in the selected cases",
    hint: Some("accept case"),
    hint_now: Some(accept_all_hint),
    contexts: LISTS,
    enabled: can_accept_all,
    run: authoring::accept_cases,
    ..BASE
};

pub static EDIT: Command = Command {
    id: &CommandName {
        name: "edit",
        default_keys: &["e"],
    },
    help: "edit the case: turns, expected calls and responses, session",
    hint: Some("edit"),
    contexts: LIST_OR_CASE,
    enabled: can_edit,
    run: edit::open,
    ..BASE
};

pub static EDIT_VALUE: Command = Command {
    id: &CommandName {
        name: "edit value",
        default_keys: &["enter"],
    },
    help: "type another expected value for the marked difference",
    hint: Some("edit value"),
    contexts: &[Context::Case],
    enabled: can_edit_value,
    run: edit::open_at_value,
    ..BASE
};

pub static UNDO: Command = Command {
    id: &CommandName {
        name: "undo",
        default_keys: &["u"],
    },
    help: "undo the last change: of the draft, or of any file of the workspace",
    contexts: &[Context::Browse, Context::Case, Context::Edit],
    run: |model| undo_or_redo(model, true),
    ..BASE
};

pub static REDO: Command = Command {
    id: &CommandName {
        name: "redo",
        default_keys: &["U", "ctrl-r"],
    },
    help: "redo the change that was undone last",
    contexts: &[Context::Browse, Context::Case, Context::Edit],
    run: |model| undo_or_redo(model, false),
    ..BASE
};

pub static NEW_CASE: Command = Command {
    id: &command_names::NEW_CASE,
    help: "add a case to the set",
    contexts: &[Context::Browse],
    enabled: can_write_set,
    run: identifiers::ask_new_case,
    ..BASE
};

pub static COPY_CASE: Command = Command {
    id: &CommandName {
        name: "copy",
        default_keys: &["c c"],
    },
    help: "copy the case, or the set when the cursor is in the sets",
    contexts: &[Context::Browse],
    enabled: can_edit,
    run: identifiers::ask_copy,
    ..BASE
};

pub static MOVE_CASES: Command = Command {
    id: &CommandName {
        name: "move",
        default_keys: &["c m"],
    },
    help: "move the selected cases to another set, or the set to another folder",
    contexts: &[Context::Browse],
    enabled: can_edit,
    run: dialogs::move_to::open,
    ..BASE
};

pub static DELETE_CASES: Command = Command {
    id: &CommandName {
        name: "delete",
        default_keys: &["c d", "delete"],
    },
    help: "delete the selected cases, or the set when the cursor is in the sets",
    contexts: &[Context::Browse],
    enabled: can_write_set,
    run: sets::delete,
    ..BASE
};

pub static RENAME: Command = Command {
    id: &CommandName {
        name: "rename",
        default_keys: &["c r"],
    },
    help: "rename the case, or the set when the cursor is in the sets",
    contexts: &[Context::Browse],
    enabled: can_write_set,
    run: identifiers::ask_rename,
    ..BASE
};

pub static NEW_SET: Command = Command {
    id: &command_names::NEW_SET,
    help: "create an eval set",
    contexts: &[Context::Browse],
    run: identifiers::ask_new_set,
    ..BASE
};

pub static CAPTURE: Command = Command {
    id: &command_names::CAPTURE,
    help: "save a conversation as a case: of an ADK session, a recording or a trace",
    contexts: &[Context::Browse],
    enabled: can_capture,
    run: capture::ask_source,
    ..BASE
};

pub static DRAFTS: Command = Command {
    id: &CommandName {
        name: "drafts",
        default_keys: &["c p"],
    },
    help: "list the drafts of cases of the set, to add or drop them; derives some from its cases if there are none",
    contexts: &[Context::Browse],
    enabled: can_write_set,
    run: dialogs::drafts::open,
    ..BASE
};

pub static TAGS: Command = Command {
    id: &CommandName {
        name: "tags",
        default_keys: &["c t"],
    },
    help: "tag the selected cases; tag:word in the filter finds them",
    contexts: LISTS,
    enabled: can_edit,
    run: identifiers::ask_tags,
    ..BASE
};

pub static QUARANTINE: Command = Command {
    id: &CommandName {
        name: "quarantine case",
        default_keys: &["c q"],
    },
    help: "count failures of the selected cases apart until a date, or end that",
    contexts: LISTS,
    enabled: can_edit,
    run: authoring::quarantine::ask_quarantine,
    ..BASE
};

pub static VARIANTS: Command = Command {
    id: &CommandName {
        name: "variants",
        default_keys: &["c v"],
    },
    help: "allow other trajectories, or remove those that are allowed",
    contexts: &[Context::Case],
    enabled: can_edit,
    run: dialogs::variants::open,
    ..BASE
};

pub static CRITERIA: Command = Command {
    id: &CommandName {
        name: "criteria",
        default_keys: &["c k"],
    },
    help: "edit the criteria of the set (test_config.json) in $EDITOR",
    contexts: LISTS,
    enabled: has_set,
    run: edit_criteria,
    ..BASE
};

pub static EDITOR: Command = Command {
    id: &CommandName {
        name: "open in editor",
        default_keys: &["c e"],
    },
    help: "open the file in $EDITOR at the case",
    contexts: LISTS,
    enabled: has_set,
    run: editor,
    ..BASE
};

pub static CHAT: Command = Command {
    id: &CommandName {
        name: "chat",
        default_keys: &["C"],
    },
    help: "chat with the agent; the conversation can be saved as a case",
    contexts: LISTS,
    enabled: has_set,
    run: chat::open,
    ..BASE
};

fn undo_or_redo(model: &mut Model, undo: bool) -> Vec<Effect> {
    match model.screen_context() {
        Context::Edit => edit::undo_or_redo(model, undo),
        _ => authoring::undo_or_redo(model, undo),
    }
}

fn edit_criteria(model: &mut Model) -> Vec<Effect> {
    model
        .current_set()
        .map(|set| Effect::Terminal(TerminalEffect::EditCriteria(set)))
        .into_iter()
        .collect()
}

/// No hint for a case that passed and whose comparison is not shown: the agent probably did what is expected.
fn accept_all_hint(model: &Model) -> String {
    let has_selection = model.is_on(Context::Browse) && !model.view.browse.selected.is_empty();
    let case = model.current_case().filter(|_| !has_selection);
    let worst = case.and_then(|case| model.view.outcomes.worst(case));
    match model.shown_case().is_none() && worst == Some(Status::Passed) {
        true => String::new(),
        false => "accept case".to_string(),
    }
}

fn accept(model: &mut Model) -> Vec<Effect> {
    match model.screen_context() {
        Context::Edit => edit::take_actual(model),
        Context::Run => run::accept(model),
        _ => authoring::accepting::accept_here(model),
    }
}
