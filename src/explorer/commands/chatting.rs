//! Commands for a chat with an agent.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::{Command, CommandGroup};
use crate::explorer::screens::chat;
use crate::explorer::shared::command_names::CommandName;
use crate::explorer::shared::context::Context;
use crate::explorer::shared::motion::Motion;
use crate::explorer::shared::screen;

/// The fields that the commands of this file share.
const BASE: Command = Command {
    group: CommandGroup::Chat,
    contexts: &[Context::Chat],
    ..super::BASE
};

pub static KEEP_CHAT: Command = Command {
    id: &CommandName {
        name: "save as case",
        default_keys: &["ctrl-s"],
    },
    help: "save the conversation, or some of its turns, as a case",
    hint: Some("save as a case"),
    run: chat::ask_to_save,
    ..BASE
};

pub static CHAT_STATE: Command = Command {
    id: &CommandName {
        name: "state",
        default_keys: &["ctrl-t"],
    },
    help: "start again with another session state",
    hint: Some("state"),
    run: chat::ask_state,
    ..BASE
};

pub static CHAT_BACK: Command = Command {
    id: &CommandName {
        name: "scroll up",
        default_keys: &["pgup"],
    },
    help: "earlier messages",
    run: |model| screen::scroll(model, Motion::PageUp),
    ..BASE
};

pub static CHAT_FORTH: Command = Command {
    id: &CommandName {
        name: "scroll down",
        default_keys: &["pgdn"],
    },
    help: "later messages",
    run: |model| screen::scroll(model, Motion::PageDown),
    ..BASE
};

pub static CHAT_AGAIN: Command = Command {
    id: &CommandName {
        name: "start again",
        default_keys: &["ctrl-n"],
    },
    help: "start a new session",
    hint: Some("start again"),
    run: chat::again,
    ..BASE
};

pub static LEAVE_CHAT: Command = Command {
    id: &CommandName {
        name: "leave",
        default_keys: &["esc"],
    },
    help: "end the conversation",
    hint: Some("leave"),
    run: chat::leave,
    ..BASE
};
