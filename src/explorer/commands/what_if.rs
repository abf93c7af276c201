//! What-if commands: try other criteria on existing results.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{has_outcomes, has_suggestion, has_trial};
use super::{Command, Group, LISTS};
use crate::explorer::{overlays, what_if};

pub static APPLY_SUGGESTION: Command = Command {
    name: "apply suggestion",
    help: "try the smallest change of criteria with which the case would pass",
    hint: Some("apply suggestion"),
    scope: None,
    group: Group::WhatIf,
    contexts: LISTS,
    default_keys: &["="],
    enabled: has_suggestion,
    run: what_if::apply_suggestion,
};

pub static MATCH_TYPE: Command = Command {
    name: "match type",
    help: "what if calls matched EXACT, IN_ORDER or ANY_ORDER",
    hint: None,
    scope: None,
    group: Group::WhatIf,
    contexts: LISTS,
    default_keys: &["w m"],
    enabled: has_outcomes,
    run: what_if::next_match_type,
};

pub static IGNORE_ARGUMENTS: Command = Command {
    name: "ignore arguments",
    help: "what if the arguments of calls were ignored, or compared again",
    hint: None,
    scope: None,
    group: Group::WhatIf,
    contexts: LISTS,
    default_keys: &["w i"],
    enabled: has_outcomes,
    run: what_if::toggle_ignore,
};

pub static LOWER_THRESHOLD: Command = Command {
    name: "lower threshold",
    help: "what if the chosen metric had a lower threshold",
    hint: None,
    scope: None,
    group: Group::WhatIf,
    contexts: LISTS,
    default_keys: &["w -", "w ["],
    enabled: has_outcomes,
    run: |model| what_if::threshold(model, -1.0),
};

pub static RAISE_THRESHOLD: Command = Command {
    name: "raise threshold",
    help: "what if the chosen metric had a higher threshold",
    hint: None,
    scope: None,
    group: Group::WhatIf,
    contexts: LISTS,
    default_keys: &["w +", "w ]"],
    enabled: has_outcomes,
    run: |model| what_if::threshold(model, 1.0),
};

pub static RULE: Command = Command {
    name: "match rule",
    help: "what if calls were compared by a rule, for example search_* query ignore",
    hint: None,
    scope: None,
    group: Group::WhatIf,
    contexts: LISTS,
    default_keys: &["w r"],
    enabled: has_outcomes,
    run: overlays::rule::open,
};

pub static FLIPS: Command = Command {
    name: "changed cases",
    help: "the cases whose status the what-if changes",
    hint: None,
    scope: None,
    group: Group::WhatIf,
    contexts: LISTS,
    default_keys: &["w f"],
    enabled: has_trial,
    run: overlays::flips::open,
};

pub static WRITE_TRIAL: Command = Command {
    name: "write",
    help: "write the what-if to the configs of the listed sets",
    hint: None,
    scope: None,
    group: Group::WhatIf,
    contexts: LISTS,
    default_keys: &["w w"],
    enabled: has_trial,
    run: what_if::ask_to_write,
};

pub static DROP_TRIAL: Command = Command {
    name: "drop",
    help: "drop the what-if: the criteria as they are in the files",
    hint: None,
    scope: None,
    group: Group::WhatIf,
    contexts: LISTS,
    default_keys: &["w d"],
    enabled: has_trial,
    run: what_if::drop_trial,
};
