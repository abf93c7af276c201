//! What-if commands: try other criteria on existing results.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{has_outcomes, has_rescored_what_if, has_what_if};
use super::{Access, Command, CommandGroup, LISTS};
use crate::explorer::shared::command_names;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::what_if::has_suggestion;
use crate::explorer::{authoring, dialogs, what_if};

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::WhatIf,
    contexts: LISTS,
    ..super::BASE
};

pub static APPLY_SUGGESTION: Command = Command {
    id: &command_names::APPLY_SUGGESTION,
    help: "try the smallest change of criteria with which the case would pass",
    hint: Some("try suggestion"),
    access: Access::Reads,
    enabled: has_suggestion,
    run: what_if::apply_suggestion,
    ..BASE
};

pub static MATCH_TYPE: Command = Command {
    id: &CommandName {
        name: "match type",
        default_keys: &["w m"],
    },
    help: "what if calls matched EXACT, IN_ORDER or ANY_ORDER",
    access: Access::Reads,
    enabled: has_outcomes,
    run: what_if::next_match_type,
    ..BASE
};

pub static IGNORE_ARGUMENTS: Command = Command {
    id: &CommandName {
        name: "ignore arguments",
        default_keys: &["w i"],
    },
    help: "what if the arguments of calls were ignored, or compared again",
    access: Access::Reads,
    enabled: has_outcomes,
    run: what_if::toggle_ignore,
    ..BASE
};

pub static LOWER_THRESHOLD: Command = Command {
    id: &CommandName {
        name: "lower threshold",
        default_keys: &["w -", "w ["],
    },
    help: "what if the chosen metric had a lower threshold",
    access: Access::Reads,
    enabled: has_outcomes,
    run: |model| what_if::threshold(model, -1.0),
    ..BASE
};

pub static RAISE_THRESHOLD: Command = Command {
    id: &CommandName {
        name: "raise threshold",
        default_keys: &["w +", "w ]"],
    },
    help: "what if the chosen metric had a higher threshold",
    access: Access::Reads,
    enabled: has_outcomes,
    run: |model| what_if::threshold(model, 1.0),
    ..BASE
};

pub static RULE: Command = Command {
    id: &CommandName {
        name: "match rule",
        default_keys: &["w r"],
    },
    help: "what if calls were compared by a rule, for example search_* query ignore",
    access: Access::Reads,
    enabled: has_outcomes,
    run: dialogs::rule::open,
    ..BASE
};

pub static CHANGED_CASES: Command = Command {
    id: &CommandName {
        name: "changed cases",
        default_keys: &["w f"],
    },
    help: "the cases whose status the what-if changes",
    access: Access::Reads,
    enabled: has_what_if,
    run: dialogs::changed_cases::open,
    ..BASE
};

pub static WRITE_WHAT_IF: Command = Command {
    id: &CommandName {
        name: "write",
        default_keys: &["w w"],
    },
    help: "write the what-if to the configs of the listed sets that it changes",
    enabled: has_rescored_what_if,
    run: authoring::criteria::plan_to_write,
    ..BASE
};

pub static DROP_WHAT_IF: Command = Command {
    id: &CommandName {
        name: "drop",
        default_keys: &["w d"],
    },
    help: "drop the what-if: the criteria as they are in the files",
    access: Access::Reads,
    enabled: has_what_if,
    run: what_if::discard,
    ..BASE
};
