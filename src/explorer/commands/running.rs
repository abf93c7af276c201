//! Commands for running, scoring and cancelling.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{can_rerun, can_run, can_score, has_run, is_running};
use super::{Command, Group, LISTS, SCREENS};
use crate::explorer::context::Context;
use crate::explorer::dialogs;
use crate::explorer::effect::Against;
use crate::explorer::screens::run;
use crate::explorer::watching;

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::Run, ..super::BASE };

pub static RUN: Command = Command {
    name: "run",
    help: "run the selected cases, the case under the cursor, or the set",
    hint: Some("run"),
    scope: Some(run::scope),
    contexts: LISTS,
    default_keys: &["r"],
    enabled: can_run,
    run: |model| run::run_selected(model, Against::Agent),
    ..BASE
};

pub static RUN_WITH: Command = Command {
    name: "run with",
    help: "run with another agent, judge or criteria, more repeats, or a filter",
    scope: Some(run::scope),
    contexts: LISTS,
    default_keys: &["O"],
    enabled: can_run,
    run: dialogs::run_options::open,
    ..BASE
};

pub static RERUN_FAILED: Command = Command {
    name: "rerun failed",
    help: "run every listed case that did not pass again",
    hint: Some("rerun failed"),
    contexts: SCREENS,
    default_keys: &["R"],
    enabled: can_rerun,
    run: run::rerun_failed,
    ..BASE
};

pub static RUN_TURN: Command = Command {
    name: "run turn",
    help: "run this turn alone, after the turns that the case expects before it",
    contexts: &[Context::Case],
    default_keys: &["z"],
    enabled: can_run,
    run: run::run_turn,
    ..BASE
};

pub static SCORE: Command = Command {
    name: "score",
    help: "score the responses that the file contains, without running an agent",
    hint: Some("score"),
    contexts: LISTS,
    default_keys: &["s"],
    enabled: can_score,
    run: |model| run::run_selected(model, Against::Saved),
    ..BASE
};

pub static CANCEL: Command = Command {
    name: "cancel",
    help: "cancel the attempt under the cursor, or the one on the screen",
    hint: Some("cancel"),
    contexts: &[Context::Run, Context::Live],
    default_keys: &["x"],
    enabled: is_running,
    run: run::cancel_one,
    ..BASE
};

pub static PAUSE: Command = Command {
    name: "pause",
    help: "start no new attempt; again to continue",
    hint: Some("pause/continue"),
    contexts: &[Context::Run],
    default_keys: &["p"],
    enabled: is_running,
    run: run::pause,
    ..BASE
};

pub static CANCEL_ALL: Command = Command {
    name: "cancel all",
    help: "finish the attempts in flight and stop; again to stop now",
    hint: Some("cancel all"),
    contexts: SCREENS,
    default_keys: &["X"],
    enabled: is_running,
    run: run::cancel_all,
    ..BASE
};

pub static WATCH: Command = Command {
    name: "show run",
    help: "show the current run, or the last one",
    hint: Some("show run"),
    contexts: LISTS,
    default_keys: &["L"],
    enabled: has_run,
    run: run::watch,
    ..BASE
};

pub static WATCH_FILES: Command = Command {
    name: "watch",
    help: "run cases again when they, the criteria or the agent's files change; again to stop",
    hint: Some("watch"),
    contexts: SCREENS,
    default_keys: &["W"],
    enabled: watching::can_watch,
    run: watching::toggle,
    ..BASE
};

pub static RUN_CHANGED: Command = Command {
    name: "run changed",
    help: "run the cases without a result, and those that changed since: the case, the criteria or the agent's files",
    contexts: SCREENS,
    default_keys: &["B"],
    enabled: watching::can_run_changed,
    run: watching::run_changed,
    ..BASE
};

pub static CONFIRM_FAILURES: Command = Command {
    name: "confirm failures",
    help: "run every listed case that did not pass 5 times, to tell flaky cases from broken ones",
    contexts: SCREENS,
    default_keys: &["K"],
    enabled: can_rerun,
    run: run::confirm_failures,
    ..BASE
};
