//! Commands for moving and opening.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::Enabled;
use super::enabled::{can_open_here, has_attempt, has_failing, has_rows, has_side_pane};
use super::{ANY_SCREEN, Access, Command, CommandGroup, LIST_OR_CASE, ONE_CASE, SCREENS, SCROLLED};
use crate::explorer::authoring::conditions::has_differences;
use crate::explorer::case_list::listing;
use crate::explorer::dialogs;
use crate::explorer::screens::{browse, comparison, run};
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::effect::Effect;
use crate::explorer::shared::model::Model;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::{command_names, screen};
use crate::explorer::shown_case::movement;

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::Move,
    ..super::BASE
};

pub static OPEN: Command = Command {
    id: &CommandName {
        name: "open",
        default_keys: &["enter"],
    },
    help: "open the case or run under the cursor, or watch the attempt in flight",
    hint: Some("open"),
    access: Access::Reads,
    contexts: &[
        Context::Browse,
        Context::Run,
        Context::Runs,
        Context::Trends,
        Context::Comparison,
    ],
    enabled: can_open_here,
    run: screen::open,
    ..BASE
};

pub static BACK: Command = Command {
    id: &command_names::BACK,
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
    run: screen::back,
    ..BASE
};

pub static UP: Command = Command {
    id: &CommandName {
        name: "up",
        default_keys: &["up", "k"],
    },
    help: "up one line",
    access: Access::Reads,
    contexts: SCROLLED,
    run: |model| screen::scroll(model, Motion::Up),
    ..BASE
};

pub static DOWN: Command = Command {
    id: &command_names::DOWN,
    help: "down one line",
    access: Access::Reads,
    contexts: SCROLLED,
    run: |model| screen::scroll(model, Motion::Down),
    ..BASE
};

pub static PAGE_UP: Command = Command {
    id: &CommandName {
        name: "page up",
        default_keys: &["pgup", "ctrl-b"],
    },
    help: "up one page",
    access: Access::Reads,
    contexts: SCROLLED,
    run: |model| screen::scroll(model, Motion::PageUp),
    ..BASE
};

pub static PAGE_DOWN: Command = Command {
    id: &command_names::PAGE_DOWN,
    help: "down one page",
    access: Access::Reads,
    contexts: SCROLLED,
    run: |model| screen::scroll(model, Motion::PageDown),
    ..BASE
};

pub static BESIDE_UP: Command = Command {
    id: &CommandName {
        name: "side pane up",
        default_keys: &["ctrl-u"],
    },
    help: "the pane beside the comparison: up one page",
    access: Access::Reads,
    contexts: ONE_CASE,
    enabled: has_side_pane,
    run: |model| scroll_side_pane(model, Motion::PageUp),
    ..BASE
};

pub static BESIDE_DOWN: Command = Command {
    id: &CommandName {
        name: "side pane down",
        default_keys: &["ctrl-d"],
    },
    help: "the pane beside the comparison: down one page",
    access: Access::Reads,
    contexts: ONE_CASE,
    enabled: has_side_pane,
    run: |model| scroll_side_pane(model, Motion::PageDown),
    ..BASE
};

pub static TOP: Command = Command {
    id: &CommandName {
        name: "top",
        default_keys: &["home", "g"],
    },
    help: "go to the first line",
    access: Access::Reads,
    contexts: SCROLLED,
    run: |model| screen::scroll(model, Motion::Top),
    ..BASE
};

pub static BOTTOM: Command = Command {
    id: &CommandName {
        name: "bottom",
        default_keys: &["end", "G"],
    },
    help: "go to the last line",
    access: Access::Reads,
    contexts: SCROLLED,
    run: |model| screen::scroll(model, Motion::Bottom),
    ..BASE
};

pub static LEFT: Command = Command {
    id: &command_names::LEFT,
    help: "to the sets; in a case, to the previous turn",
    access: Access::Reads,
    contexts: LIST_OR_CASE,
    run: |model| sideways(model, false),
    ..BASE
};

pub static RIGHT: Command = Command {
    id: &command_names::RIGHT,
    help: "to the cases; in a case, to the next turn",
    access: Access::Reads,
    contexts: LIST_OR_CASE,
    run: |model| sideways(model, true),
    ..BASE
};

pub static SWITCH_PANE: Command = Command {
    id: &CommandName {
        name: "switch pane",
        default_keys: &["tab"],
    },
    help: "to the other pane; in a case, to the next tab",
    hint: Some("other pane"),
    access: Access::Reads,
    contexts: &[
        Context::Browse,
        Context::Case,
        Context::Queue,
        Context::Run,
        Context::Comparison,
    ],
    enabled: has_other_pane,
    run: switch_pane,
    ..BASE
};

pub static NEXT_FAILING: Command = Command {
    id: &command_names::NEXT_FAILING,
    help: "go to the next case that did not pass",
    hint: Some("next failing"),
    access: Access::Reads,
    contexts: SCREENS,
    enabled: has_failing,
    run: |model| failing(model, true),
    ..BASE
};

pub static PREVIOUS_FAILING: Command = Command {
    id: &command_names::PREVIOUS_FAILING,
    help: "go to the previous case that did not pass",
    access: Access::Reads,
    contexts: SCREENS,
    enabled: has_failing,
    run: |model| failing(model, false),
    ..BASE
};

pub static NEXT_DIFFERENCE: Command = Command {
    id: &command_names::NEXT_DIFFERENCE,
    help: "go to the next difference",
    access: Access::Reads,
    contexts: ONE_CASE,
    enabled: has_differences,
    run: |model| movement::difference(model, 1),
    ..BASE
};

pub static PREVIOUS_DIFFERENCE: Command = Command {
    id: &command_names::PREVIOUS_DIFFERENCE,
    help: "go to the previous difference",
    access: Access::Reads,
    contexts: ONE_CASE,
    enabled: has_differences,
    run: |model| movement::difference(model, -1),
    ..BASE
};

pub static NEXT_ATTEMPT: Command = Command {
    id: &command_names::NEXT_ATTEMPT,
    help: "show the next attempt of the case",
    access: Access::Reads,
    contexts: ONE_CASE,
    enabled: has_attempt,
    run: |model| movement::attempt(model, 1),
    ..BASE
};

pub static PREVIOUS_ATTEMPT: Command = Command {
    id: &command_names::PREVIOUS_ATTEMPT,
    help: "show the previous attempt of the case",
    access: Access::Reads,
    contexts: ONE_CASE,
    enabled: has_attempt,
    run: |model| movement::attempt(model, -1),
    ..BASE
};

pub static JUMP: Command = Command {
    id: &CommandName {
        name: "find case",
        default_keys: &["f", "ctrl-p"],
    },
    help: "find any case by some letters of its name",
    access: Access::Reads,
    contexts: ANY_SCREEN,
    run: dialogs::jump::open,
    ..BASE
};

fn sideways(model: &mut Model, right: bool) -> Vec<Effect> {
    match model.screen_context() {
        Context::Case | Context::Queue => movement::turn(model, if right { 1 } else { -1 }),
        _ => browse::focus(model, right),
    }
}

fn scroll_side_pane(model: &mut Model, motion: Motion) -> Vec<Effect> {
    movement::scroll_side_pane_by(model, motion);
    Vec::new()
}

/// An ended run has only the finished attempts.
fn has_other_pane(model: &Model) -> Enabled {
    has_rows(model)?;
    let is_ended = model.is_on(Context::Run) && model.live_run().is_none();
    (!is_ended)
        .then_some(())
        .ok_or("the run has ended, and has one pane")
}

fn switch_pane(model: &mut Model) -> Vec<Effect> {
    match model.screen_context() {
        Context::Run => run::switch_pane(model),
        Context::Case | Context::Queue => movement::next_tab(model),
        Context::Comparison | Context::ComparedCase => comparison::switch_pane(model),
        _ => browse::switch_pane(model),
    }
}

fn failing(model: &mut Model, forward: bool) -> Vec<Effect> {
    match model.screen_context() {
        Context::Case | Context::Queue => movement::next_failing(model, forward),
        Context::Run => run::next_failing(model, forward),
        _ => listing::next_failing(model, forward),
    }
}

pub static NEXT_TRAJECTORY: Command = Command {
    id: &CommandName {
        name: "next trajectory",
        default_keys: &[">"],
    },
    help: "show the next attempt in which the agent did something else; attempts with the same letter did the same",
    access: Access::Reads,
    contexts: ONE_CASE,
    enabled: has_attempt,
    run: movement::next_trajectory,
    ..BASE
};
