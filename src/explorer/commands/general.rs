//! Commands for help, themes, the clipboard, quitting, and answers to questions.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{can_suspend, has_case, has_no_sets};
use super::{ANY_SCREEN, Access, Command, EVERYWHERE, Group, LIST_OR_CASE};
use crate::explorer::context::Context;
use crate::explorer::effect::Effect;
use crate::explorer::effect::TerminalEffect;
use crate::explorer::{dialogs, global, opened_run};

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::General, ..super::BASE };

pub static PALETTE: Command = Command {
    name: "commands",
    help: "find a command by its name or description",
    hint: Some("commands"),
    access: Access::Reads,
    contexts: ANY_SCREEN,
    default_keys: &[":", "ctrl-k"],
    run: dialogs::palette::open,
    ..BASE
};

pub static HELP: Command = Command {
    name: "help",
    help: "the keys of this screen, and why some are disabled",
    hint: Some("help"),
    access: Access::Reads,
    contexts: &[
        Context::Browse,
        Context::Case,
        Context::Run,
        Context::Live,
        Context::Runs,
        Context::Trends,
        Context::Comparison,
        Context::ComparedCase,
        Context::Queue,
        Context::Edit,
        Context::Reading,
    ],
    default_keys: &["?"],
    run: dialogs::help::toggle,
    ..BASE
};

pub static MESSAGES: Command = Command {
    name: "messages",
    help: "the message log: every notice so far",
    access: Access::Reads,
    contexts: ANY_SCREEN,
    default_keys: &["!"],
    run: dialogs::messages::open,
    ..BASE
};

pub static COPY: Command = Command {
    name: "copy to clipboard",
    help: "copy the case as JSON: what failed, expected and actual",
    access: Access::Reads,
    contexts: LIST_OR_CASE,
    default_keys: &["y"],
    enabled: has_case,
    run: global::copy,
    ..BASE
};

pub static THEME: Command = Command {
    name: "theme",
    help: "choose a colour theme; the screen shows the one under the cursor",
    access: Access::Reads,
    contexts: ANY_SCREEN,
    default_keys: &["t"],
    run: dialogs::themes::open,
    ..BASE
};

pub static TOGGLE_MOUSE: Command = Command {
    name: "mouse",
    help: "use the mouse here, or leave it to the terminal",
    access: Access::Reads,
    contexts: ANY_SCREEN,
    default_keys: &["M"],
    run: global::toggle_mouse,
    ..BASE
};

pub static SAMPLE: Command = Command {
    name: "sample workspace",
    help: "open the sample workspace: agents and eval sets to try evaltrail with",
    access: Access::Reads,
    contexts: &[Context::Browse],
    default_keys: &["S"],
    enabled: has_no_sets,
    run: |_| vec![Effect::Terminal(TerminalEffect::OpenSample)],
    ..BASE
};

pub static SUSPEND: Command = Command {
    name: "suspend",
    help: "back to the shell; fg returns here",
    access: Access::Reads,
    contexts: ANY_SCREEN,
    default_keys: &["ctrl-z"],
    enabled: can_suspend,
    run: |_| vec![Effect::Terminal(TerminalEffect::Suspend)],
    ..BASE
};

pub static LEAVE: Command = Command {
    name: "quit",
    help: "quit evaltrail; in a past run, go back to the runs",
    access: Access::Reads,
    contexts: &[Context::Browse],
    default_keys: &["q"],
    run: opened_run::leave,
    ..BASE
};

pub static QUIT: Command = Command {
    name: "quit from anywhere",
    help: "quit evaltrail from any screen",
    access: Access::Reads,
    contexts: EVERYWHERE,
    default_keys: &["ctrl-c"],
    run: global::quit,
    ..BASE
};

pub static CONFIRM: Command = Command {
    name: "yes",
    help: "do what the question asks",
    hint: Some("yes"),
    access: Access::Reads,
    contexts: &[Context::Confirm],
    default_keys: &["enter", "y"],
    run: |model| dialogs::confirm::answer(model, true),
    ..BASE
};

pub static REFUSE: Command = Command {
    name: "no",
    help: "do nothing",
    hint: Some("no"),
    access: Access::Reads,
    contexts: &[Context::Confirm],
    default_keys: &["esc", "n", "q"],
    run: |model| dialogs::confirm::answer(model, false),
    ..BASE
};

pub static ALLOW: Command = Command {
    name: "allow",
    help: "allow what the question names, when all of it has been shown",
    hint: Some("allow"),
    access: Access::Reads,
    contexts: &[Context::Trust],
    default_keys: &["y"],
    run: |model| dialogs::trust::answer(model, true),
    ..BASE
};

pub static DENY: Command = Command {
    name: "do not allow",
    help: "allow nothing",
    hint: Some("do not allow"),
    access: Access::Reads,
    contexts: &[Context::Trust],
    default_keys: &["esc", "n", "q", "enter"],
    run: |model| dialogs::trust::answer(model, false),
    ..BASE
};
