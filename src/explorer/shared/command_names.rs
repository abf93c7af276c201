//! The names and keys of commands. Those that screens and messages mention are listed here; what a command does is in
//! `commands`.

// Each command is documented by its `help`.
#![allow(missing_docs)]

use std::sync::OnceLock;

/// The name of a command, and its keys.
#[derive(Debug, PartialEq)]
pub struct CommandName {
    /// Name for the palette, messages and the configuration of keys; unique in each context.
    pub name: &'static str,
    /// Default keys, in the notation of [`parse_key`](super::key::parse_key); key sequences are separated by spaces,
    /// for example `w m`.
    pub default_keys: &'static [&'static str],
}

/// Keys of a command from the user's configuration.
pub(crate) type BoundKeys = (&'static CommandName, &'static [&'static str]);

/// The keys from the user's configuration. Set once, before the first key is read.
static BOUND: OnceLock<Vec<BoundKeys>> = OnceLock::new();

/// Uses these keys from now on. Only the first call has an effect.
pub(crate) fn bind(keys: Vec<BoundKeys>) {
    let _ = BOUND.set(keys);
}

impl CommandName {
    /// The keys of the command: those from the user's configuration, else the default ones.
    pub fn keys(&'static self) -> &'static [&'static str] {
        let bound = BOUND
            .get()
            .into_iter()
            .flatten()
            .find(|(command, _)| std::ptr::eq(*command, self));
        bound.map_or(self.default_keys, |(_, keys)| keys)
    }

    /// The first key of the command, for messages that mention it.
    pub fn key(&'static self) -> &'static str {
        self.keys().first().copied().unwrap_or_default()
    }
}

pub static TIMELINE: CommandName = CommandName {
    name: "timeline",
    default_keys: &["v", "2"],
};
pub static JUDGE_AGAIN: CommandName = CommandName {
    name: "judge again",
    default_keys: &["m j"],
};
pub static SCORE_OUTDATED: CommandName = CommandName {
    name: "score by changed criteria",
    default_keys: &["m n"],
};
pub static SCORE: CommandName = CommandName {
    name: "score",
    default_keys: &["s"],
};
pub static QUEUE_RELAX: CommandName = CommandName {
    name: "loosen criteria",
    default_keys: &["i"],
};
pub static BACK: CommandName = CommandName {
    name: "back",
    default_keys: &["esc", "q"],
};
pub static VERDICT: CommandName = CommandName {
    name: "your verdict",
    default_keys: &["m v"],
};
pub static ALLOW: CommandName = CommandName {
    name: "allow",
    default_keys: &["y"],
};
pub static CONFIRM: CommandName = CommandName {
    name: "yes",
    default_keys: &["enter", "y"],
};
pub static DENY: CommandName = CommandName {
    name: "do not allow",
    default_keys: &["esc", "n", "q", "enter"],
};
pub static REFUSE: CommandName = CommandName {
    name: "no",
    default_keys: &["esc", "n", "q"],
};
pub static SAVE: CommandName = CommandName {
    name: "save",
    default_keys: &["enter", "y"],
};
pub static SAVE_CASE: CommandName = CommandName {
    name: "save case",
    default_keys: &["ctrl-s"],
};
pub static DISCARD: CommandName = CommandName {
    name: "cancel",
    default_keys: &["esc", "n", "q"],
};
pub static SAVE_BESIDE: CommandName = CommandName {
    name: "save beside",
    default_keys: &["b"],
};
pub static DOWN: CommandName = CommandName {
    name: "down",
    default_keys: &["down", "j"],
};
pub static PAGE_DOWN: CommandName = CommandName {
    name: "page down",
    default_keys: &["pgdn", "ctrl-f"],
};
pub static CAPTURE: CommandName = CommandName {
    name: "capture",
    default_keys: &["c g"],
};
pub static NEW_SET: CommandName = CommandName {
    name: "new set",
    default_keys: &["c s"],
};
pub static SAMPLE: CommandName = CommandName {
    name: "sample workspace",
    default_keys: &["S"],
};
pub static NEW_CASE: CommandName = CommandName {
    name: "new case",
    default_keys: &["c n"],
};
pub static CLEAR: CommandName = CommandName {
    name: "clear",
    default_keys: &["esc"],
};
pub static LEFT: CommandName = CommandName {
    name: "left",
    default_keys: &["left", "h"],
};
pub static NEXT_ATTEMPT: CommandName = CommandName {
    name: "next attempt",
    default_keys: &["."],
};
pub static PREVIOUS_ATTEMPT: CommandName = CommandName {
    name: "previous attempt",
    default_keys: &[","],
};
pub static RIGHT: CommandName = CommandName {
    name: "right",
    default_keys: &["right", "l"],
};
pub static JUDGES: CommandName = CommandName {
    name: "judges",
    default_keys: &["J", "3"],
};
pub static METRICS_TAB: CommandName = CommandName {
    name: "metrics",
    default_keys: &["4"],
};
pub static CANCEL_ALL: CommandName = CommandName {
    name: "cancel all",
    default_keys: &["X"],
};
pub static RUN_CHANGED: CommandName = CommandName {
    name: "run changed",
    default_keys: &["B"],
};
pub static WATCH_FILES: CommandName = CommandName {
    name: "watch",
    default_keys: &["W"],
};
pub static ACCEPT: CommandName = CommandName {
    name: "accept",
    default_keys: &["a"],
};
pub static COMPARE_TAB: CommandName = CommandName {
    name: "comparison",
    default_keys: &["1"],
};
pub static RUN: CommandName = CommandName {
    name: "run",
    default_keys: &["r"],
};
pub static TRIAGE: CommandName = CommandName {
    name: "triage",
    default_keys: &["T"],
};
pub static APPLY_SUGGESTION: CommandName = CommandName {
    name: "try suggestion",
    default_keys: &["="],
};
pub static NEXT_FAILING: CommandName = CommandName {
    name: "next failing",
    default_keys: &["n"],
};
pub static PREVIOUS_FAILING: CommandName = CommandName {
    name: "previous failing",
    default_keys: &["N"],
};
pub static NEXT_DIFFERENCE: CommandName = CommandName {
    name: "next difference",
    default_keys: &["]"],
};
pub static PREVIOUS_DIFFERENCE: CommandName = CommandName {
    name: "previous difference",
    default_keys: &["["],
};
pub static NEXT_COMPARED: CommandName = CommandName {
    name: "next case",
    default_keys: &["n"],
};
pub static PREVIOUS_COMPARED: CommandName = CommandName {
    name: "previous case",
    default_keys: &["N"],
};

pub static RUNS: CommandName = CommandName {
    name: "runs",
    default_keys: &["H"],
};
