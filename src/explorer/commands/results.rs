//! Commands for results, judges and human verdicts.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{always, can_judge_again, has_attempt, has_judgement, has_outcomes, has_two_sides};
use super::{Command, Context, Group, LIST_OR_CASE, LISTS, ONE_CASE, SCREENS};
use crate::explorer::screens::case::state::CaseMode;
use crate::explorer::screens::{self, case, run};
use crate::explorer::{overlays, what_if};

pub static COMPARE_TAB: Command = Command {
    name: "comparison",
    help: "expected and actual side by side",
    hint: None,
    scope: None,
    group: Group::Results,
    contexts: ONE_CASE,
    default_keys: &["1"],
    enabled: always,
    run: |model| case::show(model, CaseMode::Compare),
};

pub static METRICS_TAB: Command = Command {
    name: "metrics",
    help: "every metric of the case with its full reason",
    hint: None,
    scope: None,
    group: Group::Results,
    contexts: ONE_CASE,
    default_keys: &["4"],
    enabled: always,
    run: |model| case::show(model, CaseMode::Metrics),
};

pub static DIFFERENCES_ONLY: Command = Command {
    name: "hide identical",
    help: "hide what is identical on both sides, or show it again",
    hint: None,
    scope: None,
    group: Group::Results,
    contexts: &[Context::Case, Context::ComparedCase],
    default_keys: &["i"],
    enabled: has_two_sides,
    run: screens::toggle_identical,
};

pub static TIMELINE: Command = Command {
    name: "timeline",
    help: "events in order, with tool responses; again for the comparison",
    hint: Some("timeline"),
    scope: None,
    group: Group::Results,
    contexts: ONE_CASE,
    default_keys: &["v", "2"],
    enabled: has_attempt,
    run: |model| case::toggle_mode(model, CaseMode::Timeline),
};

pub static JUDGES: Command = Command {
    name: "judges",
    help: "rubrics, votes and each response of the judges; again for the comparison",
    hint: Some("judges"),
    scope: None,
    group: Group::Results,
    contexts: LIST_OR_CASE,
    default_keys: &["J", "3"],
    enabled: has_judgement,
    run: case::judges,
};

pub static JUDGE_AGAIN: Command = Command {
    name: "judge again",
    help: "judge the existing responses again, without running the agent",
    hint: None,
    scope: None,
    group: Group::Results,
    contexts: LISTS,
    default_keys: &["m j"],
    enabled: can_judge_again,
    run: run::judge_again,
};

pub static VERDICT: Command = Command {
    name: "your verdict",
    help: "overrule a metric or rubric, with a note; the computed result is kept",
    hint: None,
    scope: None,
    group: Group::Results,
    contexts: &[Context::Case],
    default_keys: &["m v"],
    enabled: has_attempt,
    run: overlays::verdicts::open,
};

pub static AGREEMENT: Command = Command {
    name: "agreement",
    help: "agreement between judges and people, for each rubric",
    hint: None,
    scope: None,
    group: Group::Results,
    contexts: LISTS,
    default_keys: &["m a"],
    enabled: always,
    run: overlays::agreement::open,
};

pub static STATISTICS: Command = Command {
    name: "statistics",
    help: "mean, deviation and distribution of each metric over the listed cases",
    hint: None,
    scope: None,
    group: Group::Results,
    contexts: LISTS,
    default_keys: &["m s"],
    enabled: has_outcomes,
    run: overlays::statistics::open,
};

pub static METRICS: Command = Command {
    name: "all metrics",
    help: "every metric: what it needs, computes and means",
    hint: None,
    scope: None,
    group: Group::Results,
    contexts: SCREENS,
    default_keys: &["m m"],
    enabled: always,
    run: overlays::metrics::open,
};

pub static NEXT_METRIC: Command = Command {
    name: "next metric",
    help: "choose the metric whose threshold a what-if changes",
    hint: None,
    scope: None,
    group: Group::Results,
    contexts: &[Context::Case],
    default_keys: &["w t"],
    enabled: has_attempt,
    run: what_if::next_metric,
};
