//! Commands for past runs.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::{Access, Command, CommandGroup, OF_TWO_RUNS, SCREENS};
use crate::explorer::screens::{comparison, runs, trends};
use crate::explorer::shared::command_names;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::Runs,
    ..super::BASE
};

pub static RUNS: Command = Command {
    id: &command_names::RUNS,
    help: "every run of the folder: open one as it was, compare two, name, pin or delete them",
    hint: Some("runs"),
    access: Access::Reads,
    contexts: SCREENS,
    enabled: runs::has_folder,
    run: runs::show_newest,
    ..BASE
};

pub static TRENDS: Command = Command {
    id: &CommandName {
        name: "trends",
        default_keys: &["V"],
    },
    help: "the pass rate and the metrics of each set over the runs of the folder",
    hint: Some("trends"),
    access: Access::Reads,
    contexts: &[Context::Browse, Context::Case, Context::Run, Context::Runs],
    enabled: runs::has_folder,
    run: trends::show,
    ..BASE
};

pub static PREVIOUS_RUN: Command = Command {
    id: &CommandName {
        name: "previous run",
        default_keys: &["left", "h"],
    },
    help: "choose the run before",
    hint: Some("run before"),
    access: Access::Reads,
    contexts: &[Context::Trends],
    enabled: trends::has_points,
    run: trends::previous_run,
    ..BASE
};

pub static NEXT_RUN: Command = Command {
    id: &CommandName {
        name: "next run",
        default_keys: &["right", "l"],
    },
    help: "choose the run after",
    hint: Some("run after"),
    access: Access::Reads,
    contexts: &[Context::Trends],
    enabled: trends::has_points,
    run: trends::next_run,
    ..BASE
};

pub static COMPARE_RUNS: Command = Command {
    id: &CommandName {
        name: "compare",
        default_keys: &["c"],
    },
    help: "compare the marked run, or the one before, with the run under the cursor; the older one comes first",
    hint: Some("compare"),
    access: Access::Reads,
    contexts: &[Context::Runs],
    enabled: runs::can_compare,
    run: runs::compare,
    ..BASE
};

pub static COMPARE_BASELINE: Command = Command {
    id: &CommandName {
        name: "compare with baseline",
        default_keys: &["b"],
    },
    help: "compare the baseline with the run under the cursor",
    hint: Some("vs baseline"),
    access: Access::Reads,
    contexts: &[Context::Runs],
    enabled: runs::can_compare_with_baseline,
    run: runs::compare_with_baseline,
    ..BASE
};

pub static MARK_RUN: Command = Command {
    id: &CommandName {
        name: "mark",
        default_keys: &["space"],
    },
    help: "mark the run as the first of a comparison, or remove the mark",
    hint: Some("mark"),
    access: Access::Reads,
    contexts: &[Context::Runs],
    enabled: runs::has_run_here,
    run: runs::mark,
    ..BASE
};

pub static NAME_RUN: Command = Command {
    id: &CommandName {
        name: "name",
        default_keys: &["e"],
    },
    help: "give the run a name",
    hint: Some("name"),
    access: Access::Reads,
    contexts: &[Context::Runs],
    enabled: runs::can_name,
    run: runs::rename,
    ..BASE
};

pub static PIN_RUN: Command = Command {
    id: &CommandName {
        name: "pin",
        default_keys: &["P"],
    },
    help: "keep the run and make it the baseline, in a file that can be committed; again to keep it no longer",
    hint: Some("pin"),
    access: Access::Reads,
    contexts: &[Context::Runs],
    enabled: runs::can_pin,
    run: runs::pin,
    ..BASE
};

pub static DELETE_RUN: Command = Command {
    id: &CommandName {
        name: "delete",
        default_keys: &["delete", "d"],
    },
    help: "delete the run",
    access: Access::Reads,
    contexts: &[Context::Runs],
    enabled: runs::can_change,
    run: runs::remove,
    ..BASE
};

pub static NEXT_COMPARED: Command = Command {
    id: &command_names::NEXT_COMPARED,
    help: "go to the next case of the comparison",
    hint: Some("next case"),
    access: Access::Reads,
    contexts: OF_TWO_RUNS,
    enabled: comparison::has_case_to_step_to,
    run: comparison::next_case,
    ..BASE
};

pub static PREVIOUS_COMPARED: Command = Command {
    id: &command_names::PREVIOUS_COMPARED,
    help: "go to the previous case of the comparison",
    access: Access::Reads,
    contexts: OF_TWO_RUNS,
    enabled: comparison::has_case_to_step_to,
    run: comparison::previous_case,
    ..BASE
};

pub static WITHOUT_EXPECTED: Command = Command {
    id: &CommandName {
        name: "only the runs",
        default_keys: &["b"],
    },
    help: "compare the two runs with each other, without what is expected; again for all three",
    hint: Some("only the runs"),
    access: Access::Reads,
    contexts: &[Context::ComparedCase],
    run: comparison::without_expected,
    ..BASE
};

pub static EXPORT_RUN: Command = Command {
    id: &CommandName {
        name: "export",
        default_keys: &["ctrl-s"],
    },
    help: "write the run, without known secrets, to one file for `evaltrail open`, or to a report: .html, .md, .xml, .json, .csv",
    hint: Some("export"),
    access: Access::Reads,
    contexts: &[Context::Runs],
    enabled: runs::can_export,
    run: runs::export,
    ..BASE
};
