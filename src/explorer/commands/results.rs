//! Commands for results, judges and human verdicts.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{can_judge_again, has_attempt, has_judgement, has_outcomes, has_two_sides};
use super::{Access, Command, Group, LIST_OR_CASE, LISTS, ONE_CASE, SCREENS};
use crate::explorer::context::Context;
use crate::explorer::screens::case::body_lines::CaseMode;
use crate::explorer::screens::{self, case, run};
use crate::explorer::{dialogs, what_if};

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::Results, ..super::BASE };

pub static COMPARE_TAB: Command = Command {
    name: "comparison",
    help: "expected and actual side by side",
    access: Access::Reads,
    contexts: ONE_CASE,
    default_keys: &["1"],
    run: |model| case::show(model, CaseMode::Compare),
    ..BASE
};

pub static METRICS_TAB: Command = Command {
    name: "metrics",
    help: "every metric of the case with its full reason",
    access: Access::Reads,
    contexts: ONE_CASE,
    default_keys: &["4"],
    run: |model| case::show(model, CaseMode::Metrics),
    ..BASE
};

pub static DIFFERENCES_ONLY: Command = Command {
    name: "hide identical",
    help: "hide what is identical on both sides, or show it again",
    access: Access::Reads,
    contexts: &[Context::Case, Context::ComparedCase],
    default_keys: &["i"],
    enabled: has_two_sides,
    run: screens::toggle_identical,
    ..BASE
};

pub static TIMELINE: Command = Command {
    name: "timeline",
    help: "events in order, with tool responses; again for the comparison",
    hint: Some("timeline"),
    access: Access::Reads,
    contexts: ONE_CASE,
    default_keys: &["v", "2"],
    enabled: has_attempt,
    run: |model| case::toggle_mode(model, CaseMode::Timeline),
    ..BASE
};

pub static JUDGES: Command = Command {
    name: "judges",
    help: "rubrics, votes and each response of the judges; again for the comparison",
    hint: Some("judges"),
    access: Access::Reads,
    contexts: LIST_OR_CASE,
    default_keys: &["J", "3"],
    enabled: has_judgement,
    run: case::judges,
    ..BASE
};

pub static JUDGE_AGAIN: Command = Command {
    name: "judge again",
    help: "judge the existing responses again, without running the agent",
    contexts: LISTS,
    default_keys: &["m j"],
    enabled: can_judge_again,
    run: run::judge_again,
    ..BASE
};

pub static VERDICT: Command = Command {
    name: "your verdict",
    help: "overrule a metric or rubric, with a note; the computed result is kept",
    contexts: &[Context::Case],
    default_keys: &["m v"],
    enabled: has_attempt,
    run: dialogs::verdicts::open,
    ..BASE
};

pub static AGREEMENT: Command = Command {
    name: "agreement",
    help: "agreement between judges and people, for each rubric",
    access: Access::Reads,
    contexts: LISTS,
    default_keys: &["m a"],
    run: dialogs::agreement::open,
    ..BASE
};

pub static STATISTICS: Command = Command {
    name: "statistics",
    help: "mean, deviation and distribution of each metric over the listed cases",
    access: Access::Reads,
    contexts: LISTS,
    default_keys: &["m s"],
    enabled: has_outcomes,
    run: dialogs::statistics::open,
    ..BASE
};

pub static METRICS: Command = Command {
    name: "all metrics",
    help: "every metric: what it needs, computes and means",
    access: Access::Reads,
    contexts: SCREENS,
    default_keys: &["m m"],
    run: dialogs::metrics::open,
    ..BASE
};

pub static NEXT_METRIC: Command = Command {
    name: "next metric",
    help: "choose the metric whose threshold a what-if changes",
    access: Access::Reads,
    contexts: &[Context::Case],
    default_keys: &["w t"],
    enabled: has_attempt,
    run: what_if::next_metric,
    ..BASE
};
