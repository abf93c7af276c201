//! What-if commands: try other criteria on existing results.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{has_outcomes, has_suggestion, has_trial};
use super::{Access, Command, Group, LISTS};
use crate::explorer::{dialogs, what_if};

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::WhatIf, contexts: LISTS, ..super::BASE };

pub static APPLY_SUGGESTION: Command = Command {
    name: "apply suggestion",
    help: "try the smallest change of criteria with which the case would pass",
    hint: Some("apply suggestion"),
    access: Access::Reads,
    default_keys: &["="],
    enabled: has_suggestion,
    run: what_if::apply_suggestion,
    ..BASE
};

pub static MATCH_TYPE: Command = Command {
    name: "match type",
    help: "what if calls matched EXACT, IN_ORDER or ANY_ORDER",
    access: Access::Reads,
    default_keys: &["w m"],
    enabled: has_outcomes,
    run: what_if::next_match_type,
    ..BASE
};

pub static IGNORE_ARGUMENTS: Command = Command {
    name: "ignore arguments",
    help: "what if the arguments of calls were ignored, or compared again",
    access: Access::Reads,
    default_keys: &["w i"],
    enabled: has_outcomes,
    run: what_if::toggle_ignore,
    ..BASE
};

pub static LOWER_THRESHOLD: Command = Command {
    name: "lower threshold",
    help: "what if the chosen metric had a lower threshold",
    access: Access::Reads,
    default_keys: &["w -", "w ["],
    enabled: has_outcomes,
    run: |model| what_if::threshold(model, -1.0),
    ..BASE
};

pub static RAISE_THRESHOLD: Command = Command {
    name: "raise threshold",
    help: "what if the chosen metric had a higher threshold",
    access: Access::Reads,
    default_keys: &["w +", "w ]"],
    enabled: has_outcomes,
    run: |model| what_if::threshold(model, 1.0),
    ..BASE
};

pub static RULE: Command = Command {
    name: "match rule",
    help: "what if calls were compared by a rule, for example search_* query ignore",
    access: Access::Reads,
    default_keys: &["w r"],
    enabled: has_outcomes,
    run: dialogs::rule::open,
    ..BASE
};

pub static FLIPS: Command = Command {
    name: "changed cases",
    help: "the cases whose status the what-if changes",
    access: Access::Reads,
    default_keys: &["w f"],
    enabled: has_trial,
    run: dialogs::flips::open,
    ..BASE
};

pub static WRITE_TRIAL: Command = Command {
    name: "write",
    help: "write the what-if to the configs of the listed sets",
    default_keys: &["w w"],
    enabled: has_trial,
    run: what_if::ask_to_write,
    ..BASE
};

pub static DROP_TRIAL: Command = Command {
    name: "drop",
    help: "drop the what-if: the criteria as they are in the files",
    access: Access::Reads,
    default_keys: &["w d"],
    enabled: has_trial,
    run: what_if::drop_trial,
    ..BASE
};
