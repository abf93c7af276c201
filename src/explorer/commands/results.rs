//! Commands for results, judges and human verdicts.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{
    can_judge_again, has_attempt, has_judgement, has_outcomes, has_two_sides, in_workspace,
    shows_comparison,
};
use super::{Access, Command, CommandGroup, LIST_OR_CASE, LISTS, ONE_CASE, SCREENS};
use crate::explorer::running::rescore::{self, can_score_outdated};
use crate::explorer::running::start;
use crate::explorer::screens::comparison;
use crate::explorer::shared::case_lines::CaseTab;
use crate::explorer::shared::command_names;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::model::Model;
use crate::explorer::shown_case::movement;
use crate::explorer::{dialogs, what_if};

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::Results,
    ..super::BASE
};

pub static COMPARE_TAB: Command = Command {
    id: &command_names::COMPARE_TAB,
    help: "expected and actual side by side",
    access: Access::Reads,
    contexts: ONE_CASE,
    run: |model| movement::show(model, CaseTab::Compare),
    ..BASE
};

pub static METRICS_TAB: Command = Command {
    id: &command_names::METRICS_TAB,
    help: "every metric of the case with its full reason",
    access: Access::Reads,
    contexts: ONE_CASE,
    run: |model| movement::show(model, CaseTab::Metrics),
    ..BASE
};

pub static DIFFERENCES_ONLY: Command = Command {
    id: &CommandName {
        name: "hide identical",
        default_keys: &["i"],
    },
    help: "hide what is identical on both sides, or show it again",
    access: Access::Reads,
    contexts: &[Context::Case, Context::ComparedCase],
    enabled: has_two_sides,
    run: toggle_identical,
    ..BASE
};

pub static FOLD: Command = Command {
    id: &CommandName {
        name: "fold values",
        default_keys: &["("],
    },
    help: "fold nested values one level more",
    access: Access::Reads,
    contexts: &[Context::Case],
    enabled: shows_comparison,
    run: |model| movement::fold_values(model, -1),
    ..BASE
};

pub static UNFOLD: Command = Command {
    id: &CommandName {
        name: "unfold values",
        default_keys: &[")"],
    },
    help: "unfold nested values by one level",
    access: Access::Reads,
    contexts: &[Context::Case],
    enabled: shows_comparison,
    run: |model| movement::fold_values(model, 1),
    ..BASE
};

pub static TIMELINE: Command = Command {
    id: &command_names::TIMELINE,
    help: "events in order, with tool responses; again for the comparison",
    hint: Some("timeline"),
    access: Access::Reads,
    contexts: ONE_CASE,
    enabled: has_attempt,
    run: |model| movement::toggle_mode(model, CaseTab::Timeline),
    ..BASE
};

pub static JUDGES: Command = Command {
    id: &command_names::JUDGES,
    help: "rubrics, votes and each response of the judges; again for the comparison",
    hint: Some("judges"),
    access: Access::Reads,
    contexts: LIST_OR_CASE,
    enabled: has_judgement,
    run: movement::judges,
    ..BASE
};

pub static JUDGE_AGAIN: Command = Command {
    id: &command_names::JUDGE_AGAIN,
    help: "score and judge the existing responses again with the current criteria, without running the agent",
    contexts: LISTS,
    enabled: can_judge_again,
    run: start::judge_again,
    ..BASE
};

pub static SCORE_OUTDATED: Command = Command {
    id: &command_names::SCORE_OUTDATED,
    help: "score all listed cases again whose criteria were changed since, without running the agent",
    contexts: LISTS,
    enabled: can_score_outdated,
    run: rescore::score_outdated,
    ..BASE
};

pub static VERDICT: Command = Command {
    id: &command_names::VERDICT,
    help: "overrule a metric or rubric, with a note; the computed result is kept",
    hint: Some("your verdict"),
    hint_now: Some(|model| on_judges_tab(model, "your verdict")),
    contexts: &[Context::Case],
    enabled: has_attempt,
    run: dialogs::verdicts::open,
    ..BASE
};

pub static AGREEMENT: Command = Command {
    id: &CommandName {
        name: "agreement",
        default_keys: &["m a"],
    },
    help: "agreement between judges and people, for each rubric",
    hint: Some("agreement"),
    hint_now: Some(|model| on_judges_tab(model, "agreement")),
    access: Access::Reads,
    contexts: LISTS,
    run: dialogs::agreement::open,
    ..BASE
};

pub static STATISTICS: Command = Command {
    id: &CommandName {
        name: "statistics",
        default_keys: &["m s"],
    },
    help: "mean, deviation and distribution of each metric over the listed cases",
    access: Access::Reads,
    contexts: LISTS,
    enabled: has_outcomes,
    run: dialogs::statistics::open,
    ..BASE
};

pub static COVERAGE: Command = Command {
    id: &CommandName {
        name: "coverage",
        default_keys: &["m c"],
    },
    help: "which tools the cases expect and the agent called, with the cases of each",
    access: Access::Reads,
    contexts: LISTS,
    enabled: in_workspace,
    run: dialogs::coverage::open,
    ..BASE
};

pub static METRICS: Command = Command {
    id: &CommandName {
        name: "all metrics",
        default_keys: &["m m"],
    },
    help: "every metric: what it needs, computes and means",
    access: Access::Reads,
    contexts: SCREENS,
    run: dialogs::metrics::open,
    ..BASE
};

pub static NEXT_METRIC: Command = Command {
    id: &CommandName {
        name: "next metric",
        default_keys: &["w t"],
    },
    help: "choose the metric whose threshold a what-if changes",
    access: Access::Reads,
    contexts: &[Context::Case],
    enabled: has_attempt,
    run: what_if::next_metric,
    ..BASE
};

/// A hint that is only given on the judges tab.
fn on_judges_tab(model: &Model, hint: &str) -> String {
    let case = model.open_case();
    match case.is_some_and(|case| case.mode == CaseTab::Judged) {
        true => hint.to_string(),
        false => String::new(),
    }
}

/// Hides what is identical on all sides of a case, or shows it again.
fn toggle_identical(model: &mut Model) -> Vec<Effect> {
    match model.screen_context() {
        Context::Comparison | Context::ComparedCase => comparison::hide_identical(model),
        _ => movement::toggle_identical(model),
    }
}
