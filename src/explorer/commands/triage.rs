//! Commands of the triage queue.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::can_triage;
use super::{Command, CommandGroup, LIST_OR_ENDED_RUN, in_list};
use crate::explorer::screens::queue;
use crate::explorer::screens::queue::decide::Choice;
use crate::explorer::shared::command_names;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;
use evaltrail_core::domain::DecisionKind;

const QUEUE: &[Context] = &[Context::Queue];

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::Triage,
    contexts: QUEUE,
    ..super::BASE
};

pub static TRIAGE: Command = Command {
    id: &command_names::TRIAGE,
    help: "decide about the listed failures one after the other, the largest group first",
    hint: Some("triage"),
    contexts: LIST_OR_ENDED_RUN,
    enabled: can_triage,
    run: |model| in_list(model, queue::open),
    ..BASE
};

pub static QUEUE_RUN: Command = Command {
    id: &CommandName {
        name: "run again",
        default_keys: &["r"],
    },
    help: "run the case again at the end",
    hint: Some("run again"),
    enabled: queue::can_decide,
    run: |model| queue::decide(model, Choice::Decide(DecisionKind::RunAgain)),
    ..BASE
};

pub static QUEUE_RUN_GROUP: Command = Command {
    id: &CommandName {
        name: "run cause again",
        default_keys: &["R"],
    },
    help: "run the undecided rest of this cause again at the end",
    hint: Some("run cause"),
    enabled: queue::has_rest_of_group,
    run: |model| queue::decide_group(model, Choice::Decide(DecisionKind::RunAgain)),
    ..BASE
};

pub static QUEUE_ACCEPT: Command = Command {
    id: &CommandName {
        name: "accept case",
        default_keys: &["a"],
    },
    help: "accept everything the agent did in the case as expected",
    hint: Some("accept case"),
    enabled: queue::can_accept,
    run: |model| queue::decide(model, Choice::Decide(DecisionKind::Accept)),
    ..BASE
};

pub static QUEUE_ACCEPT_GROUP: Command = Command {
    id: &CommandName {
        name: "accept cause",
        default_keys: &["A"],
    },
    help: "accept everything the agent did in the undecided rest of this cause",
    hint: Some("accept cause"),
    enabled: queue::has_rest_of_group,
    run: |model| queue::decide_group(model, Choice::Decide(DecisionKind::Accept)),
    ..BASE
};

pub static QUEUE_RELAX: Command = Command {
    id: &command_names::QUEUE_RELAX,
    help: "add the smallest change of criteria with which the case passes to the what-if",
    enabled: queue::can_relax,
    run: |model| queue::decide(model, Choice::Relax),
    ..BASE
};

pub static QUEUE_RELAX_GROUP: Command = Command {
    id: &CommandName {
        name: "loosen for cause",
        default_keys: &["I"],
    },
    help: "add the smallest changes of criteria with which the rest of this cause passes to the what-if",
    hint: Some("loosen cause"),
    enabled: queue::has_rest_of_group,
    run: |model| queue::decide_group(model, Choice::Relax),
    ..BASE
};

pub static QUEUE_QUARANTINE: Command = Command {
    id: &CommandName {
        name: "quarantine",
        default_keys: &["x"],
    },
    help: "leave failures of the case out of the count until a date",
    hint: Some("quarantine"),
    enabled: queue::can_decide,
    run: |model| queue::decide(model, Choice::Decide(DecisionKind::Quarantine)),
    ..BASE
};

pub static QUEUE_QUARANTINE_GROUP: Command = Command {
    id: &CommandName {
        name: "quarantine group",
        default_keys: &["X"],
    },
    help: "leave failures of the undecided rest of this cause out of the count until a date",
    enabled: queue::has_rest_of_group,
    run: |model| queue::decide_group(model, Choice::Decide(DecisionKind::Quarantine)),
    ..BASE
};

pub static QUEUE_COMMENT: Command = Command {
    id: &CommandName {
        name: "comment",
        default_keys: &["c"],
    },
    help: "leave the failure as it is, with a comment; it is asked about again if the reason changes",
    hint: Some("comment"),
    enabled: queue::can_decide,
    run: |model| queue::decide(model, Choice::Decide(DecisionKind::Comment)),
    ..BASE
};

pub static QUEUE_COMMENT_GROUP: Command = Command {
    id: &CommandName {
        name: "comment on group",
        default_keys: &["C"],
    },
    help: "leave the undecided rest of this cause as it is, with a comment",
    enabled: queue::has_rest_of_group,
    run: |model| queue::decide_group(model, Choice::Decide(DecisionKind::Comment)),
    ..BASE
};

pub static QUEUE_SKIP: Command = Command {
    id: &CommandName {
        name: "skip",
        default_keys: &["s"],
    },
    help: "decide later: the case comes again after all others",
    hint: Some("skip"),
    run: |model| queue::skip(model, false),
    ..BASE
};

pub static QUEUE_SKIP_GROUP: Command = Command {
    id: &CommandName {
        name: "skip group",
        default_keys: &["S"],
    },
    help: "decide about the rest of this cause later",
    enabled: queue::has_rest_of_group,
    run: |model| queue::skip(model, true),
    ..BASE
};

pub static QUEUE_UNDO: Command = Command {
    id: &CommandName {
        name: "undo decision",
        default_keys: &["u"],
    },
    help: "take the last decision of this triage back",
    hint: Some("undo"),
    enabled: queue::can_undo,
    run: queue::undo,
    ..BASE
};

pub static QUEUE_FINISH: Command = Command {
    id: &CommandName {
        name: "finish",
        default_keys: &["ctrl-s"],
    },
    help: "show all decisions and what they change, and carry them out",
    hint: Some("finish"),
    run: queue::summary,
    ..BASE
};

pub static QUEUE_NEXT: Command = Command {
    id: &CommandName {
        name: "next in queue",
        default_keys: &["n"],
    },
    help: "go to the next case of the queue, decided or not",
    run: queue::next,
    ..BASE
};

pub static QUEUE_PREVIOUS: Command = Command {
    id: &CommandName {
        name: "previous in queue",
        default_keys: &["N"],
    },
    help: "go to the previous case of the queue, decided or not",
    run: queue::previous,
    ..BASE
};
