//! Commands for past runs.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::{Access, Command, Group, OF_TWO_RUNS, SCREENS};
use crate::explorer::context::Context;
use crate::explorer::screens::{comparison, runs, trends};

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::Runs, ..super::BASE };

pub static RUNS: Command = Command {
    name: "runs",
    help: "every run of the folder: open one as it was, compare two, name, pin or delete them",
    hint: Some("runs"),
    access: Access::Reads,
    contexts: SCREENS,
    default_keys: &["H"],
    enabled: runs::has_folder,
    run: runs::show,
    ..BASE
};

pub static TRENDS: Command = Command {
    name: "trends",
    help: "the pass rate and the metrics of each set over the runs of the folder",
    hint: Some("trends"),
    access: Access::Reads,
    contexts: &[Context::Browse, Context::Case, Context::Run, Context::Runs],
    default_keys: &["V"],
    enabled: runs::has_folder,
    run: trends::show,
    ..BASE
};

pub static PREVIOUS_RUN: Command = Command {
    name: "previous run",
    help: "choose the run before",
    hint: Some("run before"),
    access: Access::Reads,
    contexts: &[Context::Trends],
    default_keys: &["left", "h"],
    enabled: trends::has_points,
    run: trends::previous_run,
    ..BASE
};

pub static NEXT_RUN: Command = Command {
    name: "next run",
    help: "choose the run after",
    hint: Some("run after"),
    access: Access::Reads,
    contexts: &[Context::Trends],
    default_keys: &["right", "l"],
    enabled: trends::has_points,
    run: trends::next_run,
    ..BASE
};

pub static COMPARE_RUNS: Command = Command {
    name: "compare",
    help: "compare the marked run, or the one before, with the run under the cursor",
    hint: Some("compare"),
    access: Access::Reads,
    contexts: &[Context::Runs],
    default_keys: &["c"],
    enabled: runs::can_compare,
    run: runs::compare,
    ..BASE
};

pub static MARK_RUN: Command = Command {
    name: "mark",
    help: "mark the run as the first of a comparison, or remove the mark",
    hint: Some("mark"),
    access: Access::Reads,
    contexts: &[Context::Runs],
    default_keys: &["space"],
    enabled: runs::has_run_here,
    run: runs::mark,
    ..BASE
};

pub static NAME_RUN: Command = Command {
    name: "name",
    help: "give the run a name",
    hint: Some("name"),
    access: Access::Reads,
    contexts: &[Context::Runs],
    default_keys: &["e"],
    enabled: runs::can_name,
    run: runs::rename,
    ..BASE
};

pub static PIN_RUN: Command = Command {
    name: "pin",
    help: "keep the run and make it the baseline, in a file that can be committed; again to keep it no longer",
    hint: Some("pin"),
    access: Access::Reads,
    contexts: &[Context::Runs],
    default_keys: &["P"],
    enabled: runs::can_pin,
    run: runs::pin,
    ..BASE
};

pub static DELETE_RUN: Command = Command {
    name: "delete",
    help: "delete the run",
    access: Access::Reads,
    contexts: &[Context::Runs],
    default_keys: &["delete", "d"],
    enabled: runs::can_change,
    run: runs::remove,
    ..BASE
};

pub static NEXT_COMPARED: Command = Command {
    name: "next case",
    help: "go to the next case of the comparison",
    hint: Some("next case"),
    access: Access::Reads,
    contexts: OF_TWO_RUNS,
    default_keys: &["n"],
    enabled: comparison::has_case_to_step_to,
    run: comparison::next_case,
    ..BASE
};

pub static PREVIOUS_COMPARED: Command = Command {
    name: "previous case",
    help: "go to the previous case of the comparison",
    access: Access::Reads,
    contexts: OF_TWO_RUNS,
    default_keys: &["N"],
    enabled: comparison::has_case_to_step_to,
    run: comparison::previous_case,
    ..BASE
};

pub static WITHOUT_EXPECTED: Command = Command {
    name: "only the runs",
    help: "compare the two runs with each other, without what is expected; again for all three",
    hint: Some("only the runs"),
    access: Access::Reads,
    contexts: &[Context::ComparedCase],
    default_keys: &["b"],
    run: comparison::without_expected,
    ..BASE
};

pub static EXPORT_RUN: Command = Command {
    name: "export",
    help: "write the run, without known secrets, to one file, which `evaltrail open` opens on any machine",
    access: Access::Reads,
    contexts: &[Context::Runs],
    default_keys: &["ctrl-s"],
    enabled: runs::can_export,
    run: runs::export,
    ..BASE
};
