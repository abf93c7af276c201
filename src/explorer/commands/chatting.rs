//! Commands for a chat with an agent.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use super::enabled::always;
use super::{Command, Context, Group, Motion};
use crate::explorer::screens::{self, chat};

pub static KEEP_CHAT: Command = Command {
    name: "save as case",
    help: "save the conversation, or some of its turns, as a case",
    hint: Some("save as a case"),
    scope: None,
    group: Group::Chat,
    contexts: &[Context::Chat],
    default_keys: &["ctrl-s"],
    enabled: always,
    run: chat::ask_to_keep,
};

pub static CHAT_STATE: Command = Command {
    name: "state",
    help: "start again with another session state",
    hint: Some("state"),
    scope: None,
    group: Group::Chat,
    contexts: &[Context::Chat],
    default_keys: &["ctrl-t"],
    enabled: always,
    run: chat::ask_state,
};

pub static CHAT_BACK: Command = Command {
    name: "scroll up",
    help: "earlier messages",
    hint: None,
    scope: None,
    group: Group::Chat,
    contexts: &[Context::Chat],
    default_keys: &["pgup"],
    enabled: always,
    run: |model| screens::scroll(model, Motion::PageUp),
};

pub static CHAT_FORTH: Command = Command {
    name: "scroll down",
    help: "later messages",
    hint: None,
    scope: None,
    group: Group::Chat,
    contexts: &[Context::Chat],
    default_keys: &["pgdn"],
    enabled: always,
    run: |model| screens::scroll(model, Motion::PageDown),
};

pub static CHAT_AGAIN: Command = Command {
    name: "start again",
    help: "start a new session",
    hint: Some("start again"),
    scope: None,
    group: Group::Chat,
    contexts: &[Context::Chat],
    default_keys: &["ctrl-n"],
    enabled: always,
    run: chat::again,
};

pub static LEAVE_CHAT: Command = Command {
    name: "leave",
    help: "end the conversation",
    hint: Some("leave"),
    scope: None,
    group: Group::Chat,
    contexts: &[Context::Chat],
    default_keys: &["esc"],
    enabled: always,
    run: chat::leave,
};
