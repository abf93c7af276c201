//! Commands for help, themes, the clipboard, quitting, and answers to questions.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::{always, can_suspend, has_case, has_no_sets};
use super::{ANY_SCREEN, Command, Context, EVERYWHERE, Group, LIST_OR_CASE};
use crate::explorer::effect::Effect;
use crate::explorer::effect::TerminalEffect;
use crate::explorer::{global, opened_run, overlays};

pub static PALETTE: Command = Command {
    name: "commands",
    help: "find a command by its name or description",
    hint: Some("commands"),
    scope: None,
    group: Group::General,
    contexts: ANY_SCREEN,
    default_keys: &[":", "ctrl-k"],
    enabled: always,
    run: overlays::palette::open,
};

pub static HELP: Command = Command {
    name: "help",
    help: "the keys of this screen, and why some are disabled",
    hint: Some("help"),
    scope: None,
    group: Group::General,
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
    enabled: always,
    run: overlays::help::toggle,
};

pub static MESSAGES: Command = Command {
    name: "messages",
    help: "the message log: every notice so far",
    hint: None,
    scope: None,
    group: Group::General,
    contexts: ANY_SCREEN,
    default_keys: &["!"],
    enabled: always,
    run: overlays::messages::open,
};

pub static COPY: Command = Command {
    name: "copy to clipboard",
    help: "copy the case as JSON: what failed, expected and actual",
    hint: None,
    scope: None,
    group: Group::General,
    contexts: LIST_OR_CASE,
    default_keys: &["y"],
    enabled: has_case,
    run: global::copy,
};

pub static THEME: Command = Command {
    name: "theme",
    help: "choose a colour theme; the screen shows the one under the cursor",
    hint: None,
    scope: None,
    group: Group::General,
    contexts: ANY_SCREEN,
    default_keys: &["t"],
    enabled: always,
    run: overlays::themes::open,
};

pub static TOGGLE_MOUSE: Command = Command {
    name: "mouse",
    help: "use the mouse here, or leave it to the terminal",
    hint: None,
    scope: None,
    group: Group::General,
    contexts: ANY_SCREEN,
    default_keys: &["M"],
    enabled: always,
    run: global::toggle_mouse,
};

pub static SAMPLE: Command = Command {
    name: "sample workspace",
    help: "open the sample workspace: agents and eval sets to try evaltrail with",
    hint: None,
    scope: None,
    group: Group::General,
    contexts: &[Context::Browse],
    default_keys: &["S"],
    enabled: has_no_sets,
    run: |_| vec![Effect::Terminal(TerminalEffect::OpenSample)],
};

pub static SUSPEND: Command = Command {
    name: "suspend",
    help: "back to the shell; fg returns here",
    hint: None,
    scope: None,
    group: Group::General,
    contexts: ANY_SCREEN,
    default_keys: &["ctrl-z"],
    enabled: can_suspend,
    run: |_| vec![Effect::Terminal(TerminalEffect::Suspend)],
};

pub static LEAVE: Command = Command {
    name: "quit",
    help: "quit evaltrail; in a past run, go back to the runs",
    hint: None,
    scope: None,
    group: Group::General,
    contexts: &[Context::Browse],
    default_keys: &["q"],
    enabled: always,
    run: opened_run::leave,
};

pub static QUIT: Command = Command {
    name: "quit from anywhere",
    help: "quit evaltrail from any screen",
    hint: None,
    scope: None,
    group: Group::General,
    contexts: EVERYWHERE,
    default_keys: &["ctrl-c"],
    enabled: always,
    run: global::quit,
};

pub static CONFIRM: Command = Command {
    name: "yes",
    help: "do what the question asks",
    hint: Some("yes"),
    scope: None,
    group: Group::General,
    contexts: &[Context::Confirm],
    default_keys: &["enter", "y"],
    enabled: always,
    run: |model| overlays::confirm::answer(model, true),
};

pub static REFUSE: Command = Command {
    name: "no",
    help: "do nothing",
    hint: Some("no"),
    scope: None,
    group: Group::General,
    contexts: &[Context::Confirm],
    default_keys: &["esc", "n", "q"],
    enabled: always,
    run: |model| overlays::confirm::answer(model, false),
};

pub static ALLOW: Command = Command {
    name: "allow",
    help: "allow what the question names, when all of it has been shown",
    hint: Some("allow"),
    scope: None,
    group: Group::General,
    contexts: &[Context::Trust],
    default_keys: &["y"],
    enabled: always,
    run: |model| overlays::trust::answer(model, true),
};

pub static DENY: Command = Command {
    name: "do not allow",
    help: "allow nothing",
    hint: Some("do not allow"),
    scope: None,
    group: Group::General,
    contexts: &[Context::Trust],
    default_keys: &["esc", "n", "q", "enter"],
    enabled: always,
    run: |model| overlays::trust::answer(model, false),
};
