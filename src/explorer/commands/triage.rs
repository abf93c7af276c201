//! Commands of the triage queue.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::{Command, Group};
use crate::domain::DecisionKind;
use crate::explorer::context::Context;
use crate::explorer::screens::queue::{self, Choice};

const QUEUE: &[Context] = &[Context::Queue];

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::Triage, contexts: QUEUE, ..super::BASE };

pub static TRIAGE: Command = Command {
    name: "triage",
    help: "decide about the listed failures one after the other, the largest group first",
    hint: Some("triage"),
    contexts: &[Context::Browse],
    default_keys: &["T"],
    enabled: queue::can_open,
    run: queue::open,
    ..BASE
};

pub static QUEUE_RUN: Command = Command {
    name: "run again",
    help: "run the case again at the end",
    hint: Some("run again"),
    default_keys: &["r"],
    enabled: queue::can_decide,
    run: |model| queue::decide(model, Choice::Decide(DecisionKind::RunAgain)),
    ..BASE
};

pub static QUEUE_RUN_GROUP: Command = Command {
    name: "run group again",
    help: "run the undecided rest of this cause again at the end",
    default_keys: &["R"],
    enabled: queue::has_rest_of_group,
    run: |model| queue::decide_group(model, Choice::Decide(DecisionKind::RunAgain)),
    ..BASE
};

pub static QUEUE_ACCEPT: Command = Command {
    name: "accept case",
    help: "accept everything the agent did in the case as expected",
    hint: Some("accept"),
    default_keys: &["a"],
    enabled: queue::can_accept,
    run: |model| queue::decide(model, Choice::Decide(DecisionKind::Accept)),
    ..BASE
};

pub static QUEUE_ACCEPT_GROUP: Command = Command {
    name: "accept group",
    help: "accept everything the agent did in the undecided rest of this cause",
    default_keys: &["A"],
    enabled: queue::has_rest_of_group,
    run: |model| queue::decide_group(model, Choice::Decide(DecisionKind::Accept)),
    ..BASE
};

pub static QUEUE_RELAX: Command = Command {
    name: "ignore by rule",
    help: "add the smallest change of criteria with which the case passes to the what-if",
    hint: Some("ignore"),
    default_keys: &["i"],
    enabled: queue::can_relax,
    run: |model| queue::decide(model, Choice::Relax),
    ..BASE
};

pub static QUEUE_RELAX_GROUP: Command = Command {
    name: "ignore group by rule",
    help: "add the smallest changes of criteria with which the rest of this cause passes to the what-if",
    default_keys: &["I"],
    enabled: queue::has_rest_of_group,
    run: |model| queue::decide_group(model, Choice::Relax),
    ..BASE
};

pub static QUEUE_QUARANTINE: Command = Command {
    name: "quarantine",
    help: "count failures of the case apart until a date",
    hint: Some("quarantine"),
    default_keys: &["x"],
    enabled: queue::can_decide,
    run: |model| queue::decide(model, Choice::Decide(DecisionKind::Quarantine)),
    ..BASE
};

pub static QUEUE_QUARANTINE_GROUP: Command = Command {
    name: "quarantine group",
    help: "count failures of the undecided rest of this cause apart until a date",
    default_keys: &["X"],
    enabled: queue::has_rest_of_group,
    run: |model| queue::decide_group(model, Choice::Decide(DecisionKind::Quarantine)),
    ..BASE
};

pub static QUEUE_COMMENT: Command = Command {
    name: "comment",
    help: "leave the failure as it is, with a comment; it is asked about again if the reason changes",
    hint: Some("comment"),
    default_keys: &["c"],
    enabled: queue::can_decide,
    run: |model| queue::decide(model, Choice::Decide(DecisionKind::Comment)),
    ..BASE
};

pub static QUEUE_COMMENT_GROUP: Command = Command {
    name: "comment on group",
    help: "leave the undecided rest of this cause as it is, with a comment",
    default_keys: &["C"],
    enabled: queue::has_rest_of_group,
    run: |model| queue::decide_group(model, Choice::Decide(DecisionKind::Comment)),
    ..BASE
};

pub static QUEUE_SKIP: Command = Command {
    name: "skip",
    help: "decide later: the case comes again after all others",
    hint: Some("skip"),
    default_keys: &["s"],
    run: |model| queue::skip(model, false),
    ..BASE
};

pub static QUEUE_SKIP_GROUP: Command = Command {
    name: "skip group",
    help: "decide about the rest of this cause later",
    default_keys: &["S"],
    enabled: queue::has_rest_of_group,
    run: |model| queue::skip(model, true),
    ..BASE
};

pub static QUEUE_UNDO: Command = Command {
    name: "undo decision",
    help: "take the last decision of this triage back",
    hint: Some("undo"),
    default_keys: &["u"],
    enabled: queue::can_undo,
    run: queue::undo,
    ..BASE
};

pub static QUEUE_FINISH: Command = Command {
    name: "finish",
    help: "show all decisions and what they change, and carry them out",
    hint: Some("finish"),
    default_keys: &["ctrl-s"],
    run: queue::summary,
    ..BASE
};

pub static QUEUE_NEXT: Command = Command {
    name: "next in queue",
    help: "go to the next case of the queue, decided or not",
    default_keys: &["n"],
    run: queue::next,
    ..BASE
};

pub static QUEUE_PREVIOUS: Command = Command {
    name: "previous in queue",
    help: "go to the previous case of the queue, decided or not",
    default_keys: &["N"],
    run: queue::previous,
    ..BASE
};
