//! Whether the explorer can be shown.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks whether standard output is a terminal"
)]

use super::Exit;
use super::output::print_note;
use crate::explorer::has_escape_sequences;
use std::io::IsTerminal;

pub(super) fn has_terminal() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !dumb
}

/// Without a terminal, prints what to use instead of the explorer.
pub(super) fn no_terminal(instead: &str) -> Option<Exit> {
    if has_terminal() {
        if has_escape_sequences() {
            return None;
        }
        print_note(
            "error: the explorer needs a console of Windows 10 or newer, such as Windows Terminal",
        );
        return Some(Exit::UsageError);
    }
    print_note(&format!(
        "error: the explorer needs a terminal; without one, use {instead}"
    ));
    Some(Exit::UsageError)
}
