//! Commands for moving and opening.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{
    always, can_open_here, has_attempt, has_differences, has_failing, has_pane_beside, has_rows,
};
use super::{ANY_SCREEN, Command, Context, Group, LIST_OR_CASE, Motion, ONE_CASE, SCREENS, SCROLLED};
use crate::explorer::effect::Effect;
use crate::explorer::model::{Model, Screen};
use crate::explorer::overlays;
use crate::explorer::screens::{self, browse, case, comparison, run};

pub static OPEN: Command = Command {
    name: "open",
    help: "open the case or run under the cursor, or watch the attempt in flight",
    hint: Some("open"),
    scope: None,
    group: Group::Move,
    contexts: &[Context::Browse, Context::Run, Context::Runs, Context::Trends, Context::Comparison],
    default_keys: &["enter"],
    enabled: can_open_here,
    run: screens::open,
};

pub static BACK: Command = Command {
    name: "back",
    help: "go back",
    hint: Some("back"),
    scope: None,
    group: Group::Move,
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
    enabled: always,
    run: screens::back,
};

pub static UP: Command = Command {
    name: "up",
    help: "up one line",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: SCROLLED,
    default_keys: &["up", "k"],
    enabled: always,
    run: |model| screens::scroll(model, Motion::Up),
};

pub static DOWN: Command = Command {
    name: "down",
    help: "down one line",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: SCROLLED,
    default_keys: &["down", "j"],
    enabled: always,
    run: |model| screens::scroll(model, Motion::Down),
};

pub static PAGE_UP: Command = Command {
    name: "page up",
    help: "up one page",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: SCROLLED,
    default_keys: &["pgup", "ctrl-b"],
    enabled: always,
    run: |model| screens::scroll(model, Motion::PageUp),
};

pub static PAGE_DOWN: Command = Command {
    name: "page down",
    help: "down one page",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: SCROLLED,
    default_keys: &["pgdn", "ctrl-f"],
    enabled: always,
    run: |model| screens::scroll(model, Motion::PageDown),
};

pub static BESIDE_UP: Command = Command {
    name: "side pane up",
    help: "the pane beside the comparison: up one page",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: ONE_CASE,
    default_keys: &["ctrl-u"],
    enabled: has_pane_beside,
    run: |model| beside(model, Motion::PageUp),
};

pub static BESIDE_DOWN: Command = Command {
    name: "side pane down",
    help: "the pane beside the comparison: down one page",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: ONE_CASE,
    default_keys: &["ctrl-d"],
    enabled: has_pane_beside,
    run: |model| beside(model, Motion::PageDown),
};

pub static TOP: Command = Command {
    name: "top",
    help: "to the first line",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: SCROLLED,
    default_keys: &["home", "g"],
    enabled: always,
    run: |model| screens::scroll(model, Motion::Top),
};

pub static BOTTOM: Command = Command {
    name: "bottom",
    help: "to the last line",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: SCROLLED,
    default_keys: &["end", "G"],
    enabled: always,
    run: |model| screens::scroll(model, Motion::Bottom),
};

pub static LEFT: Command = Command {
    name: "left",
    help: "to the sets; in a case, to the previous turn",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: LIST_OR_CASE,
    default_keys: &["left", "h"],
    enabled: always,
    run: |model| sideways(model, false),
};

pub static RIGHT: Command = Command {
    name: "right",
    help: "to the cases; in a case, to the next turn",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: LIST_OR_CASE,
    default_keys: &["right", "l"],
    enabled: always,
    run: |model| sideways(model, true),
};

pub static SWITCH_PANE: Command = Command {
    name: "switch pane",
    help: "to the other pane; in a case, to the next tab",
    hint: Some("other pane"),
    scope: None,
    group: Group::Move,
    contexts: &[Context::Browse, Context::Case, Context::Queue, Context::Run, Context::Comparison],
    default_keys: &["tab"],
    enabled: has_rows,
    run: switch_pane,
};

pub static NEXT_FAILING: Command = Command {
    name: "next failing",
    help: "go to the next case that did not pass",
    hint: Some("next failing"),
    scope: None,
    group: Group::Move,
    contexts: SCREENS,
    default_keys: &["n"],
    enabled: has_failing,
    run: |model| failing(model, true),
};

pub static PREVIOUS_FAILING: Command = Command {
    name: "previous failing",
    help: "go to the previous case that did not pass",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: SCREENS,
    default_keys: &["N"],
    enabled: has_failing,
    run: |model| failing(model, false),
};

pub static NEXT_DIFFERENCE: Command = Command {
    name: "next difference",
    help: "go to the next difference",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: ONE_CASE,
    default_keys: &["]"],
    enabled: has_differences,
    run: |model| case::difference(model, 1),
};

pub static PREVIOUS_DIFFERENCE: Command = Command {
    name: "previous difference",
    help: "go to the previous difference",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: ONE_CASE,
    default_keys: &["["],
    enabled: has_differences,
    run: |model| case::difference(model, -1),
};

pub static NEXT_ATTEMPT: Command = Command {
    name: "next attempt",
    help: "show the next repetition of the case",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: ONE_CASE,
    default_keys: &["."],
    enabled: has_attempt,
    run: |model| case::attempt(model, 1),
};

pub static PREVIOUS_ATTEMPT: Command = Command {
    name: "previous attempt",
    help: "show the previous repetition of the case",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: ONE_CASE,
    default_keys: &[","],
    enabled: has_attempt,
    run: |model| case::attempt(model, -1),
};

pub static JUMP: Command = Command {
    name: "find case",
    help: "find any case by some letters of its name",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: ANY_SCREEN,
    default_keys: &["f", "ctrl-p"],
    enabled: always,
    run: overlays::jump::open,
};

fn sideways(model: &mut Model, right: bool) -> Vec<Effect> {
    match model.screen {
        Screen::Case(_) => case::turn(model, if right { 1 } else { -1 }),
        _ => browse::focus(model, right),
    }
}

fn beside(model: &mut Model, motion: Motion) -> Vec<Effect> {
    case::scroll_beside(model, motion);
    Vec::new()
}

fn switch_pane(model: &mut Model) -> Vec<Effect> {
    match model.screen {
        Screen::Run => run::switch_pane(model),
        Screen::Case(_) => case::next_tab(model),
        Screen::Comparison(_) => comparison::switch_pane(model),
        _ => browse::switch_pane(model),
    }
}

fn failing(model: &mut Model, forward: bool) -> Vec<Effect> {
    match model.screen {
        Screen::Case(_) => case::next_failing(model, forward),
        Screen::Run => run::next_failing(model, forward),
        _ => browse::next_failing(model, forward),
    }
}

pub static NEXT_TRAJECTORY: Command = Command {
    name: "next trajectory",
    help: "show the next repetition in which the agent did something else; repetitions with the same letter did the same",
    hint: None,
    scope: None,
    group: Group::Move,
    contexts: ONE_CASE,
    default_keys: &[">"],
    enabled: has_attempt,
    run: case::next_trajectory,
};
