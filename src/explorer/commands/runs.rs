//! Commands for past runs.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::always;
use super::{Command, Context, Group, OF_TWO_RUNS, SCREENS};
use crate::explorer::screens::{comparison, runs, trends};

pub static RUNS: Command = Command {
    name: "runs",
    help: "every run of the folder: open one as it was, compare two, name, pin or delete them",
    hint: Some("runs"),
    scope: None,
    group: Group::Runs,
    contexts: SCREENS,
    default_keys: &["H"],
    enabled: runs::has_folder,
    run: runs::show,
};

pub static TRENDS: Command = Command {
    name: "trends",
    help: "the pass rate and the metrics of each set over the runs of the folder",
    hint: Some("trends"),
    scope: None,
    group: Group::Runs,
    contexts: &[Context::Browse, Context::Case, Context::Run, Context::Runs],
    default_keys: &["V"],
    enabled: runs::has_folder,
    run: trends::show,
};

pub static PREVIOUS_RUN: Command = Command {
    name: "previous run",
    help: "choose the run before",
    hint: Some("run before"),
    scope: None,
    group: Group::Runs,
    contexts: &[Context::Trends],
    default_keys: &["left", "h"],
    enabled: trends::has_points,
    run: trends::previous_run,
};

pub static NEXT_RUN: Command = Command {
    name: "next run",
    help: "choose the run after",
    hint: Some("run after"),
    scope: None,
    group: Group::Runs,
    contexts: &[Context::Trends],
    default_keys: &["right", "l"],
    enabled: trends::has_points,
    run: trends::next_run,
};

pub static COMPARE_RUNS: Command = Command {
    name: "compare",
    help: "compare the marked run, or the one before, with the run under the cursor",
    hint: Some("compare"),
    scope: None,
    group: Group::Runs,
    contexts: &[Context::Runs],
    default_keys: &["c"],
    enabled: runs::can_compare,
    run: runs::compare,
};

pub static MARK_RUN: Command = Command {
    name: "mark",
    help: "mark the run as the first of a comparison, or remove the mark",
    hint: Some("mark"),
    scope: None,
    group: Group::Runs,
    contexts: &[Context::Runs],
    default_keys: &["space"],
    enabled: runs::has_run_here,
    run: runs::mark,
};

pub static NAME_RUN: Command = Command {
    name: "name",
    help: "give the run a name",
    hint: Some("name"),
    scope: None,
    group: Group::Runs,
    contexts: &[Context::Runs],
    default_keys: &["e"],
    enabled: runs::can_name,
    run: runs::rename,
};

pub static PIN_RUN: Command = Command {
    name: "pin",
    help: "keep the run and make it the baseline, in a file that can be committed; again to keep it no longer",
    hint: Some("pin"),
    scope: None,
    group: Group::Runs,
    contexts: &[Context::Runs],
    default_keys: &["P"],
    enabled: runs::can_pin,
    run: runs::pin,
};

pub static DELETE_RUN: Command = Command {
    name: "delete",
    help: "delete the run",
    hint: None,
    scope: None,
    group: Group::Runs,
    contexts: &[Context::Runs],
    default_keys: &["delete", "d"],
    enabled: runs::can_change,
    run: runs::remove,
};

pub static NEXT_COMPARED: Command = Command {
    name: "next case",
    help: "go to the next case of the comparison",
    hint: Some("next case"),
    scope: None,
    group: Group::Runs,
    contexts: OF_TWO_RUNS,
    default_keys: &["n"],
    enabled: comparison::has_case_to_step_to,
    run: comparison::next_case,
};

pub static PREVIOUS_COMPARED: Command = Command {
    name: "previous case",
    help: "go to the previous case of the comparison",
    hint: None,
    scope: None,
    group: Group::Runs,
    contexts: OF_TWO_RUNS,
    default_keys: &["N"],
    enabled: comparison::has_case_to_step_to,
    run: comparison::previous_case,
};

pub static WITHOUT_EXPECTED: Command = Command {
    name: "only the runs",
    help: "compare the two runs with each other, without what is expected; again for all three",
    hint: Some("only the runs"),
    scope: None,
    group: Group::Runs,
    contexts: &[Context::ComparedCase],
    default_keys: &["b"],
    enabled: always,
    run: comparison::without_expected,
};

pub static EXPORT_RUN: Command = Command {
    name: "export",
    help: "write the run, without known secrets, to one file, which `evaltrail open` opens on any machine",
    hint: None,
    scope: None,
    group: Group::Runs,
    contexts: &[Context::Runs],
    default_keys: &["ctrl-s"],
    enabled: runs::can_export,
    run: runs::export,
};
