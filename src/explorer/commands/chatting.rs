//! Commands for a chat with an agent.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::{Command, Group};
use crate::explorer::context::Context;
use crate::explorer::motion::Motion;
use crate::explorer::screens::{self, chat};

/// The fields that the commands of this file share.
const BASE: Command = Command { group: Group::Chat, contexts: &[Context::Chat], ..super::BASE };

pub static KEEP_CHAT: Command = Command {
    name: "save as case",
    help: "save the conversation, or some of its turns, as a case",
    hint: Some("save as a case"),
    default_keys: &["ctrl-s"],
    run: chat::ask_to_keep,
    ..BASE
};

pub static CHAT_STATE: Command = Command {
    name: "state",
    help: "start again with another session state",
    hint: Some("state"),
    default_keys: &["ctrl-t"],
    run: chat::ask_state,
    ..BASE
};

pub static CHAT_BACK: Command = Command {
    name: "scroll up",
    help: "earlier messages",
    default_keys: &["pgup"],
    run: |model| screens::scroll(model, Motion::PageUp),
    ..BASE
};

pub static CHAT_FORTH: Command = Command {
    name: "scroll down",
    help: "later messages",
    default_keys: &["pgdn"],
    run: |model| screens::scroll(model, Motion::PageDown),
    ..BASE
};

pub static CHAT_AGAIN: Command = Command {
    name: "start again",
    help: "start a new session",
    hint: Some("start again"),
    default_keys: &["ctrl-n"],
    run: chat::again,
    ..BASE
};

pub static LEAVE_CHAT: Command = Command {
    name: "leave",
    help: "end the conversation",
    hint: Some("leave"),
    default_keys: &["esc"],
    run: chat::leave,
    ..BASE
};
