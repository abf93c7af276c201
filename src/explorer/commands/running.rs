//! Commands for running, scoring and cancelling.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{can_repeat, can_run_again, has_failing, has_run, is_running};
use super::{Command, CommandGroup, LISTS, SCREENS};
use crate::explorer::dialogs;
use crate::explorer::running::{start, watch};
use crate::explorer::screens::run;
use crate::explorer::shared::command_names;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::enabled::{can_run, can_score};
use crate::explorer::shared::model::Model;
use crate::explorer::shared::run_target::RunTarget;

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::Run,
    ..super::BASE
};

pub static RUN: Command = Command {
    id: &command_names::RUN,
    help: "run the selected cases, the case under the cursor, or the set",
    hint: Some("run"),
    hint_now: Some(start::run_hint),
    contexts: LISTS,
    enabled: can_run,
    run: |model| start::run_selected(model, RunTarget::Agent),
    ..BASE
};

pub static RUN_WITH: Command = Command {
    id: &CommandName {
        name: "run with",
        default_keys: &["O"],
    },
    help: "run with another agent, judge or criteria, more metrics or repeats, or a filter",
    hint: Some("run options"),
    contexts: LISTS,
    enabled: can_run,
    run: dialogs::run_options::open,
    ..BASE
};

pub static RERUN_FAILED: Command = Command {
    id: &CommandName {
        name: "rerun failed",
        default_keys: &["R"],
    },
    help: "run the listed cases that did not pass, or all if none was run",
    hint: Some("rerun failed"),
    hint_now: Some(start::rerun_hint),
    contexts: SCREENS,
    enabled: can_run_again,
    run: start::run_again,
    ..BASE
};

pub static RUN_TURN: Command = Command {
    id: &CommandName {
        name: "run turn",
        default_keys: &["z"],
    },
    help: "run this turn alone, after the turns that the case expects before it",
    contexts: &[Context::Case],
    enabled: can_run,
    run: start::run_turn,
    ..BASE
};

pub static SCORE: Command = Command {
    id: &command_names::SCORE,
    help: "score the responses that the file contains, without running an agent",
    hint: Some("score"),
    contexts: LISTS,
    enabled: can_score,
    run: |model| start::run_selected(model, RunTarget::Saved),
    ..BASE
};

pub static CANCEL: Command = Command {
    id: &CommandName {
        name: "cancel",
        default_keys: &["x"],
    },
    help: "cancel the attempt under the cursor, or the one on the screen",
    hint: Some("cancel"),
    contexts: &[Context::Run, Context::Live],
    enabled: is_running,
    run: run::cancel_one,
    ..BASE
};

pub static PAUSE: Command = Command {
    id: &CommandName {
        name: "pause",
        default_keys: &["p"],
    },
    help: "start no new attempt; again to continue",
    hint: Some("pause/continue"),
    contexts: &[Context::Run],
    enabled: is_running,
    run: run::pause,
    ..BASE
};

pub static CANCEL_ALL: Command = Command {
    id: &command_names::CANCEL_ALL,
    help: "finish the attempts in flight and stop; again to stop now",
    hint: Some("cancel all"),
    contexts: SCREENS,
    enabled: is_running,
    run: run::cancel_all,
    ..BASE
};

pub static RESUME: Command = Command {
    id: &CommandName {
        name: "resume",
        default_keys: &["Z"],
    },
    help: "continue the unfinished run: what has no result is run, with the same options",
    hint: Some("resume"),
    contexts: &[Context::Browse, Context::Run, Context::Runs],
    enabled: start::can_resume,
    run: start::resume,
    ..BASE
};

pub static WATCH: Command = Command {
    id: &CommandName {
        name: "show run",
        default_keys: &["L"],
    },
    help: "show the current run, or the last one",
    hint: Some("show run"),
    contexts: LISTS,
    enabled: has_run,
    run: run::watch,
    ..BASE
};

pub static WATCH_FILES: Command = Command {
    id: &command_names::WATCH_FILES,
    help: "run cases again when they, the criteria or the agent's files change; again to stop",
    hint: Some("watch"),
    contexts: SCREENS,
    enabled: watch::can_watch,
    run: watch::toggle,
    ..BASE
};

pub static RUN_CHANGED: Command = Command {
    id: &command_names::RUN_CHANGED,
    help: "run the cases without a result, and those that changed since: the case, the criteria or the agent's files",
    contexts: SCREENS,
    enabled: watch::can_run_changed,
    run: watch::run_changed,
    ..BASE
};

pub static REPEAT: Command = Command {
    id: &CommandName {
        name: "repeat",
        default_keys: &["K"],
    },
    help: "run the case on the screen, the selected cases, or those that did not pass 5 times, to tell flaky cases from broken ones; asks first",
    hint: Some("repeat"),
    hint_now: Some(repeat_hint),
    contexts: SCREENS,
    enabled: can_repeat,
    run: start::repeat,
    ..BASE
};

/// What the key repeats.
fn repeat_hint(model: &Model) -> String {
    let is_chosen = model.open_case().is_some() || !model.view.browse.selected.is_empty();
    let takes_failing = model.is_on(Context::Run) || !is_chosen && has_failing(model).is_ok();
    match takes_failing {
        true => "repeat failing".to_string(),
        false => "repeat".to_string(),
    }
}
