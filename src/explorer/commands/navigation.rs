//! Commands for moving and opening.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{can_open_here, has_attempt, has_differences, has_failing, has_pane_beside, has_rows};
use super::{ANY_SCREEN, Access, Command, Group, LIST_OR_CASE, ONE_CASE, SCREENS, SCROLLED};
use crate::explorer::context::Context;
use crate::explorer::dialogs;
use crate::explorer::effect::Effect;
use crate::explorer::model::{Model, Screen};
use crate::explorer::motion::Motion;
use crate::explorer::screens::{self, browse, case, comparison, run};

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::Move, ..super::BASE };

pub static OPEN: Command = Command {
    name: "open",
    help: "open the case or run under the cursor, or watch the attempt in flight",
    hint: Some("open"),
    access: Access::Reads,
    contexts: &[Context::Browse, Context::Run, Context::Runs, Context::Trends, Context::Comparison],
    default_keys: &["enter"],
    enabled: can_open_here,
    run: screens::open,
    ..BASE
};

pub static BACK: Command = Command {
    name: "back",
    help: "go back",
    hint: Some("back"),
    access: Access::Reads,
    contexts: &[
        Context::Case,
        Context::Run,
        Context::Live,
        Context::Runs,
        Context::Trends,
        Context::Comparison,
        Context::ComparedCase,
        Context::Queue,
        Context::Reading,
        Context::Edit,
    ],
    default_keys: &["esc", "q"],
    run: screens::back,
    ..BASE
};

pub static UP: Command = Command {
    name: "up",
    help: "up one line",
    access: Access::Reads,
    contexts: SCROLLED,
    default_keys: &["up", "k"],
    run: |model| screens::scroll(model, Motion::Up),
    ..BASE
};

pub static DOWN: Command = Command {
    name: "down",
    help: "down one line",
    access: Access::Reads,
    contexts: SCROLLED,
    default_keys: &["down", "j"],
    run: |model| screens::scroll(model, Motion::Down),
    ..BASE
};

pub static PAGE_UP: Command = Command {
    name: "page up",
    help: "up one page",
    access: Access::Reads,
    contexts: SCROLLED,
    default_keys: &["pgup", "ctrl-b"],
    run: |model| screens::scroll(model, Motion::PageUp),
    ..BASE
};

pub static PAGE_DOWN: Command = Command {
    name: "page down",
    help: "down one page",
    access: Access::Reads,
    contexts: SCROLLED,
    default_keys: &["pgdn", "ctrl-f"],
    run: |model| screens::scroll(model, Motion::PageDown),
    ..BASE
};

pub static BESIDE_UP: Command = Command {
    name: "side pane up",
    help: "the pane beside the comparison: up one page",
    access: Access::Reads,
    contexts: ONE_CASE,
    default_keys: &["ctrl-u"],
    enabled: has_pane_beside,
    run: |model| beside(model, Motion::PageUp),
    ..BASE
};

pub static BESIDE_DOWN: Command = Command {
    name: "side pane down",
    help: "the pane beside the comparison: down one page",
    access: Access::Reads,
    contexts: ONE_CASE,
    default_keys: &["ctrl-d"],
    enabled: has_pane_beside,
    run: |model| beside(model, Motion::PageDown),
    ..BASE
};

pub static TOP: Command = Command {
    name: "top",
    help: "to the first line",
    access: Access::Reads,
    contexts: SCROLLED,
    default_keys: &["home", "g"],
    run: |model| screens::scroll(model, Motion::Top),
    ..BASE
};

pub static BOTTOM: Command = Command {
    name: "bottom",
    help: "to the last line",
    access: Access::Reads,
    contexts: SCROLLED,
    default_keys: &["end", "G"],
    run: |model| screens::scroll(model, Motion::Bottom),
    ..BASE
};

pub static LEFT: Command = Command {
    name: "left",
    help: "to the sets; in a case, to the previous turn",
    access: Access::Reads,
    contexts: LIST_OR_CASE,
    default_keys: &["left", "h"],
    run: |model| sideways(model, false),
    ..BASE
};

pub static RIGHT: Command = Command {
    name: "right",
    help: "to the cases; in a case, to the next turn",
    access: Access::Reads,
    contexts: LIST_OR_CASE,
    default_keys: &["right", "l"],
    run: |model| sideways(model, true),
    ..BASE
};

pub static SWITCH_PANE: Command = Command {
    name: "switch pane",
    help: "to the other pane; in a case, to the next tab",
    hint: Some("other pane"),
    access: Access::Reads,
    contexts: &[Context::Browse, Context::Case, Context::Queue, Context::Run, Context::Comparison],
    default_keys: &["tab"],
    enabled: has_rows,
    run: switch_pane,
    ..BASE
};

pub static NEXT_FAILING: Command = Command {
    name: "next failing",
    help: "go to the next case that did not pass",
    hint: Some("next failing"),
    access: Access::Reads,
    contexts: SCREENS,
    default_keys: &["n"],
    enabled: has_failing,
    run: |model| failing(model, true),
    ..BASE
};

pub static PREVIOUS_FAILING: Command = Command {
    name: "previous failing",
    help: "go to the previous case that did not pass",
    access: Access::Reads,
    contexts: SCREENS,
    default_keys: &["N"],
    enabled: has_failing,
    run: |model| failing(model, false),
    ..BASE
};

pub static NEXT_DIFFERENCE: Command = Command {
    name: "next difference",
    help: "go to the next difference",
    access: Access::Reads,
    contexts: ONE_CASE,
    default_keys: &["]"],
    enabled: has_differences,
    run: |model| case::difference(model, 1),
    ..BASE
};

pub static PREVIOUS_DIFFERENCE: Command = Command {
    name: "previous difference",
    help: "go to the previous difference",
    access: Access::Reads,
    contexts: ONE_CASE,
    default_keys: &["["],
    enabled: has_differences,
    run: |model| case::difference(model, -1),
    ..BASE
};

pub static NEXT_ATTEMPT: Command = Command {
    name: "next attempt",
    help: "show the next repetition of the case",
    access: Access::Reads,
    contexts: ONE_CASE,
    default_keys: &["."],
    enabled: has_attempt,
    run: |model| case::attempt(model, 1),
    ..BASE
};

pub static PREVIOUS_ATTEMPT: Command = Command {
    name: "previous attempt",
    help: "show the previous repetition of the case",
    access: Access::Reads,
    contexts: ONE_CASE,
    default_keys: &[","],
    enabled: has_attempt,
    run: |model| case::attempt(model, -1),
    ..BASE
};

pub static JUMP: Command = Command {
    name: "find case",
    help: "find any case by some letters of its name",
    access: Access::Reads,
    contexts: ANY_SCREEN,
    default_keys: &["f", "ctrl-p"],
    run: dialogs::jump::open,
    ..BASE
};

fn sideways(model: &mut Model, right: bool) -> Vec<Effect> {
    match model.view.screen {
        Screen::Case(_) => case::turn(model, if right { 1 } else { -1 }),
        _ => browse::focus(model, right),
    }
}

fn beside(model: &mut Model, motion: Motion) -> Vec<Effect> {
    case::scroll_beside(model, motion);
    Vec::new()
}

fn switch_pane(model: &mut Model) -> Vec<Effect> {
    match model.view.screen {
        Screen::Run => run::switch_pane(model),
        Screen::Case(_) => case::next_tab(model),
        Screen::Comparison(_) => comparison::switch_pane(model),
        _ => browse::switch_pane(model),
    }
}

fn failing(model: &mut Model, forward: bool) -> Vec<Effect> {
    match model.view.screen {
        Screen::Case(_) => case::next_failing(model, forward),
        Screen::Run => run::next_failing(model, forward),
        _ => browse::next_failing(model, forward),
    }
}

pub static NEXT_TRAJECTORY: Command = Command {
    name: "next trajectory",
    help: "show the next repetition in which the agent did something else; repetitions with the same letter did the same",
    access: Access::Reads,
    contexts: ONE_CASE,
    default_keys: &[">"],
    enabled: has_attempt,
    run: case::next_trajectory,
    ..BASE
};
